/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer_seq.h"

#include <errno.h>
#include <stdlib.h>

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

static void freebp(struct trace_buffer **b)
{
	trace_buffer_free(*b);
}

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
