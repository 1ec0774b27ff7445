/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pb_enc.h"

#include <assert.h>

void pb_enc_raw_slow(struct pb_enc *e, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t room = (size_t)(e->end - e->cur);

		if (room == 0) {
			e->refill(e);
			continue;
		}
		if (room > len)
			room = len;
		memcpy(e->cur, p, room);
		e->cur += room;
		p += room;
		len -= room;
	}
}

void pb_enc_fixed32(struct pb_enc *e, uint32_t field, uint32_t v)
{
	uint8_t tmp[5 + sizeof(v)], *p = pb_put_varint(tmp, pb_tag(field, PB_WIRE_FIXED32));

	memcpy(p, &v, sizeof(v));
	pb_enc_raw(e, tmp, (size_t)(p - tmp) + sizeof(v));
}

void pb_enc_fixed64(struct pb_enc *e, uint32_t field, uint64_t v)
{
	uint8_t tmp[5 + sizeof(v)], *p = pb_put_varint(tmp, pb_tag(field, PB_WIRE_FIXED64));

	memcpy(p, &v, sizeof(v));
	pb_enc_raw(e, tmp, (size_t)(p - tmp) + sizeof(v));
}

void pb_enc_double(struct pb_enc *e, uint32_t field, double v)
{
	uint64_t bits;

	_Static_assert(sizeof(v) == sizeof(bits), "double is 64 bits");
	memcpy(&bits, &v, sizeof(bits));
	pb_enc_fixed64(e, field, bits);
}

void pb_enc_open(struct pb_enc *e, uint32_t field)
{
	uint8_t tag[5], *p = pb_put_varint(tag, pb_tag(field, PB_WIRE_BYTES));

	assert(e->depth < PB_MAX_DEPTH);
	pb_enc_raw(e, tag, (size_t)(p - tag));
	/* The length field is never split over two ranges: a patch is four bytes in one place. */
	if (e->end - e->cur < PB_SIZE_FIELD)
		e->refill(e);
	e->nest[e->depth].size_field = e->cur;
	e->cur += PB_SIZE_FIELD;
	e->nest[e->depth].start = pb_enc_pos(e);
	e->depth++;
}

void pb_enc_close(struct pb_enc *e)
{
	struct pb_nest *n = &e->nest[--e->depth];
	uint64_t size = pb_enc_pos(e) - n->start;
	uint8_t *f = n->size_field;

	assert(e->depth < PB_MAX_DEPTH && size <= PB_MAX_MESSAGE);
	if (size < 0x80 && f >= e->begin && f < e->cur) {
		/* Whole in this range: one byte is enough, and the message moves back over the
		 * other three. */
		f[0] = (uint8_t)size;
		memmove(f + 1, f + PB_SIZE_FIELD, size);
		e->cur -= PB_SIZE_FIELD - 1;
		return;
	}
	pb_put_varint4(f, (uint32_t)size);
}
