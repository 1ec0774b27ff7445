/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of two sides with known changes: what is a finding, its size, its order, and what explains
 * it.
 */
#include <math.h>

#include "analyze/diff/diff_compare.h"
#include "unit/test.h"

#define N 10 /* observations of a side */

static const struct report *metric_of(const char *name)
{
	for (size_t i = 0; i < n_diff_metrics; i++)
		if (!strcmp(diff_metrics[i].name, name))
			return &diff_metrics[i];
	fail_msg("no metric %s", name);
	return NULL;
}

static const struct report_section *level_of(const struct report *metric, const char *by)
{
	for (size_t i = 0; i < metric->n_sections; i++)
		if (!strcmp(metric->sections[i].by, by))
			return &metric->sections[i];
	fail_msg("no level %s", by);
	return NULL;
}

/* Adds a row with a value for each observation; number of the row: what it is called. */
static struct diff_row *add_row(struct diff_rows *rows, const char *metric, const char *by,
				const char *program, const char *what)
{
	struct diff_row *row = calloc(1, sizeof(*row));

	assert_non_null(row);
	row->metric = metric_of(metric);
	row->level = level_of(row->metric, by);
	row->of = calloc(2 * N, sizeof(*row->of));
	assert_non_null(row->of);
	assert_true(asprintf(&row->key, "%s/%s/%s/%s", metric, by, program, what) > 0);
	row->program = (char *)program;
	row->what = (char *)what;
	row->has_amount = true;
	HASH_ADD_KEYPTR(hh, rows->list, row->key, strlen(row->key), row);
	return row;
}

/* 0.98 to 1.02, different for each row and observation, with a mean of about 1. */
static double noise(size_t row, size_t i)
{
	return 1 + 0.01 * sin((double)(row * 7 + i * i * 3 + i));
}

static void set_values(struct diff_row *row, size_t number, double a, double b, double n)
{
	for (size_t i = 0; i < 2 * N; i++) {
		row->of[i] = (struct diff_value){.amount = (i < N ? a : b) * noise(number, i),
						 .n = n,
						 .p50 = NAN,
						 .p99 = NAN,
						 .rows = 1};
	}
}

static struct diff_observation observations[2 * N];

static struct diff_design design_of(enum diff_design_kind kind)
{
	for (size_t i = 0; i < 2 * N; i++)
		observations[i] = (struct diff_observation){i >= N, 1, 1};
	return (struct diff_design){.kind = kind,
				    .of = observations,
				    .n_a = N,
				    .n_b = N,
				    .least_change = 0.03,
				    .same_config = true};
}

static const struct diff_result *result_of(const struct diff_results *r, const char *what)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->of[i].row->what, what))
			return &r->of[i];
	fail_msg("no row %s", what);
	return NULL;
}

TEST(a_change_is_found_and_measured)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_REPETITIONS);
	const struct diff_change *c;
	struct diff_results r;

	set_values(add_row(&rows, "cpu", "program", "x", "same"), 1, 1e8, 1e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "slower"), 2, 1e8, 1.05e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "faster"), 3, 2e8, 1.8e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "a little slower"), 4, 1e8, 1.015e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "too small"), 5, 1e5, 5e5, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "new"), 6, 0, 1e7, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "gone"), 7, 5e7, 0, 100);
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_true(r.wall_ns == 1e9);
	/* By their time: 50 ms less, 20 ms less, 10 ms more, 5 ms more. */
	assert_string_equal(r.of[0].row->what, "gone");
	assert_string_equal(r.of[1].row->what, "faster");
	assert_string_equal(r.of[2].row->what, "new");
	assert_string_equal(r.of[3].row->what, "slower");
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.of[i].finding, i < 4);
	c = &result_of(&r, "slower")->of[DIFF_TOTAL];
	assert_true(c->finding && c->ratio_low < 0.05 && c->ratio_high > 0.05);
	assert_true(fabs(c->ratio - 0.05) < 0.01 && c->ratio_high - c->ratio_low < 0.03);
	c = &result_of(&r, "new")->of[DIFF_TOTAL];
	assert_true(isinf(c->ratio) && c->low > 0.9e7 && c->high < 1.1e7);
	assert_true(result_of(&r, "gone")->of[DIFF_TOTAL].ratio == -1);
	assert_false(result_of(&r, "too small")->of[DIFF_TOTAL].tested);
	c = &result_of(&r, "a little slower")->of[DIFF_TOTAL];
	assert_true(c->tested && c->q < 0.05 && !c->finding);
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

