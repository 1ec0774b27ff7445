/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/trace_buffer_helper.h"

/* What is missing, and what the next packet says of it. */

static struct chunk c;

/* ---- nothing is missing ---- */

IN_64K(the_first_packet_tells_of_no_loss)
{
	/* A sequence may begin at any id: the service may have come later than the writer. */
	commit_text(b, 1, 1, 77, 0, "first");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "first", 0);
}

IN_64K(a_loss_is_told_once)
{
	commit_text(b, 1, 1, 0, 0, "zero");
	chunk_start(&c, 1, 1, 2, 0);
	chunk_text(&c, "two a");
	chunk_text(&c, "two b");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 3, 0, "three");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_packet(b, 1, 1, "two a", DATA_LOSS_READ_GAP);
	expect_packet(b, 1, 1, "two b", 0);
	expect_packet(b, 1, 1, "three", 0);
}

/* ---- gaps ---- */

IN_64K(a_gap_within_a_pass)
{
	commit_text(b, 1, 1, 0, 0, "zero");
	commit_text(b, 1, 1, 1, 0, "one");
	commit_text(b, 1, 1, 9, 0, "nine");
	commit_text(b, 1, 1, 11, 0, "eleven");
	commit_text(b, 1, 2, 0, 0, "other");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "nine", DATA_LOSS_READ_GAP);
	expect_packet(b, 1, 1, "eleven", DATA_LOSS_READ_GAP);
	expect_packet(b, 1, 2, "other", 0);
	expect_end(b);
}

IN_64K(a_gap_between_passes)
{
	commit_text(b, 1, 1, 0, 0, "zero");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_end(b);
	commit_text(b, 1, 1, 2, 0, "two");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "two", DATA_LOSS_READ_GAP);
	commit_text(b, 1, 1, 1, 0, "one, too late");
	commit_text(b, 1, 1, 3, 0, "three");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "three", 0);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 1);
}

IN_64K(a_gap_at_the_end_of_ids)
{
	commit_text(b, 1, 1, UINT32_MAX - 1, 0, "before");
	commit_text(b, 1, 1, 0, 0, "after");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "before", 0);
	expect_packet(b, 1, 1, "after", DATA_LOSS_READ_GAP);
}

IN_64K(a_gap_filled_in_time_is_none)
{
	commit_text(b, 1, 1, 0, 0, "zero");
	commit_text(b, 1, 1, 2, NEEDS_PATCHING, "two");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_end(b);
	commit_text(b, 1, 1, 1, 0, "one");
	trace_buffer_apply_patches(b, 1, 1, 2, NULL, 0, false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one", 0);
	expect_packet(b, 1, 1, "two", 0);
	expect_end(b);
}

IN_64K(an_empty_chunk_after_a_gap_passes_the_loss_on)
{
	commit_text(b, 1, 1, 0, 0, "zero");
	commit_text(b, 1, 1, 2, 0, NULL);
	commit_text(b, 1, 1, 3, 0, "three");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", 0);
	expect_packet(b, 1, 1, "three", DATA_LOSS_READ_GAP);
}

IN_64K(losses_are_of_one_sequence)
{
	commit_text(b, 1, 1, 0, 0, "1 zero");
	commit_text(b, 1, 2, 0, 0, "2 zero");
	commit_text(b, 2, 1, 0, 0, "3 zero");
	commit_text(b, 1, 1, 2, 0, "1 two");
	commit_text(b, 1, 2, 1, 0, "2 one");
	commit_text(b, 2, 1, 1, 0, "3 one");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "1 zero", 0);
	expect_packet(b, 1, 2, "2 zero", 0);
	expect_packet(b, 2, 1, "3 zero", 0);
	expect_packet(b, 1, 1, "1 two", DATA_LOSS_READ_GAP);
	expect_packet(b, 1, 2, "2 one", 0);
	expect_packet(b, 2, 1, "3 one", 0);
}

/* ---- broken packets ---- */

IN_64K(an_end_without_a_start)
{
	chunk_start(&c, 1, 1, 5, FROM_PREV);
	chunk_text(&c, "end of what?");
	chunk_text(&c, "whole");
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole", DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}

IN_64K(a_middle_without_a_start)
{
	commit_text(b, 1, 1, 5, FROM_PREV | ON_NEXT, "middle");
	commit_text(b, 1, 1, 6, FROM_PREV | ON_NEXT, "middle");
	chunk_start(&c, 1, 1, 7, FROM_PREV);
	chunk_text(&c, "end");
	chunk_text(&c, "whole");
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole", DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}

IN_64K(a_chunk_is_missing_inside_of_a_packet)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start");
	commit_text(b, 1, 1, 2, FROM_PREV | ON_NEXT, "middle");
	chunk_start(&c, 1, 1, 3, FROM_PREV);
	chunk_text(&c, "end");
	chunk_text(&c, "whole");
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole",
		      DATA_LOSS_REASSEMBLY_GAP | DATA_LOSS_READ_GAP |
			      DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->readaheads_failed, 1);
	assert_int_equal(bytes_in_use(b), 0);
}

