/* SPDX-License-Identifier: Apache-2.0 */
/* Clones that are made in time slices, compared byte by byte with clones that are made at once. */
#include <sys/resource.h>

#include "base/system/sanitizer.h"
#include "service/buffer/buffer_clone.c"
#include "service/buffer/buffer_internal.h"
#include "unit/test.h"
#include "unit/rng.h"
#include "unit/service/trace_buffer_helper.h"

/* ---- two buffers that get the same operations ---- */

struct twins {
	struct trace_buffer *a, *b; /* of a the clone is made at once, of b in slices */
	uint64_t random;
	uint32_t ids[64];
};

static uint32_t below(struct twins *t, uint32_t n)
{
	return rng_below(&t->random, n);
}

static void commit(struct twins *t)
{
	uint32_t writer = 1 + below(t, 40), n = 1 + below(t, 4);
	struct chunk *c = test_malloc(sizeof(*c));
	bool complete = below(t, 8) != 0;

	t->ids[writer] += below(t, 20) == 0;
	chunk_start(c, 1, (uint16_t)writer, t->ids[writer],
		    (uint8_t)((below(t, 4) ? 0 : ON_NEXT) | (below(t, 4) ? 0 : FROM_PREV) |
			      (below(t, 6) ? 0 : NEEDS_PATCHING)));
	t->ids[writer] += complete || below(t, 2); /* one that was scraped may come again */
	while (n--)
		chunk_fill(c, (char)('a' + below(t, 26)), 1 + below(t, 300));
	chunk_commit_in(t->a, c, c->len, complete);
	chunk_commit_in(t->b, c, c->len, complete);
	test_free(c);
}

static void patch(struct twins *t)
{
	struct trace_buffer_patch p[2] = {{below(t, 64), {'P', 'P', 'P', 'P'}},
					  {below(t, 64), {'Q', 'Q', 'Q', 'Q'}}};
	uint16_t writer = (uint16_t)(1 + below(t, 40));
	uint32_t id = t->ids[writer] - below(t, 4), n = below(t, 3);
	bool more = below(t, 2);

	trace_buffer_apply_patches(t->a, 1, writer, id, p, n, more);
	trace_buffer_apply_patches(t->b, 1, writer, id, p, n, more);
}

static void end_writer(struct twins *t)
{
	uint16_t writer = (uint16_t)(1 + below(t, 40));

	trace_buffer_end_writer(t->a, 1, writer);
	trace_buffer_end_writer(t->b, 1, writer);
}

static void assert_packets_equal(const struct trace_packet *p, const struct trace_packet *q)
{
	char *x = packet_text(p), *y = packet_text(q);

	assert_int_equal(p->size, q->size);
	assert_int_equal(p->loss, q->loss);
	assert_int_equal(p->writer.writer_id, q->writer.writer_id);
	assert_memory_equal(x, y, p->size);
	test_free(x);
	test_free(y);
}

/* The next packet, read in turns of a few steps. */
static bool next_in_slices(struct trace_buffer *b, struct trace_packet *ret)
{
	for (;;) {
		size_t steps = 3;

		if (trace_buffer_next_packet(b, &steps, ret))
			return true;
		if (steps > 0)
			return false;
	}
}

static void read_some(struct twins *t)
{
	struct trace_packet p, q;

	if (below(t, 2)) {
		trace_buffer_begin_read(t->a);
		trace_buffer_begin_read(t->b);
	}
	for (uint32_t n = below(t, 8); n > 0; n--) {
		bool there = trace_buffer_next_packet(t->a, NULL, &p);

		assert_int_equal(next_in_slices(t->b, &q), there);
		if (there)
			assert_packets_equal(&p, &q);
	}
}

static void live(struct twins *t, uint32_t n)
{
	while (n--) {
		commit(t);
		if (below(t, 4) == 0)
			patch(t);
		if (below(t, 20) == 0)
			end_writer(t);
		if (below(t, 30) == 0)
			read_some(t);
	}
}

/* ---- all that is in a buffer ---- */

static void assert_rings_equal(const struct tb_ring *a, const struct tb_ring *b)
{
	assert_int_equal(a->lap, b->lap);
	assert_int_equal(a->wr, b->wr);
	assert_int_equal(a->old, b->old);
	assert_int_equal(a->old_end, b->old_end);
	assert_memory_equal(a->base, b->base, a->wr);
	if (a->old < a->old_end)
		assert_memory_equal(a->base + a->old, b->base + a->old, a->old_end - a->old);
}

