/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/rng.h"
#include "unit/service/buffer_script.h"
#include "unit/test.h"

/* Sizes, memory, histograms and copies of buffers. */

TEST(sizes_and_their_limits)
{
	struct trace_buffer *b = NULL;

	assert_int_equal(trace_buffer_new(0, TRACE_BUFFER_RING, &b), -EINVAL);
	assert_int_equal(trace_buffer_new((size_t)UINT32_MAX + 1, TRACE_BUFFER_RING, &b), -EINVAL);
	assert_null(b);

	b = buffer_of(1, TRACE_BUFFER_RING);
	assert_int_equal(trace_buffer_size(b), 4096);
	trace_buffer_free(b);
	b = buffer_of(4097, TRACE_BUFFER_RING);
	assert_int_equal(trace_buffer_size(b), 8192);
	trace_buffer_free(b);
	b = buffer_of(UINT32_MAX, TRACE_BUFFER_DISCARD);
	assert_int_equal(trace_buffer_size(b), (size_t)1 << 32);
	commit_text(b, 1, 1, 0, 0, "in the largest buffer");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "in the largest buffer", 0);
	trace_buffer_free(b);
	trace_buffer_free(NULL);
}

TEST_WITH(a_new_buffer_gives_nothing, setup_64k, teardown)
{
	const struct trace_buffer_stats zero = {0};

	expect_end(*state);
	trace_buffer_begin_read(*state);
	expect_end(*state);
	assert_memory_equal(trace_buffer_stats(*state), &zero, sizeof(zero));
}

/* Bytes of this process that are in memory. */
static size_t resident(void)
{
	unsigned long pages = 0, total = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &total, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct trace_buffer *clone_of(const struct trace_buffer *b)
{
	struct trace_buffer *clone;
	size_t offset = 0;

	assert_int_equal(trace_buffer_new_like(b, &clone), 0);
	assert_int_equal(trace_buffer_size(clone), trace_buffer_size(b));
	while (!trace_buffer_clone_prepare(b, clone, &offset, 1 << 20))
		;
	assert_int_equal(trace_buffer_clone(b, clone), 0);
	return clone;
}

TEST(memory_that_was_not_written_is_neither_touched_nor_cloned)
{
	struct trace_buffer *b, *clone;
	size_t before = resident();

	b = buffer_of(1 << 30, TRACE_BUFFER_RING);
	for (uint32_t i = 0; i < 100; i++)
		commit_fill(b, 1, i, 'x', 4000);
	assert_true(resident() - before < 16 << 20);
	before = resident();
	clone = clone_of(b);
	assert_true(resident() - before < 16 << 20);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 100; i++)
		expect_fill(b, 1, 'x', 4000, 0);
	trace_buffer_begin_read(clone);
	for (uint32_t i = 0; i < 100; i++)
		expect_fill(clone, 1, 'x', 4000, 0);
	trace_buffer_free(b);
	trace_buffer_free(clone);
}

struct seen {
	unsigned calls;
	struct trace_buffer_writer writer[4];
	struct trace_buffer_histogram histogram[4];
};

static void see(void *ctx, const struct trace_buffer_writer *writer,
		const struct trace_buffer_histogram *histogram)
{
	struct seen *seen = ctx;

	assert_true(seen->calls < 4);
	seen->writer[seen->calls] = *writer;
	seen->histogram[seen->calls] = *histogram;
	seen->calls++;
}

IN_64K(histograms_of_payload_by_writer)
{
	struct seen seen = {0};

	commit_fill(b, 1, 0, 'a', 4); /* 8 bytes of payload: in the first bucket still */
	commit_fill(b, 1, 1, 'a', 5);
	commit_fill(b, 1, 2, 'a', 20000);
	commit_text(b, 2, 7, 0, 0, "b");
	trace_buffer_each_writer(b, see, &seen);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.writer[0].producer_id, 1);
	assert_int_equal(seen.writer[0].writer_id, 1);
	assert_int_equal(seen.histogram[0].counts[0], 1);
	assert_int_equal(seen.histogram[0].sums[0], 8);
	assert_int_equal(seen.histogram[0].counts[1], 1);
	assert_int_equal(seen.histogram[0].sums[1], 9);
	assert_int_equal(seen.histogram[0].counts[10], 1);
	assert_int_equal(seen.histogram[0].sums[10], 20004);
	assert_int_equal(seen.writer[1].producer_id, 2);
	assert_int_equal(seen.writer[1].writer_id, 7);
	assert_int_equal(seen.writer[1].uid, UID + 2);
	assert_int_equal(seen.writer[1].pid, PID + 2);
	assert_int_equal(seen.histogram[1].counts[0], 1);
}

IN_64K(a_chunk_counts_once_in_the_histogram)
{
	struct chunk *c = test_malloc(sizeof(*c));
	struct seen seen = {0};

	chunk_start(c, 1, 1, 0, 0);
	chunk_text(c, "one");
	chunk_text(c, "two");
	chunk_scrape(b, c);
	chunk_text(c, "three");
	chunk_commit(b, c);
	chunk_commit(b, c);
	trace_buffer_each_writer(b, see, &seen);
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.histogram[0].counts[1], 1);
	assert_int_equal(seen.histogram[0].sums[1], c->len);
	test_free(c);
}

