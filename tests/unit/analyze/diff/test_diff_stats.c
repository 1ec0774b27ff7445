/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of sonda diff, against tables of Student's t and tests computed by other means. */
#include <math.h>

#include "analyze/diff/diff_stats.h"
#include "unit/test.h"

#define ASSERT_NEAR(got, wanted, error) assert_true(fabs((got) - (wanted)) <= (error))

TEST(t_has_the_probabilities_of_tables)
{
	static const struct {
		double t, df, p;
	} rows[] = {
		{0, 5, 1},
		{1, 1, 0.5},
		{12.7062, 1, 0.05},
		{4.30265, 2, 0.05},
		{2.22814, 10, 0.05},
		{2.04227, 30, 0.05},
		{3.24984, 9, 0.01},
		{5.40788, 7, 0.001},
		{2.5, 3.7, 0.07182202},
		{5.61, 9, 0.00033000},
		{0.3, 18, 0.76761412},
		{-7, 7, 0.00021155},
		{1.95996, 1e7, 0.05},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT_NEAR(diff_t_two_sided(rows[i].t, rows[i].df), rows[i].p, 1e-6);
		if (rows[i].p < 1)
			ASSERT_NEAR(diff_t_quantile(rows[i].p, rows[i].df), fabs(rows[i].t), 2e-3);
	}
	assert_true(diff_t_two_sided(INFINITY, 3) == 0);
	assert_true(diff_t_two_sided(40, 200) > 0);
}

static const double a[] = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
			   21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
static const double b[] = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
			   24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9};
#define SIDE(list)                                                                                 \
	(struct diff_side)                                                                         \
	{                                                                                          \
		.v = list, .n = ARRAY_SIZE(list), .n_eff = ARRAY_SIZE(list)                        \
	}

TEST(welch_is_that_of_textbooks)
{
	struct diff_side x = SIDE(a), y = SIDE(b);
	struct diff_test t = diff_welch(&x, &y);

	ASSERT_NEAR(t.difference, 2.7666667, 1e-6);
	ASSERT_NEAR(t.p, 0.00845273, 1e-7);
	/* t = 2.83526 with 27.71363 degrees: the error is 0.975806, the quantile 2.04936. */
	ASSERT_NEAR(t.low, 2.7666667 - 0.975806 * 2.04936, 1e-4);
	ASSERT_NEAR(t.high, 2.7666667 + 0.975806 * 2.04936, 1e-4);
}

TEST(pairs_are_differences)
{
	struct diff_side x = SIDE(a), y = SIDE(b);
	struct diff_test t = diff_paired(&x, &y);

	ASSERT_NEAR(t.difference, 2.7666667, 1e-6);
	ASSERT_NEAR(t.p, 0.00642021, 1e-7);
}

TEST(equal_values_have_the_variance_of_their_resolution)
{
	static const double same[] = {1, 1, 1, 1, 1}, more[] = {2, 2, 2, 2, 2};
	struct diff_side x = SIDE(same), y = SIDE(more);
	struct diff_test t = diff_welch(&x, &y);

	assert_true(t.p == 0 && t.low == 1 && t.high == 1);
	assert_true(diff_welch(&x, &x).p == 1);
	x.least_variance = y.least_variance = 1.0 / 12;
	t = diff_welch(&x, &y);
	/* t = 1 / sqrt(2 / 12 / 5) = 5.47723 with 8 degrees. */
	ASSERT_NEAR(t.p, diff_t_two_sided(5.477226, 8), 1e-7);
	t = diff_paired(&x, &y);
	ASSERT_NEAR(t.p, diff_t_two_sided(5.477226, 4), 1e-7);
}

TEST(neighbours_that_depend_on_each_other_say_less)
{
	static const double swings[] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2};
	static const double rises[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	static const double flat[] = {3, 3, 3, 3};

	assert_true(diff_effective_n(swings, 10) == 10);
	/* r = 0.7, 0.7 + 3.1 / 10 is more than the most that counts: 10 * 0.05 / 1.95 is below 2. */
	assert_true(diff_effective_n(rises, 10) == 2);
	/* r = 0 + 1 / 4: 4 * 0.75 / 1.25. */
	ASSERT_NEAR(diff_effective_n(flat, 4), 2.4, 1e-9);
}

/* A generator of numbers with a known state, and normal numbers of it (Box and Muller). */
static double next_uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double next_normal(uint64_t *state)
{
	double r = sqrt(-2 * log(next_uniform(state))), angle = 2 * M_PI * next_uniform(state);

	return r * cos(angle);
}

