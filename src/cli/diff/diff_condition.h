/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "analyze/diff/diff_compare.h"
#include "base/core/err.h"

/* A condition of --fail-if: "METRIC [MEASURE] [NAME] > +10%", for example "latency p99 > +10%" or
 * "cpu hash_block > 5%"; "<" for a decrease. It holds if, in some row of the metric, the change of
 * the measure is a finding and exceeds the percentage. NAME is a pattern for a program, a thread, a
 * function or another name of a row. */
struct diff_condition {
	const char *text; /* borrowed: as the user wrote it */
	const struct report *metric;
	enum diff_measure measure; /* DIFF_MEASURES: the main one of each row */
	char name[128]; /* "": any */
	double ratio; /* the change must be above this (0.1: 10 %), or below if it is negative */
};

/* Returns 0, or -EINVAL and sets e. */
int diff_condition_parse(const char *text, struct diff_condition *ret, struct err_text *e);

enum diff_verdict {
	DIFF_HOLDS_NOT,
	DIFF_HOLDS,
	DIFF_NO_DATA, /* no row of the metric, measure and name could be tested */
};

/* Tests the condition on all rows. *ret_row: the first row for which it holds, else NULL. */
enum diff_verdict diff_condition_check(const struct diff_condition *c, const struct diff_results *r,
				       const struct diff_result **ret_row);

/* Returns the measure of the condition for a row. */
enum diff_measure diff_condition_measure(const struct diff_condition *c,
					 const struct diff_row *row);
