/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/diff_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

/* No value is assumed to be measured more precisely than this fraction of it. */
#define LEAST_ERROR 0.003
/* A percentile of fewer values is just one of the largest of them. */
#define LEAST_FOR_P99 100
#define LEAST_FOR_P50 20
/* A function with fewer samples in an observation is not tested: only the largest changes could be
 * found, and each test makes the others need more evidence. */
#define LEAST_SAMPLES 30
/* A part explains the change of the whole if it has at least this share of it, with its own
 * error. */
#define PART_SHARE 0.5
/* A row is new or gone if all values of one side are at most this share of the mean of the
 * other. */
#define GONE_SHARE 0.01

const char *const diff_measure_names[DIFF_MEASURES] = {"total", "count", "mean",
						       "p50",	"p99",	 "bytes"};

enum diff_measure diff_main_measure(const struct diff_row *row)
{
	return row->has_amount ? DIFF_TOTAL : DIFF_COUNT;
}

/* ---- the values of a row ---- */

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* Returns true if the row is counted from call stack samples: they are few, so their sampling error
 * counts. */
static bool is_sampled(const struct diff_row *row)
{
	return !strcmp(row->metric->name, "cpu") &&
	       (!strcmp(row->level->by, "function") || !strcmp(row->level->by, "callers"));
}

/* Samples of a program by observation, of all its functions. */
struct program_samples {
	const char *program; /* borrowed */
	double *n; /* owned */
	UT_hash_handle hh;
};

static void free_samples(struct program_samples *list)
{
	struct program_samples *p, *next;

	HASH_ITER (hh, list, p, next) {
		HASH_DEL(list, p);
		free(p->n);
		free(p);
	}
}

/* Adds the row's numbers of samples to those of its program. Returns 0 or -ENOMEM. */
static int add_samples(const struct diff_rows *rows, const struct diff_row *row,
		       struct program_samples **list)
{
	struct program_samples *p;

	HASH_FIND_STR(*list, text_or_empty(row->program), p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->program = text_or_empty(row->program);
		p->n = calloc(rows->observations, sizeof(*p->n));
		if (p->n)
			HASH_ADD_KEYPTR(hh, *list, p->program, strlen(p->program), p);
		if (!p->hh.tbl) {
			free(p->n);
			free(p);
			return -ENOMEM;
		}
	}
	for (size_t i = 0; i < rows->observations; i++)
		p->n[i] += row->of[i].n;
	return 0;
}

static int count_samples(const struct diff_rows *rows, struct program_samples **ret)
{
	int r = 0;

	for (const struct diff_row *row = rows->list; row && r == 0; row = row->hh.next)
		if (is_sampled(row) && !strcmp(row->level->by, "function"))
			r = add_samples(rows, row, ret);
	return r;
}

/* Returns a measure of an observation; NAN if it is not known. */
static double get_measure(const struct diff_value *v, enum diff_measure m, double scale)
{
	switch (m) {
	case DIFF_TOTAL:
		return v->amount * scale;
	case DIFF_COUNT:
		return v->n * scale;
	case DIFF_MEAN:
		return v->n > 0 && v->amount > 0 ? v->amount / v->n : NAN;
	case DIFF_P50:
		return v->n >= LEAST_FOR_P50 ? v->p50 : NAN;
	case DIFF_P99:
		return v->n >= LEAST_FOR_P99 ? v->p99 : NAN;
	default:
		return v->bytes * scale;
	}
}

/* Returns true if a row can be compared by this measure. The number of samples is proportional to
 * their time, so it is not a measure of its own. */
static bool has_measure(const struct diff_row *row, enum diff_measure m)
{
	if (m == DIFF_COUNT)
		return !is_sampled(row);
	if (m == DIFF_BYTES)
		return row->has_bytes;
	return row->has_amount && (m == DIFF_TOTAL || !is_sampled(row));
}

/* Returns the least variance of a value, the sum of three: of its limited precision, of rounding to
 * a whole number if it is a count, and of sampling if it was sampled. */
static double least_variance(const struct diff_value *v, enum diff_measure m, double scale,
			     double samples)
{
	double value = get_measure(v, m, scale), ret = value * value * LEAST_ERROR * LEAST_ERROR;

	if (m == DIFF_COUNT)
		ret += scale * scale / 12;
	if (samples > 0 && v->n > 0)
		ret += value * value * MAX(1 - v->n / samples, 0.05) / v->n;
	return ret;
}

