/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "service/buffer/buffer_internal.h"

/*
 * The parts of the trace buffer.
 *
 *   ring       | A5 | B2 | A6 |  free  | A3 | free run | A4 | C9 | padding |
 *                ^    ^    ^    ^ wr     ^ old           ^
 *                |    |    |             |               |
 *   sequence A   refs: 3 4 5 6 (unread records by chunk id), last read: chunk 2, loss so far
 *   sequence B   refs: 2
 *
 * The ring holds the committed data in the order of the commits. A record is a chunk or a part of a
 * chunk, trimmed to whole fragments. It refers to its sequence. The sequence lists its unread
 * records in the order of chunk ids, which is nearly always the order in the ring.
 *
 * A commit copies a chunk once, to wr, and drops the oldest records to make room. The reader walks
 * the ring from the oldest record on. At each record it reads the record's sequence up to that
 * record, and further if a packet continues. Packets are returned as slices of the ring. A record
 * without unread data becomes a free run; adjacent free runs are skipped in one step.
 *
 *   buffer_ring.c        laps, free runs, room; does not look into records
 *   chunk_index.c        the array of refs
 *   buffer_sequences.c   sequences: by key, by slot, and those without records
 *   buffer_write.c       commits and patches: finds the new part of a chunk
 *   chunk_copy.c         copies a chunk and checks the copy
 *   buffer_read.c        reads packets, removes records from a sequence, notes losses
 *   buffer_clone.c       copies the buffer
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

int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret)
{
	return trace_buffer_new(b->ring.size, b->policy, ret);
}
