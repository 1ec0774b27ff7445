/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The statistics of sonda diff: is the mean of one list of observations larger than that of
 * another, and by how much? Pure functions of numbers; nothing of traces.
 */

/* A difference of two means, b - a, with its interval and its p value: the probability of a
 * difference at least this large if the real one is 0. */
struct diff_test {
	double difference;
	double low, high; /* the interval of DIFF_CONFIDENCE */
	double p; /* two-sided */
	double error; /* the standard error of the difference */
};

#define DIFF_CONFIDENCE 0.95

/* Returns the probability that Student's t with `df` degrees of freedom, which need not be whole,
 * is further from 0 than t. df > 0. */
double diff_t_two_sided(double t, double df);

/* Returns the t that diff_t_two_sided() gives the probability p. 0 < p < 1. */
double diff_t_quantile(double p, double df);

/* Returns how many independent observations would say as much about the mean as these n, which
 * follow each other in time. This is n * (1 - r) / (1 + r), at least 2 and at most n, where r is
 * the correlation of neighbours. An estimate of r from few observations is too low by about (1 + 3
 * r) / n, so this is added. */
double diff_effective_n(const double *v, size_t n);

/* A list of observations. */
struct diff_side {
	const double *v;
	size_t n; /* at least 2 */
	double n_eff; /* how many of them are independent: n, or less */
	/* The variance of an observation is taken to be at least this. If the one that was found is
	 * smaller, this one counts as known from twice as many observations, of
	 * DIFF_LEAST_FOR_KNOWN and more: the found one of few can be far too small. */
	double least_variance;
};

#define DIFF_LEAST_FOR_KNOWN 8

/* Welch's test: the variances of the sides may differ. */
struct diff_test diff_welch(const struct diff_side *a, const struct diff_side *b);

/* The test for pairs, b->v[i] - a->v[i]. a->n == b->n. */
struct diff_test diff_paired(const struct diff_side *a, const struct diff_side *b);

/* Returns how many pairs are needed to find a difference at this p value in 9 of 10 comparisons, if
 * n pairs have this standard error; at most DIFF_PAIRS_MAX. */
size_t diff_needed_pairs(double difference, double error, size_t n, double p);

#define DIFF_PAIRS_MAX 1000

/* Benjamini and Hochberg: sets q[i] to the smallest rate of false findings at which the test with
 * p[i] is a finding. Returns false if out of memory. */
bool diff_false_rates(const double *p, size_t n, double *q);
