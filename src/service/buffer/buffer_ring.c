/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_record.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/buffer/chunk_copy.h"
#include "service/buffer/buffer_internal.h"

/*
 * How it works: the memory of one buffer, as laps.
 *
 *   lap 0     | rec | rec | rec | never touched ............................ |
 *                               ^ wr                             old, old_end ^
 *   lap 1..   | rec | rec |  free   | rec of the lap before | rec | padding   |
 *                         ^ wr      ^ old                         ^ old_end   ^ size
 *
 * Records are written at wr, and what lies there of the lap before is dropped first, record by
 * record, so that `old` runs in front of wr. Where a record does not fit before the end, the rest
 * of the memory is padding, old_end remembers where it starts, and the writing goes on at 0 in
 * the next lap. So there is no record for padding or for the free part, and the oldest record is
 * at `old`, or, when the lap before is used up, at 0.
 *
 * A record whose packets have all been read becomes a free run: a header that says how far it is
 * to the next record. A reader that passes several runs joins them into the first one, so that a
 * later one passes them in one step.
 *
 * Where all has been read, the writing begins again at 0; and where nearly all has, too: the few
 * records that wait for something go to the start. So who reads in time touches little more memory
 * than is written between two readings, and finds it in the caches.
 */

/*
 * Small pages cost more than the copy into them: a fault for each 4 KB of the first lap, and the
 * translation of addresses in every later one. Huge pages cost neither, but memory is then touched
 * in steps of 2 MB; so the first part is of small ones: who uses little does not take more.
 */
#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PART (2 * HUGE_PAGE)

/* A ring of this size is larger than the caches that its CPU has for itself: what was written a lap
 * ago is in none. Of 4 MB it still is, and would cost a fifth more to write past them. */
#define LARGE ((size_t)8 << 20)

/* A mapping of size bytes that begins at a multiple of HUGE_PAGE; NULL: no memory. */
static uint8_t *map_aligned(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), reserved, skip;
	uint8_t *p;

	size = (size + page - 1) & ~(page - 1); /* as munmap(2) will */
	reserved = size + HUGE_PAGE;
	p = mmap(NULL, reserved, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	skip = -(uintptr_t)p & (HUGE_PAGE - 1);
	if (skip)
		munmap(p, skip);
	if (reserved - skip > size)
		munmap(p + skip + size, reserved - skip - size);
	return p + skip;
}

int tb_ring_init(struct tb_ring *r, size_t size)
{
	uint8_t *p = map_aligned(size);

	if (!p)
		return -ENOMEM;
	if (size > SMALL_PART) /* where the kernel has none, it is slower */
		madvise(p + SMALL_PART, size - SMALL_PART, MADV_HUGEPAGE);
	*r = (struct tb_ring){
		.base = p,
		.size = size,
		.is_large = size >= LARGE && copy_far_is_there(),
		.old = size,
		.old_end = size,
	};
	return 0;
}

void tb_ring_deinit(struct tb_ring *r)
{
	if (r->base)
		munmap(r->base, r->size);
}

/* ---- places ---- */

static bool has_old(const struct tb_ring *r)
{
	return r->old < r->old_end;
}

tb_place tb_ring_place(const struct tb_ring *r, size_t offset)
{
	if (has_old(r) && offset >= r->old)
		return (r->lap - 1) * r->size + offset;
	return r->lap * r->size + offset;
}

/* The records that a place lies in, as offsets; moves a place behind the lap before to this lap. */
static void stretch_of(const struct tb_ring *r, tb_place *place, size_t *ret_offset,
		       size_t *ret_end)
{
	tb_place lap = r->lap * r->size;
	tb_place oldest = has_old(r) ? lap - r->size + r->old : lap;

	if (*place < oldest)
		*place = oldest;
	if (*place < lap && *place - (lap - r->size) >= r->old_end)
		*place = lap;
	if (*place < lap) {
		*ret_offset = (size_t)(*place - (lap - r->size));
		*ret_end = r->old_end;
	} else {
		*ret_offset = (size_t)(*place - lap);
		*ret_end = r->wr;
	}
}

