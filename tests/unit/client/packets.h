/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Random packets that can be made again from a seed, and a form of them that does not depend on
 * how lengths were written. Field 1 is the packet's number, NESTED holds messages, all others are
 * leaves.
 */

#define PACKET_NUMBER 1
#define NESTED 9

static inline uint64_t rng_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline uint64_t rng_below(uint64_t *state, uint64_t n)
{
	return (rng_next(state) >> 16) % n;
}

static inline size_t put_bytes(struct pb_enc *e, uint64_t *rng, size_t len)
{
	uint8_t piece[256];

	pb_enc_header(e, 6, len);
	for (size_t left = len; left > 0;) {
		size_t n = left < sizeof(piece) ? left : sizeof(piece);

		memset(piece, (int)rng_next(rng), n);
		piece[0] = (uint8_t)rng_next(rng);
		pb_enc_raw(e, piece, n);
		left -= n;
	}
	return len + 2;
}

/* Gives about the number of bytes: never asked of the encoder, whose lengths vary. */
static inline size_t put_field(struct pb_enc *e, uint64_t *rng, size_t most)
{
	switch (rng_below(rng, 8)) {
	case 0:
		pb_enc_sint(e, 3, (int64_t)rng_next(rng));
		return 11;
	case 1:
		pb_enc_fixed32(e, 4, (uint32_t)rng_next(rng));
		return 5;
	case 2:
		pb_enc_double(e, 5, (double)rng_below(rng, 1000));
		return 9;
	case 3:
		return put_bytes(e, rng, rng_below(rng, (most < 300 ? most : 300) + 1));
	case 4:
		/* now and then a large piece */
		return put_bytes(e, rng, rng_below(rng, rng_below(rng, 16) ? 20 : most / 4 + 1));
	case 5:
		pb_enc_str(e, 7, "a string");
		return 10;
	case 6:
		pb_enc_i64(e, 2, -(int64_t)rng_below(rng, 100));
		return 11;
	default:
		pb_enc_u64(e, 2000, rng_below(rng, 100000));
		return 4;
	}
}

/* About size bytes, nested up to max_depth deep; what is open is closed at the end. */
static inline void put_packet(struct pb_enc *e, uint64_t number, uint64_t seed, size_t size,
			      unsigned max_depth)
{
	uint64_t rng = seed | 1;
	size_t done = 2;

	pb_enc_u64(e, PACKET_NUMBER, number);
	while (done < size) {
		uint64_t what = rng_below(&rng, 10);

		if (what < 2 && e->depth < max_depth) {
			pb_enc_open(e, NESTED);
			done += 2;
		} else if (what == 2 && e->depth > 0) {
			pb_enc_close(e);
		} else {
			done += put_field(e, &rng, size - done);
		}
	}
	while (e->depth > 0)
		pb_enc_close(e);
}

/* Is the field a message, at this level of nesting? */
typedef bool (*is_message)(unsigned level, uint32_t id);

static inline bool only_nested(unsigned level, uint32_t id)
{
	return id == NESTED;
}

/* Lengths in the shortest form, without what writers and services add. False: it does not parse. */
static inline bool normal_form_of(const uint8_t *data, size_t len, unsigned level, is_message nests,
				  struct strbuf *out)
{
	const uint8_t *at = data;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		uint8_t head[16], *p = pb_put_varint(head, pb_tag(f.id, PB_WIRE_BYTES));
		struct strbuf inner = {0};

		if (!nests(level, f.id)) {
			if (level > 0 || (f.id != PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE &&
					  f.id != PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED &&
					  f.id != PB_TRACE_PACKET_PACKETS_DROPPED))
				strbuf_add(out, at, (size_t)(d.cur - at));
			at = d.cur;
			continue;
		}
		at = d.cur;
		if (!f.data || !normal_form_of(f.data, f.len, level + 1, nests, &inner)) {
			strbuf_deinit(&inner);
			return false;
		}
		p = pb_put_varint(p, inner.len);
		strbuf_add(out, head, (size_t)(p - head));
		strbuf_add(out, inner.s ? inner.s : "", inner.len);
		strbuf_deinit(&inner);
	}
	return pb_dec_ok(&d);
}

static inline bool normal_form(const uint8_t *data, size_t len, struct strbuf *out)
{
	return normal_form_of(data, len, 0, only_nested, out);
}
