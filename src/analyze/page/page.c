/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file: the part of page.html before the data, the facts of the trace as one JSON object of
 * numbers, the columns, and the part of page.html after the data. Names from the trace are only in
 * the columns, so none of them can become markup.
 */
#include "analyze/page/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page_rows.h"
#include "analyze/store/stat_numbers.h"
#include "base/core/mem.h"

/* page.html with the program and the style in it, made by tools/page_parts.sh. */
extern const char page_before[], page_before_end[], page_after[], page_after_end[];

#define PAGE_VERSION 1
#define MAX_LOSSES 100

/* ---- the window ---- */

static uint64_t count_rows_between(const struct store *s, int64_t from, int64_t to)
{
	static const enum store_table tables[] = {TABLE_SCHED, TABLE_THREAD_STATE, TABLE_SLICE,
						  TABLE_COUNTER};
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct table *t = &s->tables[tables[i]];
		uint32_t end = to == INT64_MAX ? t->rows : table_lower_bound(t, to);
		uint32_t begin = table_lower_bound(t, from);

		n += end > begin ? end - begin : 0;
	}
	return n;
}

/* Returns the latest end with which the window has at most o->max_rows rows. */
static int64_t find_end_for_max_rows(const struct store *s, const struct page_options *o)
{
	int64_t lo = o->from, hi = o->to;

	if (count_rows_between(s, lo, hi) <= o->max_rows)
		return hi;
	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2 + 1;

		if (count_rows_between(s, o->from, mid) <= o->max_rows)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* ---- the facts ---- */

/* The number of events that a ring overwrote is a loss here, though trace_processor gives it the
 * severity "info". Missing switches of threads that are not to be recorded are no loss. */
static bool is_loss_stat(const struct page *p, uint32_t row)
{
	const struct table *t = &p->store->tables[TABLE_STATS];
	const char *s = strings_get(&p->store->strings, table_u32(t, STATS_SEVERITY, row));
	uint32_t key = table_u32(t, STATS_KEY, row);

	if (p->store->recorded && key == STAT_MISMATCHED_SCHED_SWITCH_TIDS)
		return false;
	return !strcmp(s, "error") || !strcmp(s, "data_loss") ||
	       key == STAT_FTRACE_CPU_OVERRUN_DELTA;
}

/* Writes the counts of what the importer or the recorder lost, as [name, value, description]. */
static void page_put_losses(struct page *p, FILE *to)
{
	const struct table *t = &p->store->tables[TABLE_STATS];
	unsigned n = 0;

	fputs("\"losses\":[", to);
	for (uint32_t row = 0; row < t->rows && n < MAX_LOSSES; row++) {
		int64_t value = table_i64(t, STATS_VALUE, row);

		if (value <= 0 || !is_loss_stat(p, row))
			continue;
		fprintf(to, "%s[%" PRIu32 ",%" PRId64 ",%" PRIu32 "]", n++ ? "," : "",
			page_string_number(p, table_u32(t, STATS_NAME, row)), value,
			page_string_number(p, table_u32(t, STATS_DESCRIPTION, row)));
	}
	fputs("],", to);
}

static void put_trace_facts(struct page *p, const struct page_options *o, uint64_t left_out,
			    FILE *to)
{
	const struct table *tables = p->store->tables;
	uint32_t title = strings_intern_z(&p->store->strings, o->title);

	fprintf(to,
		"<script type=\"application/json\" "
		"id=\"facts\">{\"version\":%d,\"start\":\"%" PRId64 "\",\"end\":%" PRId64
		",\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"wanted\":%" PRId64
		",\"leftOut\":%" PRIu64 ",",
		PAGE_VERSION, p->start, page_subtract_times(p->store->end_ts, p->start),
		page_subtract_times(p->from, p->start), page_subtract_times(p->to, p->start),
		page_subtract_times(o->to, p->start), left_out);
	page_put_losses(p, to);
	fprintf(to,
		"\"title\":%" PRIu32 ",\"runs\":%" PRIu64 ",\"states\":%" PRIu64
		",\"slices\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"events\":%" PRIu32
		",\"arguments\":%" PRIu32 ",\"flows\":%" PRIu32 ",\"machines\":%" PRIu32
		"}</script>\n",
		page_string_number(p, title), p->runs, p->states, p->slices, p->samples,
		tables[TABLE_FTRACE].rows, p->store->n_arg_sets, tables[TABLE_FLOW].rows,
		tables[TABLE_MACHINE].rows);
}

static void put_string_columns(struct page *p)
{
	for (size_t i = 0; i < p->n_strings; i++) {
		const struct interned_string *s = &p->store->strings.of[p->strings[i]];

		page_put(&p->columns, PAGE_COLUMN_STRING, s->len);
		page_put_bytes(&p->columns, PAGE_COLUMN_STRING, s->s, s->len);
	}
}

/* ---- all of it ---- */

static int write_parts_of_page(struct page *p, const struct page_options *o, uint64_t left_out,
			       FILE *to)
{
	int r;

	errno = 0;
	fwrite(page_before, 1, (size_t)(page_before_end - page_before), to);
	put_trace_facts(p, o, left_out, to);
	put_string_columns(p);
	r = page_columns_write(&p->columns, to);
	if (r < 0)
		return r;
	fwrite(page_after, 1, (size_t)(page_after_end - page_after), to);
	return fflush(to) || ferror(to) ? -(errno ? errno : EIO) : 0;
}

int page_write(struct store *s, const struct page_options *o, FILE *to, struct page_result *ret)
{
	struct page p = {.store = s,
			 .start = s->start_ts,
			 .from = o->from,
			 .to = find_end_for_max_rows(s, o)};
	int r = page_columns_init(&p.columns);

	*ret = (struct page_result){.to = p.to};
	if (p.to < o->to)
		ret->left_out = count_rows_between(s, p.to, o->to);
	if (r == 0)
		r = page_put_tasks(&p);
	if (r == 0)
		r = page_put_tracks(&p);
	if (r == 0)
		r = page_put_stacks(&p);
	if (r == 0)
		r = p.columns.error;
	if (r == 0)
		r = write_parts_of_page(&p, o, ret->left_out, to);
	ret->rows = p.runs + p.states + p.slices + p.samples;
	ret->bytes = r == 0 ? (uint64_t)MAX(ftello(to), 0) : 0;
	page_columns_deinit(&p.columns);
	free(p.string_numbers);
	free(p.strings);
	return r;
}
