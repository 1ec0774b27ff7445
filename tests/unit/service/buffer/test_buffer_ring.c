/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/rng.h"
#include "unit/service/buffer_script.h"

/* Space: laps, padding, the exact end, and both policies. Rings of 4096 bytes. */

static struct chunk c;

/* ---- the end of the memory ---- */

SCRIPT(padding_where_a_record_does_not_fit, 4096,
       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004\n"
       "count write_wrap_count 0\n"
       "put 1.1#3 d*1020\n"
       "count write_wrap_count 1 padding_bytes_written 1024 padding_bytes_cleared 0\n"
       /* 'd' lies at 0, over 'a' and the first bytes of 'b'. */
       "count chunks_overwritten 2 bytes_in_use 3088\n"
       "read 1.1 c*1004 -overwrite 1.1 d*1020 end\n"
       "count bytes_in_use 1024\n"
       "put 1.1#4 e*2028\n"
       "count padding_bytes_cleared 1024 bytes_in_use 2048\n"
       "read 1.1 e*2028 end")

SCRIPT(a_record_that_ends_at_the_end, 4096,
       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004\n"
       "count write_wrap_count 1 chunks_overwritten 0 bytes_in_use 4096\n"
       "put 1.1#4 a*1004 1.1#5 b*1004 1.1#6 c*1004 1.1#7 d*1004\n"
       "count write_wrap_count 2 chunks_overwritten 4 bytes_in_use 4096\n"
       "put 1.1#8 a*1004 1.1#9 b*1004 1.1#10 c*1004 1.1#11 d*1004\n"
       "count write_wrap_count 3 chunks_overwritten 8 bytes_in_use 4096\n"
       "put 1.1#12 a*1004 1.1#13 b*1004 1.1#14 c*1004 1.1#15 d*1004\n"
       "count write_wrap_count 4 chunks_overwritten 12 bytes_in_use 4096\n"
       "put 1.1#16 a*1004 1.1#17 b*1004 1.1#18 c*1004 1.1#19 d*1004\n"
       "count write_wrap_count 5 chunks_overwritten 16 bytes_in_use 4096\n"
       "count padding_bytes_written 0 padding_bytes_cleared 0\n"
       "read 1.1 a*1004 -overwrite 1.1 b*1004 1.1 c*1004 1.1 d*1004 end")

SCRIPT(one_record_fills_the_ring, 4096,
       "put 1.1#0 a*4076\n"
       "count bytes_in_use 4096 write_wrap_count 1 chunks_overwritten 0\n"
       "put 1.1#1 b*4076\n"
       "count bytes_in_use 4096 write_wrap_count 2 chunks_overwritten 1\n"
       "put 1.1#2 c*4076\n"
       "count bytes_in_use 4096 write_wrap_count 3 chunks_overwritten 2\n"
       "read 1.1 c*4076 -overwrite end")

SCRIPT(one_unit_before_the_end, 4096,
       "put 1.1#0 a*4060\n"
       "count write_wrap_count 0\n"
       /* A header fits there: a chunk without fragments. */
       "put 1.2#0\n"
       "count write_wrap_count 1 padding_bytes_written 0 chunks_overwritten 0\n"
       "read 1.1 a*4060 end\n"
       "count chunks_read 2")

SCRIPT(padding_of_one_unit, 4096,
       "put 1.1#0 a*4060 1.1#1 b*12\n"
       "count padding_bytes_written 16\n"
       "read 1.1 b*12 -overwrite end\n"
       /* The lap before is gone, and its padding with it. */
       "count padding_bytes_cleared 16 bytes_in_use 0")

TEST_STATE(replaced_by_sizes_that_differ_by_little, setup_4k, teardown, struct trace_buffer *b)
{
	static const size_t sizes[] = {1024, 1008, 1040, 1024,	  1056, 992, 1024,
				       1040, 1008, 1024, 16 + 16, 4064, 32,  4048,
				       48,   2048, 2032, 2064,	  4096, 32};

	for (uint32_t i = 0; i < 20; i++) {
		uint64_t left;

		commit_record(b, 1, i, (char)('a' + i), sizes[i]);
		left = bytes_in_use(b);
		assert_true(left >= sizes[i] && left <= 4096);
	}
	trace_buffer_begin_read(b);
	expect_record(b, 1, 't', 32, DATA_LOSS_OVERWRITE);
	expect_end(b);
}

