/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/buffer_script.h"

/* Which chunks are taken, and what of those that come again. */

static struct chunk c;

/* ---- ids, counts and flags that no writer sends ---- */

SCRIPT(ids_that_are_none, 64 << 10,
       "put 1.0#0 'no writer' 1.32768#0 'no such writer' 1.65535#0 'no such writer'\n"
       "count abi_violations 3\n"
       "put 1.32767#0 'the last writer' 65535.1#0 'the last producer'\n"
       "read 1.32767 'the last writer' 65535.1 'the last producer' end")

TEST_WITH(a_count_or_a_length_that_no_header_can_have, setup_64k, teardown)
{
	struct trace_buffer_writer w = {.producer_id = 1, .writer_id = 1};
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "text");
	c.h.count = SMB_MAX_PACKETS + 1;
	chunk_commit(b, &c);
	c.h.count = 1;
	trace_buffer_commit(b, &w, &c.h, c.payload, 65536, true);
	assert_int_equal(stats_of(state)->abi_violations, 2);
	assert_int_equal(stats_of(state)->chunks_written, 0);
}

SCRIPT(flags_on_chunks_without_fragments, 64 << 10,
       "put 1.1#0<>! 1.1#1 'next'\n"
       "read 1.1 'next' end")

/* ids so far apart that nobody can say which is the first. */
SCRIPT(ids_half_the_way_round, 64 << 10,
       "put 1.1#0 'a' 1.1#0x7fffffff 'b' 1.1#0xbfffffff 'refused'\n"
       "count abi_violations 1\n"
       "read 1.1 'a' 1.1 'b' -gap end\n"
       "put 1.1#0xbfffffff 'c'\n"
       "read 1.1 'c' -gap\n"
       /* As far as can be before it: past. */
       "put 1.1#0x3fffffff 'refused'\n"
       "read end")

/* Without a limit each one would cost more than the one before. */
BUFFER_TEST(late_chunks_have_a_limit, 32 << 20, TRACE_BUFFER_RING)
{
	uint32_t limit = SMB_MAX_SIZE / SMB_MIN_PAGE / 2;
	struct trace_packet p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 2 * limit + 2; i++)
		commit_text(b, 1, 1, 10 + 2 * i, 0, "x");
	commit_text(b, 1, 1, 11 + 2 * limit, 0, "too far from both ends");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	commit_text(b, 1, 1, 9 + 2 * limit, 0, "just near enough to the first");
	commit_text(b, 1, 1, 15 + 2 * limit, 0, "and to the last");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(trace_buffer_stats(b)->chunks_written, 2 * limit + 4);
	trace_buffer_begin_read(b);
	while (trace_buffer_next_packet(b, NULL, &p))
		n++;
	assert_int_equal(n, 2 * limit + 4);
}

/* Nor may the rest of a chunk that was scraped long ago. */
BUFFER_TEST(the_rest_of_a_chunk_has_the_same_limit, 32 << 20, TRACE_BUFFER_RING)
{
	uint32_t limit = SMB_MAX_SIZE / SMB_MIN_PAGE / 2;

	for (uint32_t i = 0; i <= limit; i++)
		commit_text(b, 1, 1, i, 0, "x");
	chunk_start(&c, 1, 1, limit + 1, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	for (uint32_t i = 0; i <= limit; i++)
		commit_text(b, 1, 1, limit + 2 + i, 0, "x");
	chunk_commit(b, &c);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(trace_buffer_stats(b)->chunks_rewritten, 0);
}

/* Each of them goes in front of all others, which is no more work than behind them. */
BUFFER_TEST(descending_ids_have_no_limit, 32 << 20, TRACE_BUFFER_RING)
{
	enum { CHUNKS = 200000 };

	for (uint32_t i = 0; i < CHUNKS; i++)
		commit_text(b, 1, 1, CHUNKS - i, 0, "x");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 0);
	assert_int_equal(trace_buffer_stats(b)->chunks_written, CHUNKS);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < CHUNKS; i++)
		expect_packet(b, 1, 1, "x", 0);
	expect_end(b);
}