/* On one of two CPUs a program has some time in each recording, more or less; then it may not use it. */
TEST(what_is_gone_is_found_though_it_differed_before)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_PAIRS);
	struct diff_row *gone = add_row(&rows, "cpu", "cpu", "x", "on CPU 1");
	struct diff_row *rare = add_row(&rows, "cpu", "cpu", "x", "on CPU 2");
	const struct diff_change *c;
	struct diff_results r;
	char what[64][16];

	set_values(gone, 1, 0, 0, 100);
	set_values(rare, 2, 0, 0, 100);
	for (size_t i = 0; i < N; i++)
		gone->of[i].amount = 1e8 * exp(2.5 * sin((double)(i * i) * 2.1));
	gone->of[N].amount = 1e5; /* before it was moved */
	rare->of[0].amount = 4e8;
	set_values(add_row(&rows, "cpu", "cpu", "x", "on CPU 0"), 4, 1e8, 2e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "slower"), 3, 1e9, 2e9, 100);
	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		snprintf(what[i], sizeof(what[i]), "same %zu", i);
		set_values(add_row(&rows, "cpu", "program", "x", what[i]), i, 1e8, 1e8, 100);
	}
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_true(result_of(&r, "on CPU 1")->finding);
	assert_false(result_of(&r, "on CPU 2")->finding);
	c = &result_of(&r, "on CPU 1")->of[DIFF_TOTAL];
	assert_true(c->low < 0 && c->high < 0 && c->ratio_high < 0 && c->ratio_low >= -1);
	/* The lost CPU is the cause, although its time is less. Time on a CPU that both sides used
	 * comes last, although it is more than that. */
	assert_string_equal(r.of[0].row->what, "on CPU 1");
	assert_string_equal(r.of[1].row->what, "slower");
	assert_string_equal(r.of[2].row->what, "on CPU 0");
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(a_number_alone_and_a_p99_are_findings)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_PAIRS);
	struct diff_row *count = add_row(&rows, "syscalls", "call", "x", "fsync");
	struct diff_row *tail = add_row(&rows, "latency", "program", "x", "tail");
	struct diff_row *faults = add_row(&rows, "faults", "program", "x", "faults");
	struct diff_results r;

	set_values(count, 1, 1e8, 1e8, 20);
	set_values(tail, 2, 1e8, 1e8, 1000);
	set_values(faults, 3, 0, 0, 10000);
	faults->has_amount = false;
	for (size_t i = 0; i < 2 * N; i++) {
		/* The time of the calls says nothing. */
		count->of[i].amount = i % 2 ? 2e8 : 1e7;
		count->of[i].n = i < N ? 20 : 40;
		tail->of[i].p50 = 1e5;
		tail->of[i].p99 = (i < N ? 1e6 : 2e6) * noise(9, i);
		faults->of[i].n = i < N ? 10000 : 15000;
	}
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_true(result_of(&r, "fsync")->finding);
	assert_int_equal(result_of(&r, "fsync")->by, DIFF_COUNT);
	assert_true(fabs(result_of(&r, "fsync")->of[DIFF_COUNT].ratio - 1) < 1e-9);
	assert_false(result_of(&r, "fsync")->of[DIFF_TOTAL].finding);
	assert_true(result_of(&r, "tail")->finding);
	assert_int_equal(result_of(&r, "tail")->by, DIFF_P99);
	assert_true(result_of(&r, "faults")->finding);
	assert_int_equal(result_of(&r, "faults")->by, DIFF_COUNT);
	/* 99 events have no p99. */
	diff_results_deinit(&r);
	for (size_t i = 0; i < 2 * N; i++)
		tail->of[i].n = 99;
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_false(result_of(&r, "tail")->of[DIFF_P99].known);
	assert_true(result_of(&r, "tail")->of[DIFF_P50].known);
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

