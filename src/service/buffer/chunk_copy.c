/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/chunk_copy.h"

#include <string.h>

#include "service/buffer/buffer_internal.h"

/*
 * copy_nontemporal() is memcpy with non-temporal stores, for a destination that is not cached and
 * not read soon: whole cache lines are written without reading them first. If the destination is
 * cached, or is read soon, it is several times slower than memcpy. It is fastest if dst begins and
 * ends at a multiple of COPY_FAR_LINE; src should be cached.
 *
 * This thread sees the bytes as after memcpy. Another thread sees them after it has observed a
 * later locked instruction (a lock, an atomic exchange) or system call of this one.
 */
#define COPY_FAR_LINE 64u

#ifdef __SSE2__
#include <emmintrin.h>

bool copy_far_is_there(void)
{
	return true;
}

static void copy_lines(uint8_t *dst, const uint8_t *src, size_t n)
{
	const __m128i *from = (const __m128i *)src;
	__m128i *to = (__m128i *)dst;

	for (; n > 0; n--, from += 4, to += 4) {
		__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1),
			c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

		/* One after the other: a line that was written in part is read first after all. */
		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
}

static void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t head = -(uintptr_t)dst & (COPY_FAR_LINE - 1), lines;

	if (len < head + COPY_FAR_LINE) {
		memcpy(dst, src, len);
		return;
	}
	lines = (len - head) / COPY_FAR_LINE;
	memcpy(dst, src, head);
	copy_lines(dst + head, src + head, lines);
	head += lines * COPY_FAR_LINE;
	memcpy(dst + head, src + head, len - head);
}

#else /* the instructions are in no other set that every processor of the family has */

bool copy_far_is_there(void)
{
	return false;
}

static void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len)
{
	memcpy(dst, src, len);
}

#endif

/*
 * How it works: the payload is copied part by part, and the fragments are counted in the copy,
 * which stops where they stop. So the source is passed over once, and what trails in it is neither
 * copied nor given space.
 *
 *      source    | size | fragment | size | fragment | size | frag...   unused ... |
 *                  copied ->   from ^   got ^    ^ counted up to here
 *      ring      | ... records | room | the copy      | old records
 *                              ^ wr
 *
 * A part is copied to the place where it will stay. But in a large ring that goes round this place
 * is in no cache: each line would be read before it is written, and the copy takes twice the time.
 * There a part goes to a window, is looked at in it, and from it past the caches to the ring.
 *
 * When the copy comes to the end of the memory before the fragments are all there, it moves to the
 * start of the memory and goes on.
 */

/* Bytes of the first part; then as much again as was copied, so that few large copies make a full
 * chunk, and of an empty one not more than twice what is there is touched. In a small ring less:
 * the space is taken from the oldest records, needed or not. */
#define MAX_PART 4096u
#define MIN_PART 64u
#define PARTS_IN_RING 64u

#define MAX_SIZE_FIELD 10u

/* ---- the copy ---- */

struct intake {
	struct trace_buffer *b;
	const uint8_t *src; /* may change at any time: each byte is read once */
	size_t len;
	size_t from, got; /* the bytes of the last part; earlier parts are in the ring */
	uint8_t *part; /* where they are: in the ring or in the window */
	uint8_t *window; /* of MAX_PART bytes; NULL: none */
};

/* Where byte i of the source belongs in the ring. */
static uint8_t *place_of(const struct intake *in, size_t i)
{
	return in->b->ring.base + in->b->ring.wr + TB_RECORD_HEADER + i;
}

/* Wraps to the start of the memory and moves the copied bytes there. */
static void move_to_start(struct intake *in)
{
	size_t stored = in->window ? in->from : in->got;
	uint8_t *before = place_of(in, 0);

	tb_ring_wrap(in->b);
	tb_ring_make_room(in->b, TB_RECORD_HEADER + stored);
	memmove(place_of(in, 0), before, stored);
}

/* Makes room for a record with the first n bytes. */
static enum tb_intake reserve(struct intake *in, size_t n)
{
	struct tb_ring *r = &in->b->ring;