/* ---- chunks that come again ---- */

SCRIPT(a_repetition_is_passed_over, 64 << 10,
       "put 1.1#0 'one' 'two' 1.1#0+\n"
       "read 1.1 'one'\n"
       "put 1.1#0+\n"
       "next 1.1 'two'\n"
       "put 1.1#0+\n"
       "next end\n"
       "put 1.1#1 'three'\n"
       "next 1.1 'three'\n"
       "put 1.1#0+\n"
       "read end\n"
       "count abi_violations 0 chunks_discarded 0 chunks_written 2 chunks_rewritten 0")

SCRIPT(other_contents_do_not_replace_what_was_taken, 64 << 10,
       "put 1.1#0 'first' 1.1#0 'other'\n"
       "read 1.1 'first' end")

SCRIPT(shorter_longer_and_flagless_repetitions, 64 << 10,
       "put 1.1#0> 'one' 'two' 1.1#0+ /1\n"
       "count abi_violations 1\n"
       "put 1.1#0+- /2\n"
       "count abi_violations 2\n"
       /* A complete chunk is complete. */
       "put 1.1#0+> 'three'\n"
       "count abi_violations 3\n"
       "scrape 1.1#0+\n"
       "count abi_violations 3\n"
       "read 1.1 'one' end\n"
       "put 1.1#1< '!'\n"
       "read 1.1 'two!' end")

/* ---- scraped chunks ---- */

SCRIPT(the_last_fragment_of_a_scraped_chunk_is_not_counted_on, 64 << 10,
       "scrape 1.1#0>! 'one' 'two' raw %ffff /3\n"
       "count abi_violations 0\n"
       "read 1.1 'one' 1.1 'two' end")

SCRIPT(scraped_chunks_with_nothing_sure, 64 << 10,
       "scrape 1.1#0 1.1#0+ 'one'\n"
       "count chunks_written 0 bytes_written 0\n"
       "put 1.1#0+\n"
       "read 1.1 'one' end\n"
       "count chunks_written 1")

SCRIPT(a_scraped_chunk_grows_before_it_is_read, 64 << 10,
       "scrape 1.1#0 'one' 'two'\n"
       "put 1.2#0 'other'\n"
       "scrape 1.1#0+ 'three' 1.1#0+\n"
       "put 1.1#0+ 'four'\n"
       "count chunks_written 2 chunks_rewritten 2 chunks_relocated 0\n"
       "read 1.1 'one' 1.2 'other' 1.1 'two' 1.1 'three' 1.1 'four' end\n"
       "count chunks_read 2 bytes_in_use 0")

SCRIPT(a_scraped_chunk_grows_after_it_was_read, 64 << 10,
       "scrape 1.1#0 'one' 'two'\n"
       "read 1.1 'one' end\n"
       "scrape 1.1#0+ 'three'\n"
       "read 1.1 'two' end\n"
       "put 1.1#0+ 'four'\n"
       "count chunks_rewritten 0 chunks_relocated 2\n"
       "read 1.1 'three' 1.1 'four' end\n"
       "count chunks_read 1 chunks_discarded 0")

SCRIPT(a_scraped_chunk_grows_while_it_is_read, 64 << 10,
       "scrape 1.1#0 'one' 'two' 'three'\n"
       "read 1.1 'one'\n"
       "put 1.1#0+ 'four'\n"
       "count chunks_rewritten 1\n"
       "next 1.1 'two' 1.1 'three' 1.1 'four' end")

SCRIPT(the_rest_of_a_scraped_chunk_comes_before_the_next, 64 << 10,
       "scrape 1.1#0 'one' 'two'\n"
       "put 1.1#1 'four'\n"
       "read 1.1 'one' end\n"
       "put 1.1#0+ 'three'\n"
       "read 1.1 'two' 1.1 'three' 1.1 'four' end")

