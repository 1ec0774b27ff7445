/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "unit/test.h"
#include "service/buffer/buffer_store.h"
#include "unit/service/buffer_script.h"

/* Sequences: how many are kept, whose they are, and how they end. */

static struct chunk c;

/* ---- how many ---- */

BUFFER_TEST(many_writers_with_unread_chunks, 8 << 20, TRACE_BUFFER_RING)
{
	for (uint16_t w = 1; w <= 10000; w++)
		commit_text(b, 1, w, 0, 0, "x");
	trace_buffer_begin_read(b);
	for (uint16_t w = 1; w <= 10000; w++)
		expect_packet(b, 1, w, "x", 0);
	expect_end(b);
}

IN_64K(sequences_without_chunks_have_a_limit)
{
	size_t most = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		commit_text(b, (uint16_t)(1 + i / 1000), (uint16_t)(1 + i % 1000), 0, 0, "x");
		trace_buffer_begin_read(b);
		expect_packet(b, (uint16_t)(1 + i / 1000), (uint16_t)(1 + i % 1000), "x", 0);
		expect_end(b);
		most = MAX(most, HASH_COUNT(b->seqs.by_key));
	}
	assert_int_equal(most, 1152 + 1);
	/* The slots of those that went are used again; slot 0 is none, and one is taken before the
	 * others are collected. */
	assert_int_equal(b->seqs.n_slots, most + 2);
}

IN_64K(those_emptied_last_are_kept)
{
	for (uint16_t w = 1; w <= 1200; w++) {
		commit_text(b, 1, w, 5, 0, "x");
		if (w == 1)
			commit_text(b, 2, 1, 0, NEEDS_PATCHING, "unread");
		trace_buffer_begin_read(b);
		expect_packet(b, 1, w, "x", 0);
		expect_end(b);
	}
	commit_text(b, 3, 1, 0, 0, "x"); /* collects */
	assert_null(tb_seq_find(b, 1, 1));
	assert_non_null(tb_seq_find(b, 1, 1200));
	assert_non_null(tb_seq_find(b, 2, 1));
	/* One that was kept knows what came last, one that was not begins anew. */
	commit_text(b, 1, 1200, 7, 0, "kept");
	commit_text(b, 1, 1, 7, 0, "new");
	trace_buffer_apply_patches(b, 2, 1, 0, NULL, 0, false);
	trace_buffer_begin_read(b);
	expect_packet(b, 2, 1, "unread", 0);
	expect_packet(b, 3, 1, "x", 0);
	expect_packet(b, 1, 1200, "kept", DATA_LOSS_READ_GAP);
	expect_packet(b, 1, 1, "new", 0);
	expect_end(b);
}

IN_4K(refused_chunks_do_not_pile_up_sequences)
{
	for (uint16_t w = 1; w <= 5000; w++) {
		chunk_start(&c, 1, w, 0, 0);
		chunk_fill(&c, 'x', 60000);
		chunk_commit(b, &c);
	}
	assert_true(HASH_COUNT(b->seqs.by_key) <= 1152);
}

/* Many laps of chunks of one byte, each of the least memory for the most sequences. */
TEST(sequences_take_no_more_memory_than_the_buffer)
{
	enum { SIZE = 8 << 20, SEQS = 60000 };
	struct trace_buffer *b = buffer_of(SIZE, TRACE_BUFFER_RING);
	const struct trace_buffer_stats *st = trace_buffer_stats(b);
	struct trace_packet p;
	size_t most = 0;

	for (uint32_t id = 0; id < 4; id++)
		for (uint32_t i = 0; i < SEQS; i++) {
			commit_text(b, (uint16_t)(1 + i / 30000), (uint16_t)(1 + i % 30000), id, 0,
				    "x");
			most = MAX(most, b->seqs.n);
		}
	assert_in_range(most, SIZE / (2 * sizeof(struct tb_seq)), 2 * SIZE / sizeof(struct tb_seq));
	assert_int_equal(st->chunks_discarded, 0);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		assert_int_equal(p.size, 1);
	assert_int_equal(st->chunks_read + st->chunks_overwritten, 4 * SEQS);
	assert_int_equal(bytes_in_use(b), st->padding_bytes_written - st->padding_bytes_cleared);
	trace_buffer_free(b);
}

