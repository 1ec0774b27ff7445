/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/buffer_script.h"
#include "unit/test.h"
#include "wire/pb_enc.h"

/*
 * What is read, in which order, and in how many steps. The model has the rest. Nothing is
 * overwritten.
 */

static struct chunk c;

/* ---- whole packets ---- */

SCRIPT(packets_of_one_chunk, 64 << 10,
       "put 1.1#0 'one' 'two' 'three'\n"
       "count chunks_written 1 bytes_written 48 bytes_in_use 48\n"
       "read 1.1 'one'\n"
       "count chunks_read 0\n"
       "next 1.1 'two' 1.1 'three' end\n"
       "count chunks_read 1 bytes_read 48 bytes_in_use 0")

SCRIPT(sequences_in_the_order_of_their_writes, 64 << 10,
       "put 2.1#0 '2.1 first' 1.2#0 '1.2 first' 1.1#0 '1.1 first' 2.1#1 '2.1 second'\n"
       "put 1.1#1 '1.1 second'\n"
       "read 2.1 '2.1 first' 1.2 '1.2 first' 1.1 '1.1 first' 2.1 '2.1 second'\n"
       "next 1.1 '1.1 second' end")

IN_64K(a_pass_may_be_broken_off_anywhere)
{
	char text[8];

	for (uint32_t i = 0; i < 20; i++) {
		chunk_start(&c, 1, 1 + i % 3, i / 3, 0);
		snprintf(text, sizeof(text), "%ua", i);
		chunk_text(&c, text);
		snprintf(text, sizeof(text), "%ub", i);
		chunk_text(&c, text);
		chunk_commit(b, &c);
	}
	for (uint32_t i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "%u%c", i / 2, "ab"[i % 2]);
		trace_buffer_begin_read(b);
		expect_packet(b, 1, 1 + i / 2 % 3, text, 0);
	}
	trace_buffer_begin_read(b);
	expect_end(b);
}

SCRIPT(the_longest_chunk, 64 << 10,
       "put 1.1#0 x*64515\n"
       "read 1.1 x*64515 end")

TEST_STATE(writers_keep_their_identity, setup_64k, teardown, struct trace_buffer *b)
{
	struct trace_buffer_writer w = {.producer_id = 9, .writer_id = 3, .uid = 42, .pid = 0};
	struct trace_packet p;

	commit_text(b, 7, 3, 0, 0, "seven");
	chunk_start(&c, 9, 3, 0, 0);
	chunk_text(&c, "nine");
	trace_buffer_commit(b, &w, &c.h, c.payload, c.len, true);
	trace_buffer_begin_read(b);
	expect_packet(b, 7, 3, "seven", 0);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	assert_memory_equal(&p.writer, &w, sizeof(w));
}

SCRIPT(no_way_back_within_a_chunk_that_is_partly_read, 64 << 10,
       "put 1.1#0 'zero' 1.1#2 'two a' 'two b'\n"
       "read 1.1 'zero' 1.1 'two a' -gap\n"
       "put 1.1#1 'one, too late'\n"
       "next 1.1 'two b' end\n"
       "count chunks_discarded 1")

/* ---- packets over several chunks ---- */

SCRIPT(the_end_of_a_packet_is_waited_for, 64 << 10,
       "put 1.1#0> 'whole' 'be' 1.2#0 'other'\n"
       "read 1.1 'whole' 1.2 'other' end\n"
       "count readaheads_failed 1\n"
       "read end\n"
       /* Nothing came for it: not looked at again. */
       "count readaheads_failed 1\n"
       "put 1.1#1<> 'gu'\n"
       "read end\n"
       "put 1.2#1 'other again' 1.1#2< 'n'\n"
       "read 1.1 'begun' 1.2 'other again' end\n"
       "count readaheads_failed 2 readaheads_succeeded 1")

/* Commits a packet of n chunks of 32 KiB from chunk id `first` on. */
static void commit_large(struct trace_buffer *b, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		chunk_start(&c, 1, 1, first + i, (i ? FROM_PREV : 0) | (i < n - 1 ? ON_NEXT : 0));
		chunk_fill(&c, 'x', 32768);
		chunk_commit(b, &c);
	}
}

