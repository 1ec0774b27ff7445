/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/service/trace_buffer_helper.h"

static struct chunk c;

static void patch(struct trace_buffer *b, uint32_t chunk_id, uint32_t offset, const char *data,
		  bool more)
{
	struct trace_buffer_patch p = {.offset = offset};

	memcpy(p.data, data, sizeof(p.data));
	trace_buffer_apply_patches(b, 1, 1, chunk_id, &p, 1, more);
}

static void expect_counts(const struct trace_buffer *b, uint64_t succeeded, uint64_t failed)
{
	assert_int_equal(trace_buffer_stats(b)->patches_succeeded, succeeded);
	assert_int_equal(trace_buffer_stats(b)->patches_failed, failed);
}

IN_64K(a_packet_waits_for_its_patch)
{
	commit_text(b, 1, 1, 0, 0, "first");
	chunk_start(&c, 1, 1, 1, NEEDS_PATCHING);
	chunk_text(&c, "whole");
	chunk_text(&c, "b....e");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 2, 0, "after");
	commit_text(b, 1, 2, 0, 0, "another writer");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "first", 0);
	expect_packet(b, 1, 1, "whole", 0);
	expect_packet(b, 1, 2, "another writer", 0);
	expect_end(b);
	patch(b, 1, 4 + 5 + 4 + 1, "efor", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "before", 0);
	expect_packet(b, 1, 1, "after", 0);
	expect_end(b);
	expect_counts(b, 1, 0);
}

IN_64K(several_patches_in_several_requests)
{
	struct trace_buffer_patch p[2] = {{.offset = 4, .data = "abcd"},
					  {.offset = 12, .data = "ijkl"}};

	chunk_start(&c, 1, 1, 0, NEEDS_PATCHING);
	chunk_text(&c, "............");
	chunk_commit(b, &c);
	trace_buffer_apply_patches(b, 1, 1, 0, p, 2, true);
	trace_buffer_begin_read(b);
	expect_end(b);
	patch(b, 0, 8, "efgh", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "abcdefghijkl", 0);
	expect_counts(b, 3, 0);
}

IN_64K(patches_over_a_packet_of_many_chunks)
{
	commit_text(b, 1, 1, 0, ON_NEXT | NEEDS_PATCHING, "aaaa");
	commit_text(b, 1, 1, 1, FROM_PREV | ON_NEXT | NEEDS_PATCHING, "bbbb");
	commit_text(b, 1, 1, 2, FROM_PREV, "cccc");
	trace_buffer_begin_read(b);
	expect_end(b);
	patch(b, 0, 4, "AAAA", false);
	trace_buffer_begin_read(b);
	expect_end(b);
	patch(b, 1, 4, "BBBB", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "AAAABBBBcccc", 0);
	expect_end(b);
}

/* The patch is for the packet that goes on; the one that ends in the chunk is whole. */
IN_64K(the_end_of_a_packet_in_a_chunk_that_needs_patching)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "one ");
	chunk_start(&c, 1, 1, 1, FROM_PREV | ON_NEXT | NEEDS_PATCHING);
	chunk_text(&c, "end");
	chunk_text(&c, "****");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 2, FROM_PREV, "!");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one end", 0);
	expect_end(b);
	patch(b, 1, 11, "next", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next!", 0);
	expect_end(b);
}

IN_64K(the_first_and_the_last_place)
{
	chunk_start(&c, 1, 1, 0, NEEDS_PATCHING);
	chunk_text(&c, "........");
	chunk_commit(b, &c);
	patch(b, 0, 8, "last", true);
	patch(b, 0, 0, "\x88\x80\x80", true);
	expect_counts(b, 2, 0);
	patch(b, 0, 9, "over", true);
	patch(b, 0, 12, "over", true);
	patch(b, 0, UINT32_MAX, "over", true);
	patch(b, 0, UINT32_MAX - 3, "over", false);
	expect_counts(b, 2, 4);
	trace_buffer_begin_read(b);
	expect_end(b); /* a patch that failed does not free it */
	patch(b, 0, 4, "good", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "goodlast", 0);
}

IN_64K(in_a_chunk_that_is_too_short)
{
	chunk_start(&c, 1, 1, 0, NEEDS_PATCHING);
	chunk_raw(&c,
		  "\x02"
		  "ab",
		  3);
	c.h.count = 1;
	chunk_commit(b, &c);
	for (uint32_t offset = 0; offset < 8; offset++)
		patch(b, 0, offset, "xxxx", true);
	expect_counts(b, 0, 8);
	commit_text(b, 1, 1, 1, 0, NULL);
	patch(b, 1, 0, "xxxx", false);
	expect_counts(b, 0, 9);
}

IN_64K(the_rest_of_a_failed_request_is_given_up)
{
	struct trace_buffer_patch p[3] = {{.offset = 4, .data = "abcd"},
					  {.offset = 100, .data = "????"},
					  {.offset = 8, .data = "efgh"}};

	chunk_start(&c, 1, 1, 0, NEEDS_PATCHING);
	chunk_text(&c, "........");
	chunk_commit(b, &c);
	trace_buffer_apply_patches(b, 1, 1, 0, p, 3, false);
	expect_counts(b, 0, 1);
	trace_buffer_begin_read(b);
	expect_end(b);
	trace_buffer_apply_patches(b, 1, 1, 0, NULL, 0, false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "abcd....", 0);
	expect_counts(b, 0, 1);
}

