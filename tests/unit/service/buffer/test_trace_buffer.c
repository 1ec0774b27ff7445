/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/service/trace_buffer_helper.h"

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

TEST(memory_is_touched_as_it_is_written)
{
	struct trace_buffer *b;
	size_t before = resident();

	b = buffer_of(1 << 30, TRACE_BUFFER_RING);
	for (uint32_t i = 0; i < 100; i++)
		commit_fill(b, 1, i, 'x', 4000);
	trace_buffer_begin_read(b);
	for (uint32_t i = 0; i < 100; i++)
		expect_fill(b, 1, 'x', 4000, 0);
	assert_true(resident() - before < 16 << 20);
	trace_buffer_free(b);
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