/* A buffer that refuses is full the earlier. */
/* The end of a buffer walks over all of them. */
TEST(sequences_have_a_limit_in_a_buffer_of_any_size)
{
	struct trace_buffer *b = buffer_of(64 << 20, TRACE_BUFFER_RING);
	size_t most = 0;

	for (uint32_t i = 0; i < 300000; i++) {
		commit_text(b, (uint16_t)(1 + i / 30000), (uint16_t)(1 + i % 30000), 0, 0, "");
		most = MAX(most, b->seqs.n);
	}
	assert_in_range(most, 40000, 67000);
	trace_buffer_free(b);
}

TEST(sequences_fill_a_buffer_that_refuses)
{
	enum { SIZE = 8 << 20 };
	struct trace_buffer *b = buffer_of(SIZE, TRACE_BUFFER_DISCARD);

	for (uint16_t w = 1; w <= 30000; w++)
		commit_text(b, 1, w, 0, 0, "x");
	assert_in_range(trace_buffer_stats(b)->chunks_written, SIZE / (2 * sizeof(struct tb_seq)),
			2 * SIZE / sizeof(struct tb_seq));
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded,
			 30000 - trace_buffer_stats(b)->chunks_written);
	trace_buffer_begin_read(b);
	for (uint16_t w = 1; w <= trace_buffer_stats(b)->chunks_written; w++)
		expect_packet(b, 1, w, "x", 0);
	expect_end(b);
	trace_buffer_free(b);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup_1m, teardown, struct trace_buffer *b)

FIXTURE_TEST(a_long_array_goes_when_it_is_empty)
{
	const struct tb_seq *s;

	for (uint32_t i = 0; i < 3000; i++)
		commit_text(b, 1, 1, i, 0, "x");
	s = tb_seq_find(b, 1, 1);
	assert_int_equal(s->refs.cap, 4096);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 3000; i++)
		expect_packet(b, 1, 1, "x", 0);
	assert_int_equal(s->refs.cap, 0);
	for (uint32_t i = 3000; i < 3010; i++)
		commit_text(b, 1, 1, i, 0, "x");
	for (uint32_t i = 3000; i < 3010; i++)
		expect_packet(b, 1, 1, "x", 0);
	assert_int_equal(s->refs.cap, 16);
}

/* ---- whose ---- */

static void used_again_by(struct trace_buffer *b, uid_t uid, pid_t pid)
{
	struct trace_buffer_writer w = {.producer_id = 1, .writer_id = 1, .uid = uid, .pid = pid};
	struct trace_packet p;

	commit_text(b, 1, 1, 9, ON_NEXT, "of the first ");
	chunk_start(&c, 1, 1, 10, FROM_PREV);
	chunk_text(&c, "not to be joined with it");
	chunk_text(&c, "of the second");
	trace_buffer_commit(b, &w, &c.h, c.payload, c.len, true);
	trace_buffer_begin_read(b);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	assert_int_equal(p.writer.uid, uid);
	assert_int_equal(p.writer.pid, pid);
	assert_int_equal(p.size, 13);
	assert_memory_equal(p.slices[0].iov_base, "of the second", 13);
	assert_int_equal(p.loss, DATA_LOSS_PRESENT | DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}

TEST_WITH(a_producer_id_that_is_used_again_by_somebody_else, setup_64k, teardown)
{
	used_again_by(*state, 7, 8);
}

TEST_WITH(a_producer_id_that_is_used_again_by_the_same_user, setup_64k, teardown)
{
	used_again_by(*state, UID + 1, 8);
}

TEST_WITH(a_producer_id_and_a_process_id_that_are_used_again, setup_64k, teardown)
{
	used_again_by(*state, 7, PID + 1);
}

/* ---- the end of a writer ---- */

SCRIPT(a_writer_id_that_is_used_again, 64 << 10,
       "put 1.1#100 'read'\n"
       "read 1.1 'read'\n"
       "put 1.1#101 'unread'\n"
       "gone 1.1\n"
       "put 1.1#0 'new writer' 1.1#1 'new writer'\n"
       "count chunks_discarded 0\n"
       "read 1.1 'unread' 1.1 'new writer' 1.1 'new writer' end\n"
       /* Twice, and once more after nothing was left of it. */
       "gone 1.1 1.1\n"
       "put 1.1#0 'third'\n"
       "read 1.1 'third'\n"
       /* An unknown one. */
       "gone 5.5")

IN_64K(what_a_writer_left_unfinished_is_not_waited_for)
{
	/* A packet without an end. */
	chunk_start(&c, 1, 1, 0, ON_NEXT);
	chunk_text(&c, "one");
	chunk_text(&c, "no end");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, FROM_PREV | ON_NEXT, "in sight");
	/* A patch that did not come. */
	chunk_start(&c, 1, 2, 0, NEEDS_PATCHING);
	chunk_text(&c, "two");
	chunk_text(&c, "....");
	chunk_commit(b, &c);
	commit_text(b, 1, 2, 1, 0, "after two");
	/* A packet of which a later chunk needs a patch. */
	commit_text(b, 1, 3, 0, ON_NEXT, "start");
	commit_text(b, 1, 3, 1, FROM_PREV | NEEDS_PATCHING, "....");
	commit_text(b, 1, 3, 2, 0, "after three");
	/* A chunk of which the rest did not come. */
	chunk_start(&c, 1, 4, 0, 0);
	chunk_text(&c, "four");
	chunk_text(&c, "being written");
	chunk_scrape(b, &c);
	commit_text(b, 1, 4, 1, 0, "after four");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 2, "two", 0);
	expect_packet(b, 1, 4, "four", 0);
	expect_end(b);
	for (uint16_t w = 1; w <= 4; w++)
		trace_buffer_end_writer(b, 1, w);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 2, "after two", DATA_LOSS_WRITER_ABORT);
	expect_packet(b, 1, 3, "after three", DATA_LOSS_WRITER_ABORT);
	expect_packet(b, 1, 4, "after four", DATA_LOSS_READ_GAP);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}

