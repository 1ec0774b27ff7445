/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/chunk_copy.h"

#include <string.h>

#include "service/buffer/buffer_store.h"
#include "service/buffer/copy_nontemporal.h"

/*
 * The payload is copied part by part. The fragments are counted in the copy, and the copy stops
 * behind the last one. So each byte of the source is read once, and its unused rest is neither
 * copied nor given space.
 *
 *      source    | size | fragment | size | fragment | size | frag...   unused ... |
 *                  copied ->   from ^   got ^    ^ counted up to here
 *      ring      | ... records | room | the copy      | old records
 *                              ^ wr
 *
 * Usually a part is copied directly into the ring. In a large ring that has wrapped, this memory
 * is in no cache: each line would be read before it is written, and the copy would take
 * twice the time. There a part is copied to a window on the stack, checked there, and copied from
 * there to the ring with non-temporal stores.
 *
 * If the copy reaches the end of the memory before it has all fragments, it is moved to the start
 * of the memory and continues there.
 */

/* Bytes of the first part. Each further part is as large as all earlier ones together, so that a
 * full chunk takes few copies, and at most twice the used bytes of a chunk are copied. In a small
 * ring parts are smaller, because the space for a part is taken from the oldest records. */
#define MAX_PART 4096u
#define MIN_PART 64u
#define PARTS_IN_RING 64u

#define MAX_SIZE_FIELD 10u

/* ---- the copy ---- */

struct chunk_copy {
	struct trace_buffer *b;
	const uint8_t *src; /* may change at any time: each byte is read once */
	size_t len;
	size_t from, got; /* range of the last part; earlier parts are in the ring */
	uint8_t *part; /* the last part: in the ring or in the window */
	uint8_t *window; /* of MAX_PART bytes; NULL: none */
};

/* Returns where byte i of the source goes in the ring. */
static uint8_t *chunk_copy_address_of(const struct chunk_copy *c, size_t i)
{
	return c->b->ring.base + c->b->ring.wr + TB_RECORD_HEADER + i;
}

/* Wraps to the start of the memory and moves the copied bytes there. */
static void move_to_start(struct chunk_copy *c)
{
	size_t stored = c->window ? c->from : c->got;
	uint8_t *before = chunk_copy_address_of(c, 0);

	tb_ring_wrap(c->b);
	tb_ring_make_room(c->b, TB_RECORD_HEADER + stored);
	memmove(chunk_copy_address_of(c, 0), before, stored);
}

/* Makes room for a record with the first n bytes. */
static enum tb_copy_result chunk_copy_reserve(struct chunk_copy *c, size_t n)
{
	struct tb_ring *r = &c->b->ring;

	if (n > r->size - TB_RECORD_HEADER)
		return TB_COPY_TOO_LARGE;
	if (c->b->policy == TRACE_BUFFER_DISCARD) {
		if (TB_RECORD_HEADER + n > tb_room_left(c->b))
			return TB_COPY_FULL;
	} else if (r->wr + TB_RECORD_HEADER + n > r->size) {
		move_to_start(c);
	}
	tb_ring_make_room(c->b, r->wr + TB_RECORD_HEADER + n);
	return TB_COPY_OK;
}

/* Copies the bytes of the window, up to n, to the ring. */
static void flush_window(struct chunk_copy *c, size_t n)
{
	if (c->window && n > c->from)
		copy_nontemporal(chunk_copy_address_of(c, c->from), c->window, n - c->from);
}

/* Returns the size of the next part, so that it ends at a cache line of the ring. */
static size_t window_part_size(const struct chunk_copy *c)
{
	return MAX_PART - ((uintptr_t)chunk_copy_address_of(c, c->got) & (COPY_CACHE_LINE - 1));
}

/* Returns the size of the next part and makes room for it. It reaches at least byte `upto`. */
static size_t reserve_ring_part(struct chunk_copy *c, size_t upto)
{
	struct tb_ring *r = &c->b->ring;
	size_t first = MAX(MIN_PART, MIN(r->size / PARTS_IN_RING, MAX_PART));
	size_t n = MIN(MAX(upto - c->got, MAX(c->got, first)), c->len - c->got);

	n = MIN(n, r->size - r->wr - TB_RECORD_HEADER - c->got);
	tb_ring_make_room(c->b, r->wr + TB_RECORD_HEADER + c->got + n);
	return n;
}