/* The values of a measure in all recordings, those of side A first. */
struct series {
	double *v, *least; /* owned, n of each */
	size_t n;
	bool known, positive;
};

static void read_series(struct series *s, const struct diff_row *row, enum diff_measure m,
			const struct diff_design *d, const struct program_samples *samples)
{
	s->known = has_measure(row, m);
	s->positive = true;
	for (size_t i = 0; i < s->n; i++) {
		double scale = d->of[i].scale;

		s->v[i] = get_measure(&row->of[i], m, scale);
		s->least[i] = least_variance(&row->of[i], m, scale, samples ? samples->n[i] : 0);
		s->known &= isfinite(s->v[i]);
		s->positive &= s->v[i] > 0;
	}
	for (size_t i = 0; i < s->n && s->known && s->positive; i++) {
		s->least[i] /= s->v[i] * s->v[i];
		s->v[i] = log(s->v[i]);
	}
}

static double mean_of_values(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

/* ---- one test ---- */

static struct diff_side summarize_side(const struct series *s, const struct diff_design *d,
				       int side)
{
	size_t first = side ? d->n_a : 0, n = side ? d->n_b : d->n_a;

	return (struct diff_side){
		.v = s->v + first,
		.n = n,
		.n_eff = d->kind == DIFF_BLOCKS ? diff_effective_n(s->v + first, n) : (double)n,
		.least_variance = mean_of_values(s->least + first, n),
	};
}

static double change_ratio(double difference, double a)
{
	return a > 0 ? difference / a : difference > 0 ? INFINITY : 0;
}

static struct diff_test test_sides(const struct series *s, const struct diff_design *d)
{
	struct diff_side a = summarize_side(s, d, 0), b = summarize_side(s, d, 1);

	return d->kind == DIFF_PAIRS ? diff_paired(&a, &b) : diff_welch(&a, &b);
}

/* Returns true if all values of one side are at most `floor`. */
static bool is_side_below(const struct series *s, const struct diff_design *d, double floor)
{
	size_t n[2] = {0, 0};

	for (size_t i = 0; i < s->n; i++)
		n[d->of[i].side] += s->v[i] <= floor;
	return n[0] == d->n_a || n[1] == d->n_b;
}

/* Tests values that are new or gone: all those of one side are at most `floor`, which is GONE_SHARE
 * of the mean of the other side. The values of that other side may differ much from each other, as
 * the time on one of several CPUs does, but are far above the floor. So the logarithms are tested,
 * and smaller values count as the floor. The interval is that of this test, so that it excludes 0
 * if the change is significant. */
static void test_new_or_gone(struct series *s, const struct diff_design *d, double floor,
			     struct diff_change *c)
{
	struct diff_test t;

	for (size_t i = 0; i < s->n; i++) {
		double v = MAX(s->v[i], floor);

		s->least[i] = MAX(s->least[i] / (v * v), LEAST_ERROR * LEAST_ERROR);
		s->v[i] = log(v);
	}
	t = test_sides(s, d);
	c->p = t.p;
	c->new_or_gone = true;
	if (t.low > 0 && c->low <= 0) {
		c->low = floor * expm1(t.low);
		c->high = MAX(c->high, floor * expm1(t.high));
	} else if (t.high < 0 && c->high >= 0) {
		c->high = -floor * expm1(-t.high);
		c->low = MIN(c->low, -floor * expm1(-t.low));
	}
}

static void test_change_of_series(struct series *s, const struct diff_design *d,
				  struct diff_change *c)
{
	struct diff_test t = test_sides(s, d);
	double floor = GONE_SHARE * MAX(c->a, c->b);

	c->tested = true;
	c->p = t.p;
	if (s->positive) {
		c->error = t.error;
		c->ratio_low = expm1(t.low);
		c->ratio_high = expm1(t.high);
		c->low = c->a * c->ratio_low;
		c->high = c->a * c->ratio_high;
		return;
	}
	c->low = t.low;
	c->high = t.high;
	if (floor > 0 && is_side_below(s, d, floor))
		test_new_or_gone(s, d, floor, c);
	c->ratio_low = MAX(-1.0, change_ratio(c->low, c->a));
	c->ratio_high = change_ratio(c->high, c->a);
}

/* Sets the change of a series; with `test` also its interval and p value. */
static void estimate_change(struct series *s, const struct diff_design *d, bool test,
			    struct diff_change *c)
{
	*c = (struct diff_change){.low = NAN,
				  .high = NAN,
				  .ratio = NAN,
				  .ratio_low = NAN,
				  .ratio_high = NAN,
				  .p = 1,
				  .q = 1};
	if (!s->known)
		return;
	c->known = true;
	c->a = mean_of_values(s->v, d->n_a);
	c->b = mean_of_values(s->v + d->n_a, d->n_b);
	if (s->positive) {
		c->a = exp(c->a);
		c->b = exp(c->b);
	}
	c->ratio = change_ratio(c->b - c->a, c->a);
	if (test && d->kind != DIFF_UNTESTED)
		test_change_of_series(s, d, c);
}

/* ---- all rows ---- */

/* Returns the time of a row, the mean of both sides, which does not depend on their difference. */
static double row_time(const struct diff_result *r)
{
	const struct diff_change *c = &r->of[diff_main_measure(r->row)];

	return (c->a + c->b) / 2 * (r->row->has_amount ? 1 : DIFF_EVENT_NS);
}

bool diff_level_is_one_sided(const struct diff_rows *rows, const struct diff_design *d,
			     const struct report_section *level)
{
	bool has[2] = {false, false};

	for (const struct diff_row *row = rows->list; row; row = row->hh.next)
		for (size_t i = 0; row->level == level && i < d->n_a + d->n_b; i++)
			if (row->of[i].rows)
				has[d->of[i].side] = true;
	return has[0] != has[1];
}

static double mean_event_count(const struct diff_row *row, const struct diff_design *d)
{
	double sum = 0;

	for (size_t i = 0; i < d->n_a + d->n_b; i++)
		sum += row->of[i].n;
	return sum / (double)(d->n_a + d->n_b);
}

/* Sets the changes of a row. Its size decides whether it is tested. */
static void compare_row(const struct diff_row *row, const struct diff_design *d,
			struct program_samples *list, struct series *s, bool comparable,
			double wall, struct diff_result *ret)
{
	enum diff_measure first = diff_main_measure(row);
	struct program_samples *samples = NULL;
	bool test;

	if (is_sampled(row))
		HASH_FIND_STR(list, text_or_empty(row->program), samples);
	ret->row = row;
	read_series(s, row, first, d, samples);
	estimate_change(s, d, false, &ret->of[first]);
	test = comparable && row_time(ret) >= DIFF_LEAST_SHARE * wall &&
	       (!samples || mean_event_count(row, d) >= LEAST_SAMPLES);
	for (int m = 0; m < DIFF_MEASURES; m++) {
		read_series(s, row, (enum diff_measure)m, d, samples);
		estimate_change(s, d, test, &ret->of[m]);
	}
}

/* Converts a difference of a measure into time: for a count, the time of that many more; for a
 * percentile, the time of the part above the percentile. Infinite for bytes, which are not
 * times. */
static double convert_change_to_time(const struct diff_result *r, enum diff_measure m,
				     double difference)
{
	const struct diff_change *total = &r->of[DIFF_TOTAL], *count = &r->of[DIFF_COUNT];
	double n = MAX(count->a, count->b);

	switch (m) {
	case DIFF_TOTAL:
		return difference;
	case DIFF_COUNT:
		return difference * (r->row->has_amount
					     ? (total->a + total->b) / (count->a + count->b)
					     : DIFF_EVENT_NS);
	case DIFF_MEAN:
		return difference * n;
	case DIFF_P50:
		return difference * n / 2;
	case DIFF_P99:
		return difference * n / 100;
	default:
		return INFINITY;
	}
}

/* Returns the time that corresponds to the smallest change within the confidence interval of a
 * measure. */
static double least_effect(const struct diff_result *r, enum diff_measure m)
{
	const struct diff_change *c = &r->of[m];

	return fabs(convert_change_to_time(r, m, c->low > 0 ? c->low : c->high < 0 ? c->high : 0));
}

/* Returns true for a change that is large enough to matter. */
static bool is_large_change(const struct diff_result *r, enum diff_measure m,
			    const struct diff_design *d, double wall)
{
	const struct diff_change *c = &r->of[m];

	return fabs(c->ratio) >= d->least_change &&
	       fabs(convert_change_to_time(r, m, c->b - c->a)) >= DIFF_LEAST_SHARE * wall;
}

/* Tests of one measure are a family: their false findings are limited together. A large row needs
 * less evidence than a small one: a test's weight is proportional to the square root of its row's
 * size, and the mean of the weights is 1 (weighted Benjamini-Hochberg). */
static int find_findings(struct diff_results *r, enum diff_measure m, const struct diff_design *d)
{
	_cleanup_(freep) double *p = malloc((r->n + 1) * sizeof(*p));
	_cleanup_(freep) double *q = malloc((r->n + 1) * sizeof(*q));
	double rate = m == DIFF_TOTAL ? DIFF_FALSE_RATE : DIFF_FALSE_RATE_OF_OTHERS;
	double weights = 0;
	size_t n = 0;

	if (!p || !q)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++)
		if (r->of[i].of[m].tested) {
			weights += sqrt(row_time(&r->of[i]));
			n++;
		}
	for (size_t i = 0, k = 0; i < r->n; i++)
		if (r->of[i].of[m].tested)
			p[k++] = MIN(1.0, r->of[i].of[m].p * weights / (double)n /
						  sqrt(row_time(&r->of[i])));
	if (!diff_false_rates(p, n, q))
		return -ENOMEM;
	for (size_t i = 0, k = 0; i < r->n; i++) {
		struct diff_change *c = &r->of[i].of[m];

		if (!c->tested)
			continue;
		c->q = q[k++];
		c->finding = c->q <= rate && is_large_change(&r->of[i], m, d, r->wall_ns);
	}
	return 0;
}

