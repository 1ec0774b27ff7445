/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

void pass_add_row(struct pass_rows *rows, const int64_t *values)
{
	if (rows->failed ||
	    array_reserve(&rows->cells, &rows->cap, rows->n + rows->columns, sizeof(*values))) {
		rows->failed = true;
		return;
	}
	memcpy(rows->cells + rows->n, values, rows->columns * sizeof(*values));
	rows->n += rows->columns;
}

int64_t pass_text_id(struct pass_rows *rows)
{
	strbuf_putc(&rows->own_texts, '\0');
	return -1 - (int64_t)rows->own_texts.len;
}

/* ---- intervals ---- */

struct span_columns {
	unsigned ts, dur, utid, key;
};

static struct span_columns span_columns_of_table(enum store_table table)
{
	return table == TABLE_SCHED
		       ? (struct span_columns){SCHED_TS, SCHED_DUR, SCHED_UTID, SCHED_CPU}
		       : (struct span_columns){STATE_TS, STATE_DUR, STATE_UTID, STATE_UTID};
}

uint32_t *pass_last_rows(const struct table *t, unsigned column)
{
	uint32_t values = 0, *last;

	for (uint32_t row = 0; row < t->rows; row++)
		values = MAX(values, table_u32(t, column, row) + 1);
	last = calloc((size_t)values + 1, sizeof(*last));
	for (uint32_t row = 0; last && row < t->rows; row++)
		last[table_u32(t, column, row)] = row;
	return last;
}

/* Returns the end of an interval without an end: that of the thread or else of its process;
 * INT64_MAX if both are unknown. */
static int64_t end_of_unfinished_interval(const struct store *s, uint32_t utid, int64_t ts)
{
	const struct table *threads = &s->tables[TABLE_THREAD];
	int64_t end = table_i64(threads, THREAD_END_TS, utid);
	uint32_t upid = table_u32(threads, THREAD_UPID, utid);

	if (end == NULL_I64 && upid != NULL_U32)
		end = table_i64(&s->tables[TABLE_PROCESS], PROCESS_END_TS, upid);
	return end == NULL_I64 ? INT64_MAX : MAX(end, ts);
}

static int64_t end_of_interval_in_window(const struct pass_input *in, uint32_t utid, int64_t ts,
					 int64_t dur)
{
	int64_t end;

	if (dur < 0)
		end = end_of_unfinished_interval(in->s, utid, ts);
	else if (__builtin_add_overflow(ts, dur, &end))
		return in->to;
	return MIN(end, in->to);
}

bool pass_next_span(struct pass_walk *w, struct pass_span *ret)
{
	const struct table *t = &w->in->s->tables[w->table];
	struct span_columns c = span_columns_of_table(w->table);
	const uint32_t *last = w->table == TABLE_SCHED ? w->in->last_of_cpu : w->in->last_of_thread;

	for (; w->next < t->rows; w->next++) {
		uint32_t row = w->next, utid = table_u32(t, c.utid, row);
		int64_t ts = table_next_ts(t, c.ts, row, &w->at);
		int64_t dur = table_dur(t, c.dur, row), end;

		if (utid >= w->in->s->tables[TABLE_THREAD].rows ||
		    (dur < 0 && last[table_u32(t, c.key, row)] != row))
			continue;
		end = end_of_interval_in_window(w->in, utid, ts, dur);
		if (ts >= w->in->to || end <= w->in->from)
			continue;
		*ret = (struct pass_span){
			.row = row, .utid = utid, .begin = MAX(ts, w->in->from), .end = end};
		w->next++;
		return true;
	}
	return false;
}

/* ---- states ---- */

bool pass_is_runnable(const struct store *s, uint16_t state)
{
	const char *text;

	if (state == STORE_STATE_RUNNABLE)
		return true;
	text = state < s->n_states ? strings_get(&s->strings, s->states[state]) : "";
	return text[0] == 'R' && (!text[1] || !strcmp(text, "R+"));
}

bool pass_is_blocked(const struct store *s, uint16_t state)
{
	return state < s->n_states && *strings_get(&s->strings, s->states[state]) == 'D';
}

uint32_t pass_waker_row(const struct store *s, uint32_t state_row)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	uint32_t more = table_u32(t, STATE_MORE, state_row);

	return table_u16(t, STATE_STATE, state_row) == STORE_STATE_RUNNABLE && more != NULL_U32 &&
			       table_u32(&s->tables[TABLE_WAKER], WAKER_UTID, more) != NULL_U32
		       ? more
		       : NULL_U32;
}