/* The copy moves to the start only when its fragments turn out not to fit. */
TEST_WITH(a_chunk_that_finds_no_room_while_it_is_copied, setup_4k, teardown)
{
	struct trace_buffer *b = *state;

	commit_record(b, 1, 0, 'a', 2048);
	chunk_start(&c, 1, 1, 1, 0);
	for (unsigned i = 0; i < 30; i++)
		chunk_fill(&c, (char)('A' + i), 96);
	chunk_commit_in(b, &c, 8000, true);
	assert_int_equal(stats_of(state)->write_wrap_count, 1);
	assert_int_equal(stats_of(state)->padding_bytes_written, 2048);
	trace_buffer_begin_read(b);
	for (unsigned i = 0; i < 30; i++)
		expect_fill(b, 1, (char)('A' + i), 96, i == 0 ? DATA_LOSS_OVERWRITE : 0);
	expect_end(b);
}

SCRIPT(a_large_source_whose_packets_fit_before_the_end, 4096,
       "put 1.1#0 a*2028 1.1#1 b*1004 1.1#2 c*1004 [4000]\n"
       "count padding_bytes_written 0 write_wrap_count 1\n"
       "read 1.1 a*2028 1.1 b*1004 1.1 c*1004")

/* ---- reading while laps go by ---- */

SCRIPT(a_reader_that_is_overtaken, 4096,
       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004\n"
       "read 1.1 a*1004\n"
       "put 1.1#4 e*1004 1.1#5 f*1004 1.1#6 g*1004\n"
       "next 1.1 d*1004 -overwrite\n"
       "put 1.1#7 h*1004 1.1#8 i*1004 1.1#9 j*1004 1.1#10 k*1004 1.1#11 l*1004\n"
       "put 1.1#12 m*1004 1.1#13 n*1004 1.1#14 o*1004 1.1#15 p*1004\n"
       "next 1.1 m*1004 -overwrite 1.1 n*1004 1.1 o*1004 1.1 p*1004 end\n"
       "put 1.1#16 q*1004\n"
       "next 1.1 q*1004 end")

TEST_WITH(a_reader_that_follows_over_many_laps, setup_4k, teardown)
{
	struct trace_buffer *b = *state;
	size_t size, before = 0;
	uint64_t rng = 1;

	/* One behind the writer: there is always something unread. */
	for (uint32_t i = 0; i <= 5000; i++, before = size) {
		size = 16 * (20 + rng_below(&rng, 42)); /* too much to be moved */
		commit_record(b, 1, i, (char)('a' + i % 26), size);
		if (rng_below(&rng, 2))
			trace_buffer_begin_read(b);
		if (i > 0)
			expect_record(b, 1, (char)('a' + (i - 1) % 26), before, 0);
	}
	assert_int_equal(stats_of(state)->chunks_overwritten, 0);
	assert_int_equal(stats_of(state)->chunks_read, 5000);
	assert_true(stats_of(state)->write_wrap_count > 500);
}

SCRIPT(the_oldest_record_waits_and_wakes, 4096,
       "put 1.1#0 a*1004 1.2#0! w*1004 1.1#1 b*2028 1.1#2 c*1004\n"
       /* in the place of 'a' */
       "read 1.1 b*2028 -overwrite 1.1 c*1004 end\n"
       "patch 1.2#0\n"
       "read 1.2 w*1004 end")

/* Runs of read records are joined; a record between them that waits must be found again. */
TEST_WITH(records_that_wait_between_runs_of_read_ones, setup_4k, teardown)
{
	struct trace_buffer *b = *state;

	for (uint32_t i = 0; i < 60; i++) {
		if (i % 10 == 5)
			commit_text(b, 1, 2 + i, 0, NEEDS_PATCHING, "waits");
		commit_record(b, 1, i, 'x', 48);
	}
	for (unsigned pass = 0; pass < 3; pass++) {
		trace_buffer_begin_read(b);
		for (uint32_t i = 0; pass == 0 && i < 60; i++)
			expect_record(b, 1, 'x', 48, 0);
		expect_end(b);
	}
	for (uint32_t i = 55; i < 60; i -= 10)
		trace_buffer_apply_patches(b, 1, (uint16_t)(2 + i), 0, NULL, 0, false);
	trace_buffer_begin_read(b);
	for (uint32_t i = 5; i < 60; i += 10)
		expect_packet(b, 1, (uint16_t)(2 + i), "waits", 0);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
	for (uint32_t i = 60; i < 200; i++) {
		commit_record(b, 1, i, 'y', 96);
		trace_buffer_begin_read(b);
		expect_record(b, 1, 'y', 96, 0);
		expect_end(b);
	}
	assert_int_equal(stats_of(state)->chunks_overwritten, 0);
}

