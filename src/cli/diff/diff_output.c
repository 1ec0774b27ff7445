/* SPDX-License-Identifier: Apache-2.0 */
/* The rows become a table in memory, which is printed like the tables of reports. */
#include "cli/diff/diff_output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/report_table.h"
#include "cli/sql_output.h"
#include "gen/sql/cli/diff/diff_output.h"

#define DEFAULT_TOP 20

/* ---- the table ---- */

static void bind_text(sqlite3_stmt *st, int *i, const char *text)
{
	sqlite3_bind_text(st, ++*i, text, -1, SQLITE_STATIC);
}

/* Binds NULL for what is not known or infinite. */
static void bind_number(sqlite3_stmt *st, int *i, double v)
{
	++*i;
	if (isfinite(v))
		sqlite3_bind_double(st, *i, v);
}

static const char *measure_unit(enum diff_measure m)
{
	return m == DIFF_COUNT ? "count" : m == DIFF_BYTES ? "bytes" : "ns";
}

static int insert_change_row(sqlite3_stmt *st, const struct diff_result *r, int place,
			     enum diff_measure m)
{
	const struct diff_change *c = &r->of[m];
	int i = 0, step;

	sqlite3_bind_int(st, ++i, place);
	bind_text(st, &i, r->row->metric->name);
	bind_text(st, &i, r->row->level->by);
	bind_text(st, &i, r->row->program);
	bind_text(st, &i, r->row->thread);
	bind_text(st, &i, r->row->what);
	bind_text(st, &i, diff_measure_names[m]);
	bind_text(st, &i, measure_unit(m));
	bind_number(st, &i, c->a);
	bind_number(st, &i, c->b);
	bind_number(st, &i, c->ratio * 100);
	bind_number(st, &i, c->ratio_low * 100);
	bind_number(st, &i, c->ratio_high * 100);
	bind_number(st, &i, c->low);
	bind_number(st, &i, c->high);
	bind_number(st, &i, c->tested ? c->p : NAN);
	bind_number(st, &i, c->tested ? c->q : NAN);
	sqlite3_bind_int(st, ++i, c->finding);
	sqlite3_bind_int(st, ++i, r->part != NULL);
	sqlite3_bind_int(st, ++i, m == r->by);
	step = sqlite3_step(st);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return step == SQLITE_DONE ? SQLITE_OK : step;
}

/* Returns true if the table has this row: with DIFF_UNTESTED every row, else those that were
 * tested. */
static bool row_is_shown(const struct diff_traces *t, const struct diff_result *r)
{
	return t->kind == DIFF_UNTESTED || r->of[diff_main_measure(r->row)].tested;
}

static int insert_rows(sqlite3 *db, const struct diff_traces *t, const struct diff_results *r)
{
	sqlite3_stmt *st;
	int e = sqlite3_prepare_v2(db, insert_sql, -1, &st, NULL);

	for (size_t i = 0; i < r->n && e == SQLITE_OK; i++)
		for (int m = 0; m < DIFF_MEASURES && e == SQLITE_OK; m++)
			if (r->of[i].of[m].known && row_is_shown(t, &r->of[i]))
				e = insert_change_row(st, &r->of[i], (int)i, (enum diff_measure)m);
	sqlite3_finalize(st);
	return e;
}

/* value(number, unit): the number as tables show it. */
static void sql_value_function(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *unit = (const char *)sqlite3_value_text(argv[1]);
	char buf[64];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	report_format_value(sqlite3_value_double(argv[0]), unit, buf, sizeof(buf));
	sqlite3_result_text(ctx, buf, -1, SQLITE_TRANSIENT);
}

/* Opens a database with the table. Returns NULL if memory runs out. The caller closes it. */
static sqlite3 *open_table(const struct diff_traces *t, const struct diff_results *r)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
	    sqlite3_create_function(db, "value", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
				    sql_value_function, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, create_sql, NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
	    insert_rows(db, t, r) == SQLITE_OK &&
	    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return db;
	sqlite3_close(db);
	return NULL;
}

/* ---- names ---- */

static const char *divisor_words(const struct diff_traces *t)
{
	return t->per_run ? "run" : t->o->per == DIFF_PER_SLICE ? t->o->slice : "second";
}

static const char *design_words(enum diff_design_kind kind)
{
	switch (kind) {
	case DIFF_PAIRS:
		return "pairs";
	case DIFF_REPETITIONS:
		return "repetitions";
	case DIFF_BLOCKS:
		return "blocks";
	default:
		return "untested";
	}
}

void diff_put_row_name(const struct diff_row *row, struct strbuf *b)
{
	strbuf_puts(b, row->metric->name);
	if (row->program) {
		strbuf_puts(b, " of ");
		strbuf_put_plain(b, row->program);
	}
	if (row->thread) {
		strbuf_puts(b, ", thread ");
		strbuf_put_plain(b, row->thread);
	}
	if (row->what) {
		strbuf_puts(b, row->program ? ", " : " of ");
		strbuf_put_plain(b, row->what);
	}
}

/* ---- text ---- */

static double mean_seconds(const struct diff_traces *t, int side)
{
	double sum = 0;

	for (size_t i = 0; i < t->n; i++)
		sum += t->of[i].side == side ? t->of[i].seconds : 0;
	return sum / (double)t->n_traces[side];
}

static void print_side(const struct diff_traces *t, int side)
{
	const struct diff_trace *first = &t->of[side ? t->n_traces[0] : 0];
	struct strbuf b = {0};

	strbuf_put_plain(&b, first->path);
	printf("%c: %s", "AB"[side], b.s ? b.s : "");
	if (t->n_traces[side] > 1)
		printf(" and %zu more", t->n_traces[side] - 1);
	printf(", %.3g s%s\n", mean_seconds(t, side), t->n_traces[side] > 1 ? " each" : "");
	strbuf_deinit(&b);
}