	if (n > r->size - TB_RECORD_HEADER)
		return TB_INTAKE_TOO_LARGE;
	if (in->b->policy == TRACE_BUFFER_DISCARD) {
		if (TB_RECORD_HEADER + n > tb_room_left(in->b))
			return TB_INTAKE_FULL;
	} else if (r->wr + TB_RECORD_HEADER + n > r->size) {
		move_to_start(in);
	}
	tb_ring_make_room(in->b, r->wr + TB_RECORD_HEADER + n);
	return TB_INTAKE_OK;
}

/* Copies the bytes of the window, up to n, to the ring. */
static void empty_window(struct intake *in, size_t n)
{
	if (in->window && n > in->from)
		copy_nontemporal(place_of(in, in->from), in->window, n - in->from);
}

/* A part that ends with a line of the ring. */
static size_t part_in_window(const struct intake *in)
{
	return MAX_PART - ((uintptr_t)place_of(in, in->got) & (COPY_FAR_LINE - 1));
}

/* At least until byte `upto`, for which there is room. */
static size_t part_in_ring(struct intake *in, size_t upto)
{
	struct tb_ring *r = &in->b->ring;
	size_t first = MAX(MIN_PART, MIN(r->size / PARTS_IN_RING, MAX_PART));
	size_t n = MIN(MAX(upto - in->got, MAX(in->got, first)), in->len - in->got);

	n = MIN(n, r->size - r->wr - TB_RECORD_HEADER - in->got);
	tb_ring_make_room(in->b, r->wr + TB_RECORD_HEADER + in->got + n);
	return n;
}

static void take_part(struct intake *in, size_t upto)
{
	size_t n = in->window ? MIN(part_in_window(in), in->len - in->got) : part_in_ring(in, upto);

	empty_window(in, in->got);
	in->part = in->window ? in->window : place_of(in, in->got);
	memcpy(in->part, in->src + in->got, n);
	/* The check must see the bytes that are stored, so the source is not read again. */
	__asm__ volatile("" ::: "memory");
	in->from = in->got;
	in->got += n;
}

/* Copies until at least `upto` bytes are there. */
static enum tb_intake pull(struct intake *in, size_t upto)
{
	enum tb_intake r;

	if (upto > in->len)
		return TB_INTAKE_SHORT;
	r = reserve(in, upto);
	while (r == TB_INTAKE_OK && in->got < upto)
		take_part(in, upto);
	return r;
}

static inline enum tb_intake need(struct intake *in, size_t upto)
{
	return upto <= in->got ? TB_INTAKE_OK : pull(in, upto);
}

/* ---- the fragments in the copy ---- */
/* Byte *off was not looked at yet, so it is in the last part, or in none. */

/* The size in front of a fragment at *off, and *off goes behind it. Up to 10 bytes, so that
 * redundant forms are understood. */
static enum tb_intake take_size(struct intake *in, size_t *off, uint64_t *ret)
{
	uint64_t v = 0;

	if (*off + SMB_PACKET_HEADER <= in->got &&
	    tb_size_of_4(in->part + (*off - in->from), ret)) {
		*off += SMB_PACKET_HEADER;
		return TB_INTAKE_OK;
	}
	for (unsigned i = 0; i < MAX_SIZE_FIELD; i++) {
		enum tb_intake r = need(in, *off + 1);
		uint8_t byte;

		if (r != TB_INTAKE_OK)
			return r;
		byte = in->part[(*off)++ - in->from];
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
	uint8_t window[MAX_PART];
	struct intake in = {
		.b = b,
		.src = untrusted_src,
		.len = len,
		.window = tb_ring_is_far(&b->ring) ? window : NULL,
	};
	enum tb_intake r = TB_INTAKE_OK, room;
	size_t used = 0;

	for (unsigned i = 0; i < n && r == TB_INTAKE_OK; i++)
		r = take_fragment(&in, &used);
	*ret_used = used;
	if (r == TB_INTAKE_TOO_LARGE || r == TB_INTAKE_FULL)
		return r;
	room = reserve(&in, used);
	if (room != TB_INTAKE_OK)
		return room;
	empty_window(&in, used);
	return r;
}
