/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unit/rng.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Random messages by seed: random_message_write() makes them, random_message_matches() reads bytes
 * and takes the same decisions from the same seed, so that nothing has to be remembered.
 */

#define RANDOM_MAX_BYTES 400

enum random_kind {
	RANDOM_U64,
	RANDOM_I64,
	RANDOM_SINT,
	RANDOM_BOOL,
	RANDOM_FIXED32,
	RANDOM_FIXED64,
	RANDOM_BYTES,
	RANDOM_NESTED, /* three of ten */
	RANDOM_KINDS = RANDOM_NESTED + 3
};

struct random_field {
	enum random_kind kind;
	uint32_t id;
	uint64_t v;
	size_t len;
	uint8_t bytes[RANDOM_MAX_BYTES];
};

static inline void random_field_next(uint64_t *rng, unsigned depth, struct random_field *f)
{
	f->kind = rng_below(rng, depth + 1 < PB_MAX_DEPTH ? RANDOM_KINDS : RANDOM_NESTED);
	f->id = 1 + (uint32_t)(rng_any_size(rng) % ((1u << 29) - 1));
	f->v = rng_any_size(rng);
	f->len = rng_below(rng, rng_below(rng, 8) ? 20 : RANDOM_MAX_BYTES);
	rng_bytes(rng, f->bytes, f->len);
}

static inline unsigned random_field_count(uint64_t *rng, unsigned depth)
{
	return rng_below(rng, depth ? 6 : 30);
}

static inline void random_message_write(struct pb_enc *e, uint64_t *rng, unsigned depth)
{
	for (unsigned n = random_field_count(rng, depth); n > 0; n--) {
		struct random_field f;

		random_field_next(rng, depth, &f);
		switch (f.kind) {
		case RANDOM_U64:
			pb_enc_u64(e, f.id, f.v);
			break;
		case RANDOM_I64:
			pb_enc_i64(e, f.id, -(int64_t)(f.v >> 1));
			break;
		case RANDOM_SINT:
			pb_enc_sint(e, f.id, (int64_t)f.v);
			break;
		case RANDOM_BOOL:
			pb_enc_bool(e, f.id, f.v & 1);
			break;
		case RANDOM_FIXED32:
			pb_enc_fixed32(e, f.id, (uint32_t)f.v);
			break;
		case RANDOM_FIXED64:
			pb_enc_fixed64(e, f.id, f.v);
			break;
		case RANDOM_BYTES:
			pb_enc_bytes(e, f.id, f.bytes, f.len);
			break;
		default:
			pb_enc_open(e, f.id);
			random_message_write(e, rng, depth + 1);
			pb_enc_close(e);
		}
	}
}

static inline bool random_value_matches(const struct random_field *want, const struct pb_field *f)
{
	switch (want->kind) {
	case RANDOM_U64:
		return f->wire_type == PB_WIRE_VARINT && f->u64 == want->v;
	case RANDOM_I64:
		return f->wire_type == PB_WIRE_VARINT &&
		       (int64_t)f->u64 == -(int64_t)(want->v >> 1);
	case RANDOM_SINT:
		return f->wire_type == PB_WIRE_VARINT && pb_unzigzag(f->u64) == (int64_t)want->v;
	case RANDOM_BOOL:
		return f->wire_type == PB_WIRE_VARINT && f->u64 == (want->v & 1);
	case RANDOM_FIXED32:
		return f->wire_type == PB_WIRE_FIXED32 && f->u64 == (uint32_t)want->v;
	case RANDOM_FIXED64:
		return f->wire_type == PB_WIRE_FIXED64 && f->u64 == want->v;
	default:
		return f->wire_type == PB_WIRE_BYTES && f->len == want->len &&
		       memcmp(f->data, want->bytes, f->len) == 0;
	}
}

static inline bool random_message_matches(const uint8_t *data, size_t len, uint64_t *rng,
					  unsigned depth)
{
	struct random_field want;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	for (unsigned n = random_field_count(rng, depth); n > 0; n--) {
		random_field_next(rng, depth, &want);
		if (!pb_dec_next(&d, &f) || f.id != want.id)
			return false;
		if (want.kind >= RANDOM_NESTED) {
			if (f.wire_type != PB_WIRE_BYTES ||
			    !random_message_matches(f.data, f.len, rng, depth + 1))
				return false;
		} else if (!random_value_matches(&want, &f)) {
			return false;
		}
	}
	return !pb_dec_next(&d, &f) && pb_dec_ok(&d);
}