static void print_heading(const struct diff_traces *t, const struct diff_results *r,
			  const struct report_style *style)
{
	static const char *const designs[] = {"between recordings",
					      "in pairs, because the recordings alternate",
					      "between blocks of time", "no significance test"};
	size_t tested = 0;

	for (size_t i = 0; i < r->n; i++)
		tested += r->of[i].of[diff_main_measure(r->of[i].row)].tested;
	print_side(t, 0);
	print_side(t, 1);
	printf("Compared: cost per %s, %s", divisor_words(t), designs[t->kind]);
	if (t->kind != DIFF_UNTESTED)
		printf("; %zu rows tested", tested);
	printf("\n");
	for (char *line = t->marks.s, *end; line && (end = strchr(line, '\n')); line = end + 1)
		printf("%sNote%s: %.*s\n", report_style_bold(style), report_style_plain(style),
		       (int)(end - line), line);
	printf("\n");
}

/* Runs a statement and prints its rows below a title. Returns how many, or -ENOMEM. */
static int print_table(sqlite3 *db, const char *sql, const char *title, bool found,
		       const struct diff_traces *t, const struct report_style *style)
{
	struct report_style s = *style;
	char *text = NULL;
	size_t len = 0;
	sqlite3_stmt *st;
	FILE *to;
	int n = -1;

	s.top = t->o->top ? t->o->top : DEFAULT_TOP;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return -ENOMEM;
	sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":all"), t->o->all);
	sqlite3_bind_int(st, sqlite3_bind_parameter_index(st, ":found"), found);
	sqlite3_bind_int64(st, sqlite3_bind_parameter_index(st, ":top"), s.top + 1);
	to = open_memstream(&text, &len);
	if (to) {
		n = report_table_print(st, &s, to);
		if (fclose(to))
			n = -1;
	}
	if (n > 0)
		printf("%s%s%s\n%s\n", report_style_bold(style), title, report_style_plain(style),
		       text);
	free(text);
	sqlite3_finalize(st);
	return n < 0 ? -ENOMEM : n;
}

int diff_print_text(const struct diff_traces *t, const struct diff_results *r)
{
	struct report_style style = report_style_of_stdout(t->o->color);
	sqlite3 *db = open_table(t, r);
	bool tests = t->kind != DIFF_UNTESTED;
	int n;

	if (!db)
		return -ENOMEM;
	print_heading(t, r, &style);
	n = print_table(db, run_sql, "Duration of a run", true, t, &style);
	if (n >= 0 && tests) {
		n = print_table(db, rows_sql, "Changes, largest effect first", true, t, &style);
		if (n == 0)
			printf("no change is both large enough and distinguishable from chance\n");
	}
	if (n >= 0 && (!tests || t->o->all))
		n = print_table(db, rows_sql,
				tests ? "No finding"
				      : "Largest differences, possibly due to chance",
				false, t, &style);
	sqlite3_close(db);
	return MIN(n, 0);
}

/* ---- JSON ---- */

static void put_json_side(const struct diff_traces *t, int side, struct strbuf *b)
{
	bool first = true;

	strbuf_puts(b, "[");
	for (size_t i = 0; i < t->n; i++) {
		if (t->of[i].side != side)
			continue;
		strbuf_puts(b, first ? "{\"file\": " : ", {\"file\": ");
		strbuf_put_json(b, t->of[i].path);
		strbuf_printf(b, ", \"seconds\": %.9g}", t->of[i].seconds);
		first = false;
	}
	strbuf_puts(b, "]");
}

static void put_json_marks(const struct diff_traces *t, struct strbuf *b)
{
	strbuf_puts(b, "[");
	for (const char *line = t->marks.s, *end; line && (end = strchr(line, '\n'));
	     line = end + 1) {
		strbuf_puts(b, line == t->marks.s ? "" : ", ");
		strbuf_put_json_n(b, line, (size_t)(end - line));
	}
	strbuf_puts(b, "]");
}

static bool has_finding(const struct diff_results *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->of[i].finding)
			return true;
	return false;
}

int diff_put_json(const struct diff_traces *t, const struct diff_results *r, FILE *to)
{
	sqlite3 *db = open_table(t, r);
	struct strbuf b = {0};
	sqlite3_stmt *st = NULL;
	int e = SQLITE_NOMEM;

	strbuf_puts(&b, "{\"per\": ");
	strbuf_put_json(&b, divisor_words(t));
	strbuf_printf(&b, ", \"design\": \"%s\", \"a\": ", design_words(t->kind));
	put_json_side(t, 0, &b);
	strbuf_puts(&b, ", \"b\": ");
	put_json_side(t, 1, &b);
	strbuf_puts(&b, ", \"notes\": ");
	put_json_marks(t, &b);
	strbuf_printf(&b, ", \"empty\": %s, \"changes\": ", has_finding(r) ? "false" : "true");
	if (db && !b.failed)
		e = sqlite3_prepare_v2(db, json_sql, -1, &st, NULL);
	if (e == SQLITE_OK) {
		fputs(b.s, to);
		e = sql_output(st, SQL_JSON, to);
		fputs("}\n", to);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	strbuf_deinit(&b);
	return e == SQLITE_OK ? 0 : -ENOMEM;
}

int diff_print_json(const struct diff_traces *t, const struct diff_results *r)
{
	return diff_put_json(t, r, stdout);
}
