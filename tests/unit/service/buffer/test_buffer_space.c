/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/rng.h"
#include "unit/service/buffer_script.h"
#include "unit/test.h"

/* Space: laps, padding, the exact end, restarts at 0, overwriting, and TRACE_BUFFER_DISCARD. */

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

/* ---- TRACE_BUFFER_DISCARD ---- */

SCRIPT_DISCARD(discarding_stops_for_good, 4096,
	       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1020\n"
	       "count chunks_discarded 1\n"
	       /* Would fit, and comes too late all the same. */
	       "put 1.1#4 e*12 1.2#0 f*12\n"
	       "count chunks_discarded 3 chunks_written 3\n"
	       "count write_wrap_count 0 padding_bytes_written 0\n"
	       "read 1.1 a*1004 1.1 b*1004 1.1 c*1004 end\n"
	       "put 1.1#5 g*12\n"
	       "count chunks_discarded 4\n"
	       "next end")

SCRIPT_DISCARD(discarding_fills_the_memory_to_the_last_byte, 4096,
	       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004\n"
	       "count chunks_discarded 0\n"
	       "put 1.1#4\n"
	       "count chunks_discarded 1\n"
	       "read 1.1 a*1004 1.1 b*1004 1.1 c*1004 1.1 d*1004 end")

SCRIPT_DISCARD(discarding_still_patches_and_grows, 4096,
	       "scrape 1.2#0 'one' 'two'\n"
	       "put 1.1#0! '....' 1.2#0+ 1.1#1 x*4076\n"
	       "count chunks_discarded 1\n"
	       "patch 1.1#0 @4 'done'\n"
	       "count patches_succeeded 1\n"
	       "read 1.2 'one' 1.1 'done' 1.2 'two' end")

/* The rest of a scraped chunk is refused; what came behind it before is not lost with it. */
SCRIPT_DISCARD(discarding_ends_the_waiting_for_chunks, 4096,
	       "scrape 1.1#0 'zero' 'refused'\n"
	       "put 1.1#1 'one'\n"
	       "read 1.1 'zero' end\n"
	       "put 1.1#2 x*4076 1.1#0+\n"
	       "count chunks_discarded 2\n"
	       "read 1.1 'one' -gap end")

/* ---- overwriting ---- */

SCRIPT(overwritten_chunks, 4096,
       "put 1.1#0 a*1004 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004 1.1#4 e*1004\n"
       "put 1.1#5 f*1004 1.1#6 g*1004\n"
       "count bytes_written 7168 chunks_overwritten 3 bytes_overwritten 3072\n"
       "count bytes_in_use 4096\n"
       "read 1.1 d*1004 -overwrite 1.1 e*1004 1.1 f*1004 1.1 g*1004 end\n"
       "count chunks_read 4")

SCRIPT(a_chunk_that_is_half_read_is_overwritten, 4096,
       "put 1.1#0 'a' 'b' c*990\n"
       "read 1.1 'a'\n"
       "put 1.1#1 b*1004 1.1#2 c*1004 1.1#3 d*1004 1.1#4 e*1004\n"
       "count chunks_overwritten 1 bytes_overwritten 1024 chunks_read 0\n"
       "next 1.1 b*1004 -overwrite 1.1 c*1004 1.1 d*1004 1.1 e*1004 end\n"
       "count bytes_in_use 0")

SCRIPT(an_empty_chunk_is_overwritten_without_loss, 4096,
       "put 1.2#0 1.1#0 a*1004 1.1#1 a*1004 1.1#2 a*1004 1.1#3 a*1004 1.1#4 a*1004\n"
       "put 1.2#1 'two'\n"
       "read 1.1 a*1004 -overwrite 1.1 a*1004 1.2 'two' end")

SCRIPT(the_start_of_a_packet_is_overwritten, 4096,
       "put 1.1#0> a*1004 1.1#1< 'end' b*900 1.1#2 c*1004 1.1#3 c*1004 1.1#4 c*1004\n"
       "read 1.1 b*900 -overwrite -orphan 1.1 c*1004 1.1 c*1004 1.1 c*1004 end")

