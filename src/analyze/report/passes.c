/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes as virtual tables. A pass runs when a statement reads its table. The rows are kept for
 * the next statement with the same arguments.
 */
#include "analyze/report/passes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/report/pass.h"
#include "analyze/tables/vtab.h"
#include "base/text/str.h"

/* Columns that statements join by are declared with a type: without it SQLite would not create an
 * automatic index, because the affinities differ, and would scan all rows for each row. */
static const struct pass passes[] = {
	{"used", "utid, cpu, time, n, longest, subject", pass_fill_cpu_time},
	{"spent", "utid, state TEXT, io_wait, time, n, empty, longest, woken, subject",
	 pass_fill_state_times},
	{"subjects", "who, name TEXT", pass_fill_subjects},
	{"subject_of", "utid INT, who", pass_fill_subject_of},
	{"blocked", "utid, function TEXT, time, n, longest, io", pass_fill_blocked_times},
	{"waits_by", "who, n, woken, total, p50, p99, worst, worst_ts", pass_fill_waits},
	{"late_by", "who, n, total, p50, p99, worst, worst_ts", pass_fill_timer_lateness},
	{"late_timers", "id, late", pass_fill_late_timers},
	{"wakes_by", "waker, woken, n, total, p50, p99, worst", pass_fill_wakes},
	{"interrupt_wakes", "name TEXT, utid, n", pass_fill_interrupt_wakes},
	{"holders", "id INT, cpu, holder, time, n, first", pass_fill_holders},
	{"neighbours", "who, utid INT, time, n, longest", pass_fill_neighbours},
	{"neighbour_waits", "cause, n, total, p50, p99, worst, worst_ts",
	 pass_fill_neighbour_waits},
	{"cgroup_waits_by", "who, n, total, p50, p99, worst, quota", pass_fill_cgroup_waits},
	{"vm_host", "upid INT, utid INT, cpu, has_entry, checked, outside, behind, error",
	 pass_fill_vm_host},
	{"stolen",
	 "number INT, utid INT, ts, dur, waits, cpu, vcpu INT, host_cpu, blocked, waker INT, "
	 "holder INT, time, n",
	 pass_fill_stolen},
	{"longest_sleeps", "id INT, wake_id INT", pass_fill_longest_sleeps},
	{"cells_by", "key, n, size, run, w, d, busy, ran", pass_fill_cells},
	{"slices_by", "name TEXT, track_id, n, total, self, p50, p99, worst, worst_ts",
	 pass_fill_slices},
	{"calls_by", "who, name TEXT, n, total, p50, p99, worst, errors", pass_fill_calls},
	{"empty_calls", "utid INT, name TEXT, n, empty, total, first_ts", pass_empty_calls},
	{"call_paths", "path TEXT, n, total, worst, errors", pass_fill_call_paths},
	{"longest_calls", "id INT, result, call TEXT", pass_fill_longest_calls},
	{"call_lines", "id INT, utid INT, ts, dur, call TEXT", pass_fill_call_lines},
	{"events_by", "first, utid, n, total, first_ts, last_ts, failed, local TEXT, remote TEXT",
	 pass_fill_events},
	{"timers_by", "function TEXT, kind, n, total, p50, p99, worst, worst_ts", pass_fill_timers},
	{"latest_timers", "due_ts, late, cpu, function TEXT, utid INT, reason, what TEXT",
	 pass_fill_latest_timers},
	{"longest_timer_sleeps", "utid INT, due_ts, late, waited", pass_fill_longest_timer_sleeps},
	{"timer_sleeps_by", "who, n, total, p50, p99, worst, worst_ts, late, waited",
	 pass_fill_timer_sleeps},
	{"writeback_by", "who, inode, device TEXT, dirtied, written, own", pass_fill_writeback},
	{"packet_waits", "who, n, total, p50, p99, worst, worst_ts", pass_fill_packet_waits},
	{"interrupts", "track_id INT, name TEXT, n, total, worst, worst_ts", pass_fill_interrupts},
	{"functions_by", "who TEXT, function TEXT, file TEXT, own, total, n, total_n",
	 pass_fill_functions},
	{"code_tree",
	 "depth, indent, branch, function TEXT, file TEXT, own, total, n, total_n, begin, whole",
	 pass_fill_call_tree},
	{"code_waits", "utid INT, reason TEXT, function TEXT, file TEXT, condition, time, n, worst",
	 pass_fill_code_waits},
	{"single_waits",
	 "utid INT, ts, dur, reason TEXT, condition, function TEXT, file TEXT, waker TEXT, "
	 "waker_file TEXT, slice INT",
	 pass_fill_single_waits},
	{"lock_waits",
	 "utid INT, ts, dur, object TEXT, function TEXT, holder INT, known TEXT, ran, waited, "
	 "blocked, reason TEXT, did TEXT",
	 pass_fill_lock_waits},
	{"requests_by", "who, op, n, bytes, queued, total, p50, p99, worst", pass_fill_requests},
	{"longest_requests", "dev, op, bytes, sector, utid, queued, ts, dur",
	 pass_fill_longest_requests},
	{"unfinished_requests", "dev, op, bytes, utid", pass_fill_unfinished_requests},
};