TEST_STATE(patches_of_a_later_writer_are_not_for_the_one_before, setup_64k, teardown,
	   struct trace_buffer *b)
{
	struct trace_buffer_patch p = {.offset = 4, .data = {'x', 'x', 'x', 'x'}};

	commit_text(b, 1, 1, 0, 0, "original");
	trace_buffer_end_writer(b, 1, 1);
	trace_buffer_apply_patches(b, 1, 1, 0, &p, 1, false);
	assert_int_equal(trace_buffer_stats(b)->patches_failed, 1);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "original", 0);
}

FIXTURE_TEST(a_sequence_that_ended_unread_goes_when_it_is_read)
{
	unsigned slots;

	for (uint32_t i = 0; i < 3000; i++) {
		commit_text(b, 1, 1, 5, 0, "x");
		trace_buffer_end_writer(b, 1, 1);
	}
	slots = (unsigned)b->seqs.n_slots;
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 3000; i++)
		expect_packet(b, 1, 1, "x", 0);
	expect_end(b);
	for (uint32_t i = 0; i < 1000; i++)
		commit_text(b, 1, (uint16_t)(2 + i), 0, 0, "x");
	assert_int_equal(b->seqs.n_slots, slots + 1);
	assert_true(b->seqs.n_empty <= 1152);
}

/* ---- ids that are chosen ---- */

#define CHOSEN 240
#define ROUNDS 200

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of finding these writers of producer 1, in the cheapest round: on a busy machine some
 * cost several times as much. */
static uint64_t cost_of(struct trace_buffer *b, const uint16_t *writers)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < CHOSEN; i++)
		commit_text(b, 1, writers[i], 0, 0, "x");
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = cpu_ns(), one;

		for (size_t i = 0; i < CHOSEN; i++)
			assert_non_null(tb_seq_find(b, 1, writers[i]));
		one = cpu_ns() - before;
		least = one < least ? one : least;
	}
	return least;
}

/* Writers that uthash's own hash puts into one bucket of up to 128. */
BUFFER_TEST(chosen_ids_cost_what_others_do, 1 << 20, TRACE_BUFFER_RING)
{
	struct trace_buffer *a = buffer_of(1 << 20, TRACE_BUFFER_RING);
	uint16_t chosen[CHOSEN], plain[CHOSEN];
	uint64_t chosen_ns, plain_ns;
	size_t n = 0;

	for (uint32_t w = 1; w <= SMB_MAX_WRITER_ID && n < CHOSEN; w++) {
		uint32_t key = 1u << 16 | w;
		unsigned hash;

		HASH_JEN(&key, sizeof(key), hash);
		if (hash % 128 == 0)
			chosen[n++] = (uint16_t)w;
	}
	assert_int_equal(n, CHOSEN);
	for (size_t i = 0; i < CHOSEN; i++)
		plain[i] = (uint16_t)(i + 1);
	plain_ns = cost_of(a, plain);
	chosen_ns = cost_of(b, chosen);
	assert_true(chosen_ns < 5 * plain_ns);
	trace_buffer_free(a);
}
