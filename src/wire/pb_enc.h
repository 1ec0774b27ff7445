/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/pb_sink.h"
#include "wire/pb_varint.h"

/*
 * Append-only protobuf encoder, over the ranges of wire/pb_sink.h.
 *
 * No message is encoded twice. The length of a nested message is reserved as 4 bytes and written
 * when the message is closed: as a redundant varint, or compacted to 1 byte if the message is short
 * and completely in the current range. If the length field is in an earlier range, the sink has
 * redirected it (to a patch that is sent later).
 *
 * Fields appear in the order of the calls. Strings are not validated. A message is shorter than
 * 2^28 bytes.
 *
 * Format: protobuf wire format; limits of Perfetto's ABI.
 */

/* The inline parts handle a range with enough room: one compare, a tag that folds to a constant, a
 * varint. At the end of a range the slow parts split the bytes. */
void pb_enc_raw_slow(struct pb_enc *e, const void *data, size_t len);
void pb_enc_simple_slow(struct pb_enc *e, uint32_t tag, uint64_t v);

static inline bool pb_enc_has_room(const struct pb_enc *e, ptrdiff_t n)
{
	return __builtin_expect(e->end - e->cur >= n, 1);
}

/* Appends raw bytes, across ranges if necessary. data may be NULL if len is 0. */
static inline void pb_enc_raw(struct pb_enc *e, const void *data, size_t len)
{
	/* One compare for both cases: if len is 0, len - 1 is the largest value, and the slow part
	 * does nothing. */
	if (__builtin_expect(len - 1 >= (size_t)(e->end - e->cur), 0)) {
		pb_enc_raw_slow(e, data, len);
		return;
	}
	memcpy(e->cur, data, len);
	e->cur += len;
}

/* Appends a tag and one varint: a number, or the length of the following bytes. */
static inline void pb_enc_simple(struct pb_enc *e, uint32_t tag, uint64_t v)
{
	if (pb_enc_has_room(e, PB_SIMPLE_FIELD))
		e->cur = pb_put_varint(pb_put_varint(e->cur, tag), v);
	else
		pb_enc_simple_slow(e, tag, v);
}

static inline void pb_enc_u64(struct pb_enc *e, uint32_t field, uint64_t v)
{
	pb_enc_simple(e, pb_tag(field, PB_WIRE_VARINT), v);
}

/* Appends an int32 or int64: negative values take 10 bytes. */
static inline void pb_enc_i64(struct pb_enc *e, uint32_t field, int64_t v)
{
	pb_enc_u64(e, field, (uint64_t)v);
}

static inline void pb_enc_sint(struct pb_enc *e, uint32_t field, int64_t v)
{
	pb_enc_u64(e, field, pb_zigzag(v));
}

static inline void pb_enc_bool(struct pb_enc *e, uint32_t field, bool v)
{
	pb_enc_u64(e, field, v);
}

void pb_enc_fixed32(struct pb_enc *e, uint32_t field, uint32_t v);
void pb_enc_fixed64(struct pb_enc *e, uint32_t field, uint64_t v);
void pb_enc_double(struct pb_enc *e, uint32_t field, double v);

/* Appends tag and length of a length-delimited field. The caller appends its bytes with
 * pb_enc_raw(). */
static inline void pb_enc_header(struct pb_enc *e, uint32_t field, uint64_t len)
{
	pb_enc_simple(e, pb_tag(field, PB_WIRE_BYTES), len);
}

/* Appends bytes, a string, or a packed field whose varints were encoded before. */
static inline void pb_enc_bytes(struct pb_enc *e, uint32_t field, const void *data, size_t len)
{
	pb_enc_header(e, field, len);
	pb_enc_raw(e, data, len);
}

static inline void pb_enc_str(struct pb_enc *e, uint32_t field, const char *s)
{
	pb_enc_bytes(e, field, s, strlen(s));
}

/* Appends an element of a packed field of varints, which pb_enc_open() began. */
static inline void pb_enc_packed_varint(struct pb_enc *e, uint64_t v)
{
	uint8_t bytes[10]; /* the longest varint */

	pb_enc_raw(e, bytes, (size_t)(pb_put_varint(bytes, v) - bytes));
}

/* Opens a nested message. Fields are appended to it until the matching pb_enc_close(), in strict
 * LIFO order. */
void pb_enc_open(struct pb_enc *e, uint32_t field);
void pb_enc_close(struct pb_enc *e);

/* A message of any size in one heap buffer. */
struct pb_mem {
	struct pb_enc enc; /* valid between init and deinit */
	uint8_t *buf; /* owned; the message is the first pb_enc_pos(&enc) bytes */
	uint8_t scratch[PB_MIN_RANGE];
	bool failed; /* memory ran out: the message is invalid. Sticky */
};

/* Returns 0 or -ENOMEM (then deinit is not required). */
int pb_mem_init(struct pb_mem *m);
void pb_mem_deinit(struct pb_mem *m);
/* Starts a new message in the same buffer. */
void pb_mem_reset(struct pb_mem *m);
static inline size_t pb_mem_len(const struct pb_mem *m)
{
	return (size_t)(m->enc.cur - m->enc.begin);
}
