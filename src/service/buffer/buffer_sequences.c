/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * A record in the ring refers to its sequence by slot number. A commit finds the sequence of its
 * writer by key. A sequence is kept while it has unread records. Then it is kept while it is one of
 * those that became empty last, because it stores which chunks were read and what was lost since.
 *
 *      key -- by_key --> tb_seq <--- slots[n] <--- record
 *                         |  empty: oldest ... newest
 *                         refs --> its records, by chunk id
 */

/* Above EMPTY_MAX sequences without unread records, the oldest are freed, down to EMPTY_KEPT. */
#define EMPTY_KEPT 1024u
#define EMPTY_MAX 1152u
/* A sequence without records keeps its array of refs, unless it is larger than this. */
#define REFS_KEPT 1024u

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(seq) ((void)(seq))

static uint32_t buffer_sequences_key_of(uint16_t producer_id, uint16_t writer_id)
{
	return (uint32_t)producer_id << 16 | writer_id;
}

struct tb_seq *tb_seq_find(const struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id)
{
	uint32_t key = buffer_sequences_key_of(producer_id, writer_id);
	struct tb_seq *s;

	HASH_FIND(hh, b->seqs.by_key, &key, sizeof(key), s);
	return s;
}

/* ---- slots ---- */

static int tb_seq_slot_assign(struct tb_seqs *t, struct tb_seq *s)
{
	if (t->free_slot) {
		s->slot = (uint32_t)t->free_slot;
		t->free_slot = t->slots[s->slot].next_free >> 1;
	} else {
		if (array_reserve(&t->slots, &t->cap_slots, t->n_slots + 1, sizeof(*t->slots)))
			return -ENOMEM;
		s->slot = (uint32_t)t->n_slots++;
	}
	t->slots[s->slot].seq = s;
	return 0;
}

static void tb_seq_slot_free(struct tb_seqs *t, uint32_t slot)
{
	t->slots[slot].next_free = t->free_slot << 1 | 1;
	t->free_slot = slot;
}

/* ---- life ---- */

static void add_to_empty_list(struct tb_seqs *t, struct tb_seq *s)
{
	TAILQ_INSERT_TAIL(&t->empty, s, empty_link);
	t->n_empty++;
	s->unordered = false;
	if (s->refs.cap > REFS_KEPT)
		tb_refs_deinit(&s->refs);
}

static void remove_from_empty_list(struct tb_seqs *t, struct tb_seq *s)
{
	TAILQ_REMOVE(&t->empty, s, empty_link);
	t->n_empty--;
}

static struct tb_seq *tb_seq_new(struct tb_seqs *t, const struct trace_buffer_writer *writer)
{
	_cleanup_(freep) struct tb_seq *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->writer = *writer;
	s->key = buffer_sequences_key_of(writer->producer_id, writer->writer_id);
	if (tb_seq_slot_assign(t, s))
		return NULL;
	HASH_ADD(hh, t->by_key, key, sizeof(s->key), s);
	if (!s->hh.tbl) {
		tb_seq_slot_free(t, s->slot);
		return NULL;
	}
	t->n++;
	add_to_empty_list(t, s);
	return TAKE_PTR(s);
}

/* Removes the key of a sequence whose writer has ended, so that a later writer can use it. */
static void tb_seq_remove_key(struct tb_seqs *t, struct tb_seq *s)
{
	HASH_DELETE(hh, t->by_key, s);
	s->hh.tbl = NULL;
}

static void tb_seq_free(struct tb_seqs *t, struct tb_seq *s)
{
	if (s->hh.tbl)
		tb_seq_remove_key(t, s);
	if (s->refs.n == 0)
		remove_from_empty_list(t, s);
	tb_seq_slot_free(t, s->slot);
	t->n--;
	tb_refs_deinit(&s->refs);
	free(s);
}

struct tb_seq *tb_seq_get(struct trace_buffer *b, const struct trace_buffer_writer *writer)
{
	struct tb_seq *s = tb_seq_find(b, writer->producer_id, writer->writer_id);

	if (s && (s->ended || s->writer.uid != writer->uid || s->writer.pid != writer->pid)) {
		s->ended = true;
		tb_seq_wake(b, s);
		tb_seq_remove_key(&b->seqs, s);
		s = NULL;
	}
	return s ? s : tb_seq_new(&b->seqs, writer);
}

void tb_seqs_evict_empty(struct tb_seqs *t)
{
	if (t->n_empty <= EMPTY_MAX)
		return;
	while (t->n_empty > EMPTY_KEPT)
		tb_seq_free(t, TAILQ_FIRST(&t->empty));
}

void tb_seqs_init(struct tb_seqs *t)
{
	*t = (struct tb_seqs){.n_slots = 1};
	TAILQ_INIT(&t->empty);
}