BUFFER_TEST(a_packet_above_the_limit_of_the_format, 256 << 20, TRACE_BUFFER_RING)
{
	uint32_t n = TRACE_PACKET_MAX / 32768;
	struct trace_packet p;

	commit_large(b, 0, n);
	trace_buffer_begin_read(b);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	assert_int_equal(p.size, TRACE_PACKET_MAX);
	commit_large(b, n, n + 1);
	commit_text(b, 1, 1, 2 * n + 1, ON_NEXT, "ne");
	commit_text(b, 1, 1, 2 * n + 2, FROM_PREV, "xt");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next",
		      DATA_LOSS_REASSEMBLY_BROKEN_CHAIN | DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}

SCRIPT(what_wakes_during_a_pass_is_read_in_the_next, 64 << 10,
       "put 1.1#0! 'late' 1.2#0 'first' 1.2#1 'second'\n"
       "read 1.2 'first'\n"
       "patch 1.1#0\n"
       "next 1.2 'second' end\n"
       "read 1.1 'late' end")

/* A record that waits lies behind the cursor, though its sequence's first one does not. */
SCRIPT(an_unordered_sequence_that_wakes_is_read_whole, 64 << 10,
       "put 1.1#1 'one' 1.2#0 'other' 1.1#0! 'zero'\n"
       "read 1.2 'other' end\n"
       "patch 1.1#0\n"
       "read 1.1 'zero' 1.1 'one' end\n"
       "count bytes_in_use 0")

/* ---- work in shares ---- */

/* Calls with so many steps each until a packet comes; how many calls that were. */
static unsigned calls_until_packet(struct trace_buffer *b, size_t share)
{
	struct trace_packet p;

	for (unsigned n = 1;; n++) {
		size_t steps = share;

		if (trace_buffer_next_packet(b, &steps, &p))
			return n;
		assert_int_equal(steps, 0); /* else it would be the end */
	}
}

IN_64K(fragments_of_no_bytes_are_passed_in_shares)
{
	struct trace_packet p;
	size_t steps = 1000;

	for (uint32_t id = 0; id < 10; id++) {
		chunk_start(&c, 1, 1, id, 0);
		for (unsigned i = 0; i < 1000; i++) {
			chunk_raw(&c, "", 1);
			c.h.count++;
		}
		chunk_commit(b, &c);
	}
	commit_text(b, 1, 1, 10, 0, "the only one");
	trace_buffer_begin_read(b);
	assert_int_equal(calls_until_packet(b, 100), 101);
	assert_false(trace_buffer_next_packet(b, &steps, &p));
	assert_int_equal(steps, 1000);
}

IN_64K(chunks_that_wait_are_passed_in_shares)
{
	for (uint16_t writer = 1; writer <= 1000; writer++)
		commit_text(b, 1, writer, 0, NEEDS_PATCHING, "unpatched");
	commit_text(b, 2, 1, 0, 0, "the only one");
	trace_buffer_begin_read(b);
	assert_in_range(calls_until_packet(b, 100), 11, 21);
	/* In the next pass they are known to wait, and stepped over all the same. */
	commit_text(b, 2, 1, 1, 0, "the next one");
	trace_buffer_begin_read(b);
	assert_int_equal(calls_until_packet(b, 2000), 1);
}

/* No packet has so many chunks: waiting for its end would be work that grows with each of them. */
BUFFER_TEST(a_packet_of_too_many_chunks_is_given_up, 8 << 20, TRACE_BUFFER_RING)
{
	enum { MAX_CHUNKS = TRACE_PACKET_MAX / 2048 };
	uint32_t id = 0;

	commit_text(b, 1, 1, id++, ON_NEXT, "begin");
	while (id < MAX_CHUNKS - 1)
		commit_text(b, 1, 1, id++, FROM_PREV | ON_NEXT, "");
	commit_text(b, 1, 1, id++, FROM_PREV, " and end");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "begin and end", 0);
	commit_text(b, 1, 1, id++, ON_NEXT, "begin");
	for (uint32_t end = id + MAX_CHUNKS; id < end;)
		commit_text(b, 1, 1, id++, FROM_PREV | ON_NEXT, "");
	commit_text(b, 1, 1, id++, FROM_PREV, "no end");
	commit_text(b, 1, 1, id++, 0, "next");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "next",
		      DATA_LOSS_REASSEMBLY_BROKEN_CHAIN | DATA_LOSS_ORPHAN_CONTINUATION);
	expect_end(b);
}
