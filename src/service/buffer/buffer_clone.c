/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_clone.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "service/buffer/buffer_internal.h"

/*
 * Records refer to their sequence by slot, and refs refer to records by offset. So a clone consists
 * of the used bytes of the ring, unchanged, and of copies of the sequences in the same slots. The
 * source does not change during the copy, since its operations wait in the backlog. Each part can
 * therefore be copied in pieces:
 *
 *   ring       |0 ... wr|  not copied  |old ... old_end|  not copied |
 *   sequences  slot 1, 2 ...: each with its refs
 *   keys       in the order of the source
 *   empty      the sequences without records, in the order of the source
 *
 * Most of the time is spent on page faults of the copy, whose memory the kernel zeroes first.
 */

#define FIRST_STEPS 4096u /* copied by trace_buffer_clone() itself: at most 1 MB */

#undef uthash_nonfatal_oom
#define uthash_nonfatal_oom(seq) ((void)(seq))

enum part { PART_RING, PART_SEQUENCES, PART_KEYS, PART_EMPTY, PART_DONE };

struct tb_clone {
	struct trace_buffer *from, *to;
	enum part part;
	size_t offset; /* next byte of the ring to copy */
	struct tb_seq *seq; /* owned; the sequence of the next slot, while its refs are copied */
	uint32_t n_refs; /* refs of seq that are copied */
	/* The next sequence of PART_KEYS or PART_EMPTY; borrowed from the source. */
	const struct tb_seq *next;
};

static void spend(size_t *steps, size_t n)
{
	*steps -= MIN(*steps, n);
}

/* Returns how many items of this size are copied in the given steps. */
static size_t piece(size_t steps, size_t item, size_t left)
{
	return MIN(left, steps * (TB_STEP_BYTES / item));
}

/* ---- the ring ---- */

static bool copy_ring(struct tb_clone *c, size_t *steps)
{
	const struct tb_ring *r = &c->from->ring;
	size_t end, n;

	if (c->offset >= r->wr && c->offset < r->old)
		c->offset = r->old;
	end = c->offset < r->wr ? r->wr : r->old_end;
	if (c->offset >= end)
		return true;
	n = piece(*steps, 1, end - c->offset);
	memcpy(c->to->ring.base + c->offset, r->base + c->offset, n);
	c->offset += n;
	spend(steps, n / TB_STEP_BYTES + 1);
	return false;
}

/* ---- sequences ---- */