/* ---- TRACE_BUFFER_DISCARD ---- */

BUFFER_TEST(discarding_stops_for_good, 4096, TRACE_BUFFER_DISCARD)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(b);

	for (uint32_t i = 0; i < 3; i++)
		commit_record(b, 1, i, (char)('a' + i), 1024);
	commit_record(b, 1, 3, 'd', 1040);
	assert_int_equal(st->chunks_discarded, 1);
	/* Would fit, and comes too late all the same. */
	commit_record(b, 1, 4, 'e', 32);
	commit_record(b, 2, 0, 'f', 32);
	assert_int_equal(st->chunks_discarded, 3);
	assert_int_equal(st->chunks_written, 3);
	assert_int_equal(st->write_wrap_count, 0);
	assert_int_equal(st->padding_bytes_written, 0);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 3; i++)
		expect_record(b, 1, (char)('a' + i), 1024, 0);
	expect_end(b);
	commit_record(b, 1, 5, 'g', 32);
	assert_int_equal(st->chunks_discarded, 4);
	expect_end(b);
}

BUFFER_TEST(discarding_fills_the_memory_to_the_last_byte, 4096, TRACE_BUFFER_DISCARD)
{
	for (uint32_t i = 0; i < 4; i++)
		commit_record(b, 1, i, (char)('a' + i), 1024);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 0);
	commit_text(b, 1, 1, 4, 0, NULL);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 1);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 4; i++)
		expect_record(b, 1, (char)('a' + i), 1024, 0);
	expect_end(b);
}

BUFFER_TEST(discarding_does_not_count_what_trails, 4096, TRACE_BUFFER_DISCARD)
{
	for (uint32_t i = 0; i < 128; i++) {
		chunk_start(&c, 1, 1, i, 0);
		chunk_text(&c, "small");
		chunk_commit_in(b, &c, 4000, true);
	}
	assert_int_equal(trace_buffer_stats(b)->chunks_written, 128);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 0);
}

BUFFER_TEST(discarding_still_patches_and_grows, 4096, TRACE_BUFFER_DISCARD)
{
	struct trace_buffer_patch p = {.offset = 4, .data = {'d', 'o', 'n', 'e'}};

	chunk_start(&c, 1, 2, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	commit_text(b, 1, 1, 0, NEEDS_PATCHING, "....");
	chunk_commit(b, &c);
	commit_record(b, 1, 1, 'x', 4096);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 1);
	trace_buffer_apply_patches(b, 1, 1, 0, &p, 1, false);
	assert_int_equal(trace_buffer_stats(b)->patches_succeeded, 1);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 2, "one", 0);
	expect_packet(b, 1, 1, "done", 0);
	expect_packet(b, 1, 2, "two", 0);
	expect_end(b);
}

/* The rest of a scraped chunk is refused; what came behind it before is not lost with it. */
BUFFER_TEST(discarding_ends_the_waiting_for_chunks, 4096, TRACE_BUFFER_DISCARD)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "zero");
	chunk_text(&c, "refused");
	chunk_scrape(b, &c);
	commit_text(b, 1, 1, 1, 0, "one");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_end(b);
	commit_record(b, 1, 2, 'x', 4096);
	chunk_commit(b, &c);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 2);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", DATA_LOSS_READ_GAP);
	expect_end(b);
}

/* ---- the counters agree ---- */

TEST_WITH(any_mixture_of_writing_and_reading, setup_4k, teardown)
{
	const struct trace_buffer_stats *st = stats_of(state);
	struct trace_buffer *b = *state;
	uint32_t ids[4] = {0};
	uint64_t rng = 7;
	struct trace_packet p;

	for (unsigned i = 0; i < 20000; i++) {
		uint16_t w = (uint16_t)rng_below(&rng, 4);

		commit_record(b, 1 + w, ids[w]++, 'x', 16 * (2 + rng_below(&rng, 60)));
		assert_true(bytes_in_use(b) <= 4096);
		if (rng_below(&rng, 10) == 0)
			trace_buffer_begin_read(b);
		for (uint32_t n = rng_below(&rng, 3); n > 0; n--)
			trace_buffer_next_packet(b, NULL, &p);
	}
	assert_true(st->chunks_overwritten > 1000 && st->chunks_read > 1000);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		;
	assert_int_equal(st->chunks_written, st->chunks_read + st->chunks_overwritten);
	assert_int_equal(st->chunks_written, 20000);
	assert_int_equal(bytes_in_use(b), st->padding_bytes_written - st->padding_bytes_cleared);
}