SCRIPT(a_scraped_chunk_ends_without_growing, 64 << 10,
       "scrape 1.1#0 'one' 'unsure'\n"
       "put 1.1#1 'two'\n"
       "read 1.1 'one' end\n"
       "put 1.1#0+ /1\n"
       "read 1.1 'two' end\n"
       /* The same with all of it unread. */
       "scrape 1.1#2 'three' 'unsure'\n"
       "put 1.1#2+ /1 1.1#3 'four'\n"
       "read 1.1 'three' 1.1 'four'")

SCRIPT(a_scraped_chunk_turns_out_to_go_on, 64 << 10,
       "put 1.1#0> 'start of a pa'\n"
       "scrape 1.1#1< 'cket' 'whole' 'sta'\n"
       "read 1.1 'start of a packet' 1.1 'whole' end\n"
       "put 1.1#1+<> 1.1#2< 'rt'\n"
       "read 1.1 'start' end\n"
       "count abi_violations 0")

SCRIPT(the_next_chunk_of_a_packet_is_only_scraped, 64 << 10,
       "put 1.1#0> 'start '\n"
       "scrape 1.1#1< 'end'\n"
       /* one fragment: nothing sure */
       "read end\n"
       "scrape 1.1#1+ 'more'\n"
       "read 1.1 'start end' end\n"
       "put 1.1#1+\n"
       "read 1.1 'more' end")

SCRIPT(a_scraped_chunk_that_shrinks_or_loses_flags, 64 << 10,
       "scrape 1.1#0< 'orphan' 'one' 'two' 1.1#0+ /2\n"
       "count abi_violations 1\n"
       "put 1.1#0+ /1\n"
       "count abi_violations 2\n"
       "put 1.1#0+- /3\n"
       "count abi_violations 3\n"
       "put 1.1#0+< [5]\n"
       "count abi_violations 4\n"
       "put 1.1#0+\n"
       "read 1.1 'one' -orphan 1.1 'two' end")

TEST_WITH(a_scraped_chunk_that_changes_keeps_what_was_taken, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	memset(c.payload, 0xff, 7);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "two", 0);
	assert_int_equal(stats_of(state)->abi_violations, 0);
}

SCRIPT(a_scraped_chunk_that_breaks_the_format_is_over, 64 << 10,
       "scrape 1.1#0 'one' raw %ffffff0f /3\n"
       "count abi_violations 1\n"
       "put 1.1#0+ /4 1.1#1 'next'\n"
       "read 1.1 'one' 1.1 'next' -corrupted end")

SCRIPT(scraped_overwritten_and_taken_up_again, 4096,
       "scrape 1.1#0 'one' 'two'\n"
       "put 1.2#0 x*1000 1.2#1 x*1000 1.2#2 x*1000 1.2#3 x*1000\n"
       "count chunks_overwritten 2\n"
       "put 1.1#0+ 'three'\n"
       "count chunks_relocated 1\n"
       "read 1.2 x*1000 -overwrite 1.2 x*1000 1.2 x*1000 1.1 'two' -overwrite\n"
       "next 1.1 'three' end")

TEST_WITH(scraped_complete_read_and_then_committed, setup_64k, teardown)
{
	struct trace_buffer *b = *state;
	struct chunk *first = test_malloc(sizeof(*first));

	/* Two chunks wait in the shared memory, are scraped there and read; then they arrive. */
	chunk_start(first, 1, 1, 0, 0);
	chunk_text(first, "zero");
	chunk_start(&c, 1, 1, 1, 0);
	chunk_text(&c, "one");
	chunk_commit(b, first);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_packet(b, 1, 1, "one", 0);
	chunk_commit(b, first);
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 2, 0, "two");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
	/* Nothing was lost, and nothing says so. */
	assert_int_equal(stats_of(state)->chunks_discarded, 0);
	assert_int_equal(stats_of(state)->abi_violations, 0);
	test_free(first);
}

SCRIPT(the_rest_of_a_chunk_that_was_given_up_counts_as_discarded, 64 << 10,
       "scrape 1.1#0 'one' 'two'\n"
       "put 1.1#2 'four'\n"
       "read 1.1 'one' 1.1 'four' -gap\n"
       "put 1.1#0+ 'three'\n"
       "count chunks_discarded 1\n"
       "read end")