static int begin_sequence(struct tb_clone *c, const struct tb_seq *from)
{
	struct tb_seq *s = malloc(sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = *from;
	s->hh.tbl = NULL;
	s->refs = (struct tb_refs){0};
	c->seq = s;
	c->n_refs = 0;
	if (from->refs.n == 0)
		return 0;
	s->refs.array = malloc(from->refs.cap * sizeof(*s->refs.array));
	if (!s->refs.array)
		return -ENOMEM;
	s->refs.cap = from->refs.cap;
	return 0;
}

/* Returns 1 when the refs are complete. */
static int copy_refs(struct tb_clone *c, const struct tb_refs *from, size_t *steps)
{
	size_t n = piece(*steps, sizeof(struct tb_ref), from->n - c->n_refs);

	if (n > 0)
		memcpy(&c->seq->refs.array[c->n_refs], tb_refs_at(from, c->n_refs),
		       n * sizeof(struct tb_ref));
	c->n_refs += (uint32_t)n;
	spend(steps, n * sizeof(struct tb_ref) / TB_STEP_BYTES + 1);
	if (c->n_refs < from->n)
		return 0;
	c->seq->refs.n = from->n;
	return 1;
}

/* Returns 1 when all slots are copied, or -ENOMEM. */
static int copy_slot(struct tb_clone *c, size_t *steps)
{
	const struct tb_seqs *from = &c->from->seqs;
	struct tb_seqs *to = &c->to->seqs;
	union tb_slot slot;

	if (to->n_slots == from->n_slots)
		return 1;
	slot = from->slots[to->n_slots];
	spend(steps, 1);
	if (tb_slot_is_free(slot)) {
		to->slots[to->n_slots++] = slot;
		return 0;
	}
	if (!c->seq && begin_sequence(c, slot.seq) < 0)
		return -ENOMEM;
	if (copy_refs(c, &slot.seq->refs, steps))
		to->slots[to->n_slots++].seq = TAKE_PTR(c->seq);
	return 0;
}

static int copy_key(struct tb_clone *c, size_t *steps)
{
	struct tb_seqs *to = &c->to->seqs;
	struct tb_seq *s;

	if (!c->next)
		return 1;
	s = to->slots[c->next->slot].seq;
	HASH_ADD(hh, to->by_key, key, sizeof(s->key), s);
	if (!s->hh.tbl)
		return -ENOMEM;
	c->next = c->next->hh.next;
	spend(steps, 1);
	return 0;
}

static bool copy_empty(struct tb_clone *c, size_t *steps)
{
	struct tb_seqs *to = &c->to->seqs;

	if (!c->next)
		return true;
	TAILQ_INSERT_TAIL(&to->empty, to->slots[c->next->slot].seq, empty_link);
	c->next = TAILQ_NEXT(c->next, empty_link);
	spend(steps, 1);
	return false;
}

/* ---- the end ---- */

static void end_clone(struct tb_clone *c)
{
	c->from->clone = c->to->clone = NULL;
	c->from->held = tb_backlog_is_there(c->from);
	c->to->held = tb_backlog_is_there(c->to);
	if (c->seq)
		tb_refs_deinit(&c->seq->refs);
	free(c->seq);
	free(c);
}

/* Ends the clone without memory: all data of the copy is dropped and counted as overwritten. */
static void buffer_clone_give_up(struct tb_clone *c)
{
	struct trace_buffer *to = c->to;
	struct trace_buffer_stats *st = &to->stats;

	tb_seqs_deinit(to);
	tb_seqs_init(to);
	st->chunks_overwritten = st->chunks_written - st->chunks_read;
	st->bytes_overwritten = st->bytes_written - st->bytes_read;
	st->padding_bytes_cleared = st->padding_bytes_written;
	to->n_unread = 0;
	to->cursor = 0;
	to->rewind = UINT64_MAX;
	to->ring.lap = 0;
	to->ring.wr = 0;
	to->ring.old = to->ring.old_end = to->ring.size;
	end_clone(c);
}

/* The source is about to be freed: moves its memory to the copy. */
static void take_over(struct trace_buffer *from, struct trace_buffer *to)
{
	tb_seqs_deinit(to);
	to->seqs = from->seqs;
	TAILQ_INIT(&to->seqs.empty);
	TAILQ_CONCAT(&to->seqs.empty, &from->seqs.empty, empty_link);
	tb_seqs_init(from);
	tb_ring_deinit(&to->ring);
	to->ring = from->ring;
	from->ring.base = NULL;
}

void tb_clone_leave(struct trace_buffer *b)
{
	struct tb_clone *c = b->clone;

	if (!c)
		return;
	if (b == c->from)
		take_over(c->from, c->to);
	end_clone(c);
}

/* ---- a slice ---- */

static void begin_part(struct tb_clone *c, enum part part)
{
	const struct tb_seqs *from = &c->from->seqs;

	c->part = part;
	c->next = part == PART_KEYS ? from->by_key : TAILQ_FIRST(&from->empty);
	if (part != PART_DONE)
		return;
	c->to->seqs.free_slot = from->free_slot;
	c->to->seqs.n = from->n;
	c->to->seqs.n_empty = from->n_empty;
	end_clone(c);
}

/* Returns 1 when the part is complete, or -ENOMEM. */
static int copy_part(struct tb_clone *c, size_t *steps)
{
	switch (c->part) {
	case PART_RING:
		return copy_ring(c, steps);
	case PART_SEQUENCES:
		return copy_slot(c, steps);
	case PART_KEYS:
		return copy_key(c, steps);
	case PART_EMPTY:
		return copy_empty(c, steps);
	case PART_DONE:
		break;
	}
	return 1;
}

void tb_clone_step(struct tb_clone *c, size_t *steps)
{
	int r = 0;

	while (*steps > 0 && r == 0)
		r = copy_part(c, steps);
	if (r < 0)
		buffer_clone_give_up(c);
	else if (r > 0)
		begin_part(c, c->part + 1);
}

const struct tb_seqs *tb_clone_sequences(const struct trace_buffer *b)
{
	return b->clone ? &b->clone->from->seqs : &b->seqs;
}

/* ---- the beginning ---- */

static void copy_state(const struct trace_buffer *b, struct trace_buffer *to)
{
	to->ring.lap = b->ring.lap;
	to->ring.wr = b->ring.wr;
	to->ring.old = b->ring.old;
	to->ring.old_end = b->ring.old_end;
	to->refusing = b->refusing;
	to->n_unread = b->n_unread;
	to->cursor = b->cursor;
	to->rewind = b->rewind;
	to->stats = b->stats;
	to->stats.readaheads_succeeded = 0;
	to->stats.readaheads_failed = 0;
}

/* Creates the clone; nothing is copied yet. */
static int begin_clone(struct trace_buffer *b, struct trace_buffer **ret)
{
	struct trace_buffer *to;
	struct tb_clone *c;
	int r = trace_buffer_new_like(b, &to);

	assert(!b->held);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c || array_reserve(&to->seqs.slots, &to->seqs.cap_slots, b->seqs.n_slots,
				sizeof(*to->seqs.slots)) < 0) {
		free(c);
		trace_buffer_free(to);
		return -ENOMEM;
	}
	*c = (struct tb_clone){.from = b, .to = to};
	copy_state(b, to);
	b->clone = to->clone = c;
	b->held = to->held = true;
	*ret = to;
	return 0;
}

int trace_buffer_clone(struct trace_buffer *b, struct trace_buffer **ret)
{
	size_t steps = FIRST_STEPS;
	int r = begin_clone(b, ret);

	if (r == 0)
		trace_buffer_settle(*ret, &steps);
	return r;
}