/* Bytes from a free run to the record after it, or to end; joins it with the runs that follow. */
static size_t free_run(const struct tb_ring *r, struct tb_record *run, size_t offset, size_t end)
{
	size_t next = offset + (size_t)run->chunk_id * TB_UNIT;

	while (next < end && !tb_record_at(r, next)->seq)
		next += (size_t)tb_record_at(r, next)->chunk_id * TB_UNIT;
	run->chunk_id = (uint32_t)((next - offset) / TB_UNIT);
	return next - offset;
}

struct tb_record *tb_ring_seek(struct tb_ring *r, tb_place *place)
{
	for (;;) {
		struct tb_record *rec;
		size_t offset, end;

		stretch_of(r, place, &offset, &end);
		if (offset >= end)
			return NULL;
		rec = tb_record_at(r, offset);
		if (rec->seq)
			return rec;
		*place += free_run(r, rec, offset, end);
	}
}

/* ---- making room ---- */

/* The previous lap is empty: its padding is dropped. */
static void end_old_lap(struct trace_buffer *b)
{
	struct tb_ring *r = &b->ring;

	b->stats.padding_bytes_cleared += r->size - r->old_end;
	r->old = r->old_end = r->size;
}

void tb_ring_make_room(struct trace_buffer *b, size_t limit)
{
	struct tb_ring *r = &b->ring;

	while (has_old(r) && r->old < limit) {
		struct tb_record *rec = tb_record_at(r, r->old);

		if (rec->seq)
			tb_seq_overwrite(b, rec);
		r->old += (size_t)rec->chunk_id * TB_UNIT;
		if (r->old >= r->old_end)
			end_old_lap(b);
	}
	/* The next header to be looked at was written a lap ago: it comes while we copy. */
	if (has_old(r))
		__builtin_prefetch(tb_record_at(r, r->old));
}

void tb_ring_wrap(struct trace_buffer *b)
{
	struct tb_ring *r = &b->ring;

	tb_ring_make_room(b, r->size);
	assert(!has_old(r) && r->wr > 0);
	b->stats.padding_bytes_written += r->size - r->wr;
	b->stats.write_wrap_count++;
	r->old = 0;
	r->old_end = r->wr;
	r->wr = 0;
	r->lap++;
}

/* ---- the writing begins again ---- */

/* Bytes that must have been written since the last restart; in a small ring, this part of it. */
#define MIN_RESTART ((size_t)512 << 10)
#define RESTARTS_IN_RING 8
/* The unread records that a restart moves: at most this part of the bytes written, and this
 * many. */
#define MOVED_OF_WRITTEN 16
#define MAX_MOVED 64

/* Returns true if a restart moves little compared with what was written. */
static bool pays(const struct trace_buffer *b)
{
	const struct trace_buffer_stats *st = &b->stats;
	uint64_t unread = st->bytes_written - st->bytes_read - st->bytes_overwritten;

	if (b->n_unread == 0)
		return b->ring.wr > 0;
	return b->ring.wr >= MIN(MIN_RESTART, b->ring.size / RESTARTS_IN_RING) &&
	       b->n_unread <= MAX_MOVED && unread <= b->ring.wr / MOVED_OF_WRITTEN;
}

void tb_ring_restart(struct trace_buffer *b)
{
	struct tb_ring *r = &b->ring;
	tb_place place = 0;
	struct tb_record *rec;
	size_t to = 0;

	if (!pays(b))
		return;
	rec = tb_ring_seek(r, &place);
	if (rec && place < r->lap * r->size)
		return; /* something of the lap before: it would not lie in front of the others */
	if (has_old(r))
		end_old_lap(b);
	for (; rec; rec = tb_ring_seek(r, &place)) {
		size_t from = (size_t)((uint8_t *)rec - r->base), len = tb_stride(rec->used);

		tb_seq_moved(b, rec, from, to);
		memmove(r->base + to, rec, len);
		place += len;
		to += len;
	}
	/* A reader's place is of the lap before, and so goes to the start of this one. */
	r->wr = to;
	r->lap++;
}
