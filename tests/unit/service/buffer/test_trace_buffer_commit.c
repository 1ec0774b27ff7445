/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/trace_buffer_helper.h"

/* Which chunks are taken, and what of those that come again. */

static struct chunk c;

/* ---- ids, counts and flags that no writer sends ---- */

TEST_WITH(ids_that_are_none, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	commit_text(b, 1, 0, 0, 0, "no writer");
	commit_text(b, 1, SMB_MAX_WRITER_ID + 1, 0, 0, "no such writer");
	commit_text(b, 1, UINT16_MAX, 0, 0, "no such writer");
	assert_int_equal(stats_of(state)->abi_violations, 3);
	commit_text(b, 1, SMB_MAX_WRITER_ID, 0, 0, "the last writer");
	commit_text(b, UINT16_MAX, 1, 0, 0, "the last producer");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, SMB_MAX_WRITER_ID, "the last writer", 0);
	expect_packet(b, UINT16_MAX, 1, "the last producer", 0);
	expect_end(b);
}

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

IN_64K(flags_on_chunks_without_fragments)
{
	commit_text(b, 1, 1, 0, FROM_PREV | ON_NEXT | NEEDS_PATCHING, NULL);
	commit_text(b, 1, 1, 1, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next", 0);
	expect_end(b);
}

/* ids so far apart that nobody can say which is the first. */
TEST_WITH(ids_half_the_way_round, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	commit_text(b, 1, 1, 0, 0, "a");
	commit_text(b, 1, 1, 0x7fffffff, 0, "b");
	commit_text(b, 1, 1, 0xbfffffff, 0, "refused");
	assert_int_equal(stats_of(state)->abi_violations, 1);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "a", 0);
	expect_packet(b, 1, 1, "b", DATA_LOSS_READ_GAP);
	expect_end(b);
	commit_text(b, 1, 1, 0xbfffffff, 0, "c");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "c", DATA_LOSS_READ_GAP);
	/* As far as can be before it: past. */
	commit_text(b, 1, 1, 0x3fffffff, 0, "refused");
	trace_buffer_begin_read(b);
	expect_end(b);
}

/* Without a limit each one would cost more than the one before. */
TEST(late_chunks_have_a_limit)
{
	struct trace_buffer *b = buffer_of(32 << 20, TRACE_BUFFER_RING);
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
	trace_buffer_free(b);
}

/* Nor may the rest of a chunk that was scraped long ago. */
TEST(the_rest_of_a_chunk_has_the_same_limit)
{
	struct trace_buffer *b = buffer_of(32 << 20, TRACE_BUFFER_RING);
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
	trace_buffer_free(b);
}

/* Each of them goes in front of all others, which is no more work than behind them. */
TEST(descending_ids_have_no_limit)
{
	enum { CHUNKS = 200000 };
	struct trace_buffer *b = buffer_of(32 << 20, TRACE_BUFFER_RING);

	for (uint32_t i = 0; i < CHUNKS; i++)
		commit_text(b, 1, 1, CHUNKS - i, 0, "x");
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 0);
	assert_int_equal(trace_buffer_stats(b)->chunks_written, CHUNKS);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < CHUNKS; i++)
		expect_packet(b, 1, 1, "x", 0);
	expect_end(b);
	trace_buffer_free(b);
}

/* ---- chunks that come again ---- */

TEST_WITH(a_repetition_is_passed_over, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_commit(b, &c);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	chunk_commit(b, &c);
	expect_packet(b, 1, 1, "two", 0);
	chunk_commit(b, &c);
	expect_end(b);
	commit_text(b, 1, 1, 1, 0, "three");
	expect_packet(b, 1, 1, "three", 0);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_end(b);
	assert_int_equal(stats_of(state)->abi_violations, 0);
	assert_int_equal(stats_of(state)->chunks_discarded, 0);
	assert_int_equal(stats_of(state)->chunks_written, 2);
	assert_int_equal(stats_of(state)->chunks_rewritten, 0);
}

IN_64K(other_contents_do_not_replace_what_was_taken)
{
	commit_text(b, 1, 1, 0, 0, "first");
	commit_text(b, 1, 1, 0, 0, "other");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "first", 0);
	expect_end(b);
}

TEST_WITH(shorter_longer_and_flagless_repetitions, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, ON_NEXT);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_commit(b, &c);
	c.h.count = 1;
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 1);
	c.h.count = 2;
	c.h.flags = 0;
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 2);
	/* A complete chunk is complete. */
	c.h.flags = ON_NEXT;
	chunk_text(&c, "three");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 3);
	chunk_scrape(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 3);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	commit_text(b, 1, 1, 1, FROM_PREV, "!");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two!", 0);
	expect_end(b);
}

/* ---- scraped chunks ---- */

TEST_WITH(the_last_fragment_of_a_scraped_chunk_is_not_counted_on, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, ON_NEXT | NEEDS_PATCHING);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_raw(&c, "\xff\xff", 2);
	c.h.count++;
	chunk_scrape(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 0);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
}

TEST_WITH(scraped_chunks_with_nothing_sure, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_scrape(b, &c);
	chunk_text(&c, "one");
	chunk_scrape(b, &c);
	assert_int_equal(stats_of(state)->chunks_written, 0);
	assert_int_equal(stats_of(state)->bytes_written, 0);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	assert_int_equal(stats_of(state)->chunks_written, 1);
}

