/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_record.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/buffer/chunk_copy.h"
#include "service/buffer/buffer_internal.h"

/*
 * The memory of one buffer is written in laps:
 *
 *   lap 0     | rec | rec | rec | never touched ............................ |
 *                               ^ wr                             old, old_end ^
 *   lap 1..   | rec | rec |  free   | rec of previous lap   | rec | padding   |
 *                         ^ wr      ^ old                         ^ old_end   ^ size
 *
 * Records are written at wr. The records of the previous lap that lie there are dropped first, one
 * by one, so that `old` stays ahead of wr. If a record does not fit before the end, the rest of the
 * memory is padding: old_end keeps its start, and the next lap begins at 0. Padding and the free
 * part have no record. The oldest record is at `old`, or at 0 if no record of the previous lap
 * remains.
 *
 * A record whose packets have all been read becomes a free run: a header with the distance to the
 * next record. A reader that skips several runs joins them into the first one, so that the next
 * reader skips them in one step.
 *
 * If all records are read, the next one is written at 0. If nearly all are read, the few unread
 * records are moved to the start first. So a reader that keeps up touches little more memory than
 * is written between two reads, and this memory is in the caches.
 */

/*
 * Small pages cost more than the copy into them: a page fault for each 4 KB in the first lap, and
 * TLB misses in every later one. Huge pages avoid both, but use memory in steps of 2 MB. So the
 * first part has small pages, and a buffer that is little used takes little memory.
 */
#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PART (2 * HUGE_PAGE)

/* A ring of this size or more is larger than the private caches of a CPU: data of the previous lap
 * is in none of them. A ring of 4 MB still is in a cache; non-temporal copies cost a fifth more
 * there. */
#define LARGE ((size_t)8 << 20)

/* Returns a mapping of size bytes that begins at a multiple of HUGE_PAGE, or NULL if memory is
 * out. */
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
	if (size > SMALL_PART) /* best effort: without huge pages it is slower */
		madvise(p + SMALL_PART, size - SMALL_PART, MADV_HUGEPAGE);
	*r = (struct tb_ring){
		.base = p,
		.size = size,
		.is_large = size >= LARGE && copy_nontemporal_is_supported(),
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

/* Returns a place as an offset, with the end of the records of its lap. Moves a place before the
 * oldest record to that record, and a place behind the records of the previous lap to the current
 * lap. */
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

/* Joins a free run with the runs that follow. Returns its bytes, at most up to end. */
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

/* Drops the padding of the previous lap, which has no records any more. */
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
	/* The next header to be read was written a lap ago: load it during the copy. */
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

/* ---- restart at 0 ---- */

/* A restart that moves records needs this many bytes written since the last restart; in a small
 * ring, 1/RESTARTS_IN_RING of the ring. */
#define MIN_RESTART ((size_t)512 << 10)
#define RESTARTS_IN_RING 8
/* A restart moves at most 1/MOVED_OF_WRITTEN of the bytes written, and at most MAX_MOVED
 * records. */
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
		return; /* a record of the previous lap would no longer be before the others */
	if (has_old(r))
		end_old_lap(b);
	for (; rec; rec = tb_ring_seek(r, &place)) {
		size_t from = (size_t)((uint8_t *)rec - r->base), len = tb_stride(rec->used);

		tb_seq_moved(b, rec, from, to);
		memmove(r->base + to, rec, len);
		place += len;
		to += len;
	}
	/* A reader's place is of the previous lap now, and so moves to the start of this one. */
	r->wr = to;
	r->lap++;
}
