/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The statistics of sonda diff: is the mean of one list of observations larger than that of
 * another, and by how much? Pure functions of numbers; nothing of traces.
 */

/* A difference of two means, b - a, with its interval and the probability of one that is at least
 * as large if there is none. */
struct diff_test {
	double difference;
	double low, high; /* the interval of DIFF_CONFIDENCE */
	double p; /* two-sided */
};

#define DIFF_CONFIDENCE 0.95

/* Returns the probability that Student's t with `df` degrees of freedom, which need not be whole,
 * is further from 0 than t. df > 0. */
double diff_t_two_sided(double t, double df);

/* Returns the t that diff_t_two_sided() gives the probability p. 0 < p < 1. */
double diff_t_quantile(double p, double df);

/*
 * Returns how many independent observations say as much about the mean as these n, which follow
 * each other in time: n * (1 - r) / (1 + r), r being the correlation of neighbours; from 2 to n. The
 * estimate of r from few observations is too low by about (1 + 3 r) / n, which is added.
 */
double diff_effective_n(const double *v, size_t n);

/* A list of observations. */
struct diff_side {
	const double *v;
	size_t n; /* at least 2 */
	double n_eff; /* how many of them are independent: n, or less */
	double least_variance; /* the variance of an observation is taken to be at least this */
};

/* Welch's test: the variances of the sides may differ. */
struct diff_test diff_welch(const struct diff_side *a, const struct diff_side *b);

/* The test for pairs, b->v[i] - a->v[i]. a->n == b->n. */
struct diff_test diff_paired(const struct diff_side *a, const struct diff_side *b);

/*
 * Benjamini and Hochberg: sets q[i] to the smallest rate of false findings at which the test with
 * p[i] is a finding. Returns false without memory.
 */
bool diff_false_rates(const double *p, size_t n, double *q);