/* Chooses the measure by which a row is a finding: the one with the largest effect of those that
 * are findings themselves. */
static void choose_finding_measure(struct diff_result *r, const struct diff_design *d)
{
	static const enum diff_measure measures[] = {DIFF_TOTAL, DIFF_COUNT, DIFF_P99};
	enum diff_measure first = diff_main_measure(r->row);

	r->by = first;
	if (d->kind == DIFF_UNTESTED) {
		r->effect = fabs(convert_change_to_time(r, first, r->of[first].b - r->of[first].a));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
		double effect = least_effect(r, measures[i]);

		if (!r->of[measures[i]].finding || (r->finding && effect <= r->effect))
			continue;
		r->finding = true;
		r->by = measures[i];
		r->effect = effect;
	}
}

/* Returns the first sort key of a finding; its effect is the second one. A CPU that only one side
 * used was taken away or added, which causes other changes: it comes first. How often a thread ran
 * or waited for a CPU follows from what else it did: that comes after the rest. Time that moved
 * between CPUs of both sides is neither won nor lost: it comes last. */
static int result_place(const struct diff_result *r)
{
	const char *metric = r->row->metric->name;

	if (!strcmp(r->row->level->by, "cpu"))
		return r->of[DIFF_TOTAL].new_or_gone ? 0 : 3;
	return r->by == DIFF_COUNT && (!strcmp(metric, "cpu") || !strcmp(metric, "latency")) ? 2
											     : 1;
}

