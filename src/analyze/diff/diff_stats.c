/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/diff_stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/mem.h"

/* ---- Student's t ---- */

#define FRACTION_STEPS 300
#define FRACTION_ERROR 1e-14
#define FRACTION_TINY 1e-300

static double keep_nonzero(double v)
{
	return fabs(v) < FRACTION_TINY ? FRACTION_TINY : v;
}

/* Returns the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's
 * method. */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / keep_nonzero(1 - (a + b) * x / (a + 1)), h = d;

	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / keep_nonzero(1 + even * d);
		c = keep_nonzero(1 + even / c);
		h *= d * c;
		d = 1 / keep_nonzero(1 + odd * d);
		c = keep_nonzero(1 + odd / c);
		step = d * c;
		h *= step;
		if (fabs(step - 1) < FRACTION_ERROR)
			break;
	}
	return h;
}

/* Returns the regularised incomplete beta function I_x(a, b). x is from 0 to 1. */
static double incomplete_beta(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a
					 : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double diff_t_two_sided(double t, double df)
{
	return isinf(t) ? 0 : incomplete_beta(df / (df + t * t), df / 2, 0.5);
}

double diff_t_quantile(double p, double df)
{
	double low = 0, high = 1;

	while (diff_t_two_sided(high, df) > p && high < 1e9)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		if (diff_t_two_sided(mid, df) > p)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* ---- observations ---- */

static double compute_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

static double compute_variance(const double *v, size_t n)
{
	double mean = compute_mean(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return sum / (double)(n - 1);
}

double diff_effective_n(const double *v, size_t n)
{
	double mean = compute_mean(v, n), squares = 0, products = 0, r;

	for (size_t i = 0; i < n; i++) {
		squares += (v[i] - mean) * (v[i] - mean);
		if (i)
			products += (v[i] - mean) * (v[i - 1] - mean);
	}
	r = squares > 0 ? products / squares : 0;
	r += (1 + 3 * r) / (double)n;
	if (r <= 0)
		return (double)n;
	r = MIN(r, 0.95);
	return MAX(2.0, (double)n * (1 - r) / (1 + r));
}

/* A variance, and the degrees of freedom that it was estimated with. */
struct variance {
	double v, df;
};

/* Makes the test of a difference. */
static struct diff_test make_test_of_difference(double difference, struct variance of)
{
	double error = sqrt(of.v), reach = diff_t_quantile(1 - DIFF_CONFIDENCE, of.df) * error;

	return (struct diff_test){
		.difference = difference,
		.low = difference - reach,
		.high = difference + reach,
		.p = error > 0 ? diff_t_two_sided(difference / error, of.df) : difference == 0,
		.error = error,
	};
}

/* Returns the larger of the variance that n observations have and the least one. */
static struct variance limit_variance(double found, double least, double n)
{
	bool is_known = found <= least && n >= DIFF_LEAST_FOR_KNOWN;

	return (struct variance){MAX(found, least), (n - 1) * (is_known ? 2 : 1)};
}

/* Returns the variance of the mean of a side. */
static struct variance variance_of_mean(const struct diff_side *s)
{
	struct variance ret =
		limit_variance(compute_variance(s->v, s->n), s->least_variance, s->n_eff);

	ret.v /= s->n_eff;
	return ret;
}

struct diff_test diff_welch(const struct diff_side *a, const struct diff_side *b)
{
	struct variance va = variance_of_mean(a), vb = variance_of_mean(b), sum = {va.v + vb.v, 1};

	if (sum.v > 0)
		sum.df = sum.v * sum.v / (va.v * va.v / va.df + vb.v * vb.v / vb.df);
	return make_test_of_difference(compute_mean(b->v, b->n) - compute_mean(a->v, a->n), sum);
}

struct diff_test diff_paired(const struct diff_side *a, const struct diff_side *b)
{
	double mean = compute_mean(b->v, b->n) - compute_mean(a->v, a->n), squares = 0;
	double n = (double)a->n;
	struct variance of;

	for (size_t i = 0; i < a->n; i++) {
		double off = b->v[i] - a->v[i] - mean;

		squares += off * off;
	}
	of = limit_variance(squares / (n - 1), a->least_variance + b->least_variance, n);
	of.v /= n;
	return make_test_of_difference(mean, of);
}

#define NOT_FOUND 0.2 /* two-sided: 1 of 10 on either side */

size_t diff_needed_pairs(double difference, double error, size_t n, double p)
{
	for (size_t m = MAX(n, (size_t)2); m < DIFF_PAIRS_MAX; m++) {
		double df = (double)m - 1, least = error * sqrt((double)n / (double)m);

		if (least * (diff_t_quantile(p, df) + diff_t_quantile(NOT_FOUND, df)) <= difference)
			return m;
	}
	return DIFF_PAIRS_MAX;
}

/* ---- many tests ---- */

struct ranked {
	double p;
	size_t at;
};

static int compare_p_values(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

bool diff_false_rates(const double *p, size_t n, double *q)
{
	_cleanup_(freep) struct ranked *ranks = malloc((n + 1) * sizeof(*ranks));
	double least = 1;

	if (!ranks)
		return false;
	for (size_t i = 0; i < n; i++)
		ranks[i] = (struct ranked){p[i], i};
	qsort(ranks, n, sizeof(*ranks), compare_p_values);
	for (size_t i = n; i-- > 0;) {
		least = MIN(least, ranks[i].p * (double)n / (double)(i + 1));
		q[ranks[i].at] = least;
	}
	return true;
}