/* Shared by the tables of a database. */
struct context {
	sqlite3 *db;
	const struct store *s;
	int64_t from, to;
	const struct machine_scope *scope; /* borrowed */
	/* Read by the first pass. */
	bool ready; /* the rest is complete */
	bool *chosen; /* owned */
	bool *chosen_groups; /* owned; NULL: all */
	unsigned changes; /* of the scope, when chosen was read */
	bool some, limited;
	uint32_t *last_of_cpu, *last_of_thread; /* owned */
	struct request_list *requests; /* owned */
};

#define ARGUMENTS 3 /* by, top, width: hidden columns after those of the pass */

struct result {
	unsigned users;
	char *by; /* owned */
	int64_t top, width;
	unsigned changes; /* of the scope */
	struct pass_rows rows;
};

struct pass_table {
	struct vtab base;
	struct context *ctx;
	const struct pass *pass;
	unsigned columns, texts; /* texts: a bit a column */
	struct result *last; /* NULL: none */
};

struct pass_cursor {
	sqlite3_vtab_cursor base;
	struct result *result;
	size_t at; /* a cell */
};

static void passes_release(struct result *r)
{
	if (!r || --r->users)
		return;
	free(r->by);
	free(r->rows.cells);
	strbuf_deinit(&r->rows.own_texts);
	free(r);
}

static void passes_deinit(struct vtab *t)
{
	passes_release(((struct pass_table *)t)->last);
}

static void passes_deinit_cursor(sqlite3_vtab_cursor *c)
{
	passes_release(((struct pass_cursor *)c)->result);
}

static int passes_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			  sqlite3_vtab **ret, char **error)
{
	struct pass_table *t = vtab_new(sizeof(*t), sizeof(struct pass_cursor));
	struct strbuf sql = {0};

	if (!t)
		return SQLITE_NOMEM;
	t->base.deinit = passes_deinit;
	t->base.deinit_cursor = passes_deinit_cursor;
	t->ctx = aux;
	t->columns = 1;
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++)
		if (!strcmp(passes[i].name, argv[0]))
			t->pass = &passes[i];
	for (const char *s = t->pass->columns; *s; s++) {
		t->columns += *s == ',';
		if (!strncmp(s, " TEXT", 5))
			t->texts |= 1u << (t->columns - 1);
	}
	strbuf_printf(&sql, "CREATE TABLE t(%s, \"by\" HIDDEN, top HIDDEN, width HIDDEN)",
		      t->pass->columns);
	return vtab_connect(db, &t->base, &sql, ret);
}

/* The plan has a bit for each argument. The estimated cost is high, so that SQLite runs a pass in
 * the outer loop. */
static int passes_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct pass_table *t = (const struct pass_table *)base;
	int n = 0, unusable = 0;

	for (unsigned arg = 0; arg < ARGUMENTS; arg++) {
		int column = (int)(t->columns + arg);

		for (int i = 0; (i = vtab_find_equality(info, i, column, &unusable)) >= 0; i++) {
			info->aConstraintUsage[i].argvIndex = ++n;
			info->aConstraintUsage[i].omit = 1;
			info->idxNum |= 1 << arg;
		}
	}
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000;
	return unusable ? SQLITE_CONSTRAINT : SQLITE_OK;
}

