/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/buffer/copy_nontemporal.h"

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

/* Small pages cost more than the copy into them: a page fault for each 4 KB in the first lap, and
 * TLB misses in every later one. Huge pages avoid both, but use memory in steps of 2 MB. So the
 * first part has small pages, and a buffer that is little used takes little memory. */
#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PART (2 * HUGE_PAGE)

/* A ring of this size or more is larger than the private caches of a CPU: data of the previous lap
 * is in none of them. A ring of 4 MB still fits into a cache; non-temporal copies cost 20 % more
 * there. */
#define LARGE ((size_t)8 << 20)

/* Returns a mapping of size bytes that begins at a multiple of HUGE_PAGE, or NULL if there is no
 * memory. */
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

static int tb_ring_init(struct tb_ring *r, size_t size)
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

static void tb_ring_deinit(struct tb_ring *r)
{
	if (r->base)
		munmap(r->base, r->size);
}

/* ---- laps and free runs ---- */

/* Converts a position to an offset, and sets *ret_end to the end of the records of its lap. A
 * position before the oldest record is moved to that record, and one after the records of the
 * previous lap is moved to the current lap. */
static void tb_ring_locate(const struct tb_ring *r, tb_position *position, size_t *ret_offset,
			   size_t *ret_end)
{
	tb_position lap = r->lap * r->size;
	tb_position oldest = tb_ring_has_old(r) ? lap - r->size + r->old : lap;

	if (*position < oldest)
		*position = oldest;
	if (*position < lap && *position - (lap - r->size) >= r->old_end)
		*position = lap;
	if (*position < lap) {
		*ret_offset = (size_t)(*position - (lap - r->size));
		*ret_end = r->old_end;
	} else {
		*ret_offset = (size_t)(*position - lap);
		*ret_end = r->wr;
	}
}

/* Joins a free run with the runs that follow. Returns the size of the joined run, at most up to
 * end. */
static size_t join_free_runs(const struct tb_ring *r, struct tb_record *run, size_t offset,
			     size_t end)
{
	size_t next = offset + (size_t)run->chunk_id * TB_UNIT;

	while (next < end && !tb_record_at(r, next)->seq)
		next += (size_t)tb_record_at(r, next)->chunk_id * TB_UNIT;
	run->chunk_id = (uint32_t)((next - offset) / TB_UNIT);
	return next - offset;
}

struct tb_record *tb_ring_find_unread(struct tb_ring *r, tb_position *position)
{
	for (;;) {
		struct tb_record *rec;
		size_t offset, end;

		tb_ring_locate(r, position, &offset, &end);
		if (offset >= end)
			return NULL;
		rec = tb_record_at(r, offset);
		if (rec->seq)
			return rec;
		*position += join_free_runs(r, rec, offset, end);
	}
}

/* ---- making room ---- */

/* Drops the padding of the previous lap, which has no records any more. */
static void drop_padding_of_old_lap(struct trace_buffer *b)
{
	struct tb_ring *r = &b->ring;

	b->stats.padding_bytes_cleared += r->size - r->old_end;
	r->old = r->old_end = r->size;
}

void tb_ring_make_room(struct trace_buffer *b, size_t limit)
{
	struct tb_ring *r = &b->ring;

	while (tb_ring_has_old(r) && r->old < limit) {
		struct tb_record *rec = tb_record_at(r, r->old);

		if (rec->seq)
			tb_seq_drop_up_to(b, rec);
		r->old += (size_t)rec->chunk_id * TB_UNIT;
		if (r->old >= r->old_end)
			drop_padding_of_old_lap(b);
	}
	/* The next header to be read was written a lap ago: load it during the copy. */
	if (tb_ring_has_old(r))
		__builtin_prefetch(tb_record_at(r, r->old));
}

void tb_ring_wrap(struct trace_buffer *b)
{
	struct tb_ring *r = &b->ring;

	tb_ring_make_room(b, r->size);
	assert(!tb_ring_has_old(r) && r->wr > 0);
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
static bool ring_restart_is_cheap(const struct trace_buffer *b)
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
	tb_position position = 0;
	struct tb_record *rec;
	size_t to = 0;

	if (!ring_restart_is_cheap(b))
		return;
	rec = tb_ring_find_unread(r, &position);
	if (rec && position < r->lap * r->size)
		return; /* a record of the previous lap would no longer be before the others */
	if (tb_ring_has_old(r))
		drop_padding_of_old_lap(b);
	for (; rec; rec = tb_ring_find_unread(r, &position)) {
		size_t from = (size_t)((uint8_t *)rec - r->base), len = tb_stride(rec->used);

		tb_seq_update_ref(b, rec, from, to);
		memmove(r->base + to, rec, len);
		position += len;
		to += len;
	}
	/* The reader's position now belongs to the previous lap, so it moves to the start of this
	 * one. */
	r->wr = to;
	r->lap++;
}

/* ---- the life of a buffer ---- */

#define MAX_SIZE UINT32_MAX
#define PAGE 4096u
#define FIRST_SLICES 16u

DEFINE_DESTRUCTOR(struct trace_buffer *, trace_buffer_free)

int trace_buffer_new(size_t size, enum trace_buffer_policy policy, struct trace_buffer **ret)
{
	_cleanup_(trace_buffer_freep) struct trace_buffer *b = NULL;
	int err;

	if (size == 0 || size > MAX_SIZE)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	tb_seqs_init(&b->seqs);
	b->policy = policy;
	b->rewind = UINT64_MAX;
	err = array_reserve(&b->slices, &b->cap_slices, FIRST_SLICES, sizeof(*b->slices));
	if (err)
		return err;
	err = tb_ring_init(&b->ring, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
	if (err)
		return err;
	*ret = TAKE_PTR(b);
	return 0;
}

void trace_buffer_free(struct trace_buffer *b)
{
	if (!b)
		return;
	tb_seqs_deinit(&b->seqs);
	tb_ring_deinit(&b->ring);
	free(b->slices);
	free(b);
}

const struct trace_buffer_stats *trace_buffer_stats(const struct trace_buffer *b)
{
	return &b->stats;
}

size_t trace_buffer_size(const struct trace_buffer *b)
{
	return b->ring.size;
}

void trace_buffer_each_writer(const struct trace_buffer *b,
			      void (*fn)(void *ctx, const struct trace_buffer_writer *writer,
					 const struct trace_buffer_histogram *histogram),
			      void *ctx)
{
	for (const struct tb_seq *s = b->seqs.by_key; s; s = s->hh.next)
		fn(ctx, &s->writer, &s->histogram);
}

int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret)
{
	return trace_buffer_new(b->ring.size, b->policy, ret);
}
