/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the encoder that handle the end of a range, and nested messages:
 *
 *	open     | tag | ?  ?  ?  ? |                      size_field points at them
 *	close    | tag | s' s' s' s | message ...          a redundant varint, 3 continuation bits
 *	   or    | tag | s | message ...                   below 128 bytes, all in this range
 */
#include "wire/pb_enc.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"

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

void pb_enc_simple_slow(struct pb_enc *e, uint32_t tag, uint64_t v)
{
	uint8_t tmp[PB_SIMPLE_FIELD], *p = pb_put_varint(pb_put_varint(tmp, tag), v);

	pb_enc_raw_slow(e, tmp, (size_t)(p - tmp));
}

/* Little-endian hosts only, like the ABI. */
static inline void put_fixed(struct pb_enc *e, uint32_t tag, const void *v, size_t size)
{
	uint8_t tmp[PB_SIMPLE_FIELD], *p;

	if (pb_enc_has_room(e, PB_SIMPLE_FIELD)) {
		p = pb_put_varint(e->cur, tag);
		memcpy(p, v, size);
		e->cur = p + size;
		return;
	}
	p = pb_put_varint(tmp, tag);
	memcpy(p, v, size);
	pb_enc_raw_slow(e, tmp, (size_t)(p - tmp) + size);
}

void pb_enc_fixed32(struct pb_enc *e, uint32_t field, uint32_t v)
{
	put_fixed(e, pb_tag(field, PB_WIRE_FIXED32), &v, sizeof(v));
}

void pb_enc_fixed64(struct pb_enc *e, uint32_t field, uint64_t v)
{
	put_fixed(e, pb_tag(field, PB_WIRE_FIXED64), &v, sizeof(v));
}

void pb_enc_double(struct pb_enc *e, uint32_t field, double v)
{
	uint64_t bits;

	_Static_assert(sizeof(v) == sizeof(bits), "double is 64 bits");
	memcpy(&bits, &v, sizeof(bits));
	pb_enc_fixed64(e, field, bits);
}

/* A function of its own: its array would cost each caller a stack canary. */
static __attribute__((noinline)) void put_tag_slow(struct pb_enc *e, uint32_t tag)
{
	uint8_t tmp[PB_SIMPLE_FIELD], *p = pb_put_varint(tmp, tag);

	pb_enc_raw_slow(e, tmp, (size_t)(p - tmp));
	/* The length field is never split: a patch writes four adjacent bytes. */
	if (!pb_enc_has_room(e, PB_SIZE_FIELD))
		e->refill(e);
}

void pb_enc_open(struct pb_enc *e, uint32_t field)
{
	uint32_t tag = pb_tag(field, PB_WIRE_BYTES);
	struct pb_nest *n = &e->nest[e->depth];

	assert(e->depth < PB_MAX_DEPTH);
	if (pb_enc_has_room(e, PB_SIMPLE_FIELD))
		e->cur = pb_put_varint(e->cur, tag);
	else
		put_tag_slow(e, tag);
	n->size_field = e->cur;
	e->cur += PB_SIZE_FIELD;
	n->start = pb_enc_pos(e);
	e->depth++;
}

void pb_enc_close(struct pb_enc *e)
{
	struct pb_nest *n;
	uint64_t size;
	uint8_t *f;

	assert(e->depth > 0);
	n = &e->nest[--e->depth];
	size = pb_enc_pos(e) - n->start;
	f = n->size_field;
	assert(size <= PB_MAX_MESSAGE);
	if (size < 0x80 && f >= e->begin && f < e->cur) {
		/* The message is completely in this range: one byte suffices, and the message moves
		 * back over the other three. */
		f[0] = (uint8_t)size;
		memmove(f + 1, f + PB_SIZE_FIELD, size);
		e->cur -= PB_SIZE_FIELD - 1;
		return;
	}
	pb_put_varint4(f, (uint32_t)size);
}

/*
 * A sink with one growing range. It always contains all open length fields, so every short message
 * is compacted.
 */

#define MEM_FIRST 512

/* Grows the range instead of starting a new one; the open length fields move with it. */
static void mem_refill(struct pb_enc *e)
{
	struct pb_mem *m = container_of(e, struct pb_mem, enc);
	size_t used = (size_t)(e->cur - e->begin), cap = (size_t)(e->end - e->begin) * 2;
	uint8_t *buf;

	if (m->failed || !(buf = realloc(m->buf, cap))) {
		/* Overwrite the same bytes repeatedly; they are never read. */
		m->failed = true;
		e->cur = e->begin;
		for (unsigned i = 0; i < e->depth; i++) {
			e->nest[i].size_field = m->scratch;
			e->nest[i].start = 0;
		}
		return;
	}
	for (unsigned i = 0; i < e->depth; i++)
		e->nest[i].size_field = buf + (e->nest[i].size_field - e->begin);
	m->buf = e->begin = buf;
	e->cur = buf + used;
	e->end = buf + cap;
}

int pb_mem_init(struct pb_mem *m)
{
	uint8_t *buf = malloc(MEM_FIRST);

	if (!buf)
		return -ENOMEM;
	m->buf = buf;
	m->failed = false;
	pb_enc_init(&m->enc, buf, buf + MEM_FIRST, mem_refill);
	return 0;
}

void pb_mem_deinit(struct pb_mem *m)
{
	free(m->buf);
	m->buf = NULL;
}

void pb_mem_reset(struct pb_mem *m)
{
	pb_enc_init(&m->enc, m->buf, m->enc.end, mem_refill);
	m->failed = false;
}
