/* SPDX-License-Identifier: Apache-2.0 */
/* sonda diff A B: compares recordings. */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/diff/diff_options.h"
#include "cli/diff/diff_output.h"
#include "cli/diff/diff_page.h"
#include "cli/diff/diff_traces.h"
#include "cli/terminal/verb.h"

/* Smaller changes are ignored, unless --min sets another minimum. With one recording on each side,
 * the difference from one recording to the next is unknown, hence the larger value. */
#define LEAST_CHANGE 0.03
#define LEAST_CHANGE_OF_BLOCKS 0.10

/* A note names the number of recordings that reveals a change of this share. */
#define CHANGE_OF_NOTE 0.05

/* Adds a note if there are too few recordings to find a small change of the largest function. */
static void mark_needed_recordings(struct diff_traces *t, const struct diff_results *r,
				   const struct diff_design *d)
{
	size_t n;
	const struct diff_row *row = diff_function_needs_more(r, d, CHANGE_OF_NOTE, &n);

	if (!row)
		return;
	strbuf_printf(&t->marks, "to detect a %.0f %% change in ", CHANGE_OF_NOTE * 100);
	strbuf_put_plain(&t->marks, row->what);
	strbuf_printf(&t->marks, " (the largest function), make %s%zu recordings per side\n",
		      n < DIFF_PAIRS_MAX ? "about " : "at least ", n);
}

static int compare_sides(struct diff_traces *t, struct diff_results *ret)
{
	const struct diff_design d = {
		.kind = t->kind,
		.of = t->observations,
		.n_a = t->n_of_side[0],
		.n_b = t->n_of_side[1],
		.least_change = t->o->least_change	 ? t->o->least_change
				: t->kind == DIFF_BLOCKS ? LEAST_CHANGE_OF_BLOCKS
							 : LEAST_CHANGE,
		.same_config = t->same_config,
	};
	int r = diff_compare(&t->rows, &d, ret);

	if (r == 0)
		mark_needed_recordings(t, ret, &d);
	return r;
}

/* From this change on, a program is considered to do more or less work per second. */
#define OTHER_LOAD 0.10

/* Returns true for a row whose number counts work that others request from the program. */
static bool is_load_metric(const struct diff_row *row)
{
	return !strcmp(row->metric->name, "slices") ||
	       (!strcmp(row->metric->name, "syscalls") && !strcmp(row->level->by, "program"));
}

/* Adds a note on the first row whose number shows that the load per second was different. */
static void mark_load_change(struct diff_traces *t, const struct diff_results *r)
{
	if (t->per_run || t->o->per == DIFF_PER_SLICE)
		return;
	for (size_t i = 0; i < r->n; i++) {
		const struct diff_change *c = &r->of[i].of[DIFF_COUNT];

		if (!is_load_metric(r->of[i].row) || c->q > DIFF_FALSE_RATE ||
		    fabs(c->ratio) < OTHER_LOAD)
			continue;
		strbuf_puts(&t->marks, "different load: the number of ");
		diff_put_row_name(r->of[i].row, &t->marks);
		strbuf_printf(&t->marks,
			      " per second changed by %+.0f %%; compare the column 'each', or use "
			      "--per with a slice or system call\n",
			      c->ratio * 100);
		return;
	}
}

/* Logs a condition that holds, or that could not be tested. Returns an exit code. */
static int check_condition(const struct diff_condition *c, const struct diff_results *r)
{
	const struct diff_result *row;
	const struct diff_change *change;
	struct strbuf name = {0};

	switch (diff_condition_check(c, r, &row)) {
	case DIFF_HOLDS_NOT:
		return EXIT_GOOD;
	case DIFF_NO_DATA:
		log_error("diff: --fail-if '%s' cannot be evaluated: no matching row has enough "
			  "data to test; record each side three times with: sonda record %s",
			  c->text, c->metric->records);
		return EXIT_FAILED;
	default:
		change = &row->of[diff_condition_measure(c, row->row)];
		diff_put_row_name(row->row, &name);
		log_error("diff: --fail-if '%s': %s changed by %+.1f %% (%+.1f to %+.1f)", c->text,
			  name.s ? name.s : "", change->ratio * 100, change->ratio_low * 100,
			  change->ratio_high * 100);
		strbuf_deinit(&name);
		return EXIT_CONDITION;
	}
}

/* Returns the exit code of all conditions. EXIT_FAILED, for one that cannot be tested, takes
 * precedence over EXIT_CONDITION, for one that holds. */
static int check_conditions(const struct diff_options *o, const struct diff_results *r)
{
	int ret = EXIT_GOOD;

	for (size_t i = 0; i < o->n_conditions; i++) {
		int code = check_condition(&o->conditions[i], r);

		if (code == EXIT_FAILED || ret == EXIT_GOOD)
			ret = code;
	}
	return ret;
}

static int print_comparison(struct diff_traces *t, struct diff_results *results, struct err_text *e)
{
	int r = compare_sides(t, results);

	if (r == 0) {
		mark_load_change(t, results);
		if (t->o->html)
			return diff_page_write(t, results, t->o->html, e);
		r = t->o->json ? diff_print_json(t, results) : diff_print_text(t, results);
	}
	return r < 0 ? err_set(e, r, "%s", strerror(-r)) : 0;
}

static int diff_run(const struct diff_options *o)
{
	struct diff_results results = {.n = 0};
	struct diff_traces traces;
	struct err_text e;
	int r = diff_traces_read(o, &traces, &e), code = EXIT_FAILED;

	if (r < 0) {
		log_error("diff: %s", e.text);
		goto out;
	}
	r = print_comparison(&traces, &results, &e);
	if (r < 0)
		log_error("diff: %s", e.text);
	else
		code = check_conditions(o, &results);
out:
	diff_results_deinit(&results);
	diff_traces_deinit(&traces);
	return code;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_options o;
	struct err_text e;
	int r = diff_options_parse(argc, argv, &o, &e);

	if (r > 0)
		return EXIT_GOOD;
	if (r == 0)
		return diff_run(&o);
	log_error("diff: %s", e.text);
	log_error("see sonda help diff");
	return EXIT_USAGE;
}
