/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks of call stacks: "process;thread;function;function NUMBER", the outermost function
 * first. The number counts samples, or ns of waits.
 */
#include "cli/export/export_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/columns.h"
#include "base/core/mem.h"
#include "cli/export/export.h"

#define DEPTH_MAX 2048

static int read_thread_names(struct export_stacks *x, sqlite3 *db, uint32_t n)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(
		db,
		"select utid, coalesce(p.name, t.name, 'thread ' || t.tid), coalesce(t.name, "
		"'thread') || ' ' || t.tid from thread t left join process p using (upid)",
		-1, &st, NULL);

	x->threads = calloc((size_t)n + 1, sizeof(*x->threads));
	x->n_threads = n;
	while (r == SQLITE_OK && x->threads && (r = sqlite3_step(st)) == SQLITE_ROW) {
		sqlite3_int64 utid = sqlite3_column_int64(st, 0);
		const char *process = (const char *)sqlite3_column_text(st, 1);
		const char *thread = (const char *)sqlite3_column_text(st, 2);

		r = SQLITE_OK;
		if (utid < 0 || utid >= n)
			continue;
		x->threads[utid].process = strdup(process ? process : "");
		x->threads[utid].thread = strdup(thread ? thread : "");
		if (!x->threads[utid].process || !x->threads[utid].thread)
			r = SQLITE_NOMEM;
	}
	sqlite3_finalize(st);
	return !x->threads ? SQLITE_NOMEM : r == SQLITE_DONE ? SQLITE_OK : r;
}

static int compare_stack_points(const void *a, const void *b)
{
	const struct stack_point *x = a, *y = b;

	if (x->utid != y->utid)
		return x->utid < y->utid ? -1 : 1;
	if (x->of_process != y->of_process)
		return x->of_process - y->of_process;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

int export_stacks_init(struct export_stacks *x, sqlite3 *db, const struct store *s,
		       enum stack_kind kind)
{
	size_t n = 0;

	*x = (struct export_stacks){.n_threads = 0};
	if (!code_init(&x->code, s) || !stack_points_read(s, kind, &x->points))
		return SQLITE_NOMEM;
	if (x->points.n)
		qsort(x->points.of, x->points.n, sizeof(*x->points.of), compare_stack_points);
	for (size_t i = 0; i < x->points.n; i++) {
		const struct stack_point *p = &x->points.of[i];

		if (n && compare_stack_points(&x->points.of[n - 1], p) == 0) {
			x->points.of[n - 1].weight += p->weight;
			x->points.of[n - 1].n += p->n;
		} else {
			x->points.of[n++] = *p;
		}
	}
	x->points.n = n;
	return read_thread_names(x, db, s->tables[TABLE_THREAD].rows);
}

void export_stacks_deinit(struct export_stacks *x)
{
	for (uint32_t i = 0; x->threads && i < x->n_threads; i++) {
		free(x->threads[i].process);
		free(x->threads[i].thread);
	}
	free(x->threads);
	free(x->points.of);
	code_deinit(&x->code);
}

static void append_function_names(struct strbuf *b, const struct code *c, uint32_t site)
{
	const struct table *sites = &c->s->tables[TABLE_STACK_CALLSITE];
	uint32_t path[DEPTH_MAX], n = 0;
	struct strbuf name = {0};

	for (; site < sites->rows && n < DEPTH_MAX;
	     site = table_u32(sites, STACK_CALLSITE_PARENT, site))
		path[n++] = table_u32(sites, STACK_CALLSITE_FRAME, site);
	while (n-- > 0)
		for (uint32_t i = c->first[path[n]]; i < c->first[path[n] + 1]; i++) {
			strbuf_clear(&name);
			code_put_name(c, c->chain[i], &name);
			export_folded_add_frame(b, name.s, false);
			b->failed |= name.failed;
		}
	strbuf_deinit(&name);
}

static void put_stack(struct strbuf *b, const struct export_stacks *x, const struct stack_point *p)
{
	const struct strings *strings = &x->code.s->strings;

	if (p->utid < x->n_threads) {
		export_folded_add_frame(b, x->threads[p->utid].process, true);
		if (!p->of_process)
			export_folded_add_frame(b, x->threads[p->utid].thread, false);
	} else {
		export_folded_add_frame(b, "(unknown)", true);
	}
	if (p->site != NULL_U32)
		append_function_names(b, &x->code, p->site);
	else
		export_folded_add_frame(b, "[no stack taken]", false);
	/* The stack of a total ends with the reason. */
	if (p->slice != NULL_U32 && p->reason != NULL_U32) {
		struct strbuf reason = {0};

		strbuf_printf(&reason, "[%s]", strings_get(strings, p->reason));
		export_folded_add_frame(b, reason.s, false);
		b->failed |= reason.failed;
		strbuf_deinit(&reason);
	}
}

struct folded_line {
	char *text; /* owned */
	int64_t number;
};

static int compare_line_texts(const void *a, const void *b)
{
	const struct folded_line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Stacks whose functions are equal, though their call sites are not, are one line. */
static void write_lines(struct folded_line *lines, size_t n, FILE *to)
{
	if (n)
		qsort(lines, n, sizeof(*lines), compare_line_texts);
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && strcmp(lines[i].text, lines[i + 1].text) == 0)
			lines[i + 1].number += lines[i].number;
		else
			fprintf(to, "%s %" PRId64 "\n", lines[i].text, lines[i].number);
	}
}

static int export_folded_kind(const struct trace_tables *t, enum stack_kind kind, FILE *to)
{
	struct folded_line *lines;
	struct export_stacks x;
	int r = export_stacks_init(&x, t->db, &t->store, kind);
	size_t n = 0;

	lines = calloc(x.points.n + 1, sizeof(*lines));
	if (r == SQLITE_OK && !lines)
		r = SQLITE_NOMEM;
	for (size_t i = 0; r == SQLITE_OK && i < x.points.n; i++) {
		const struct stack_point *p = &x.points.of[i];
		struct strbuf b = {0};

		if (p->weight <= 0 || (kind == STACKS_WAKERS && p->site == NULL_U32))
			continue;
		put_stack(&b, &x, p);
		lines[n].number = p->weight;
		lines[n].text = strbuf_take(&b);
		if (!lines[n++].text)
			r = SQLITE_NOMEM;
	}
	if (r == SQLITE_OK)
		write_lines(lines, n, to);
	for (size_t i = 0; i < n; i++)
		free(lines[i].text);
	free(lines);
	export_stacks_deinit(&x);
	return r;
}

int export_folded_stacks(const struct trace_tables *t, FILE *to)
{
	return export_folded_kind(t, STACKS_CPU, to);
}

int export_folded_waits(const struct trace_tables *t, FILE *to)
{
	return export_folded_kind(t, STACKS_WAITS, to);
}

int export_folded_wakers(const struct trace_tables *t, FILE *to)
{
	return export_folded_kind(t, STACKS_WAKERS, to);
}

void export_folded_add_frame(struct strbuf *b, const char *name, bool first)
{
	size_t at = b->len + !first;

	if (!first)
		strbuf_putc(b, ';');
	strbuf_puts(b, name && *name ? name : "(no name)");
	if (b->failed)
		return;
	for (char *c = b->s + at; *c; c++)
		if (*c == ';')
			*c = ',';
	str_make_plain(b->s + at, b->len - at, "");
}
