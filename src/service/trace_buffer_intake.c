/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace_buffer_intake.h"

#include <string.h>

#include "service/trace_buffer_seq.h"

/*
 * How it works: the payload is copied behind the write cursor, in the place where it will stay, and
 * the fragments are counted in the copy, which stops where they stop. So the source is passed over
 * once, and what trails in it is neither copied nor given space.
 *
 *      source    | size | fragment | size | fragment | size | frag...   unused ... |
 *                  copied in blocks ->   got ^    ^ counted up to here
 *      ring      | ... records | room |  dst: the copy       | old records
 *                              ^ wr
 *
 * When the copy comes to the end of the memory before the fragments are all there, it moves to the
 * start of the memory and goes on.
 */

/* Bytes copied at first; then as much again as was copied, so that few large copies make a full
 * chunk, and of an empty one not more than twice what is there is touched. In a small ring less:
 * the space is taken from the oldest records, needed or not. */
#define MAX_BLOCK 4096u
#define MIN_BLOCK 64u
#define BLOCKS_IN_RING 64u

#define MAX_SIZE_FIELD 10u

/* ---- the copy ---- */

struct intake {
	struct trace_buffer *b;
	const uint8_t *src; /* may change at any time: each byte is read once */
	size_t len;
	uint8_t *dst; /* in the ring, one record header after wr */
	size_t got; /* bytes of dst */
	size_t block;
};

static void intake_init(struct intake *in, struct trace_buffer *b, const void *src, size_t len)
{
	size_t block = b->ring.size / BLOCKS_IN_RING;

	*in = (struct intake){
		.b = b,
		.src = src,
		.len = len,
		.dst = b->ring.base + b->ring.wr + TB_RECORD_HEADER,
		.block = MAX(MIN_BLOCK, MIN(block, MAX_BLOCK)),
	};
}

/* Moves what was copied to the start of the memory. */
static void move_to_start(struct intake *in)
{
	struct tb_ring *r = &in->b->ring;
	uint8_t *from = in->dst;

	tb_ring_wrap(in->b);
	tb_ring_make_room(in->b, TB_RECORD_HEADER + in->got);
	in->dst = r->base + TB_RECORD_HEADER;
	memmove(in->dst, from, in->got);
}

/* Copies until at least `upto` bytes are there. */
static enum tb_intake pull(struct intake *in, size_t upto)
{
	struct tb_ring *r = &in->b->ring;
	size_t want = MAX(upto, in->got + MAX(in->got, in->block)), room;

	if (upto > in->len)
		return TB_INTAKE_SHORT;
	if (upto > r->size - TB_RECORD_HEADER)
		return TB_INTAKE_TOO_LARGE;
	if (r->wr + TB_RECORD_HEADER + upto > r->size) {
		if (in->b->policy == TRACE_BUFFER_DISCARD)
			return TB_INTAKE_FULL;
		move_to_start(in);
	}
	room = r->size - r->wr - TB_RECORD_HEADER;
	want = MIN(MIN(want, in->len), room);
	tb_ring_make_room(in->b, r->wr + TB_RECORD_HEADER + want);
	memcpy(in->dst + in->got, in->src + in->got, want - in->got);
	/* What is checked must be what was stored: nothing may be read from the source again. */
	__asm__ volatile("" ::: "memory");
	in->got = want;
	return TB_INTAKE_OK;
}

static inline enum tb_intake need(struct intake *in, size_t upto)
{
	return upto <= in->got ? TB_INTAKE_OK : pull(in, upto);
}

/* ---- the fragments in the copy ---- */

/* The size in front of a fragment at *off, and *off goes behind it. Up to 10 bytes, so that
 * redundant forms are understood. */
static enum tb_intake take_size(struct intake *in, size_t *off, uint64_t *ret)
{
	uint64_t v = 0;

	if (*off + SMB_PACKET_HEADER <= in->got && tb_size_of_4(in->dst + *off, ret)) {
		*off += SMB_PACKET_HEADER;
		return TB_INTAKE_OK;
	}
	for (unsigned i = 0; i < MAX_SIZE_FIELD; i++) {
		enum tb_intake r = need(in, *off + 1);
		uint8_t byte;

		if (r != TB_INTAKE_OK)
			return r;
		byte = in->dst[(*off)++];
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*ret = i == MAX_SIZE_FIELD - 1 && byte > 1 ? UINT64_MAX : v;
			return TB_INTAKE_OK;
		}
	}
	return TB_INTAKE_SHORT;
}

/* Moves *off over one whole fragment. */
static enum tb_intake take_fragment(struct intake *in, size_t *off)
{
	size_t body = *off;
	uint64_t size;
	enum tb_intake r = take_size(in, &body, &size);

	if (r != TB_INTAKE_OK)
		return r;
	if (size == SMB_DROP_PACKET)
		return TB_INTAKE_ABORTED;
	if (size > in->len - body)
		return TB_INTAKE_SHORT;
	r = need(in, body + (size_t)size);
	if (r == TB_INTAKE_OK)
		*off = body + (size_t)size;
	return r;
}

enum tb_intake tb_intake(struct trace_buffer *b, const void *untrusted_src, size_t len, unsigned n,
			 size_t *ret_used)
{
	struct intake in;
	enum tb_intake r;

	intake_init(&in, b, untrusted_src, n ? len : 0);
	r = pull(&in, 0);
	*ret_used = 0;
	for (unsigned i = 0; i < n && r == TB_INTAKE_OK; i++)
		r = take_fragment(&in, ret_used);
	return r;
}
