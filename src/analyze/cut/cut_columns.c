/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_columns.h"

#include <string.h>

#include "analyze/cut/cut_fields.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_varint.h"

#define NAME(x) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##x
#define COLUMNS_MAX 6

/* The columns of one kind of rows; the first is the time, as differences. */
struct rows {
	uint32_t fields[COLUMNS_MAX]; /* 0: the end */
	struct pb_packed in[COLUMNS_MAX];
	uint64_t row[COLUMNS_MAX]; /* the current one; its time is absolute */
	struct strbuf out[COLUMNS_MAX];
	uint64_t last_out; /* time of the last row that was copied */
	bool some;
};

static const uint32_t switch_fields[COLUMNS_MAX] = {
	NAME(SWITCH_TIMESTAMP), NAME(SWITCH_PREV_STATE),      NAME(SWITCH_NEXT_PID),
	NAME(SWITCH_NEXT_PRIO), NAME(SWITCH_NEXT_COMM_INDEX),
};
static const uint32_t waking_fields[COLUMNS_MAX] = {
	NAME(WAKING_TIMESTAMP), NAME(WAKING_PID),	 NAME(WAKING_TARGET_CPU),
	NAME(WAKING_PRIO),	NAME(WAKING_COMM_INDEX), NAME(WAKING_COMMON_FLAGS),
};
enum { TIME, PREV_STATE, NEXT_PID, NEXT_PRIO, NEXT_COMM, FLAGS };

static void open_rows(const struct pb_field *columns, const uint32_t *fields, struct rows *ret)
{
	*ret = (struct rows){.some = false};
	memcpy(ret->fields, fields, sizeof(ret->fields));
	pb_for_each (f, columns)
		for (size_t i = 0; i < COLUMNS_MAX; i++)
			if (f.id == fields[i] && fields[i])
				ret->in[i] = pb_packed_of(&f);
}

/* The flags are optional; rows end with the shortest of the other columns. */
static bool next_row(struct rows *r)
{
	uint64_t v;

	for (size_t i = 0; i < COLUMNS_MAX && r->fields[i]; i++) {
		v = 0;
		if (!pb_packed_next(&r->in[i], &v) && i != FLAGS)
			return false;
		r->row[i] = i == TIME ? r->row[i] + v : v;
	}
	return true;
}

static void cut_columns_put_value(struct strbuf *b, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 10);

	if (p)
		b->len = (size_t)((char *)pb_put_varint(p, v) - b->s);
}

/* The difference to an earlier time wraps around, and so does the sum of the reader. */
static void copy_row(struct rows *r, uint64_t ts)
{
	for (size_t i = 0; i < COLUMNS_MAX && r->fields[i]; i++)
		cut_columns_put_value(&r->out[i], i == TIME ? ts - r->last_out : r->row[i]);
	r->last_out = ts;
	r->some = true;
}

static void close_rows(struct rows *r, struct strbuf *ret)
{
	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		if (r->some && r->fields[i])
			cut_put_bytes(ret, r->fields[i], r->out[i].s, r->out[i].len);
		ret->failed |= r->out[i].failed;
		strbuf_deinit(&r->out[i]);
	}
}

/* ---- names ---- */

static uint64_t count_names(const struct pb_field *columns)
{
	uint64_t n = 0;

	pb_for_each (f, columns)
		n += f.id == NAME(INTERN_TABLE) && f.data;
	return n;
}

static void copy_names(const struct pb_field *columns, struct strbuf *ret)
{
	pb_for_each (f, columns)
		if (f.id == NAME(INTERN_TABLE) && f.data)
			cut_put_bytes(ret, f.id, f.data, f.len);
}

static void cut_columns_find_name(const struct pb_field *columns, uint64_t index,
				  struct cut_switch *ret)
{
	uint64_t n = 0;

	ret->comm_len = 0;
	pb_for_each (f, columns) {
		if (f.id != NAME(INTERN_TABLE) || !f.data || n++ != index)
			continue;
		ret->comm_len = MIN(f.len, sizeof(ret->comm));
		memcpy(ret->comm, f.data, ret->comm_len);
		return;
	}
}

/* ---- the calls ---- */