IN_64K(the_next_chunk_does_not_go_on)
{
	chunk_start(&c, 1, 1, 0, ON_NEXT);
	chunk_text(&c, "whole");
	chunk_text(&c, "start");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, 0, "something else");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole", 0);
	expect_packet(b, 1, 1, "something else", DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->readaheads_failed, 1);
}

IN_64K(the_chain_breaks_after_some_chunks)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start");
	commit_text(b, 1, 1, 1, FROM_PREV | ON_NEXT, "middle");
	commit_text(b, 1, 1, 2, 0, NULL);
	commit_text(b, 1, 1, 3, ON_NEXT, "new ");
	commit_text(b, 1, 1, 4, FROM_PREV, "start");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "new start", DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}

IN_64K(a_writer_drops_its_packet)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "whole");
	chunk_raw(&c, "\xff\xff\xff\x7f", 4);
	chunk_raw(&c, "half a pack", 11);
	c.h.count++;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole", 0);
	expect_packet(b, 1, 1, "next", DATA_LOSS_WRITER_ABORT);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->trace_writer_packet_loss, 1);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 0);
}

IN_64K(a_writer_drops_a_packet_that_began_before)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start");
	chunk_start(&c, 1, 1, 1, FROM_PREV);
	chunk_raw(&c, "\xff\xff\xff\x7f", 4);
	c.h.count++;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 2, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next", DATA_LOSS_WRITER_ABORT | DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
	expect_end(b);
}

IN_64K(nothing_is_joined_over_a_dropped_packet)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start");
	chunk_start(&c, 1, 1, 1, FROM_PREV);
	chunk_raw(&c, "\xff\xff\xff\x7f", 4);
	c.h.count++;
	chunk_commit(b, &c);
	chunk_start(&c, 1, 1, 2, FROM_PREV);
	chunk_text(&c, "not its end");
	chunk_text(&c, "next");
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next",
		      DATA_LOSS_WRITER_ABORT | DATA_LOSS_REASSEMBLY_BROKEN_CHAIN |
			      DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}

IN_64K(a_chunk_breaks_the_format)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "whole");
	chunk_raw(&c,
		  "\x7f"
		  "short",
		  6);
	c.h.count++;
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "whole", 0);
	expect_packet(b, 1, 1, "next", DATA_LOSS_CHUNK_CORRUPTED);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(trace_buffer_stats(b)->trace_writer_packet_loss, 0);
}

/* ---- overwriting: records of 1024 bytes in a ring of 4096 ---- */

enum { KB = 1024 - 16 - 4 };

TEST_WITH(overwritten_chunks, setup_4k, teardown)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(*state);
	struct trace_buffer *b = *state;

	for (uint32_t i = 0; i < 7; i++)
		commit_fill(b, 1, i, (char)('a' + i), KB);
	assert_int_equal(st->bytes_written, 7 * 1024);
	assert_int_equal(st->chunks_overwritten, 3);
	assert_int_equal(st->bytes_overwritten, 3 * 1024);
	assert_int_equal(bytes_in_use(b), 4 * 1024);
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'd', KB, DATA_LOSS_OVERWRITE);
	expect_fill(b, 1, 'e', KB, 0);
	expect_fill(b, 1, 'f', KB, 0);
	expect_fill(b, 1, 'g', KB, 0);
	expect_end(b);
	assert_int_equal(st->chunks_read, 4);
}

IN_4K(what_was_read_is_not_overwritten)
{
	commit_fill(b, 1, 0, 'x', KB);
	for (uint32_t i = 1; i < 40; i++) {
		commit_fill(b, 1, i, 'x', KB); /* there is always one that is unread */
		trace_buffer_begin_read(b);
		expect_fill(b, 1, 'x', KB, 0);
	}
	assert_int_equal(trace_buffer_stats(b)->chunks_overwritten, 0);
	assert_int_equal(trace_buffer_stats(b)->bytes_overwritten, 0);
	assert_int_equal(trace_buffer_stats(b)->write_wrap_count, 10);
}

TEST_WITH(a_chunk_that_is_half_read_is_overwritten, setup_4k, teardown)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(*state);
	struct trace_buffer *b = *state;

	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "a");
	chunk_text(&c, "b");
	chunk_fill(&c, 'c', 990);
	chunk_commit(b, &c);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "a", 0);
	for (uint32_t i = 1; i < 5; i++)
		commit_fill(b, 1, i, (char)('a' + i), KB);
	assert_int_equal(st->chunks_overwritten, 1);
	assert_int_equal(st->bytes_overwritten, 1024);
	assert_int_equal(st->chunks_read, 0);
	expect_fill(b, 1, 'b', KB, DATA_LOSS_OVERWRITE);
	expect_fill(b, 1, 'c', KB, 0);
	expect_fill(b, 1, 'd', KB, 0);
	expect_fill(b, 1, 'e', KB, 0);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}