TEST_WITH(a_scraped_chunk_grows_before_it_is_read, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	commit_text(b, 1, 2, 0, 0, "other");
	chunk_text(&c, "three");
	chunk_scrape(b, &c);
	chunk_scrape(b, &c);
	chunk_text(&c, "four");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->chunks_written, 2);
	assert_int_equal(stats_of(state)->chunks_rewritten, 2);
	assert_int_equal(stats_of(state)->chunks_relocated, 0);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 2, "other", 0);
	expect_packet(b, 1, 1, "two", 0);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
	expect_end(b);
	assert_int_equal(stats_of(state)->chunks_read, 2);
	assert_int_equal(bytes_in_use(b), 0);
}

TEST_WITH(a_scraped_chunk_grows_after_it_was_read, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	chunk_text(&c, "three");
	chunk_scrape(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
	chunk_text(&c, "four");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->chunks_rewritten, 0);
	assert_int_equal(stats_of(state)->chunks_relocated, 2);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
	expect_end(b);
	assert_int_equal(stats_of(state)->chunks_read, 1);
	assert_int_equal(stats_of(state)->chunks_discarded, 0);
}

TEST_WITH(a_scraped_chunk_grows_while_it_is_read, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_text(&c, "three");
	chunk_scrape(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	chunk_text(&c, "four");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->chunks_rewritten, 1);
	expect_packet(b, 1, 1, "two", 0);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
	expect_end(b);
}

IN_64K(the_rest_of_a_scraped_chunk_comes_before_the_next)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	commit_text(b, 1, 1, 1, 0, "four");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	chunk_text(&c, "three");
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two", 0);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
	expect_end(b);
}

IN_64K(a_scraped_chunk_ends_without_growing)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "unsure");
	chunk_scrape(b, &c);
	commit_text(b, 1, 1, 1, 0, "two");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	c.h.count = 1;
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
	/* The same with all of it unread. */
	chunk_start(&c, 1, 1, 2, 0);
	chunk_text(&c, "three");
	chunk_text(&c, "unsure");
	chunk_scrape(b, &c);
	c.h.count = 1;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 3, 0, "four");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "three", 0);
	expect_packet(b, 1, 1, "four", 0);
}

TEST_WITH(a_scraped_chunk_turns_out_to_go_on, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "start of a pa");
	c.h.flags = ON_NEXT;
	chunk_commit(b, &c);
	chunk_start(&c, 1, 1, 1, FROM_PREV);
	chunk_text(&c, "cket");
	chunk_text(&c, "whole");
	chunk_text(&c, "sta");
	chunk_scrape(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "start of a packet", 0);
	expect_packet(b, 1, 1, "whole", 0);
	expect_end(b);
	c.h.flags |= ON_NEXT;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 2, FROM_PREV, "rt");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "start", 0);
	expect_end(b);
	assert_int_equal(stats_of(state)->abi_violations, 0);
}

IN_64K(the_next_chunk_of_a_packet_is_only_scraped)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start ");
	chunk_start(&c, 1, 1, 1, FROM_PREV);
	chunk_text(&c, "end");
	chunk_scrape(b, &c); /* one fragment: nothing sure */
	trace_buffer_begin_read(b);
	expect_end(b);
	chunk_text(&c, "more");
	chunk_scrape(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "start end", 0);
	expect_end(b);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "more", 0);
	expect_end(b);
}

TEST_WITH(a_scraped_chunk_that_shrinks_or_loses_flags, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, FROM_PREV);
	chunk_text(&c, "orphan");
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	c.h.count = 2;
	chunk_scrape(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 1);
	c.h.count = 1;
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 2);
	c.h.count = 3;
	c.h.flags = 0;
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 3);
	c.h.flags = FROM_PREV;
	chunk_commit_in(b, &c, 5, true);
	assert_int_equal(stats_of(state)->abi_violations, 4);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", DATA_LOSS_ORPHAN_CONTINUATION);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
}

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

TEST_WITH(a_scraped_chunk_that_breaks_the_format_is_over, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_raw(&c, "\xff\xff\xff\x0f", 4);
	c.h.count = 3;
	chunk_scrape(b, &c);
	assert_int_equal(stats_of(state)->abi_violations, 1);
	c.h.count = 4;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "next", DATA_LOSS_CHUNK_CORRUPTED);
	expect_end(b);
}

TEST_WITH(scraped_overwritten_and_taken_up_again, setup_4k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	for (uint32_t i = 0; i < 4; i++)
		commit_fill(b, 2, i, 'x', 1000);
	assert_int_equal(stats_of(state)->chunks_overwritten, 2);
	chunk_text(&c, "three");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->chunks_relocated, 1);
	trace_buffer_begin_read(b);
	for (uint32_t i = 1; i < 4; i++)
		expect_fill(b, 2, 'x', 1000, i == 1 ? DATA_LOSS_OVERWRITE : 0);
	expect_packet(b, 1, 1, "two", DATA_LOSS_OVERWRITE);
	expect_packet(b, 1, 1, "three", 0);
	expect_end(b);
}

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

TEST_WITH(the_rest_of_a_chunk_that_was_given_up_counts_as_discarded, setup_64k, teardown)
{
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(b, &c);
	commit_text(b, 1, 1, 2, 0, "four");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "four", DATA_LOSS_READ_GAP);
	chunk_text(&c, "three");
	chunk_commit(b, &c);
	assert_int_equal(stats_of(state)->chunks_discarded, 1);
	trace_buffer_begin_read(b);
	expect_end(b);
}