static int compare_results_by_effect(const void *a, const void *b)
{
	const struct diff_result *x = a, *y = b;

	if (x->finding != y->finding)
		return x->finding ? -1 : 1;
	if (result_place(x) != result_place(y))
		return result_place(x) - result_place(y);
	if (x->effect != y->effect)
		return x->effect < y->effect ? 1 : -1;
	if (x->row->level != y->row->level)
		return x->row->level < y->row->level ? -1 : 1;
	return strcmp(text_or_empty(x->row->program), text_or_empty(y->row->program))
		       ?: strcmp(text_or_empty(x->row->thread), text_or_empty(y->row->thread))
		       ?: strcmp(text_or_empty(x->row->what), text_or_empty(y->row->what));
}

/* Returns true if `part` is more specific than `whole`: it is of a later level, or of two rows of
 * callers the one with less time, because the other may call it. */
static bool row_is_more_specific(const struct diff_result *part, const struct diff_result *whole)
{
	if (part->row->level != whole->row->level)
		return part->row->level > whole->row->level;
	if (strcmp(part->row->level->by, "callers") != 0 || part == whole)
		return false;
	return part->of[DIFF_TOTAL].a < whole->of[DIFF_TOTAL].a ||
	       (part->of[DIFF_TOTAL].a == whole->of[DIFF_TOTAL].a && part < whole);
}

