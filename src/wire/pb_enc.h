/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/pb_varint.h"

/*
 * Append-only protobuf encoder.
 *
 * It writes into ranges of memory that a sink hands out one after another: the chunks of a shared
 * memory, a growing buffer, a fixed array. Nothing is built twice: the length of a nested message
 * is reserved as 4 bytes, and filled in when the message is closed (as a redundant varint, or
 * compacted to 1 byte when the message is short and lies whole in the current range). When the
 * length field lies in a range that has gone, the sink has pointed it elsewhere (a patch that is
 * sent later).
 *
 *      begin                cur               end
 *      v                    v                 v
 *      | fields ... |tag|len len len len| ... |        len: nest[depth - 1].size_field
 *
 * Errors do not exist here: a sink out of space hands out scratch memory and counts the loss.
 * Fields appear in the order of the calls. Strings are not validated.
 *
 * Format: protobuf wire format; limits of Perfetto's ABI (a message is shorter than 2^28 bytes).
 */

#define PB_MAX_DEPTH 12 /* nested messages open at a time */
#define PB_MAX_MESSAGE 0x0fffffffu /* bytes in a message: four 7-bit groups */
#define PB_SIZE_FIELD 4 /* bytes reserved for a nested length */
#define PB_SIMPLE_FIELD 16 /* a tag of up to 5 bytes and a varint of up to 10 */
#define PB_MIN_RANGE 32 /* the least a sink may hand out */

struct pb_nest {
	uint8_t *size_field; /* 4 bytes in the current range, or where the sink moved them */
	uint64_t start; /* position of the message's first byte */
};

struct pb_enc {
	uint8_t *cur;
	uint8_t *end;
	uint8_t *begin;
	uint64_t before; /* bytes written in earlier ranges */
	unsigned depth;
	struct pb_nest nest[PB_MAX_DEPTH];
	/*
	 * Called when the current range is too small for the next piece. Hands out the next one
	 * with pb_enc_set_range(), of at least PB_MIN_RANGE bytes; before that, moves every open
	 * size_field that lies in the old range. Must not fail.
	 */
	void (*refill)(struct pb_enc *e);
};

/* Starts on a range; depth 0, position 0. */
static inline void pb_enc_init(struct pb_enc *e, uint8_t *begin, uint8_t *end,
			       void (*refill)(struct pb_enc *e))
{
	e->begin = e->cur = begin;
	e->end = end;
	e->before = 0;
	e->depth = 0;
	e->refill = refill;
}

/* For sinks: goes on in a new range. */
static inline void pb_enc_set_range(struct pb_enc *e, uint8_t *begin, uint8_t *end)
{
	e->before += (uint64_t)(e->cur - e->begin);
	e->begin = e->cur = begin;
	e->end = end;
}

/* Bytes written since pb_enc_init. */
static inline uint64_t pb_enc_pos(const struct pb_enc *e)
{
	return e->before + (uint64_t)(e->cur - e->begin);
}

/* ---- fields ---- */

/* Bytes as they are, over as many ranges as it takes. */
void pb_enc_raw_slow(struct pb_enc *e, const void *data, size_t len);

static inline void pb_enc_raw(struct pb_enc *e, const void *data, size_t len)
{
	if (len > (size_t)(e->end - e->cur)) {
		pb_enc_raw_slow(e, data, len);
		return;
	}
	memcpy(e->cur, data, len);
	e->cur += len;
}

static inline void pb_enc_u64(struct pb_enc *e, uint32_t field, uint64_t v)
{
	uint8_t tmp[PB_SIMPLE_FIELD], *p;

	if (e->end - e->cur >= PB_SIMPLE_FIELD) {
		p = pb_put_varint(e->cur, pb_tag(field, PB_WIRE_VARINT));
		e->cur = pb_put_varint(p, v);
		return;
	}
	p = pb_put_varint(tmp, pb_tag(field, PB_WIRE_VARINT));
	p = pb_put_varint(p, v);
	pb_enc_raw_slow(e, tmp, (size_t)(p - tmp));
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
	uint8_t tmp[PB_SIMPLE_FIELD], *p;

	if (e->end - e->cur >= PB_SIMPLE_FIELD) {
		p = pb_put_varint(e->cur, pb_tag(field, PB_WIRE_BYTES));
		e->cur = pb_put_varint(p, len);
		return;
	}
	p = pb_put_varint(tmp, pb_tag(field, PB_WIRE_BYTES));
	p = pb_put_varint(p, len);
	pb_enc_raw_slow(e, tmp, (size_t)(p - tmp));
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