/* ---- a pass ---- */

/* Reads the chosen control groups; ctx->chosen_groups stays NULL if there are none. Returns an
 * SQLite result code. */
static int passes_read_chosen_groups(struct context *ctx)
{
	uint32_t n = ctx->s->tables[TABLE_CGROUP].rows;
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(ctx->db, "SELECT cgroup_id FROM chosen_group", -1, &st, NULL);

	while (r == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		sqlite3_int64 row = sqlite3_column_int64(st, 0);

		if (!ctx->chosen_groups)
			ctx->chosen_groups = calloc((size_t)n + 1, sizeof(*ctx->chosen_groups));
		if (!ctx->chosen_groups)
			r = SQLITE_NOMEM;
		else if (row >= 0 && row < n)
			ctx->chosen_groups[row] = true;
	}
	sqlite3_finalize(st);
	return r;
}

/* Reads what all passes need, once for each state of the scope. Returns an SQLite result code. */
static int passes_prepare(struct context *ctx)
{
	uint32_t n = ctx->s->tables[TABLE_THREAD].rows;
	sqlite3_stmt *st;
	int r;

	if (ctx->ready && ctx->changes == ctx->scope->changes)
		return SQLITE_OK;
	ctx->ready = false;
	free(ctx->chosen);
	free(ctx->chosen_groups);
	ctx->chosen_groups = NULL;
	free(ctx->last_of_cpu);
	free(ctx->last_of_thread);
	request_list_free(ctx->requests);
	ctx->requests = NULL;
	ctx->changes = ctx->scope->changes;
	ctx->chosen = calloc((size_t)n + 1, sizeof(*ctx->chosen));
	ctx->last_of_cpu = pass_last_rows(&ctx->s->tables[TABLE_SCHED], SCHED_CPU);
	ctx->last_of_thread = pass_last_rows(&ctx->s->tables[TABLE_THREAD_STATE], STATE_UTID);
	if (!ctx->chosen || !ctx->last_of_cpu || !ctx->last_of_thread)
		return SQLITE_NOMEM;
	r = sqlite3_prepare_v2(ctx->db, "SELECT utid, some, limited FROM chosen, asked", -1, &st,
			       NULL);
	if (r != SQLITE_OK)
		return r;
	while (sqlite3_step(st) == SQLITE_ROW) {
		sqlite3_int64 utid = sqlite3_column_int64(st, 0);

		if (utid >= 0 && utid < n)
			ctx->chosen[utid] = true;
		ctx->some = sqlite3_column_int(st, 1);
		ctx->limited = sqlite3_column_int(st, 2);
	}
	r = sqlite3_finalize(st);
	if (r == SQLITE_OK)
		r = passes_read_chosen_groups(ctx);
	ctx->ready = r == SQLITE_OK;
	return r;
}

/* Runs the pass. by is copied. Returns a result with one user, or NULL if out of memory. */
static struct result *compute_result(const struct pass_table *t, const char *by, int64_t top,
				     int64_t width)
{
	struct context *ctx = t->ctx;
	struct result *ret = calloc(1, sizeof(*ret));
	struct pass_input in = {.s = ctx->s,
				.from = ctx->from,
				.to = ctx->to,
				.chosen = ctx->chosen,
				.chosen_groups = ctx->chosen_groups,
				.some = ctx->some,
				.limited = ctx->limited,
				.machine = ctx->scope->machine,
				.last_of_cpu = ctx->last_of_cpu,
				.last_of_thread = ctx->last_of_thread,
				.requests = &ctx->requests,
				.top = top,
				.width = width};

	if (!ret)
		return NULL;
	*ret = (struct result){.users = 1,
			       .by = strdup(by),
			       .top = top,
			       .width = width,
			       .changes = ctx->scope->changes,
			       .rows.columns = t->columns};
	in.by = ret->by;
	if (ret->by)
		t->pass->run(&in, &ret->rows);
	if (!ret->by || ret->rows.failed || ret->rows.own_texts.failed) {
		passes_release(ret);
		return NULL;
	}
	return ret;
}

