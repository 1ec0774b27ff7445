/* SPDX-License-Identifier: Apache-2.0 */

/* What the kernel runs, here compiled for this machine. */
#define __bpf__
#include "unit/test.h"
#include "bpf/histogram.h"

#include "ebpf/tracks/counter.c"
#include "unit/rng.h"

#define VALUES 20000

static struct sonda_hist hist;
static uint64_t values[VALUES];

TEST(every_value_is_in_its_bucket)
{
	uint64_t probes[] = {0, 1, 31, 32, 33, 63, 64, 65, 1000, 4095, 4096, 1000000, 20000000};

	for (uint32_t i = 0; i < SONDA_HIST_BUCKETS; i++) {
		assert_int_equal(sonda_hist_bucket(histogram_begin_of(i)), i);
		assert_int_equal(sonda_hist_bucket(histogram_end_of(i) - 1), i);
		if (i >= 32)
			assert_true((histogram_end_of(i) - histogram_begin_of(i)) * 100 <=
				    6 * histogram_begin_of(i));
	}
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		uint32_t b = sonda_hist_bucket(probes[i]);

		assert_true(histogram_begin_of(b) <= probes[i] && probes[i] < histogram_end_of(b));
	}
}

TEST(values_above_the_range_are_in_the_last_bucket)
{
	assert_int_equal(sonda_hist_bucket((1ull << SONDA_HIST_BITS) - 1), SONDA_HIST_BUCKETS - 1);
	assert_int_equal(sonda_hist_bucket(1ull << SONDA_HIST_BITS), SONDA_HIST_BUCKETS - 1);
	assert_int_equal(sonda_hist_bucket(UINT64_MAX), SONDA_HIST_BUCKETS - 1);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of many magnitudes: each bit as often. */
static void fill(uint64_t seed, size_t n)
{
	memset(&hist, 0, sizeof(hist));
	for (size_t i = 0; i < n; i++) {
		values[i] = rng_any_size(&seed) >> (64 - SONDA_HIST_BITS);
		sonda_hist_add(&hist, values[i]);
	}
	qsort(values, n, sizeof(values[0]), by_value);
}

static void check_percentile(size_t n, double percent)
{
	size_t rank = MAX((size_t)((double)n * percent / 100 + 0.999999), 1);
	double exact = (double)values[MIN(rank, n) - 1];
	double told = (double)histogram_percentile(&hist, n, percent, values[n - 1]);

	assert_true(told >= exact * 0.984 - 1 && told <= exact * 1.016 + 1);
}

TEST(percentiles_are_near_the_exact_ones)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t n = seed < 10 ? seed : VALUES;

		fill(seed, n);
		check_percentile(n, 1);
		check_percentile(n, 50);
		check_percentile(n, 90);
		check_percentile(n, 99);
		check_percentile(n, 100);
	}
}

TEST(none_and_one)
{
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(histogram_percentile(&hist, 0, 50, 0), 0);
	sonda_hist_add(&hist, 1000000);
	assert_in_range(histogram_percentile(&hist, 1, 50, 0), 984000, 1016000);
	assert_int_equal(histogram_percentile(&hist, 1, 50, 1000000) <= 1000000, 1);
	assert_int_equal(histogram_percentile(&hist, 1, 99, 990000), 990000);
}

TEST(a_period_is_a_difference_that_wraps)
{
	static struct sonda_hist now, last, added;

	now.buckets[7] = 3;
	last.buckets[7] = UINT32_MAX - 1;
	now.buckets[9] = last.buckets[9] = 4;
	assert_int_equal(histogram_take(&now, &last, &added), 5);
	assert_int_equal(added.buckets[7], 5);
	assert_int_equal(added.buckets[9], 0);
	assert_int_equal(histogram_take(&now, &last, &added), 0);
}

TEST(the_maximum_is_of_its_period)
{
	struct sonda_max m = {0};

	assert_int_equal(histogram_max(&m, 1), 0);
	sonda_max_put(&m, 1, 5);
	sonda_max_put(&m, 1, 9);
	sonda_max_put(&m, 1, 7);
	sonda_max_put(&m, 2, 3);
	assert_int_equal(histogram_max(&m, 1), 9);
	assert_int_equal(histogram_max(&m, 2), 3);
	sonda_max_put(&m, 3, 1);
	assert_int_equal(histogram_max(&m, 3), 1);
	assert_int_equal(histogram_max(&m, 4), 0);
}

TEST(the_largest_value_is_in_the_last_bucket)
{
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(histogram_max_floor(&hist), 0);
	sonda_hist_add(&hist, 77);
	sonda_hist_add(&hist, 5000000);
	assert_in_range(histogram_max_floor(&hist), 5000000 * 31 / 32, 5000000);
}