static void assert_sequences_equal(const struct tb_seq *a, const struct tb_seq *b)
{
	assert_memory_equal(&a->writer, &b->writer, sizeof(a->writer));
	assert_int_equal(a->slot, b->slot);
	assert_int_equal(a->begun, b->begun);
	assert_int_equal(a->loss, b->loss);
	assert_int_equal(a->stall, b->stall);
	assert_int_equal(a->ended, b->ended);
	assert_int_equal(a->unordered, b->unordered);
	assert_int_equal(a->has_last, b->has_last);
	assert_int_equal(a->last_id, b->last_id);
	assert_int_equal(a->last_bytes, b->last_bytes);
	assert_int_equal(a->run_start, b->run_start);
	assert_int_equal(a->paid, b->paid);
	assert_int_equal(a->hh.tbl != NULL, b->hh.tbl != NULL);
	assert_int_equal(a->refs.n, b->refs.n);
	for (uint32_t i = 0; i < a->refs.n; i++)
		assert_memory_equal(tb_refs_at(&a->refs, i), tb_refs_at(&b->refs, i),
				    sizeof(struct tb_ref));
}

static void assert_buffers_equal(const struct trace_buffer *a, const struct trace_buffer *b)
{
	const struct tb_seq *s, *t;

	assert_false(trace_buffer_is_held(a));
	assert_false(trace_buffer_is_held(b));
	assert_rings_equal(&a->ring, &b->ring);
	assert_int_equal(a->seqs.n_slots, b->seqs.n_slots);
	assert_int_equal(a->seqs.free_slot, b->seqs.free_slot);
	for (size_t i = 1; i < a->seqs.n_slots; i++) {
		assert_int_equal(tb_slot_is_free(a->seqs.slots[i]),
				 tb_slot_is_free(b->seqs.slots[i]));
		if (!tb_slot_is_free(a->seqs.slots[i]))
			assert_sequences_equal(a->seqs.slots[i].seq, b->seqs.slots[i].seq);
	}
	for (s = a->seqs.by_key, t = b->seqs.by_key; s; s = s->hh.next, t = t->hh.next)
		assert_int_equal(s->slot, t->slot);
	assert_null(t);
	t = TAILQ_FIRST(&b->seqs.empty);
	TAILQ_FOREACH (s, &a->seqs.empty, empty_link) {
		assert_int_equal(s->slot, t->slot);
		t = TAILQ_NEXT(t, empty_link);
	}
	assert_null(t);
	assert_int_equal(a->seqs.n_empty, b->seqs.n_empty);
	assert_int_equal(a->n_unread, b->n_unread);
	assert_int_equal(a->cursor, b->cursor);
	assert_int_equal(a->rewind, b->rewind);
	assert_int_equal(a->refusing, b->refusing);
	assert_memory_equal(&a->stats, &b->stats, sizeof(a->stats));
}

/* ---- tests ---- */

static void begin(struct twins *t, uint64_t random, struct trace_buffer **ret_of_a,
		  struct trace_buffer **ret_of_b)
{
	enum trace_buffer_policy policy = random % 4 ? TRACE_BUFFER_RING : TRACE_BUFFER_DISCARD;

	*t = (struct twins){buffer_of(16384, policy), buffer_of(16384, policy), random, {0}};
	live(t, below(t, 200));
	assert_int_equal(begin_clone(t->a, ret_of_a), 0);
	assert_true(trace_buffer_settle(*ret_of_a, NULL));
	assert_int_equal(begin_clone(t->b, ret_of_b), 0);
	assert_true(trace_buffer_is_held(t->b) && trace_buffer_is_held(*ret_of_b));
}

/* Whatever comes during the copy, in whatever pieces it is made. */
TEST(a_clone_in_slices_is_that_of_its_first_moment)
{
	unsigned late = 0, many = 0;

	for (uint64_t round = 1; round <= 300; round++) {
		struct trace_buffer *of_a, *of_b;
		struct twins t;

		begin(&t, round, &of_a, &of_b);
		for (uint32_t n = below(&t, 40); n > 0; n--) {
			size_t steps = below(&t, 4);

			live(&t, below(&t, 3));
			many += !STAILQ_EMPTY(&t.b->backlog);
			trace_buffer_settle(below(&t, 2) ? t.b : of_b, &steps);
		}
		late += trace_buffer_is_held(of_b);
		assert_true(trace_buffer_settle(t.b, NULL));
		assert_buffers_equal(of_a, of_b);
		assert_buffers_equal(t.a, t.b);
		live(&t, below(&t, 100));
		assert_buffers_equal(t.a, t.b);
		trace_buffer_free(t.a);
		trace_buffer_free(t.b);
		trace_buffer_free(of_a);
		trace_buffer_free(of_b);
	}
	assert_true(late > 10 && many > 100);
}