/* Sets *ret to the last result if it had the same arguments, otherwise to a new one. The caller
 * becomes a user of it. Returns an SQLite result code. */
static int passes_run(struct pass_table *t, const char *by, int64_t top, int64_t width,
		      struct result **ret)
{
	struct result *last = t->last;
	int r = passes_prepare(t->ctx);

	if (r != SQLITE_OK)
		return r;
	if (!last || last->changes != t->ctx->scope->changes || last->top != top ||
	    last->width != width || strcmp(last->by, by) != 0) {
		passes_release(last);
		t->last = last = compute_result(t, by, top, width);
		if (!last)
			return SQLITE_NOMEM;
	}
	last->users++;
	*ret = last;
	return SQLITE_OK;
}

static int passes_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
			 sqlite3_value **argv)
{
	struct pass_cursor *c = (struct pass_cursor *)base;
	int64_t top = 0, width = 0;
	const char *by = NULL;
	int n = 0;

	if (plan & 1)
		by = (const char *)sqlite3_value_text(argv[n++]);
	if (plan & 2)
		top = sqlite3_value_int64(argv[n++]);
	if (plan & 4)
		width = sqlite3_value_int64(argv[n]);
	passes_release(c->result);
	c->result = NULL;
	c->at = 0;
	return passes_run((struct pass_table *)base->pVtab, by ? by : "", MAX(top, (int64_t)0),
			  width, &c->result);
}

static int passes_next(sqlite3_vtab_cursor *base)
{
	struct pass_cursor *c = (struct pass_cursor *)base;

	c->at += c->result->rows.columns;
	return SQLITE_OK;
}

static int passes_at_end(sqlite3_vtab_cursor *base)
{
	const struct pass_cursor *c = (const struct pass_cursor *)base;

	return c->at >= c->result->rows.n;
}

static int passes_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct pass_table *t = (const struct pass_table *)base->pVtab;
	const struct pass_cursor *c = (const struct pass_cursor *)base;
	unsigned texts = t->texts | c->result->rows.texts;
	int64_t v;

	if (i >= (int)t->columns)
		return SQLITE_OK;
	v = c->result->rows.cells[c->at + (unsigned)i];
	if (v == NULL_I64)
		sqlite3_result_null(ctx);
	else if ((texts & 1u << i) && v < 0)
		sqlite3_result_text(ctx, c->result->rows.own_texts.s + (-1 - v), -1,
				    SQLITE_TRANSIENT);
	else if (texts & 1u << i)
		sqlite3_result_text64(ctx, t->ctx->s->strings.of[v].s, t->ctx->s->strings.of[v].len,
				      SQLITE_STATIC, SQLITE_UTF8);
	else
		sqlite3_result_int64(ctx, v);
	return SQLITE_OK;
}

static int passes_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct pass_cursor *)base)->at;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	VTAB_MODULE,
	.xConnect = passes_connect,
	.xBestIndex = passes_best_index,
	.xFilter = passes_filter,
	.xNext = passes_next,
	.xEof = passes_at_end,
	.xColumn = passes_column,
	.xRowid = passes_rowid,
};

static void free_context(void *p)
{
	struct context *ctx = p;

	free(ctx->chosen);
	free(ctx->chosen_groups);
	free(ctx->last_of_cpu);
	free(ctx->last_of_thread);
	request_list_free(ctx->requests);
	free(ctx);
}

int passes_register(sqlite3 *db, const struct store *s, int64_t from, int64_t to,
		    const struct machine_scope *scope)
{
	struct context *ctx = calloc(1, sizeof(*ctx));
	int r;

	if (!ctx)
		return SQLITE_NOMEM;
	*ctx = (struct context){.db = db, .s = s, .from = from, .to = to, .scope = scope};
	/* The first table owns the context; it is freed with the database, after all tables. */
	r = sqlite3_create_module_v2(db, passes[0].name, &module, ctx, free_context);
	for (size_t i = 1; i < ARRAY_SIZE(passes) && r == SQLITE_OK; i++)
		r = sqlite3_create_module(db, passes[i].name, &module, ctx);
	return r;
}