/* Returns true if `part` has the same metric and program, is more specific, and has most of the
 * change. No function explains that a CPU is lost. */
static bool does_part_explain_whole(const struct diff_result *part, const struct diff_result *whole)
{
	double of_part =
		convert_change_to_time(part, part->by, part->of[part->by].b - part->of[part->by].a);
	double of_whole = convert_change_to_time(whole, whole->by,
						 whole->of[whole->by].b - whole->of[whole->by].a);

	return part->finding && part->row->metric == whole->row->metric &&
	       result_place(whole) != 0 && row_is_more_specific(part, whole) &&
	       (!whole->row->program ||
		!strcmp(text_or_empty(part->row->program), text_or_empty(whole->row->program))) &&
	       of_part * of_whole > 0 && fabs(of_part) >= PART_SHARE * fabs(of_whole);
}

static void find_rows_that_explain(struct diff_results *r)
{
	for (size_t i = 0; i < r->n && r->of[i].finding; i++)
		for (size_t k = 0; k < r->n && r->of[k].finding && !r->of[i].part; k++)
			if (does_part_explain_whole(&r->of[k], &r->of[i]))
				r->of[i].part = &r->of[k];
}

static double mean_wall_ns(const struct diff_design *d)
{
	double sum = 0;
	size_t n = d->n_a + d->n_b;

	for (size_t i = 0; i < n; i++)
		sum += d->of[i].seconds * 1e9 * d->of[i].scale;
	return sum / (double)n;
}

int diff_compare(const struct diff_rows *rows, const struct diff_design *d,
		 struct diff_results *ret)
{
	struct program_samples *samples = NULL;
	struct series s = {.n = d->n_a + d->n_b};
	const struct report_section *level = NULL;
	bool comparable = true;
	int r;

	*ret = (struct diff_results){.wall_ns = mean_wall_ns(d)};
	ret->of = calloc(HASH_COUNT(rows->list) + 1, sizeof(*ret->of));
	s.v = calloc(s.n + 1, sizeof(*s.v));
	s.least = calloc(s.n + 1, sizeof(*s.least));
	r = ret->of && s.v && s.least ? count_samples(rows, &samples) : -ENOMEM;
	for (const struct diff_row *row = rows->list; row && r == 0; row = row->hh.next) {
		if (row->level != level && !d->same_config)
			comparable = !diff_level_is_one_sided(rows, d, row->level);
		level = row->level;
		compare_row(row, d, samples, &s, comparable, ret->wall_ns, &ret->of[ret->n++]);
	}
	for (int m = 0; m < DIFF_MEASURES && r == 0; m++)
		r = find_findings(ret, (enum diff_measure)m, d);
	for (size_t i = 0; i < ret->n && r == 0; i++)
		choose_finding_measure(&ret->of[i], d);
	if (r == 0 && ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), compare_results_by_effect);
	if (r == 0)
		find_rows_that_explain(ret);
	free_samples(samples);
	free(s.v);
	free(s.least);
	return r;
}

const struct diff_row *diff_function_needs_more(const struct diff_results *r,
						const struct diff_design *d, double change,
						size_t *ret)
{
	const struct diff_result *largest = NULL;
	size_t n = MIN(d->n_a, d->n_b), tests = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct diff_result *f = &r->of[i];

		tests += f->of[DIFF_TOTAL].tested;
		if (!is_sampled(f->row))
			continue;
		if (f->finding)
			return NULL;
		if (!strcmp(f->row->level->by, "function") && f->of[DIFF_TOTAL].error > 0 &&
		    (!largest || row_time(f) > row_time(largest)))
			largest = f;
	}
	if (!largest || d->kind == DIFF_BLOCKS)
		return NULL;
	*ret = diff_needed_pairs(log1p(change), largest->of[DIFF_TOTAL].error, n,
				 DIFF_FALSE_RATE / (double)tests);
	return *ret > n ? largest->row : NULL;
}

void diff_results_deinit(struct diff_results *r)
{
	free(r->of);
	*r = (struct diff_results){.n = 0};
}