/* A chunk of a threshold's size is in its bucket, one that is a byte longer is in the next. */
IN_64K(thresholds_are_the_last_of_their_buckets)
{
	const int64_t *t = trace_buffer_histogram_thresholds;
	struct seen seen = {0};
	uint32_t id = 0;

	for (unsigned i = 0; i < TRACE_BUFFER_HISTOGRAM_THRESHOLDS; i++) {
		assert_true(i == 0 || t[i] > t[i - 1]);
		commit_fill(b, 1, id++, 'x', (size_t)t[i] - 4);
		commit_fill(b, 1, id++, 'x', (size_t)t[i] - 4 + 1);
	}
	trace_buffer_each_writer(b, see, &seen);
	for (unsigned i = 0; i < TRACE_BUFFER_HISTOGRAM_BUCKETS; i++)
		assert_int_equal(seen.histogram[0].counts[i],
				 i == 0 || i == TRACE_BUFFER_HISTOGRAM_THRESHOLDS ? 1 : 2);
}

/* ---- copies and stand-ins; test_buffer_model.c has the rest ---- */

/* Laps, padding, losses by overwriting and half-read chunks are copied. */
TEST(clone_of_a_ring_that_was_overwritten)
{
	for (uint32_t n = 1; n < 60; n++) {
		struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_RING), *clone;
		struct trace_packet p, q;
		uint32_t id[3] = {0};
		uint64_t rng = n;

		for (uint32_t i = 0; i < n; i++) {
			uint16_t w = (uint16_t)rng_below(&rng, 3);

			commit_record(b, 1 + w, id[w]++, 'a' + (char)(i % 26),
				      32 + 16 * rng_below(&rng, 60));
			if (rng_below(&rng, 4) == 0)
				trace_buffer_next_packet(b, NULL, &p);
		}
		clone = clone_of(b);
		for (bool more = true; more;) {
			assert_memory_equal(trace_buffer_stats(b), trace_buffer_stats(clone),
					    sizeof(struct trace_buffer_stats));
			more = trace_buffer_next_packet(b, NULL, &p);
			assert_int_equal(trace_buffer_next_packet(clone, NULL, &q), more);
			if (!more)
				continue;
			assert_int_equal(p.loss, q.loss);
			assert_int_equal(p.size, q.size);
			assert_memory_equal(&p.writer, &q.writer, sizeof(p.writer));
			assert_memory_equal(p.slices[0].iov_base, q.slices[0].iov_base, p.size);
		}
		trace_buffer_free(b);
		trace_buffer_free(clone);
	}
}

/* A clone of a buffer that refuses, or began again at 0, is full where the other is. */
TEST(discarding_clone_has_the_same_room)
{
	struct trace_buffer *b = buffer_of(4096, TRACE_BUFFER_DISCARD), *clone, *fresh;

	commit_record(b, 1, 0, 'a', 3072);
	trace_buffer_begin_read(b);
	expect_record(b, 1, 'a', 3072, 0);
	commit_record(b, 1, 1, 'b', 512);
	clone = clone_of(b);
	commit_record(clone, 1, 2, 'c', 512);
	commit_record(clone, 1, 3, 'd', 32);
	assert_int_equal(trace_buffer_stats(clone)->chunks_discarded, 1);
	trace_buffer_free(b);
	b = clone_of(clone);
	commit_record(b, 1, 4, 'e', 32);
	assert_int_equal(trace_buffer_stats(b)->chunks_discarded, 2);
	trace_buffer_begin_read(b);
	expect_record(b, 1, 'b', 512, 0);
	expect_record(b, 1, 'c', 512, 0);
	expect_end(b);
	assert_int_equal(trace_buffer_new_like(b, &fresh), 0);
	commit_record(fresh, 1, 0, 'f', 4096);
	commit_record(fresh, 1, 1, 'g', 32);
	assert_int_equal(trace_buffer_stats(fresh)->chunks_discarded, 1);
	trace_buffer_free(fresh);
	trace_buffer_free(clone);
	trace_buffer_free(b);
}

/* The beginning of a chunk was read in the stand-in: its rest has no place. Losses of the stand-in
 * are losses of the buffer. */
TEST(rest_without_a_beginning_is_counted)
{
	struct trace_buffer *b = buffer_of(1 << 16, TRACE_BUFFER_RING), *stand_in;
	static struct chunk c;

	commit_text(b, 1, 1, 0, 0, "zero");
	assert_int_equal(trace_buffer_new_like(b, &stand_in), 0);
	chunk_start(&c, 1, 1, 1, 0);
	chunk_text(&c, "one");
	chunk_text(&c, "two");
	chunk_scrape(stand_in, &c);
	trace_buffer_begin_read(stand_in);
	expect_packet(stand_in, 1, 1, "one", 0);
	chunk_commit(stand_in, &c);
	commit_text(stand_in, 1, 1, 2, FROM_PREV, "orphan"); /* read: only its loss is left */
	trace_buffer_begin_read(stand_in);
	expect_packet(stand_in, 1, 1, "two", 0);
	expect_end(stand_in);
	trace_buffer_append(b, stand_in);
	commit_text(b, 1, 1, 1, 0, "one");
	trace_buffer_begin_read(b);
	expect_packet(b, 1, 1, "zero", DATA_LOSS_ORPHAN_CONTINUATION);
	expect_packet(b, 1, 1, "one", 0);
	expect_end(b);
	trace_buffer_free(b);
}