IN_64K(chunks_that_are_not_there)
{
	patch(b, 0, 4, "xxxx", false);
	commit_text(b, 1, 1, 5, 0, "original");
	commit_text(b, 1, 1, 7, 0, "original");
	patch(b, 4, 4, "xxxx", false);
	patch(b, 6, 4, "xxxx", false);
	patch(b, 8, 4, "xxxx", false);
	patch(b, 0x80000005, 4, "xxxx", false);
	expect_counts(b, 0, 5);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "original", 0);
	expect_packet(b, 1, 1, "original", DATA_LOSS_READ_GAP);
	patch(b, 5, 4, "xxxx", false);
	patch(b, 7, 4, "xxxx", false);
	expect_counts(b, 0, 7);
}

TEST_WITH(only_ones_own_data, setup_64k, teardown)
{
	struct trace_buffer_patch p = {.offset = 4, .data = "xxxx"};
	struct trace_buffer *b = *state;

	commit_text(b, 1, 1, 0, 0, "1.1.");
	commit_text(b, 1, 2, 0, 0, "1.2.");
	commit_text(b, 2, 1, 0, 0, "2.1.");
	trace_buffer_apply_patches(b, 2, 2, 0, &p, 1, false);
	trace_buffer_apply_patches(b, 0, 1, 0, &p, 1, false);
	trace_buffer_apply_patches(b, 1, 2, 0, &p, 1, false);
	expect_counts(b, 1, 2);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "1.1.", 0);
	expect_packet(b, 1, 2, "xxxx", 0);
	expect_packet(b, 2, 1, "2.1.", 0);
}

/* Offsets count from the start of the chunk, though its records lie apart. */
IN_64K(in_a_chunk_that_was_scraped)
{
	chunk_start(&c, 1, 1, 0, ON_NEXT | NEEDS_PATCHING);
	chunk_text(&c, "....");
	chunk_text(&c, "....");
	chunk_scrape(b, &c);
	commit_text(b, 1, 2, 0, 0, "other");
	chunk_text(&c, "....");
	chunk_commit(b, &c);
	patch(b, 0, 4, "one ", true);
	patch(b, 0, 12, "two ", true);
	patch(b, 0, 6, "over", true); /* lies in both records */
	expect_counts(b, 2, 1);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "one ", 0);
	expect_packet(b, 1, 2, "other", 0);
	expect_packet(b, 1, 1, "two ", 0);
	expect_end(b);
	patch(b, 0, 4, "gone", true);
	expect_counts(b, 2, 2);
	patch(b, 0, 20, "four", false);
	commit_text(b, 1, 1, 1, FROM_PREV, "!");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "four!", 0);
	expect_end(b);
}

IN_64K(a_patch_that_breaks_a_size)
{
	chunk_start(&c, 1, 1, 0, 0);
	chunk_text(&c, "good");
	chunk_text(&c, "bad!");
	chunk_text(&c, "also lost");
	chunk_commit(b, &c);
	commit_text(b, 1, 1, 1, 0, "next");
	patch(b, 0, 8, "\xff\xff\xff\x0f", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "good", 0);
	expect_packet(b, 1, 1, "next", DATA_LOSS_CHUNK_CORRUPTED);
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
	assert_int_equal(bytes_in_use(b), 0);
}

IN_64K(a_patch_that_never_ends_a_size)
{
	commit_text(b, 1, 1, 0, 0, "");
	patch(b, 0, 0, "\xff\xff\xff\xff", false);
	commit_text(b, 1, 1, 1, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next", DATA_LOSS_CHUNK_CORRUPTED);
	expect_end(b);
}

IN_64K(a_patch_that_cuts_a_packet_in_pieces)
{
	commit_text(b, 1, 1, 0, 0, "0123456789");
	patch(b, 0, 0, "\x02\x01\x02\x05", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "\x01\x02", 0);
	expect_packet(b, 1, 1, "01234", 0);
	/* "5" is 0x35: more than is left. */
	expect_end(b);
	assert_int_equal(trace_buffer_stats(b)->abi_violations, 1);
}

/* What was found to be the middle of a packet is no longer that, when it is joined. */
IN_64K(a_patch_that_breaks_a_packet_in_its_middle)
{
	commit_text(b, 1, 1, 0, ON_NEXT, "start");
	commit_text(b, 1, 1, 1, FROM_PREV | ON_NEXT, "middle");
	trace_buffer_begin_read(b);
	expect_end(b);
	patch(b, 1, 0, "\xff\xff\xff\xff", false);
	commit_text(b, 1, 1, 2, FROM_PREV, "end");
	commit_text(b, 1, 1, 3, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next",
		      DATA_LOSS_REASSEMBLY_BROKEN_CHAIN | DATA_LOSS_CHUNK_CORRUPTED |
			      DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}

/* A record may not lead to the bytes of the one after it. */
IN_64K(a_patch_cannot_reach_other_records)
{
	commit_text(b, 1, 1, 0, 0, "x");
	commit_text(b, 2, 1, 0, 0, "secret of another producer");
	patch(b, 0, 1, "\x80\x80\x7f\x7f", false);
	trace_buffer_begin_read(b);
	expect_packet(b, 2, 1, "secret of another producer", 0);
	expect_end(b);
}
