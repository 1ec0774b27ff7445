/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer_seq.h"

#include <assert.h>

/*
 * How it works: a record leaves its sequence always at the head, in the order of chunk ids, either
 * read to its end or dropped because the writing needs its space. Then the sequence notes how far
 * it is (last_*), what is missing (loss), and the record becomes a free run in the ring.
 *
 *      refs   | 5 | 7 | 8 |        last_id 4, complete
 *               ^ head: 5 follows 4. When it has left, 7 does not follow 5: READ_GAP.
 */

static bool follows(const struct tb_seq *s, const struct tb_record *rec)
{
	return rec->chunk_id == s->last_id || (rec->chunk_id == s->last_id + 1 && s->last_complete);
}

void tb_seq_enter(struct tb_seq *s, const struct tb_record *rec)
{
	if (!s->has_last || !follows(s, rec)) {
		s->loss |= s->has_last ? DATA_LOSS_READ_GAP : 0;
		s->run_start = rec->chunk_id;
	}
	s->has_last = true;
	s->last_id = rec->chunk_id;
	s->last_complete = false;
}

static uint32_t loss_after(const struct tb_record *rec)
{
	return (rec->flags & TB_CORRUPTED ? DATA_LOSS_CHUNK_CORRUPTED : 0) |
	       (rec->flags & TB_ABORTED ? DATA_LOSS_WRITER_ABORT : 0);
}

static void leave_head(struct trace_buffer *b, struct tb_seq *s)
{
	struct tb_record *rec = tb_seq_record(b, s, 0);

	if (rec->read == 0)
		tb_seq_enter(s, rec);
	s->loss |= loss_after(rec);
	s->last_complete = rec->flags & TB_COMPLETE;
	s->last_frags = rec->frags;
	s->last_bytes = (uint16_t)(rec->base + rec->used);
	tb_seq_pop(b, s);
	b->n_unread--;
	rec->chunk_id = (uint32_t)(tb_stride(rec->used) / TB_UNIT);
	rec->seq = 0;
}

void tb_seq_finish_head(struct trace_buffer *b, struct tb_seq *s)
{
	const struct tb_record *rec = tb_seq_record(b, s, 0);

	/* A chunk is counted once, with its first record. */
	b->stats.chunks_read += rec->base == 0;
	b->stats.bytes_read += tb_stride(rec->used);
	leave_head(b, s);
}

static void overwrite_head(struct trace_buffer *b, struct tb_seq *s)
{
	const struct tb_record *rec = tb_seq_record(b, s, 0);

	b->stats.chunks_overwritten += rec->base == 0;
	b->stats.bytes_overwritten += tb_stride(rec->used);
	if (rec->read < rec->used)
		s->loss |= DATA_LOSS_OVERWRITE;
	leave_head(b, s);
}

void tb_seq_overwrite(struct trace_buffer *b, struct tb_record *rec)
{
	struct tb_seq *s = tb_seq_of(b, rec);

	/* Those with lower ids, which came late and lie later in the ring, go as well: the sequence
	 * cannot go back to them from here. */
	while (rec->seq)
		overwrite_head(b, s);
	tb_seq_wake(b, s);
}