SCRIPT(overwriting_frees_a_sequence_that_waits, 4096,
       "put 1.1#0! a*1004 1.1#1 b*1004 1.2#0 x*1004\n"
       "read 1.2 x*1004 end\n"
       "put 1.2#1 y*1004 1.2#2 z*1004\n"
       "read 1.1 b*1004 -overwrite 1.2 y*1004 1.2 z*1004 end")

/* Chunk 0 came after 1, and lies behind it: when the place of 1 is needed, both go. */
SCRIPT(overwriting_goes_in_the_order_of_ids, 4096,
       "put 1.1#1 b*1004 1.1#0 a*1004 1.1#2 c*1004 1.1#3 d*1004 1.2#0 x*1004\n"
       "count chunks_overwritten 2 bytes_overwritten 2048\n"
       "put 1.2#1 y*1004\n"
       "count chunks_overwritten 2\n"
       "read 1.1 c*1004 -overwrite 1.1 d*1004 1.2 x*1004 1.2 y*1004 end\n"
       "count bytes_in_use 0")

SCRIPT(a_late_chunk_whose_successor_must_go_for_it, 4096,
       "put 1.1#5 f*1004 1.2#0 x*1004 1.2#1 y*1004 1.2#2 z*1004 1.1#4 e*1004\n"
       "count chunks_overwritten 1 chunks_discarded 1\n"
       "read 1.2 x*1004 1.2 y*1004 1.2 z*1004 end\n"
       "put 1.1#6 g*1004\n"
       "read 1.1 g*1004 -overwrite")

SCRIPT(losses_pile_up, 4096,
       "put 1.1#0 a*1004 1.2#0 x*1004 1.2#1 x*1004 1.2#2 x*1004 1.2#3 x*1004\n"
       "put 1.1#2< 'end' drop 1.1#3 'then'\n"
       "read 1.2 x*1004 -overwrite\n"
       "read 1.2 x*1004\n"
       "read 1.2 x*1004 1.1 'then' -overwrite -gap -orphan -abort")

/* ---- the writing begins again at 0 ---- */

SCRIPT(what_waits_keeps_its_place, 4096,
       "put 1.1#0! w*1004 1.1#1 x*1004 1.2#0 a*492\n"
       "read 1.2 a*492 end\n"
       "put 1.1#2 x*1004 1.2#1 a*492\n"
       "read 1.2 a*492 end\n"
       "patch 1.1#0\n"
       "read 1.1 w*1004 1.1 x*1004 1.1 x*1004 end")

/* A lap that was begun, and the padding of the one before, go with it. */
SCRIPT(a_begun_lap_ends_when_all_is_read, 4096,
       "put 1.1#0 a*1004 1.1#1 a*1004 1.1#2 a*1004 1.1#3 b*1020\n"
       "count padding_bytes_written 1024\n"
       "read 1.1 a*1004 -overwrite 1.1 b*1020\n"
       "put 1.1#4 c*4076\n"
       "count padding_bytes_cleared 1024 chunks_overwritten 2\n"
       "next 1.1 c*4076 end")

enum { WRITERS = 5 };

struct moving {
	struct trace_buffer *b;
	uint64_t rng;
	uint32_t committed[WRITERS], read[WRITERS];
	bool waits[WRITERS]; /* the last chunk that was committed, for its patch */
	const uint8_t *lowest, *highest; /* bytes that were given out */
};

static char moving_char(uint32_t writer, uint32_t chunk_id)
{
	return (char)('a' + (writer * 5 + chunk_id) % 26);
}

static size_t moving_len(uint32_t writer, uint32_t chunk_id)
{
	return 1 + (writer * 7919 + chunk_id * 104729) % 4000;
}

static void moving_commit(struct moving *m)
{
	uint32_t w = rng_below(&m->rng, WRITERS), id = m->committed[w];
	bool waits = rng_below(&m->rng, 40) == 0;

	if (m->waits[w])
		trace_buffer_apply_patches(m->b, 1, (uint16_t)(w + 1), id - 1, NULL, 0, false);
	chunk_start(&c, 1, (uint16_t)(w + 1), id, waits ? NEEDS_PATCHING : 0);
	chunk_fill(&c, moving_char(w, id), moving_len(w, id));
	chunk_commit(m->b, &c);
	m->committed[w]++;
	m->waits[w] = waits;
}