void tb_seqs_deinit(struct tb_seqs *t)
{
	HASH_CLEAR(hh, t->by_key);
	for (size_t i = 1; i < t->n_slots; i++) {
		if (tb_slot_is_free(t->slots[i]))
			continue;
		tb_refs_deinit(&t->slots[i].seq->refs);
		free(t->slots[i].seq);
	}
	free(t->slots);
}

/* ---- the unread records of a sequence ---- */

int tb_seq_insert(struct trace_buffer *b, struct tb_seq *s, uint32_t i, uint32_t chunk_id,
		  size_t offset)
{
	struct tb_ref ref = {.chunk_id = chunk_id, .unit = (uint32_t)(offset / TB_UNIT)};
	bool was_empty = s->refs.n == 0, at_end = i == s->refs.n;

	if (tb_refs_insert(&s->refs, i, ref))
		return -ENOMEM;
	if (was_empty)
		remove_from_empty_list(&b->seqs, s);
	if (!at_end) {
		s->unordered = true;
		s->begun = 0;
	}
	if (i == 0 || s->stall == TB_WAITS_FOR_NEXT)
		tb_seq_wake(b, s);
	return 0;
}

void tb_seq_update_ref(struct trace_buffer *b, const struct tb_record *rec, size_t from, size_t to)
{
	struct tb_refs *refs = &tb_seq_of(b, rec)->refs;
	uint32_t i = 0;

	while (i < refs->n && tb_refs_at(refs, i)->unit != from / TB_UNIT)
		i++;
	assert(i < refs->n);
	tb_refs_at(refs, i)->unit = (uint32_t)(to / TB_UNIT);
}

void tb_seq_wake(struct trace_buffer *b, struct tb_seq *s)
{
	tb_position position = 0;

	if (s->stall == TB_READY)
		return;
	s->stall = TB_READY;
	if (s->refs.n == 0)
		return;
	if (!s->unordered)
		position =
			tb_ring_position(&b->ring, (size_t)tb_refs_at(&s->refs, 0)->unit * TB_UNIT);
	b->rewind = MIN(b->rewind, position);
}

/*
 * Records are removed from a sequence only at the head, and so in the order of chunk ids: a record
 * is removed when it was read to its end, or when a commit needs its space. The sequence then
 * stores its position (last_*) and the losses (loss), and the record becomes a free run of the
 * ring.
 *
 *      refs   | 5 | 7 | 8 |        last_id 4, complete
 *               ^ head: 5 follows 4. After 5 is removed, 7 does not follow it: READ_GAP.
 */

void tb_seq_enter_head(struct tb_seq *s, const struct tb_record *rec)
{
	bool follows = s->has_last && (rec->chunk_id == s->last_id ||
				       (rec->chunk_id == s->last_id + 1 && s->last_complete));

	if (!follows) {
		s->loss |= s->has_last ? DATA_LOSS_READ_GAP : 0;
		s->run_start = rec->chunk_id;
	}
	s->has_last = true;
	s->last_id = rec->chunk_id;
	s->last_complete = false;
}

static void remove_head_record(struct trace_buffer *b, struct tb_seq *s, struct tb_record *rec)
{
	if (rec->read == 0)
		tb_seq_enter_head(s, rec);
	if (rec->flags & TB_CORRUPTED)
		s->loss |= DATA_LOSS_CHUNK_CORRUPTED;
	if (rec->flags & TB_ABORTED)
		s->loss |= DATA_LOSS_WRITER_ABORT;
	s->last_complete = rec->flags & TB_COMPLETE;
	s->last_frags = rec->frags;
	s->last_bytes = (uint16_t)(rec->base + rec->used);
	tb_refs_pop_front(&s->refs);
	s->begun = 0;
	if (s->refs.n == 0)
		add_to_empty_list(&b->seqs, s);
	b->n_unread--;
	rec->chunk_id = (uint32_t)(tb_stride(rec->used) / TB_UNIT);
	rec->seq = 0;
}

/* A chunk is counted once, with its first record. */

void tb_seq_finish_head(struct trace_buffer *b, struct tb_seq *s)
{
	struct tb_record *rec = tb_seq_record(b, s, 0);

	b->stats.chunks_read += rec->base == 0;
	b->stats.bytes_read += tb_stride(rec->used);
	remove_head_record(b, s, rec);
}

void tb_seq_drop_up_to(struct trace_buffer *b, struct tb_record *rec)
{
	struct tb_seq *s = tb_seq_of(b, rec);

	/* This also drops records with lower ids that came late and lie later in the ring: the
	 * sequence cannot return to them. */
	while (rec->seq) {
		struct tb_record *head = tb_seq_record(b, s, 0);

		b->stats.chunks_overwritten += head->base == 0;
		b->stats.bytes_overwritten += tb_stride(head->used);
		if (head->read < head->used)
			s->loss |= DATA_LOSS_OVERWRITE;
		remove_head_record(b, s, head);
	}
	tb_seq_wake(b, s);
}
