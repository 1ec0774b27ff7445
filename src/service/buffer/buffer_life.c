/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "service/buffer/buffer_backlog.h"
#include "service/buffer/buffer_clone.h"
#include "service/buffer/buffer_internal.h"

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
 *   buffer_ring.c        laps, free runs, room: knows nothing of packets
 *   chunk_index.c        the array of refs
 *   buffer_sequences.c   sequences: by key, by slot, those without records
 *   buffer_write.c       commits and patches: what of a chunk is new
 *   chunk_copy.c         the copy of a chunk, and the check of the copy
 *   buffer_read.c        packets are read; records leave a sequence; losses
 *   buffer_clone.c       a copy of the buffer, in time slices
 *   buffer_backlog.c     operations that wait until such a copy is done
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
	STAILQ_INIT(&b->backlog);
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
	tb_clone_leave(b);
	tb_backlog_drop(b);
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
	for (const struct tb_seq *s = tb_clone_sequences(b)->by_key; s; s = s->hh.next)
		fn(ctx, &s->writer, &s->histogram);
}

int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret)
{
	return trace_buffer_new(b->ring.size, b->policy, ret);
}
