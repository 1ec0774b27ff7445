/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/stacks/fake_ring.h"

static struct cpu_ring ring;

static int setup(void **state)
{
	ring = fake_ring_new(3);
	return 0;
}

static int teardown(void **state)
{
	cpu_ring_close(&ring);
	return 0;
}

TEST_WITH(records_are_found_with_their_times, setup, teardown)
{
	static const uint64_t chain[] = {1, 2, 3}, lost[] = {0, 17};
	const struct perf_event_header *h;

	cpu_ring_refresh(&ring);
	assert_false(ring.has_next);
	assert_null(cpu_ring_peek(&ring));
	fake_ring_sample(&ring, 100, 42, chain, 3);
	fake_ring_record(&ring, PERF_RECORD_LOST, 0, 200, lost, sizeof(lost));
	cpu_ring_refresh(&ring);
	assert_true(ring.has_next);
	assert_int_equal(ring.time, 100);
	h = cpu_ring_peek(&ring);
	assert_int_equal(h->type, PERF_RECORD_SAMPLE);
	cpu_ring_consume(&ring);
	assert_int_equal(ring.time, 200);
	h = cpu_ring_peek(&ring);
	assert_int_equal(h->type, PERF_RECORD_LOST);
	assert_memory_equal(h + 1, lost, sizeof(lost));
	cpu_ring_consume(&ring);
	assert_false(ring.has_next);
	assert_int_equal(ring.page->data_tail, 0);
	cpu_ring_release(&ring);
	assert_int_equal(ring.page->data_tail, ring.page->data_head);
}

TEST_WITH(a_record_that_wraps_around_is_whole, setup, teardown)
{
	uint64_t chain[40];

	for (uint64_t i = 0; i < ARRAY_SIZE(chain); i++)
		chain[i] = i;
	for (uint64_t time = 1; time < 100; time++) {
		const struct perf_event_header *h;

		fake_ring_sample(&ring, time, 42, chain, ARRAY_SIZE(chain) - time % 3);
		cpu_ring_refresh(&ring);
		assert_int_equal(ring.time, time);
		h = cpu_ring_peek(&ring);
		assert_memory_equal((const uint64_t *)(h + 1) + 5, chain,
				    sizeof(chain) - time % 3 * sizeof(*chain));
		cpu_ring_consume(&ring);
		cpu_ring_release(&ring);
	}
	assert_true(ring.page->data_head > 5 * FAKE_RING_BYTES);
	assert_false(ring.broken);
}

static void assert_breaks(const struct perf_event_header *h, size_t n)
{
	char zero[64] = {0};

	fake_ring_bytes(&ring, h, sizeof(*h));
	fake_ring_bytes(&ring, zero, n - sizeof(*h));
	cpu_ring_refresh(&ring);
	assert_true(ring.broken && !ring.has_next);
	assert_null(cpu_ring_peek(&ring));
}

TEST_WITH(a_record_that_is_too_short_ends_the_reading, setup, teardown)
{
	assert_breaks(&(struct perf_event_header){PERF_RECORD_SAMPLE, 0, 31}, 32);
}

TEST_WITH(a_record_that_is_longer_than_what_was_written_ends_the_reading, setup, teardown)
{
	assert_breaks(&(struct perf_event_header){PERF_RECORD_SAMPLE, 0, 72}, 64);
}

TEST_WITH(a_head_beyond_the_ring_ends_the_reading, setup, teardown)
{
	ring.page->data_head = FAKE_RING_BYTES + 8;
	cpu_ring_refresh(&ring);
	assert_true(ring.broken && !ring.has_next);
}
