/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/rng.h"
#include "unit/service/buffer_script.h"

/* Rings whose reader is in time: the writing begins again at the start. */

static struct chunk c;

/* ---- nothing is left ---- */

TEST_WITH(all_read_the_writing_begins_again, setup_4k, teardown)
{
	struct trace_buffer *b = *state;
	struct trace_packet p;
	const void *first;

	commit_record(b, 1, 0, 'a', 1024);
	trace_buffer_begin_read(b);
	assert_true(trace_buffer_next_packet(b, NULL, &p));
	first = p.slices[0].iov_base;
	for (uint32_t i = 1; i < 1000; i++) {
		commit_record(b, 1, i, 'b', 1024);
		commit_record(b, 2, i, 'c', 2048);
		assert_true(trace_buffer_next_packet(b, NULL, &p));
		assert_ptr_equal(p.slices[0].iov_base, first);
		assert_int_equal(p.loss, 0);
		expect_record(b, 2, 'c', 2048, 0);
		if (i % 3)
			expect_end(b);
	}
	assert_int_equal(stats_of(state)->write_wrap_count, 0);
	assert_int_equal(stats_of(state)->padding_bytes_written, 0);
	assert_int_equal(bytes_in_use(b), 0);
}

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

/* ---- what waits moves to the start ---- */

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

/* ---- TRACE_BUFFER_DISCARD ---- */

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

/* A clone of one that began again is full where the other is. */
TEST(discarding_clone_has_the_same_room)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_DISCARD), *clone;

	commit_record(b, 1, 0, 'a', 3072);
	trace_buffer_begin_read(b);
	expect_record(b, 1, 'a', 3072, 0);
	commit_record(b, 1, 1, 'b', 512);
	assert_int_equal(trace_buffer_new_like(b, &clone), 0);
	assert_int_equal(trace_buffer_clone(b, clone), 0);
	commit_record(clone, 1, 2, 'c', 512);
	commit_record(clone, 1, 3, 'd', 32);
	assert_int_equal(trace_buffer_stats(clone)->chunks_discarded, 1);
	trace_buffer_begin_read(clone);
	expect_record(clone, 1, 'b', 512, 0);
	expect_record(clone, 1, 'c', 512, 0);
	expect_end(clone);
	trace_buffer_free(clone);
	trace_buffer_free(b);
}
