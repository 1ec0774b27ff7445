/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "service/buffer/buffer_store.h"

/*
 * Records refer to their sequence by slot, and refs refer to records by offset. So a clone consists
 * of the used bytes of the ring, unchanged, and of copies of the sequences in the same slots:
 *
 *   ring       |0 ... wr|  not copied  |old ... old_end|  not copied |
 *   sequences  slot 1, 2 ...: each with its refs
 *   keys       in the order of the source
 *   empty      the sequences without records, in the order of the source
 *
 * While a buffer is copied, the chunks that producers complete wait in their shared memory. So
 * copying must be quick. Most of its time would go to page faults in the new memory, which the
 * kernel zeroes first. These faults are taken beforehand, in parts (trace_buffer_clone_prepare()).
 * Then a copy of 256 MB takes about 20 ms.
 */

#define PAGE 4096u

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(seq) ((void)(seq))

static void copy_ring_contents(const struct tb_ring *from, struct tb_ring *to)
{
	to->lap = from->lap;
	to->wr = from->wr;
	to->old = from->old;
	to->old_end = from->old_end;
	memcpy(to->base, from->base, from->wr);
	memcpy(to->base + from->old, from->base + from->old, from->old_end - from->old);
}

static struct tb_seq *copy_sequence(const struct tb_seq *from)
{
	struct tb_seq *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	*s = *from;
	s->hh.tbl = NULL;
	s->refs = (struct tb_refs){0};
	if (tb_refs_copy(&from->refs, &s->refs) < 0) {
		free(s);
		return NULL;
	}
	return s;
}

/* Copies the sequences of `from` to `to`, which has none. Returns 0, or -ENOMEM with only some of
 * them in `to`. */
static int copy_sequences(const struct tb_seqs *from, struct tb_seqs *to)
{
	const struct tb_seq *s;

	if (array_reserve(&to->slots, &to->cap_slots, from->n_slots, sizeof(*to->slots)) < 0)
		return -ENOMEM;
	for (; to->n_slots < from->n_slots; to->n_slots++) {
		union tb_slot slot = from->slots[to->n_slots];

		if (!tb_slot_is_free(slot)) {
			slot.seq = copy_sequence(slot.seq);
			if (!slot.seq)
				return -ENOMEM;
		}
		to->slots[to->n_slots] = slot;
	}
	for (s = from->by_key; s; s = s->hh.next) {
		struct tb_seq *copy = to->slots[s->slot].seq;

		HASH_ADD(hh, to->by_key, key, sizeof(copy->key), copy);
		if (!copy->hh.tbl)
			return -ENOMEM;
	}
	TAILQ_FOREACH (s, &from->empty, empty_link)
		TAILQ_INSERT_TAIL(&to->empty, to->slots[s->slot].seq, empty_link);
	to->free_slot = from->free_slot;
	to->n = from->n;
	to->n_empty = from->n_empty;
	return 0;
}

bool trace_buffer_clone_prepare(const struct trace_buffer *b, struct trace_buffer *to,
				size_t *offset, size_t bytes)
{
	const struct tb_ring *r = &b->ring;
	size_t used = r->lap > 0 ? r->size : r->wr;
	size_t end = *offset + MIN(bytes, used - MIN(used, *offset));

	for (; *offset < end; *offset += PAGE)
		((volatile uint8_t *)to->ring.base)[*offset] = 0;
	return *offset >= used;
}

int trace_buffer_clone(const struct trace_buffer *b, struct trace_buffer *to)
{
	int r = copy_sequences(&b->seqs, &to->seqs);

	if (r < 0)
		return r;
	copy_ring_contents(&b->ring, &to->ring);
	to->refusing = b->refusing;
	to->n_unread = b->n_unread;
	to->cursor = b->cursor;
	to->rewind = b->rewind;
	to->stats = b->stats;
	to->stats.readaheads_succeeded = 0;
	to->stats.readaheads_failed = 0;
	return 0;
}