static void moving_read(struct moving *m)
{
	struct trace_packet p;

	trace_buffer_begin_read(m->b);
	while (trace_buffer_next_packet(m->b, NULL, &p)) {
		uint32_t w = p.writer.writer_id - 1u, id = m->read[w]++;
		const uint8_t *data = p.slices[0].iov_base;

		assert_int_equal(p.loss, 0);
		assert_int_equal(p.size, moving_len(w, id));
		for (size_t i = 0; i < p.size; i++)
			assert_int_equal(data[i], moving_char(w, id));
		m->lowest = m->lowest && m->lowest < data ? m->lowest : data;
		m->highest = m->highest > data ? m->highest : data;
	}
	for (uint32_t w = 0; w < WRITERS; w++)
		assert_int_equal(m->read[w] + m->waits[w], m->committed[w]);
}

/* 20 MB through a ring of 8 MB, with a few records at any time that wait. */
TEST(few_that_wait_move_to_the_start)
{
	struct moving m = {.rng = 3};

	assert_int_equal(trace_buffer_new(8 << 20, TRACE_BUFFER_RING, &m.b), 0);
	for (unsigned i = 0; i < 10000; i++) {
		moving_commit(&m);
		if (rng_below(&m.rng, 30) == 0)
			moving_read(&m);
	}
	assert_true(m.highest - m.lowest < 2 << 20);
	assert_int_equal(trace_buffer_stats(m.b)->chunks_overwritten, 0);
	assert_int_equal(trace_buffer_stats(m.b)->write_wrap_count, 0);
	trace_buffer_free(m.b);
}

/* What waits is the end of the lap before: nothing may lie in front of it that is newer. */
TEST(what_waits_in_the_lap_before_stays)
{
	struct trace_buffer *b;

	assert_int_equal(trace_buffer_new(2 << 20, TRACE_BUFFER_RING, &b), 0);
	for (uint32_t i = 0; i < 63; i++)
		commit_record(b, 1, i, 'a', 32 << 10);
	chunk_start(&c, 1, 2, 0, NEEDS_PATCHING);
	chunk_fill(&c, 'w', (32 << 10) - 16 - 4);
	chunk_commit(b, &c);
	for (uint32_t i = 63; i < 120; i++)
		commit_record(b, 1, i, 'b', 32 << 10);
	trace_buffer_begin_read(b);
	for (uint32_t i = 57; i < 120; i++)
		expect_record(b, 1, i < 63 ? 'a' : 'b', 32 << 10,
			      i == 57 ? DATA_LOSS_OVERWRITE : 0);
	expect_end(b);
	commit_record(b, 1, 120, 'c', 32 << 10);
	trace_buffer_apply_patches(b, 1, 2, 0, NULL, 0, false);
	trace_buffer_begin_read(b);
	expect_record(b, 2, 'w', 32 << 10, 0);
	expect_record(b, 1, 'c', 32 << 10, 0);
	expect_end(b);
	trace_buffer_free(b);
}

/* Its memory is used again, but it takes no more than its size in all. */
BUFFER_TEST(discarding_begins_again_and_is_full_at_its_size, 64 << 10, TRACE_BUFFER_DISCARD)
{
	const void *first = NULL;
	struct trace_packet p;

	for (uint32_t i = 0; i < 63; i++) {
		commit_record(b, 1, i, 'a', 1024);
		trace_buffer_begin_read(b);
		assert_true(trace_buffer_next_packet(b, NULL, &p));
		first = first ? first : p.slices[0].iov_base;
		assert_ptr_equal(p.slices[0].iov_base, first);
		assert_int_equal(p.loss, 0);
		expect_end(b);
	}
	commit_record(b, 1, 63, 'b', 512);
	commit_record(b, 1, 64, 'c', 528);
	commit_record(b, 1, 65, 'd', 32);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 2);
	trace_buffer_begin_read(b);
	expect_record(b, 1, 'b', 512, 0);
	expect_end(b);
	assert_int_equal(bytes_in_use(b), 0);
}
