/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/pb_sink.h"
#include "wire/pb_varint.h"

/*
 * Append-only protobuf encoder, over the ranges of wire/pb_sink.h.
 *
 * Nothing is built twice: the length of a nested message is reserved as 4 bytes, and filled in when
 * the message is closed (as a redundant varint, or compacted to 1 byte when the message is short
 * and lies whole in the current range). When the length field lies in a range that has gone, the
 * sink has pointed it elsewhere (a patch that is sent later).
 *
 * Fields appear in the order of the calls. Strings are not validated. A message is shorter than
 * 2^28 bytes.
 *
 * Format: protobuf wire format; limits of Perfetto's ABI.
 */

/*
 * The inline parts are for a range with room to spare: one compare, a tag that folds to a constant,
 * a varint. At the end of a range the slow parts take over and split the bytes.
 */
void pb_enc_raw_slow(struct pb_enc *e, const void *data, size_t len);
void pb_enc_simple_slow(struct pb_enc *e, uint32_t tag, uint64_t v);

static inline bool pb_enc_has_room(const struct pb_enc *e, ptrdiff_t n)
{
	return __builtin_expect(e->end - e->cur >= n, 1);
}

/* Bytes as they are, over as many ranges as it takes. data may be NULL when len is 0. */
static inline void pb_enc_raw(struct pb_enc *e, const void *data, size_t len)
{
	/* One compare for both: 0 - 1 is above all, and the slow part does nothing then. */
	if (__builtin_expect(len - 1 >= (size_t)(e->end - e->cur), 0)) {
		pb_enc_raw_slow(e, data, len);
		return;
	}
	memcpy(e->cur, data, len);
	e->cur += len;
}

/* A tag and one varint: a number, or the length of what follows. */
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

/* int32 and int64 of the format: negative values take 10 bytes. */
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

/* Tag and length only, of a length-delimited field whose bytes follow by pb_enc_raw. */
static inline void pb_enc_header(struct pb_enc *e, uint32_t field, uint64_t len)
{
	pb_enc_simple(e, pb_tag(field, PB_WIRE_BYTES), len);
}

/* bytes, string, and packed fields whose varints were gathered before. */
static inline void pb_enc_bytes(struct pb_enc *e, uint32_t field, const void *data, size_t len)
{
	pb_enc_header(e, field, len);
	pb_enc_raw(e, data, len);
}

static inline void pb_enc_str(struct pb_enc *e, uint32_t field, const char *s)
{
	pb_enc_bytes(e, field, s, strlen(s));
}

/* Opens a nested message; fields go into it until the matching pb_enc_close. Strictly last in,
 * first out. */
void pb_enc_open(struct pb_enc *e, uint32_t field);
void pb_enc_close(struct pb_enc *e);
