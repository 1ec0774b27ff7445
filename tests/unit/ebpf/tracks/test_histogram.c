/* SPDX-License-Identifier: Apache-2.0 */

/* What the kernel runs, here compiled for this machine. */
#define __bpf__
#include "bpf/histogram.h"
#include "unit/test.h"

#include "ebpf/tracks/counter.h"
#include "unit/rng.h"

#define VALUES 20000

static struct sonda_hist hist;
static uint64_t values[VALUES];

/* Of one value any percentile is within 1.6 %, and buckets are in the order of their values. */
TEST(every_value_is_in_its_bucket)
{
	uint32_t last = 0, bucket;

	for (uint64_t v = 0; v < 1ull << SONDA_HIST_BITS; v += 1 + v / 97) {
		memset(&hist, 0, sizeof(hist));
		sonda_hist_add(&hist, v);
		bucket = sonda_hist_bucket(v);
		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
		assert_in_range(histogram_percentile(&hist, 1, 50, UINT64_MAX), v - v * 16 / 1000,
				v + v * 16 / 1000 + 1);
	}
	assert_int_equal(last, SONDA_HIST_BUCKETS - 1);
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
	double found = (double)histogram_percentile(&hist, n, percent, values[n - 1]);

	assert_true(found >= exact * 0.984 - 1 && found <= exact * 1.016 + 1);
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
	assert_int_equal(histogram_compute_added(&now, &last, &added), 5);
	assert_int_equal(added.buckets[7], 5);
	assert_int_equal(added.buckets[9], 0);
	assert_int_equal(histogram_compute_added(&now, &last, &added), 0);
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
