/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/diff/diff_rows.h"
#include "analyze/diff/diff_stats.h"

/*
 * The comparison of the rows of two sides, A and B. A row has up to six measures, each tested by
 * itself: the total time, how many (runs, waits, calls, requests, samples), the mean of one,
 * percentiles, bytes. The row is a finding if its total, its number or its p99 changed:
 *
 *	surely		the rate of false findings by this measure, among all rows, is at most
 *			DIFF_FALSE_RATE, or DIFF_FALSE_RATE_OF_OTHERS; larger rows need less
 *			evidence
 *	noticeably	by at least least_change of A
 *	with effect	by at least DIFF_LEAST_SHARE of the duration of the recording, as time: a
 *			number by the mean of one, or DIFF_EVENT_NS if there are no times; a p99 by
 *			1 % of the number
 *
 * Rows that are smaller than DIFF_LEAST_SHARE are not tested.
 */
#define DIFF_FALSE_RATE 0.01
#define DIFF_FALSE_RATE_OF_OTHERS 0.0025 /* of each measure that is not the total */
#define DIFF_LEAST_SHARE 0.001
#define DIFF_EVENT_NS 1000.0

enum diff_measure {
	DIFF_TOTAL,
	DIFF_COUNT,
	DIFF_MEAN,
	DIFF_P50,
	DIFF_P99,
	DIFF_BYTES,
	DIFF_MEASURES
};

/* The words of --fail-if and of JSON. */
extern const char *const diff_measure_names[DIFF_MEASURES];

struct diff_observation {
	int side; /* 0: A, 1: B */
	double seconds; /* how long it is */
	double scale; /* of amounts and numbers: 1, or the part of a second or a request */
};

enum diff_design_kind {
	DIFF_REPETITIONS, /* an observation is a recording */
	DIFF_PAIRS, /* the same, and the i-th of A was made with the i-th of B */
	DIFF_BLOCKS, /* observations follow each other in time */
	DIFF_UNTESTED, /* too few: nothing can be a finding */
};

struct diff_design {
	enum diff_design_kind kind;
	const struct diff_observation *of; /* borrowed; those of A first, in order */
	size_t n_a, n_b;
	double least_change; /* least change to report, as a share of A: 0.03 is 3 % */
	bool same_config; /* false: levels without a row on one side are not compared */
};

/* The change of one measure of a row, for the unit of the comparison (a run, a second, ...). */
struct diff_change {
	bool known; /* each observation has a value */
	bool tested;
	bool finding;
	bool new_or_gone; /* tested; each observation of one side is about 0 */
	double a, b; /* the means, geometric ones if no value is 0 */
	double low, high; /* interval of the difference b - a; NAN if untested */
	double ratio, ratio_low, ratio_high; /* relative, and its interval; INFINITY if a is 0 */
	double p, q; /* p value, and rate of false findings */
	double error; /* if tested and no value is 0: the standard error of log(b / a) */
};

struct diff_result {
	const struct diff_row *row;
	struct diff_change of[DIFF_MEASURES];
	bool finding;
	enum diff_measure by; /* the measure that makes it a finding; else the main one */
	double effect; /* ns: at least this much more or less time; findings are sorted by it */
	const struct diff_result *part; /* a part of this row that explains the change; or NULL */
};

struct diff_results {
	struct diff_result *of; /* owned; the largest effect first */
	size_t n;
	double wall_ns; /* elapsed time of the unit of the comparison */
};

/* Compares the rows of the two sides. The results borrow `rows`. Returns 0 or -ENOMEM; the caller
 * calls diff_results_deinit() in either case. */
int diff_compare(const struct diff_rows *rows, const struct diff_design *d,
		 struct diff_results *ret);
void diff_results_deinit(struct diff_results *r);

/* Returns true if only one side has rows of this level. With different configs, such a level cannot
 * be compared. */
bool diff_level_is_one_sided(const struct diff_rows *rows, const struct diff_design *d,
			     const struct report_section *level);

/* Returns the largest sampled function if no sampled function is a finding, and if more recordings
 * are needed to find a change of that one by this share; otherwise, and for DIFF_BLOCKS, returns
 * NULL. *ret is the needed number of recordings of each side. */
const struct diff_row *diff_function_needs_more(const struct diff_results *r,
						const struct diff_design *d, double change,
						size_t *ret);

/* Returns the measure that a row is about: DIFF_TOTAL, or DIFF_COUNT if it has no times. */
enum diff_measure diff_main_measure(const struct diff_row *row);