void cut_columns_times(const struct pb_field *columns, void (*fn)(void *ctx, uint64_t ts),
		       void *ctx)
{
	struct rows r;

	open_rows(columns, switch_fields, &r);
	while (next_row(&r))
		fn(ctx, r.row[TIME]);
	open_rows(columns, waking_fields, &r);
	while (next_row(&r))
		fn(ctx, r.row[TIME]);
}

bool cut_columns_last(const struct pb_field *columns, struct cut_switch *ret)
{
	struct rows r;
	bool any = false;
	uint64_t row[COLUMNS_MAX] = {0};

	open_rows(columns, switch_fields, &r);
	while (next_row(&r)) {
		memcpy(row, r.row, sizeof(row));
		any = true;
	}
	if (!any)
		return false;
	*ret = (struct cut_switch){
		.known = true,
		.ts = row[TIME],
		.prev_state = row[PREV_STATE],
		.next_pid = row[NEXT_PID],
		.next_prio = row[NEXT_PRIO],
	};
	cut_columns_find_name(columns, row[NEXT_COMM], ret);
	return true;
}

/* Returns false for a time of an unknown clock. */
static bool time_of(const struct cut_columns_window *w, uint64_t ts, int64_t *ret)
{
	if (w->clock != w->machine->clocks.trace)
		return cut_reader_convert(w->reader, w->machine, w->clock, (int64_t)ts, ret);
	*ret = (int64_t)ts;
	return true;
}

/* Copies the rows of the window. before (NULL: unwanted) becomes the last row ahead of the window,
 * and is copied first. *ret_any: before has a row. */
static void select_rows(struct rows *r, struct cut_columns_window *w, uint64_t *before,
			bool *ret_any)
{
	int64_t ts;

	while (next_row(r)) {
		uint64_t own;

		if (!time_of(w, r->row[TIME], &ts))
			continue;
		own = w->rewrites ? (uint64_t)ts : r->row[TIME];
		ts = clocks_trace_time(&w->machine->clocks, ts);
		if (ts < w->first && !r->some && before) {
			memcpy(before, r->row, sizeof(r->row));
			before[TIME] = own;
			*ret_any = true;
		}
		if (ts < w->first || ts > w->last)
			continue;
		/* The row before the window comes first. */
		if (before && *ret_any && !r->some) {
			uint64_t row[COLUMNS_MAX];

			memcpy(row, r->row, sizeof(row));
			memcpy(r->row, before, sizeof(row));
			copy_row(r, before[TIME]);
			memcpy(r->row, row, sizeof(row));
		}
		copy_row(r, own);
		w->written_last = MAX(w->written_last, own);
	}
}

bool cut_columns_build(const struct pb_field *columns, struct cut_columns_window *w,
		       struct strbuf *ret)
{
	uint64_t before[COLUMNS_MAX] = {0};
	bool has_before = w->before && w->before->known;
	struct rows switches, wakings;
	struct strbuf out = {0};
	bool any;

	if (has_before) {
		before[TIME] = w->before->ts;
		before[PREV_STATE] = w->before->prev_state;
		before[NEXT_PID] = w->before->next_pid;
		before[NEXT_PRIO] = w->before->next_prio;
		before[NEXT_COMM] = count_names(columns);
	}
	open_rows(columns, switch_fields, &switches);
	open_rows(columns, waking_fields, &wakings);
	select_rows(&switches, w, w->before ? before : NULL, &has_before);
	select_rows(&wakings, w, NULL, NULL);
	any = switches.some || wakings.some;
	/* The waker is the thread that the CPU was switched to: without a switch, copy the last. */
	if (wakings.some && !switches.some && has_before && w->before) {
		memcpy(switches.row, before, sizeof(before));
		copy_row(&switches, before[TIME]);
	}
	copy_names(columns, &out);
	if (w->before && w->before->known)
		cut_put_bytes(&out, NAME(INTERN_TABLE), w->before->comm, w->before->comm_len);
	close_rows(&switches, &out);
	close_rows(&wakings, &out);
	if (any)
		cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED, out.s, out.len);
	ret->failed |= out.failed;
	strbuf_deinit(&out);
	return any;
}
