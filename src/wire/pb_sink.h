/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The output of the encoder in wire/pb_enc.h: ranges of memory that a sink supplies one after
 * another. These are the chunks of a shared memory buffer, a growing buffer, or a fixed array.
 *
 *	begin                cur               end
 *	v                    v                 v
 *	| fields ... |tag|len len len len| ... |        len: nest[depth - 1].size_field
 *
 * Sinks report no errors: a sink without space supplies scratch memory and counts the loss.
 */

#define PB_MAX_DEPTH 12 /* nested messages open at a time */
#define PB_MAX_MESSAGE 0x0fffffffu /* bytes in a message: four 7-bit groups */
#define PB_SIZE_FIELD 4 /* bytes reserved for a nested length */
#define PB_SIMPLE_FIELD 16 /* a tag of up to 5 bytes and a varint of up to 10 */
#define PB_MIN_RANGE 32 /* minimum size of a range */

struct pb_nest {
	uint8_t *size_field; /* 4 bytes in the current range, or at the sink's address */
	uint64_t start; /* position of the message's first byte */
};

struct pb_enc {
	uint8_t *cur;
	uint8_t *end;
	uint8_t *begin;
	uint64_t before; /* bytes written in earlier ranges */
	unsigned depth;
	struct pb_nest nest[PB_MAX_DEPTH];
	/* Called when the current range is too small for the next element: it is full, or its last
	 * 1 to 3 bytes are too few for a length. First redirects every open size_field that is in
	 * the old range. Then supplies the next range with pb_enc_set_range(), of at least
	 * PB_MIN_RANGE bytes. Must not fail. */
	void (*refill)(struct pb_enc *e);
};

/* Starts encoding in a range; depth 0, position 0. */
static inline void pb_enc_init(struct pb_enc *e, uint8_t *begin, uint8_t *end,
			       void (*refill)(struct pb_enc *e))
{
	e->begin = e->cur = begin;
	e->end = end;
	e->before = 0;
	e->depth = 0;
	e->refill = refill;
}

/* Continues in a new range. */
static inline void pb_enc_set_range(struct pb_enc *e, uint8_t *begin, uint8_t *end)
{
	e->before += (uint64_t)(e->cur - e->begin);
	e->begin = e->cur = begin;
	e->end = end;
}

/* Returns the bytes written since pb_enc_init(). */
static inline uint64_t pb_enc_pos(const struct pb_enc *e)
{
	return e->before + (uint64_t)(e->cur - e->begin);
}