/* Copies the next part of the source, into the window if there is one, else into the ring. */
static void copy_next_part(struct chunk_copy *c, size_t upto)
{
	size_t n =
		c->window ? MIN(window_part_size(c), c->len - c->got) : reserve_ring_part(c, upto);

	flush_window(c, c->got);
	c->part = c->window ? c->window : chunk_copy_address_of(c, c->got);
	memcpy(c->part, c->src + c->got, n);
	/* The check must see the bytes that are stored, so the source is not read again. */
	__asm__ volatile("" ::: "memory");
	c->from = c->got;
	c->got += n;
}

/* Copies until at least `upto` bytes are copied. */
static enum tb_copy_result copy_up_to(struct chunk_copy *c, size_t upto)
{
	enum tb_copy_result r;

	if (upto > c->len)
		return TB_COPY_SHORT;
	r = chunk_copy_reserve(c, upto);
	while (r == TB_COPY_OK && c->got < upto)
		copy_next_part(c, upto);
	return r;
}

static inline enum tb_copy_result ensure_copied(struct chunk_copy *c, size_t upto)
{
	return upto <= c->got ? TB_COPY_OK : copy_up_to(c, upto);
}

/* ---- the fragments in the copy ---- */
/* The functions below read forward only, so byte *off is in the last part or not copied yet. */

/* Reads the size of a fragment at *off and advances *off. It accepts redundant forms of up to 10
 * bytes. */
static enum tb_copy_result read_fragment_size(struct chunk_copy *c, size_t *off, uint64_t *ret)
{
	uint64_t v = 0;

	if (*off + SMB_PACKET_HEADER <= c->got && tb_size_of_4(c->part + (*off - c->from), ret)) {
		*off += SMB_PACKET_HEADER;
		return TB_COPY_OK;
	}
	for (unsigned i = 0; i < MAX_SIZE_FIELD; i++) {
		enum tb_copy_result r = ensure_copied(c, *off + 1);
		uint8_t byte;

		if (r != TB_COPY_OK)
			return r;
		byte = c->part[(*off)++ - c->from];
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*ret = i == MAX_SIZE_FIELD - 1 && byte > 1 ? UINT64_MAX : v;
			return TB_COPY_OK;
		}
	}
	return TB_COPY_SHORT;
}

/* Reads one whole fragment and advances *off. */
static enum tb_copy_result read_fragment(struct chunk_copy *c, size_t *off)
{
	size_t body = *off;
	uint64_t size;
	enum tb_copy_result r = read_fragment_size(c, &body, &size);

	if (r != TB_COPY_OK)
		return r;
	if (size == SMB_DROP_PACKET)
		return TB_COPY_ABORTED;
	if (size > c->len - body)
		return TB_COPY_SHORT;
	r = ensure_copied(c, body + (size_t)size);
	if (r == TB_COPY_OK)
		*off = body + (size_t)size;
	return r;
}

enum tb_copy_result tb_chunk_copy(struct trace_buffer *b, const void *untrusted_src, size_t len,
				  unsigned n, size_t *ret_used)
{
	uint8_t window[MAX_PART];
	struct chunk_copy c = {
		.b = b,
		.src = untrusted_src,
		.len = len,
		.window = tb_ring_is_uncached(&b->ring) ? window : NULL,
	};
	enum tb_copy_result r = TB_COPY_OK, room;
	size_t used = 0;

	for (unsigned i = 0; i < n && r == TB_COPY_OK; i++)
		r = read_fragment(&c, &used);
	*ret_used = used;
	if (r == TB_COPY_TOO_LARGE || r == TB_COPY_FULL)
		return r;
	room = chunk_copy_reserve(&c, used);
	if (room != TB_COPY_OK)
		return room;
	flush_window(&c, used);
	return r;
}