TEST(a_clone_whose_source_is_freed_meanwhile_is_complete)
{
	for (uint64_t round = 1; round <= 200; round++) {
		struct trace_buffer *of_a, *of_b;
		size_t steps;
		struct twins t;

		begin(&t, round, &of_a, &of_b);
		steps = below(&t, 100);
		trace_buffer_settle(of_b, &steps);
		live(&t, below(&t, 4));
		trace_buffer_free(t.b);
		assert_buffers_equal(of_a, of_b);
		trace_buffer_free(t.a);
		t.a = of_a;
		t.b = of_b;
		live(&t, 100);
		assert_memory_equal(&of_a->stats, &of_b->stats, sizeof(of_a->stats));
		trace_buffer_free(of_a);
		trace_buffer_free(of_b);
	}
}

TEST(a_clone_that_is_freed_meanwhile_leaves_the_source_as_it_is)
{
	for (uint64_t round = 1; round <= 200; round++) {
		struct trace_buffer *of_a, *of_b;
		size_t steps;
		struct twins t;

		begin(&t, round, &of_a, &of_b);
		steps = below(&t, 100);
		trace_buffer_settle(of_b, &steps);
		live(&t, below(&t, 4));
		trace_buffer_free(of_b);
		live(&t, below(&t, 4));
		assert_true(trace_buffer_settle(t.b, NULL));
		assert_buffers_equal(t.a, t.b);
		trace_buffer_free(t.a);
		trace_buffer_free(t.b);
		trace_buffer_free(of_a);
	}
}

/* Bytes that wait. */
static size_t backlog_bytes(const struct trace_buffer *b, size_t payload)
{
	const struct tb_operation *op;
	size_t n = 0;

	for (op = STAILQ_FIRST(&b->backlog); op; op = *(struct tb_operation *const *)op)
		n++;
	return n * payload;
}

/* Nobody settles it but its writer. */
TEST(what_comes_meanwhile_is_a_quarter_at_most_and_ends_the_clone)
{
	enum { SIZE = 32 << 20, LEN = 4000 };
	struct trace_buffer *b = buffer_of(SIZE, TRACE_BUFFER_RING), *clone;
	size_t most = 0, n = 0;
	uint32_t id = 0;

	while (trace_buffer_stats(b)->write_wrap_count < 2)
		commit_fill(b, 1, id++, 'x', LEN);
	assert_int_equal(trace_buffer_clone(b, &clone), 0);
	while (trace_buffer_is_held(b)) {
		size_t bytes;

		commit_fill(b, 1, id++, 'y', LEN);
		bytes = backlog_bytes(b, LEN);
		most = bytes > most ? bytes : most;
		n += LEN;
	}
	assert_true(most > SIZE / 16 && most <= SIZE / 4);
	assert_true(n < SIZE / 2);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

/* One sequence, whose refs take a mapping of their own, for which there is no room. */
TEST(a_clone_without_memory_is_empty_and_says_so)
{
	struct rlimit before, none;
	struct trace_buffer *b, *clone;
	struct trace_packet p;
	uint32_t n = 0;

	if (BUILT_WITH_SANITIZER)
		skip(); /* they map memory of their own */
	b = buffer_of(8 << 20, TRACE_BUFFER_RING);
	commit_text(b, 1, 1, n++, 0, "16 bytes of padding");
	while (trace_buffer_stats(b)->write_wrap_count == 0)
		commit_text(b, 1, 1, n++, 0, "x");
	assert_int_equal(begin_clone(b, &clone), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){1 << 20, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	trace_buffer_settle(clone, NULL);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_false(trace_buffer_is_held(b));
	assert_int_equal(trace_buffer_stats(clone)->chunks_overwritten, n);
	assert_true(trace_buffer_stats(clone)->padding_bytes_written > 0);
	assert_int_equal(bytes_in_use(clone), 0);
	trace_buffer_begin_read(clone);
	assert_false(trace_buffer_next_packet(clone, NULL, &p));
	commit_text(clone, 1, 1, 0, 0, "goes on");
	trace_buffer_begin_read(clone);
	assert_true(trace_buffer_next_packet(clone, NULL, &p));
	trace_buffer_begin_read(b);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	trace_buffer_free(b);
	trace_buffer_free(clone);
}
