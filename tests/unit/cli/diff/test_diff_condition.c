/* SPDX-License-Identifier: Apache-2.0 */
/* --fail-if: what a condition may say, and for which rows it holds. */
#include <math.h>

#include "cli/diff/diff_condition.h"
#include "unit/test.h"

TEST(conditions_that_are_understood)
{
	static const struct {
		const char *text, *metric, *name;
		enum diff_measure measure;
		double ratio;
	} rows[] = {
		{"latency p99 > +10%", "latency", "", DIFF_P99, 0.1},
		{"cpu>5%", "cpu", "", DIFF_MEASURES, 0.05},
		{"cpu hash_block > 5 %", "cpu", "hash_block", DIFF_MEASURES, 0.05},
		{"syscalls count redis* < -20%", "syscalls", "redis*", DIFF_COUNT, -0.2},
		{"io bytes write vda > 0%", "io", "write vda", DIFF_BYTES, 0},
		{"waits mean fsync in store > 100%", "waits", "fsync in store", DIFF_MEAN, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_condition c;

		assert_int_equal(diff_condition_parse(rows[i].text, &c, NULL), 0);
		assert_string_equal(c.metric->name, rows[i].metric);
		assert_string_equal(c.name, rows[i].name);
		assert_int_equal(c.measure, rows[i].measure);
		assert_true(fabs(c.ratio - rows[i].ratio) < 1e-12);
	}
}

TEST(conditions_that_are_refused)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"", "expected > or <"},
		{"latency p99", "expected > or <"},
		{"> 10%", "the metric is missing"},
		{"latncy > 10%", "unknown metric 'latncy'; the metrics are cpu, latency"},
		{"latency > 10", "a percentage must follow >"},
		{"latency > %", "a percentage must follow >"},
		{"latency > inf%", "a percentage must follow >"},
		{"latency > -10%", "an increase is written '> +10%', a decrease '< -10%'"},
		{"latency < 10%", "a decrease '< -10%'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_condition c;
		struct err_text e;

		assert_int_equal(diff_condition_parse(rows[i].text, &c, &e), -EINVAL);
		assert_non_null(strstr(e.text, rows[i].error));
	}
}

static enum diff_verdict check(const char *text, const struct diff_results *r)
{
	const struct diff_result *row;
	struct diff_condition c;

	assert_int_equal(diff_condition_parse(text, &c, NULL), 0);
	return diff_condition_check(&c, r, &row);
}

TEST(conditions_hold_for_findings)
{
	struct diff_condition any;
	struct diff_row row = {.program = (char *)"load", .what = (char *)"hash_block (load)"};
	struct diff_result result = {.row = &row};
	struct diff_results r = {.of = &result, .n = 1};

	assert_int_equal(diff_condition_parse("cpu > 1%", &any, NULL), 0);
	row.metric = any.metric;
	row.level = &any.metric->sections[0];
	row.has_amount = true;
	result.of[DIFF_TOTAL] =
		(struct diff_change){.known = true, .tested = true, .finding = true, .ratio = 0.06};
	assert_int_equal(check("cpu > 5%", &r), DIFF_HOLDS);
	assert_int_equal(check("cpu > 6.5%", &r), DIFF_HOLDS_NOT);
	assert_int_equal(check("cpu < -5%", &r), DIFF_HOLDS_NOT);
	assert_int_equal(check("cpu hash_block > 5%", &r), DIFF_HOLDS);
	assert_int_equal(check("cpu hash* > 5%", &r), DIFF_HOLDS);
	assert_int_equal(check("cpu loa? > 5%", &r), DIFF_HOLDS);
	assert_int_equal(check("cpu other > 5%", &r), DIFF_NO_DATA);
	assert_int_equal(check("cpu count > 5%", &r), DIFF_NO_DATA);
	assert_int_equal(check("latency > 5%", &r), DIFF_NO_DATA);
	result.of[DIFF_TOTAL].finding = false;
	assert_int_equal(check("cpu > 5%", &r), DIFF_HOLDS_NOT);
	result.of[DIFF_TOTAL].finding = true;
	result.of[DIFF_TOTAL].ratio = INFINITY;
	assert_int_equal(check("cpu > 500%", &r), DIFF_HOLDS);
	result.of[DIFF_TOTAL].ratio = -0.4;
	assert_int_equal(check("cpu < -30%", &r), DIFF_HOLDS);
	result.of[DIFF_TOTAL].tested = result.of[DIFF_TOTAL].finding = false;
	assert_int_equal(check("cpu > 5%", &r), DIFF_NO_DATA);
}