/* More calls that wait make a thread run more often: the calls come first, however long it ran. */
TEST(how_often_a_thread_ran_comes_after_what_it_did)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_PAIRS);
	struct diff_row *runs = add_row(&rows, "cpu", "thread", "x", "runs");
	struct diff_row *calls = add_row(&rows, "syscalls", "call", "x", "fsync");
	struct diff_results r;

	set_values(runs, 1, 3e8, 3e8, 100);
	set_values(calls, 2, 1e7, 1e7, 20);
	for (size_t i = N; i < 2 * N; i++) {
		runs->of[i].n = 150;
		calls->of[i].n = 40;
	}
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_true(result_of(&r, "runs")->finding && result_of(&r, "fsync")->finding);
	assert_true(result_of(&r, "runs")->effect > result_of(&r, "fsync")->effect);
	assert_string_equal(r.of[0].row->what, "fsync");
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(a_part_explains_the_whole)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_REPETITIONS);
	struct diff_results r;

	set_values(add_row(&rows, "cpu", "program", "x", "program"), 1, 5e8, 5.52e8, 100);
	set_values(add_row(&rows, "cpu", "callers", "x", "main"), 2, 4.8e8, 5.31e8, 40000);
	set_values(add_row(&rows, "cpu", "callers", "x", "loop"), 3, 4e8, 4.51e8, 40000);
	set_values(add_row(&rows, "cpu", "function", "x", "hash"), 4, 2e8, 2.5e8, 20000);
	set_values(add_row(&rows, "cpu", "program", "y", "other program"), 5, 5e8, 5.5e8, 100);
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_null(result_of(&r, "hash")->part);
	assert_non_null(result_of(&r, "program")->part);
	assert_non_null(result_of(&r, "main")->part);
	assert_non_null(result_of(&r, "loop")->part);
	assert_null(result_of(&r, "other program")->part);
	/* Samples count once: their number is their time. */
	assert_false(result_of(&r, "hash")->of[DIFF_COUNT].known);
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(few_samples_say_little)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_REPETITIONS);
	struct diff_results r;

	/* 40 of 100 samples; without their own error, the values differ surely. */
	set_values(add_row(&rows, "cpu", "function", "x", "few"), 1, 3e8, 3.2e8, 40);
	set_values(add_row(&rows, "cpu", "function", "x", "rest"), 2, 7e8, 7e8, 60);
	set_values(add_row(&rows, "cpu", "function", "x", "too few"), 3, 3e8, 9e8, 29);
	set_values(add_row(&rows, "cpu", "function", "y", "many"), 1, 3e8, 3.2e8, 30000);
	set_values(add_row(&rows, "cpu", "function", "y", "rest of many"), 2, 7e8, 7e8, 70000);
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_false(result_of(&r, "few")->finding);
	assert_true(result_of(&r, "few")->of[DIFF_TOTAL].tested);
	assert_false(result_of(&r, "too few")->of[DIFF_TOTAL].tested);
	assert_true(result_of(&r, "many")->finding);
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(a_function_with_few_samples_needs_more_recordings)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_PAIRS);
	struct diff_results r;
	const struct diff_row *largest;
	size_t n = 0;

	set_values(add_row(&rows, "cpu", "function", "x", "large"), 1, 6e8, 6e8, 500);
	set_values(add_row(&rows, "cpu", "function", "x", "small"), 2, 4e8, 4e8, 400);
	set_values(add_row(&rows, "cpu", "program", "x", NULL), 3, 1e9, 1e9, 900);
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	largest = diff_function_needs_more(&r, &d, 0.05, &n);
	assert_non_null(largest);
	assert_string_equal(largest->what, "large");
	/* The error of a pair is sqrt(2 * 4 / 9 / 500), 4.2 %: 5 of these errors are needed. */
	assert_in_range(n, 17, 26);
	assert_null(diff_function_needs_more(&r, &d, 0.5, &n)); /* such a change would be found */
	d.kind = DIFF_BLOCKS;
	assert_null(diff_function_needs_more(&r, &d, 0.05, &n));
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(what_only_one_config_records_is_not_compared)
{
	struct diff_rows rows = {.observations = 2 * N};
	struct diff_design d = design_of(DIFF_REPETITIONS);
	struct diff_row *one_sided = add_row(&rows, "irq", "name", NULL, "timer");
	struct diff_results r;

	set_values(one_sided, 1, 0, 1e8, 100);
	set_values(add_row(&rows, "cpu", "program", "x", "cpu"), 2, 1e8, 2e8, 100);
	for (size_t i = 0; i < N; i++)
		one_sided->of[i].rows = 0;
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_true(result_of(&r, "timer")->finding);
	diff_results_deinit(&r);
	d.same_config = false;
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_false(result_of(&r, "timer")->of[DIFF_TOTAL].tested);
	assert_true(result_of(&r, "cpu")->finding);
	diff_results_deinit(&r);
	d.kind = DIFF_UNTESTED;
	assert_int_equal(diff_compare(&rows, &d, &r), 0);
	assert_false(result_of(&r, "cpu")->finding || result_of(&r, "cpu")->of[DIFF_TOTAL].tested);
	diff_results_deinit(&r);
	diff_rows_deinit(&rows);
}

TEST(names_lose_the_numbers_of_one_recording)
{
	static const char *const names[][2] = {
		{"worker12", "worker*"},
		{"worker-3", "worker-*"},
		{"kworker/u8:3-ext4", "kworker/*"},
		{"ksoftirqd/0", "ksoftirqd/*"},
		{"redis-server", "redis-server"},
		{"", ""},
		{"1", "1"},
		{"12", "1*"},
	};
	char got[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		diff_put_general_name(names[i][0], got);
		assert_string_equal(got, names[i][1]);
	}
}

/* Each statement has the columns of diff_rows.h; without a trace they find no table. */
TEST(metrics_are_statements)
{
	for (size_t i = 0; i < n_diff_metrics; i++) {
		assert_true(diff_metrics[i].help && diff_metrics[i].records);
		assert_true(diff_metrics[i].n_sections > 0);
		for (size_t k = 0; k < diff_metrics[i].n_sections; k++)
			assert_true(diff_metrics[i].sections[k].by &&
				    diff_metrics[i].sections[k].sql[0]);
	}
}
