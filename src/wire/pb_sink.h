/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * What the encoder of wire/pb_enc.h writes into: ranges of memory that a sink hands out one after
 * another: the chunks of a shared memory, a growing buffer, a fixed array.
 *
 *	begin                cur               end
 *	v                    v                 v
 *	| fields ... |tag|len len len len| ... |        len: nest[depth - 1].size_field
 *
 * Errors do not exist here: a sink out of space hands out scratch memory and counts the loss.
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
	 * Called when the current range is too small for the next piece: it is full up to end, or
	 * up to cur, at most 3 bytes before it. Hands out the next one with pb_enc_set_range(), of
	 * at least PB_MIN_RANGE bytes; before that, moves every open size_field that lies in the
	 * old range. Must not fail.
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

/* Goes on in a new range. */
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