IN_4K(an_empty_chunk_is_overwritten_without_loss)
{
	commit_text(b, 1, 2, 0, 0, NULL);
	for (uint32_t i = 0; i < 5; i++)
		commit_fill(b, 1, i, 'a', KB);
	commit_text(b, 1, 2, 1, 0, "two");
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'a', KB, DATA_LOSS_OVERWRITE);
	expect_fill(b, 1, 'a', KB, 0);
	expect_packet(b, 1, 2, "two", 0);
	expect_end(b);
}

IN_4K(the_start_of_a_packet_is_overwritten)
{
	chunk_start(&c, 1, 1, 0, ON_NEXT);
	chunk_fill(&c, 'a', KB);
	chunk_commit(b, &c);
	chunk_start(&c, 1, 1, 1, FROM_PREV);
	chunk_text(&c, "end");
	chunk_fill(&c, 'b', 900);
	chunk_commit(b, &c);
	for (uint32_t i = 2; i < 5; i++)
		commit_fill(b, 1, i, 'c', KB);
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'b', 900, DATA_LOSS_OVERWRITE | DATA_LOSS_ORPHAN_CONTINUATION);
	expect_fill(b, 1, 'c', KB, 0);
	expect_fill(b, 1, 'c', KB, 0);
	expect_fill(b, 1, 'c', KB, 0);
	expect_end(b);
}

IN_4K(overwriting_frees_a_sequence_that_waits)
{
	chunk_start(&c, 1, 1, 0, NEEDS_PATCHING);
	chunk_fill(&c, 'a', KB);
	chunk_commit(b, &c);
	commit_fill(b, 1, 1, 'b', KB);
	commit_fill(b, 2, 0, 'x', KB);
	trace_buffer_begin_read(b);
	expect_fill(b, 2, 'x', KB, 0);
	expect_end(b);
	commit_fill(b, 2, 1, 'y', KB);
	commit_fill(b, 2, 2, 'z', KB);
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'b', KB, DATA_LOSS_OVERWRITE);
	expect_fill(b, 2, 'y', KB, 0);
	expect_fill(b, 2, 'z', KB, 0);
	expect_end(b);
}

/* Chunk 0 came after 1, and lies behind it: when the place of 1 is needed, both go. */
TEST_WITH(overwriting_goes_in_the_order_of_ids, setup_4k, teardown)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(*state);
	struct trace_buffer *b = *state;

	commit_fill(b, 1, 1, 'b', KB);
	commit_fill(b, 1, 0, 'a', KB);
	commit_fill(b, 1, 2, 'c', KB);
	commit_fill(b, 1, 3, 'd', KB);
	commit_fill(b, 2, 0, 'x', KB);
	assert_int_equal(st->chunks_overwritten, 2);
	assert_int_equal(st->bytes_overwritten, 2048);
	commit_fill(b, 2, 1, 'y', KB);
	assert_int_equal(st->chunks_overwritten, 2);
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'c', KB, DATA_LOSS_OVERWRITE);
	expect_fill(b, 1, 'd', KB, 0);
	expect_fill(b, 2, 'x', KB, 0);
	expect_fill(b, 2, 'y', KB, 0);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}

TEST_WITH(a_late_chunk_whose_successor_must_go_for_it, setup_4k, teardown)
{
	const struct trace_buffer_stats *st = trace_buffer_stats(*state);
	struct trace_buffer *b = *state;

	commit_fill(b, 1, 5, 'f', KB);
	commit_fill(b, 2, 0, 'x', KB);
	commit_fill(b, 2, 1, 'y', KB);
	commit_fill(b, 2, 2, 'z', KB);
	commit_fill(b, 1, 4, 'e', KB);
	assert_int_equal(st->chunks_overwritten, 1);
	assert_int_equal(st->chunks_discarded, 1);
	trace_buffer_begin_read(b);
	expect_fill(b, 2, 'x', KB, 0);
	expect_fill(b, 2, 'y', KB, 0);
	expect_fill(b, 2, 'z', KB, 0);
	expect_end(b);
	commit_fill(b, 1, 6, 'g', KB);
	trace_buffer_begin_read(b);
	expect_fill(b, 1, 'g', KB, DATA_LOSS_OVERWRITE);
}

IN_4K(losses_pile_up)
{
	commit_fill(b, 1, 0, 'a', KB);
	for (uint32_t i = 0; i < 4; i++)
		commit_fill(b, 2, i, 'x', KB);
	chunk_start(&c, 1, 1, 2, FROM_PREV);
	chunk_text(&c, "end");
	chunk_raw(&c, "\xff\xff\xff\x7f", 4);
	c.h.count++;
	chunk_commit(b, &c);
	chunk_start(&c, 1, 1, 3, 0);
	chunk_text(&c, "then");
	chunk_commit(b, &c);
	for (uint32_t i = 1; i < 4; i++) {
		trace_buffer_begin_read(b);
		expect_fill(b, 2, 'x', KB, i == 1 ? DATA_LOSS_OVERWRITE : 0);
	}
	expect_packet(b, 1, 1, "then",
		      DATA_LOSS_OVERWRITE | DATA_LOSS_READ_GAP | DATA_LOSS_ORPHAN_CONTINUATION |
			      DATA_LOSS_WRITER_ABORT);
}
