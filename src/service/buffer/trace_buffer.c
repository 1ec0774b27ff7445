/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "service/buffer/buffer_sequences.h"

/*
 * How the trace buffer works.
 *
 *   ring       | A5 | B2 | A6 |  free  | A3 | free run | A4 | C9 | padding |
 *                ^    ^    ^    ^ wr     ^ old           ^
 *                |    |    |             |               |
 *   sequence A   refs: 3 4 5 6 (unread records by chunk id), last read: chunk 2, loss so far
 *   sequence B   refs: 2
 *
 * The ring holds what was committed, in that order; each record is a chunk, or a piece of one,
 * trimmed to its whole fragments. A record names its sequence, and the sequence lists its unread
 * records in the order of chunk ids, which is nearly always the order in the ring.
 *
 * Committing copies a chunk once, behind wr, and drops the oldest records to have the space.
 * Reading goes through the ring from the oldest record on, and at each record reads the sequence
 * of it up to there, and further as far as a packet goes on. Packets are given out as slices of
 * the ring. Records with nothing left unread become free runs, which are passed in one step.
 *
 *   trace_buffer_ring.c       laps, free runs, room           no idea of packets
 *   trace_buffer_refs.c       the array of refs
 *   trace_buffer_seq.c        sequences: by key, by slot, those without records
 *   trace_buffer_consume.c    records leave a sequence: read or overwritten; what is lost
 *   trace_buffer_commit.c     a chunk comes in: what of it is new
 *   trace_buffer_intake.c     the copy, and the check of the copy
 *   trace_buffer_patch.c      4 bytes of it change
 *   trace_buffer_read.c       packets go out
 *   trace_buffer_clone.c      the same once more
 */

#define MAX_SIZE UINT32_MAX
#define PAGE 4096u
#define FIRST_SLICES 16u

const int64_t trace_buffer_histogram_thresholds[TRACE_BUFFER_HISTOGRAM_THRESHOLDS] = {
	8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384,
};

void tb_histogram_add(struct trace_buffer_histogram *h, int64_t value)
{
	unsigned i = 0;

	while (i < TRACE_BUFFER_HISTOGRAM_THRESHOLDS &&
	       value > trace_buffer_histogram_thresholds[i])
		i++;
	h->counts[i]++;
	h->sums[i] += value;
}

static void freebp(struct trace_buffer **b)
{
	trace_buffer_free(*b);
}

int trace_buffer_new(size_t size, enum trace_buffer_policy policy, struct trace_buffer **ret)
{
	_cleanup_(freebp) struct trace_buffer *b = NULL;
	int err;

	if (size == 0 || size > MAX_SIZE)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	tb_seqs_init(b);
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
	tb_seqs_deinit(b);
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

/*
 * How it works: records name their sequence by slot, refs name records by offset, so a clone is the
 * used bytes of the ring as they are, and the sequences in the same slots.
 *
 *   ring     |0 ... wr|  not copied  |old ... old_end|  not copied |
 *
 * Nearly all of the time goes into the memory of the copy, which the kernel zeroes first.
 */

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(seq) ((void)(seq))

static void copy_ring(const struct tb_ring *from, struct tb_ring *to)
{
	memcpy(to->base, from->base, from->wr);
	if (from->old < from->old_end)
		memcpy(to->base + from->old, from->base + from->old, from->old_end - from->old);
	to->lap = from->lap;
	to->wr = from->wr;
	to->old = from->old;
	to->old_end = from->old_end;
}

/* ---- sequences ---- */

/* Into the next slot. */
static int copy_seq(const struct tb_seq *from, struct tb_seqs *t)
{
	_cleanup_(freep) struct tb_seq *s = malloc(sizeof(*s));

	if (!s)
		return -1;
	*s = *from;
	s->hh.tbl = NULL;
	if (tb_refs_copy(&from->refs, &s->refs) < 0)
		return -1;
	if (s->refs.n == 0) {
		TAILQ_INSERT_TAIL(&t->empty, s, empty_link);
		t->n_empty++;
	}
	t->slots[t->n_slots++].seq = TAKE_PTR(s);
	t->n++;
	return 0;
}

/* is_free says which slots of the source hold no sequence. */
static int copy_slots(const struct tb_seqs *from, const uint8_t *is_free, struct tb_seqs *to)
{
	for (size_t i = 1; i < from->n_slots; i++) {
		if (is_free[i]) {
			to->slots[i].next_free = to->free_slot;
			to->free_slot = i;
			to->n_slots++;
		} else if (copy_seq(from->slots[i].seq, to) < 0) {
			return -1;
		}
	}
	return 0;
}

static int copy_keys(const struct tb_seqs *from, struct tb_seqs *to)
{
	for (const struct tb_seq *s = from->by_key; s; s = s->hh.next) {
		struct tb_seq *copy = to->slots[s->slot].seq;

		HASH_ADD(hh, to->by_key, key, sizeof(copy->key), copy);
		if (!copy->hh.tbl)
			return -1;
	}
	return 0;
}

/* They were inserted by slot; those that were emptied first are to go first. */
static void order_empty(const struct tb_seqs *from, struct tb_seqs *to)
{
	const struct tb_seq *s;

	TAILQ_INIT(&to->empty);
	TAILQ_FOREACH (s, &from->empty, empty_link)
		TAILQ_INSERT_TAIL(&to->empty, to->slots[s->slot].seq, empty_link);
}

static int copy_seqs(const struct tb_seqs *from, struct tb_seqs *to)
{
	_cleanup_(freep) uint8_t *is_free = calloc(from->n_slots, 1);

	if (!is_free ||
	    array_reserve(&to->slots, &to->cap_slots, from->n_slots, sizeof(*to->slots)) < 0)
		return -1;
	for (uintptr_t i = from->free_slot; i; i = from->slots[i].next_free)
		is_free[i] = 1;
	if (copy_slots(from, is_free, to) < 0 || copy_keys(from, to) < 0)
		return -1;
	order_empty(from, to);
	return 0;
}

/* ---- the buffer ---- */

int trace_buffer_clone(const struct trace_buffer *b, struct trace_buffer **ret)
{
	_cleanup_(freebp) struct trace_buffer *clone = NULL;
	int r = trace_buffer_new(b->ring.size, b->policy, &clone);

	if (r < 0)
		return r;
	if (copy_seqs(&b->seqs, &clone->seqs) < 0)
		return -ENOMEM;
	copy_ring(&b->ring, &clone->ring);
	clone->refusing = b->refusing;
	clone->n_unread = b->n_unread;
	clone->cursor = b->cursor;
	clone->rewind = b->rewind;
	clone->stats = b->stats;
	clone->stats.readaheads_succeeded = 0;
	clone->stats.readaheads_failed = 0;
	*ret = TAKE_PTR(clone);
	return 0;
}

int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret)
{
	return trace_buffer_new(b->ring.size, b->policy, ret);
}