/* Returns how many of 4000 tests of equal sides have a p below 0.05. slow: of the noise, how much is
 * that of the observation before. */
static unsigned count_false(size_t n, double slow, bool blocks)
{
	unsigned found = 0;
	uint64_t state = 1;

	for (int test = 0; test < 4000; test++) {
		double v[2][32], before = 0;
		struct diff_side s[2];

		for (int side = 0; side < 2; side++) {
			before = next_normal(&state) / sqrt(1 - slow * slow);
			for (size_t i = 0; i < n; i++)
				v[side][i] = before = slow * before + next_normal(&state);
			s[side] = (struct diff_side){.v = v[side],
						     .n = n,
						     .n_eff = blocks ? diff_effective_n(v[side], n)
								     : (double)n};
		}
		found += diff_welch(&s[0], &s[1]).p < 0.05;
	}
	return found;
}

TEST(equal_sides_differ_as_often_as_they_may)
{
	unsigned independent = count_false(10, 0, false), few = count_false(3, 0, false);
	unsigned blocks = count_false(10, 0, true), slow = count_false(10, 0.4, true);

	/* 200 are meant; its standard deviation is 14. Welch's test is known to be careful with 3. */
	assert_in_range(independent, 150, 250);
	assert_in_range(few, 80, 230);
	assert_in_range(blocks, 0, 230);
	assert_in_range(slow, 0, 330);
	/* Without regard to the correlation it would be far more. */
	assert_true(count_false(10, 0.4, false) > 500);
}

TEST(false_rates_are_those_of_benjamini_and_hochberg)
{
	static const double p[] = {0.03, 0.001, 0.5, 0.008, 0.039, 0.041};
	static const double wanted[] = {0.0492, 0.006, 0.5, 0.024, 0.0492, 0.0492};
	double q[ARRAY_SIZE(p)];

	assert_true(diff_false_rates(p, ARRAY_SIZE(p), q));
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		ASSERT_NEAR(q[i], wanted[i], 1e-9);
	assert_true(diff_false_rates(p, 0, q));
}

/* Returns how many of 20000 tests of 12 equal pairs have a p below 0.01, whose differences have the
 * variance 2. */
static unsigned count_false_pairs(double least_variance)
{
	unsigned found = 0;
	uint64_t state = 1;

	for (int test = 0; test < 20000; test++) {
		double v[2][12];
		struct diff_side s[2];

		for (int side = 0; side < 2; side++) {
			for (size_t i = 0; i < 12; i++)
				v[side][i] = next_normal(&state);
			s[side] = SIDE(v[side]);
			s[side].least_variance = least_variance;
		}
		found += diff_paired(&s[0], &s[1]).p < 0.01;
	}
	return found;
}

TEST(a_known_variance_says_more)
{
	static const double same[] = {1, 1, 1, 1, 1, 1, 1, 1}, more[] = {2, 2, 2, 2, 2, 2, 2, 2};
	struct diff_side x = SIDE(same), y = SIDE(more);

	x.least_variance = y.least_variance = 0.5;
	/* t = 1 / sqrt(1 / 8) = 2.828427 with 14 degrees instead of 7. */
	ASSERT_NEAR(diff_paired(&x, &y).p, diff_t_two_sided(2.828427, 14), 1e-7);
	ASSERT_NEAR(diff_paired(&x, &y).error, 0.353553, 1e-6);
	/* Of Welch's test as well: 28. */
	ASSERT_NEAR(diff_welch(&x, &y).p, diff_t_two_sided(2.828427, 28), 1e-7);
	/* 200 are meant. If the known variance is too small by a half or more, it does no harm. */
	assert_in_range(count_false_pairs(1.0), 0, 100);
	assert_in_range(count_false_pairs(1 / 1.5), 0, 220);
	assert_in_range(count_false_pairs(1 / 3.0), 150, 250);
}

TEST(small_differences_need_more_pairs)
{
	size_t few = diff_needed_pairs(0.1, 0.01, 12, 0.001);
	size_t n = diff_needed_pairs(0.05, 0.0125, 12, 0.001);

	assert_int_equal(few, 12); /* as many as there are */
	/* 4 errors of 12 pairs; (3.6 + 1.3) of them are needed with many degrees of freedom. */
	assert_in_range(n, 17, 24);
	assert_int_equal(diff_needed_pairs(0.001, 1, 12, 0.001), DIFF_PAIRS_MAX);
}
