/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <time.h>

#include "base/core/hash_table.h"
#include "unit/service/buffer_script.h"
#include "unit/test.h"

/* Sequences: how many are kept, whose they are, and how they end. */

static struct chunk c;

enum { SEQ_BYTES = 240 }; /* of a sequence, about */

/* ---- how many ---- */

static void count_writer(void *ctx, const struct trace_buffer_writer *writer,
			 const struct trace_buffer_histogram *histogram)
{
	++*(size_t *)ctx;
}

static size_t n_writers(const struct trace_buffer *b)
{
	size_t n = 0;

	trace_buffer_each_writer(b, count_writer, &n);
	return n;
}

/* A sequence that was kept knows which chunk came last; one that was not begins anew. */
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
	assert_in_range(n_writers(b), 1024, 1100);
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
	chunk_start(&c, 1, 0, 0, 0);
	chunk_fill(&c, 'x', 60000);
	for (uint16_t w = 1; w <= 5000; w++) {
		c.h.writer_id = w;
		chunk_commit(b, &c);
	}
	assert_true(n_writers(b) <= 1152);
}

/* Many laps of chunks of one byte, each of the least memory for the most sequences. */
TEST(sequences_take_no_more_memory_than_the_buffer)
{
	enum { SIZE = 8 << 20, SEQS = 60000 };
	struct trace_buffer *b = buffer_of(SIZE, TRACE_BUFFER_RING);
	const struct trace_buffer_stats *st = trace_buffer_stats(b);
	struct trace_packet p;

	for (uint32_t i = 0; i < 4 * SEQS; i++)
		commit_text(b, (uint16_t)(1 + i % SEQS / 30000), (uint16_t)(1 + i % 30000),
			    i / SEQS, 0, "x");
	assert_in_range(n_writers(b), SIZE / (2 * SEQ_BYTES), 2 * SIZE / SEQ_BYTES);
	assert_int_equal(st->chunks_discarded, 0);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		assert_int_equal(p.size, 1);
	assert_int_equal(st->chunks_read + st->chunks_overwritten, 4 * SEQS);
	assert_int_equal(bytes_in_use(b), st->padding_bytes_written - st->padding_bytes_cleared);
	trace_buffer_free(b);
}

/* The end of a buffer walks over all of them. */
TEST(sequences_have_a_limit_in_a_buffer_of_any_size)
{
	struct trace_buffer *b = buffer_of(64 << 20, TRACE_BUFFER_RING);

	for (uint32_t i = 0; i < 300000; i++)
		commit_text(b, (uint16_t)(1 + i / 30000), (uint16_t)(1 + i % 30000), 0, 0, "");
	assert_in_range(n_writers(b), 30000, 67000);
	trace_buffer_free(b);
}

/* A buffer that refuses is full the earlier. */
TEST(sequences_fill_a_buffer_that_refuses)
{
	enum { SIZE = 8 << 20 };
	struct trace_buffer *b = buffer_of(SIZE, TRACE_BUFFER_DISCARD);
	uint64_t n;

	for (uint16_t w = 1; w <= 30000; w++)
		commit_text(b, 1, w, 0, 0, "x");
	n = trace_buffer_stats(b)->chunks_written;
	assert_in_range(n, SIZE / (2 * SEQ_BYTES), 2 * SIZE / SEQ_BYTES);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 30000 - n);
	trace_buffer_begin_read(b);
	for (uint16_t w = 1; w <= n; w++)
		expect_packet(b, 1, w, "x", 0);
	expect_end(b);
	trace_buffer_free(b);
}

/* ---- identity ---- */

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

TEST(a_producer_id_that_is_used_again)
{
	static const struct {
		uid_t uid;
		pid_t pid;
	} later[] = {{7, 8}, {UID + 1, 8}, {7, PID + 1}};

	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		struct trace_buffer *b = buffer_of(64 << 10, TRACE_BUFFER_RING);

		used_again_by(b, later[i].uid, later[i].pid);
		trace_buffer_free(b);
	}
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

SCRIPT(what_a_writer_left_unfinished_is_not_waited_for, 64 << 10,
       /* a packet without an end; a patch that does not come; one in a later chunk */
       "put 1.1#0> 'one' 'no end' 1.1#1<> 'in sight' 1.2#0! 'two' '....' 1.2#1 'after two'\n"
       "put 1.3#0> 'start' 1.3#1<! '....' 1.3#2 'after three'\n"
       /* a chunk of which the rest does not come */
       "scrape 1.4#0 'four' 'being written'\n"
       "put 1.4#1 'after four'\n"
       "read 1.1 'one' 1.2 'two' 1.4 'four' end\n"
       "gone 1.1 1.2 1.3 1.4\n"
       "read 1.2 'after two' -abort 1.3 'after three' -abort 1.4 'after four' -gap end\n"
       "count bytes_in_use 0")

SCRIPT(patches_of_a_later_writer_are_not_for_the_one_before, 64 << 10,
       "put 1.1#0 'original'\n"
       "gone 1.1\n"
       "patch 1.1#0 @4 'xxxx'\n"
       "count patches_failed 1\n"
       "read 1.1 'original'")

TEST_STATE(a_sequence_that_ended_unread_goes_when_it_is_read, setup_1m, teardown,
	   struct trace_buffer *b)
{
	size_t before = mallinfo2().uordblks;

	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 3000; i++) {
			commit_text(b, 1, 1, 5, 0, "x");
			trace_buffer_end_writer(b, 1, 1);
		}
		trace_buffer_begin_read(b);
		for (uint32_t i = 0; i < 3000; i++)
			expect_packet(b, 1, 1, "x", 0);
		expect_end(b);
	}
	commit_text(b, 1, 1, 5, 0, "x"); /* collects */
	assert_true(mallinfo2().uordblks < before + (2 << 20));
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
			trace_buffer_apply_patches(b, 1, writers[i], 1, NULL, 0, true);
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
