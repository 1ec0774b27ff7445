/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through the decoder, and every length-delimited field as a message and as a packed
 * field of its own. What was accepted is encoded again, and must decode to the same fields.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_DEPTH 6

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_field(const struct pb_field *f, const uint8_t *data, size_t size)
{
	require(f->id > 0 && f->id < 1u << 29);
	if (f->wire_type == PB_WIRE_BYTES)
		require(f->data >= data && f->data <= data + size &&
			f->len <= (size_t)(data + size - f->data));
	else
		require(!f->data && f->len == 0);
}

static void encode_field(struct pb_enc *e, const struct pb_field *f)
{
	switch (f->wire_type) {
	case PB_WIRE_VARINT:
		pb_enc_u64(e, f->id, f->u64);
		break;
	case PB_WIRE_FIXED64:
		pb_enc_fixed64(e, f->id, f->u64);
		break;
	case PB_WIRE_FIXED32:
		pb_enc_fixed32(e, f->id, (uint32_t)f->u64);
		break;
	default:
		pb_enc_bytes(e, f->id, f->data, f->len);
	}
}

static void check_equal(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	struct pb_dec da, db;
	struct pb_field fa, fb;

	pb_dec_init(&da, a, a_len);
	pb_dec_init(&db, b, b_len);
	while (pb_dec_next(&da, &fa)) {
		require(pb_dec_next(&db, &fb));
		require(fa.id == fb.id && fa.wire_type == fb.wire_type && fa.u64 == fb.u64);
		if (fa.len > 0)
			require(memcmp(fa.data, fb.data, fa.len) == 0);
	}
	require(!pb_dec_next(&db, &fb) && pb_dec_ok(&db));
}

static void decode(const uint8_t *data, size_t size, unsigned depth)
{
	struct pb_mem again;
	struct pb_field f;
	struct pb_dec d;
	uint64_t v;

	if (pb_mem_init(&again) < 0)
		return;
	pb_dec_init(&d, data, size);
	while (pb_dec_next(&d, &f)) {
		size_t n = 0;

		check_field(&f, data, size);
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &v);)
			n++;
		require(n <= f.len + 1);
		if (f.data && depth < MAX_DEPTH)
			decode(f.data, f.len, depth + 1);
		encode_field(&again.enc, &f);
	}
	if (pb_dec_ok(&d) && !again.failed)
		check_equal(data, size, again.buf, pb_mem_len(&again));
	pb_mem_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size, 0);
	return 0;
}
