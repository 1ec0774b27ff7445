/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * A record in the ring refers to its sequence by slot number. A commit finds the sequence of its
 * writer by key. A sequence is kept while it has unread records, and then while it is one of those
 * that became empty last, because it stores which chunks were read and what was lost since.
 *
 *      key -- by_key --> tb_seq <--- slots[n] <--- record
 *                         |  empty: oldest ... newest
 *                         refs --> its records, by chunk id
 */

/*
 * Memory: a record of 16 bytes can create a sequence of about 500 bytes, and a hostile producer can
 * have any number of writers. So if there are more than FREE_SEQS sequences, each also takes its
 * size in the ring, once per lap, as a free run in place of older records. No writer is refused,
 * and all sequences together take less memory than twice the size of the buffer.
 *
 * Time: some calls walk over all sequences (trace_buffer_free(), trace_buffer_each_writer()). So
 * above MANY_SEQS a sequence takes at least 1 / MANY_SEQS of the ring: there are about 2 * MANY_SEQS
 * at most, in a ring of any size.
 */
#define FREE_SEQS 4096u
#define MANY_SEQS 32768u

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

static int take_slot(struct tb_seqs *t, struct tb_seq *s)
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

static void give_slot(struct tb_seqs *t, uint32_t slot)
{
	t->slots[slot].next_free = t->free_slot << 1 | 1;
	t->free_slot = slot;
}

/* ---- memory of the sequences ---- */

/* Memory of a sequence: itself, its first refs, its slot, its share of the hash table. */
#define SEQ_COST ((sizeof(struct tb_seq) + 8 * sizeof(struct tb_ref) + 32) / TB_UNIT * TB_UNIT)

/* A sequence takes room once for each lap of writing; with TRACE_BUFFER_DISCARD only once. */
static bool has_paid(const struct trace_buffer *b, const struct tb_seq *s, tb_place here)
{
	return s->paid && (b->policy == TRACE_BUFFER_DISCARD || here - s->paid < b->ring.size);
}

void tb_seq_pay(struct trace_buffer *b, struct tb_seq *s)
{
	struct tb_ring *r = &b->ring;
	size_t left = b->policy == TRACE_BUFFER_DISCARD ? tb_room_left(b) : r->size - r->wr;
	size_t share = b->seqs.n > MANY_SEQS ? r->size / MANY_SEQS / TB_UNIT * TB_UNIT : 0;
	size_t room = MIN(MAX(SEQ_COST, share), left);
	tb_place here = tb_ring_place(r, r->wr);

	if (b->seqs.n <= FREE_SEQS || has_paid(b, s, here) || room == 0)
		return;
	tb_ring_make_room(b, r->wr + room);
	*tb_record_at(r, r->wr) = (struct tb_record){.chunk_id = (uint32_t)(room / TB_UNIT)};
	r->wr += room;
	s->paid = here;
	b->stats.padding_bytes_written += room;
	b->stats.padding_bytes_cleared += room;
}

/* ---- life ---- */

static void set_empty(struct tb_seqs *t, struct tb_seq *s)
{
	TAILQ_INSERT_TAIL(&t->empty, s, empty_link);
	t->n_empty++;
	s->unordered = false;
	if (s->refs.cap > REFS_KEPT)
		tb_refs_deinit(&s->refs);
}

static void set_not_empty(struct tb_seqs *t, struct tb_seq *s)
{
	TAILQ_REMOVE(&t->empty, s, empty_link);
	t->n_empty--;
}

static struct tb_seq *seq_new(struct tb_seqs *t, const struct trace_buffer_writer *writer)
{
	_cleanup_(freep) struct tb_seq *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->writer = *writer;
	s->key = buffer_sequences_key_of(writer->producer_id, writer->writer_id);
	if (take_slot(t, s))
		return NULL;
	HASH_ADD(hh, t->by_key, key, sizeof(s->key), s);
	if (!s->hh.tbl) {
		give_slot(t, s->slot);
		return NULL;
	}
	t->n++;
	set_empty(t, s);
	return TAKE_PTR(s);
}

/* Removes the key of a sequence whose writer has ended, so that a later writer can use it. */
static void forget_key(struct tb_seqs *t, struct tb_seq *s)
{
	HASH_DELETE(hh, t->by_key, s);
	s->hh.tbl = NULL;
}

static void seq_free(struct tb_seqs *t, struct tb_seq *s)
{
	if (s->hh.tbl)
		forget_key(t, s);
	if (s->refs.n == 0)
		set_not_empty(t, s);
	give_slot(t, s->slot);
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
		forget_key(&b->seqs, s);
		s = NULL;
	}
	return s ? s : seq_new(&b->seqs, writer);
}

void trace_buffer_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id)
{
	struct tb_seq *s = tb_seq_find(b, producer_id, writer_id);

	if (!s)
		return;
	s->ended = true;
	tb_seq_wake(b, s);
}

void tb_seqs_collect(struct trace_buffer *b)
{
	if (b->seqs.n_empty <= EMPTY_MAX)
		return;
	while (b->seqs.n_empty > EMPTY_KEPT)
		seq_free(&b->seqs, TAILQ_FIRST(&b->seqs.empty));
}

void tb_seqs_init(struct trace_buffer *b)
{
	b->seqs = (struct tb_seqs){.n_slots = 1};
	TAILQ_INIT(&b->seqs.empty);
}

void tb_seqs_deinit(struct trace_buffer *b)
{
	struct tb_seqs *t = &b->seqs;

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
		set_not_empty(&b->seqs, s);
	if (!at_end) {
		s->unordered = true;
		s->begun = 0;
	}
	if (i == 0 || s->stall == TB_WAITS_FOR_NEXT)
		tb_seq_wake(b, s);
	return 0;
}

void tb_seq_moved(struct trace_buffer *b, const struct tb_record *rec, size_t from, size_t to)
{
	struct tb_refs *refs = &tb_seq_of(b, rec)->refs;
	uint32_t i = 0;

	while (i < refs->n && tb_refs_at(refs, i)->unit != from / TB_UNIT)
		i++;
	assert(i < refs->n);
	tb_refs_at(refs, i)->unit = (uint32_t)(to / TB_UNIT);
}

void tb_seq_pop(struct trace_buffer *b, struct tb_seq *s)
{
	tb_refs_pop(&s->refs);
	s->begun = 0;
	if (s->refs.n == 0)
		set_empty(&b->seqs, s);
}

void tb_seq_wake(struct trace_buffer *b, struct tb_seq *s)
{
	tb_place place = 0;

	if (s->stall == TB_READY)
		return;
	s->stall = TB_READY;
	if (s->refs.n == 0)
		return;
	if (!s->unordered)
		place = tb_ring_place(&b->ring, (size_t)tb_refs_at(&s->refs, 0)->unit * TB_UNIT);
	b->rewind = MIN(b->rewind, place);
}
