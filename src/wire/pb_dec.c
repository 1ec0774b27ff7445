/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every step takes the position and the end, and returns the next position or NULL. A length is
 * compared with the remaining bytes before it is added to a pointer.
 */
#include "wire/pb_dec.h"

#include <string.h>

#include "wire/pb_enc.h"

/* Like pb_get_varint_slow(), for any number of remaining bytes. */
static const uint8_t *get_varint_bytewise(const uint8_t *p, const uint8_t *end, uint64_t *ret_v)
{
	uint64_t v = 0;

	for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
		uint8_t b = *p++;

		if (shift == 63 && b > 1)
			return NULL;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret_v = v;
			return p;
		}
	}
	return NULL;
}

/* Returns the 56 bits of eight groups of 7 bits, joined pair by pair. */
static uint64_t join_groups_of_7_bits(uint64_t w)
{
	w = (w & 0x007f007f007f007f) | (w & 0x7f007f007f007f00) >> 1;
	w = (w & 0x00003fff00003fff) | (w & 0x3fff00003fff0000) >> 2;
	return (w & 0x000000000fffffff) | (w & 0x0fffffff00000000) >> 4;
}

const uint8_t *pb_get_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *ret_v)
{
	uint64_t word, last;

	if ((size_t)(end - p) < sizeof(word))
		return get_varint_bytewise(p, end, ret_v);
	memcpy(&word, p, sizeof(word)); /* little-endian hosts only, as the ABI */
	last = ~word & 0x8080808080808080; /* the lowest set bit is the top bit of the last byte */
	if (!last)
		return get_varint_bytewise(p, end, ret_v);
	*ret_v = join_groups_of_7_bits(word & (last ^ (last - 1)));
	return p + __builtin_ctzll(last) / 8 + 1;
}

/* Reads a little-endian number of `size` bytes. Returns its end, or NULL if it extends past end. */
static const uint8_t *get_fixed(const uint8_t *p, const uint8_t *end, size_t size, uint64_t *ret_v)
{
	uint64_t v = 0;

	if ((size_t)(end - p) < size)
		return NULL;
	memcpy(&v, p, size); /* little-endian hosts only, as the ABI */
	*ret_v = v;
	return p + size;
}

/* Reads the value of a field whose tag was read. Returns its end, or NULL if it is malformed. */
static const uint8_t *get_field_value(const uint8_t *p, const uint8_t *end, struct pb_field *f)
{
	f->data = NULL;
	f->len = 0;
	switch (f->wire_type) {
	case PB_WIRE_VARINT:
		return pb_get_varint(p, end, &f->u64);
	case PB_WIRE_FIXED64:
		return get_fixed(p, end, 8, &f->u64);
	case PB_WIRE_FIXED32:
		return get_fixed(p, end, 4, &f->u64);
	case PB_WIRE_BYTES:
		p = pb_get_varint(p, end, &f->u64);
		if (!p || f->u64 > (uint64_t)(end - p))
			return NULL;
		f->data = p;
		f->len = (size_t)f->u64;
		return p + f->len;
	default:
		return NULL;
	}
}

bool pb_dec_next(struct pb_dec *d, struct pb_field *f)
{
	const uint8_t *p;
	uint64_t tag;

	if (d->cur == d->end || d->bad)
		return false;
	p = pb_get_varint(d->cur, d->end, &tag);
	if (!p || tag >> 3 == 0 || tag >> 3 > PB_MAX_FIELD_ID)
		goto bad;
	f->id = (uint32_t)(tag >> 3);
	f->wire_type = tag & 7;
	p = get_field_value(p, d->end, f);
	if (!p)
		goto bad;
	d->cur = p;
	return true;
bad:
	d->bad = true;
	return false;
}

bool pb_field_is(const struct pb_field *f, const char *s)
{
	return f->data && f->len == strlen(s) && memcmp(f->data, s, f->len) == 0;
}

struct pb_packed pb_packed_of(const struct pb_field *f)
{
	struct pb_packed p = {.cur = f->data, .end = f->data ? f->data + f->len : NULL};

	if (f->wire_type == PB_WIRE_VARINT) {
		p.single = f->u64;
		p.has_single = true;
	}
	return p;
}

struct pb_field pb_inner_field(const struct pb_field *outer, uint32_t id)
{
	struct pb_field f, found = {.id = 0};
	struct pb_dec d;

	if (!outer->data)
		return found;
	pb_dec_init(&d, outer->data, outer->len);
	while (pb_dec_next(&d, &f))
		if (f.id == id && f.data)
			found = f;
	return found;
}
