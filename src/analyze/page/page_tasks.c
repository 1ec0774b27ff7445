/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, threads, the runs on the CPUs, and the states of threads.
 *
 * The runs determine most of the table thread_state: a run is the state Running until its end, and
 * the state before a run ends when the run begins. So the column state.end has this expected end
 * minus the real one, zigzag +1; 0: the state did not end. The difference is mostly 0, and for a
 * sleep it is the wait for a CPU that followed.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/page/page_rows.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"

static const struct table *page_tasks_table(const struct page *p, enum store_table which)
{
	return &p->store->tables[which];
}

/* ---- names ---- */

/* Returns the title of a process that has set one, else its name: see analyze/report/chosen.c. */
static uint32_t name_of_process(const struct page *p, const struct table *t, uint32_t row)
{
	uint32_t name = table_u32(t, PROCESS_NAME, row);
	uint32_t cmdline = table_u32(t, PROCESS_CMDLINE, row);
	const char *text = strings_get(&p->store->strings, name);
	size_t len = strlen(text);

	return len && text[len - 1] == ':' && cmdline != NULL_U32 ? cmdline : name;
}

static void put_processes(struct page *p)
{
	const struct table *t = page_tasks_table(p, TABLE_PROCESS);

	for (uint32_t row = 0; row < t->rows; row++) {
		page_put_signed(&p->columns, PAGE_COLUMN_PROCESS_PID,
				table_i64(t, PROCESS_PID, row));
		page_put_string(p, PAGE_COLUMN_PROCESS_NAME, name_of_process(p, t, row));
		page_put(&p->columns, PAGE_COLUMN_PROCESS_MACHINE,
			 table_u32(t, PROCESS_MACHINE, row));
	}
}

static void put_threads(struct page *p)
{
	const struct table *t = page_tasks_table(p, TABLE_THREAD);
	uint32_t upid;

	for (uint32_t row = 0; row < t->rows; row++) {
		upid = table_u32(t, THREAD_UPID, row);
		page_put_signed(&p->columns, PAGE_COLUMN_THREAD_TID, table_i64(t, THREAD_TID, row));
		page_put_string(p, PAGE_COLUMN_THREAD_NAME, table_u32(t, THREAD_NAME, row));
		page_put(&p->columns, PAGE_COLUMN_THREAD_PROCESS,
			 upid == NULL_U32 ? 0 : (uint64_t)upid + 1);
		page_put(&p->columns, PAGE_COLUMN_THREAD_IDLE,
			 table_u8(t, THREAD_IS_IDLE, row) == 1);
		page_put(&p->columns, PAGE_COLUMN_THREAD_MACHINE,
			 table_u32(t, THREAD_MACHINE, row));
	}
}

static void put_state_names(struct page *p)
{
	for (size_t i = 0; i < p->store->n_states; i++)
		page_put_string(p, PAGE_COLUMN_STATE_NAME, p->store->states[i]);
}

/* Returns a state of a column of 16 bits, + 1; 0: NULL. */
static uint64_t state_plus_1(const struct table *t, unsigned column, uint32_t row)
{
	uint16_t state = table_u16(t, column, row);

	return state == NULL_U16 ? 0 : (uint64_t)state + 1;
}

/* ---- runs ---- */

static int put_runs_of_cpu(struct page *p, uint32_t cpu, int32_t *priorities)
{
	const struct table *t = page_tasks_table(p, TABLE_SCHED);
	struct page_columns *c = &p->columns;
	int64_t ts, dur, end = p->start;
	struct row_list l;

	if (page_list_rows(p, TABLE_SCHED, SCHED_CPU, cpu, SCHED_DUR, &l) < 0)
		return -ENOMEM;
	if (l.n) {
		page_put(c, PAGE_COLUMN_CPU_ID, cpu);
		page_put(c, PAGE_COLUMN_CPU_RUNS, l.n);
		p->runs += l.n;
	}
	for (uint32_t i = 0; i < l.n; i++) {
		uint32_t row = l.rows[i], utid = table_u32(t, SCHED_UTID, row);
		int32_t priority = table_i32(t, SCHED_PRIORITY, row);
		int32_t *last = &priorities[MIN(utid, page_tasks_table(p, TABLE_THREAD)->rows)];

		ts = table_ts(t, SCHED_TS, row);
		dur = table_dur(t, SCHED_DUR, row);
		page_put_signed(c, PAGE_COLUMN_RUN_GAP, page_subtract_times(ts, end));
		page_put(c, PAGE_COLUMN_RUN_DUR, dur < 0 ? 0 : (uint64_t)dur + 1);
		page_put(c, PAGE_COLUMN_RUN_THREAD, utid);
		page_put(c, PAGE_COLUMN_RUN_END_STATE, state_plus_1(t, SCHED_END_STATE, row));
		page_put_signed(c, PAGE_COLUMN_RUN_PRIORITY, (int64_t)priority - *last);
		*last = priority;
		end = page_add_times(ts, MAX(dur, 0));
	}
	row_list_deinit(&l);
	return 0;
}

static int put_runs(struct page *p)
{
	const struct row_index *cpus = table_index(&p->store->tables[TABLE_SCHED], SCHED_CPU);
	_cleanup_(freep) int32_t *priorities =
		calloc((size_t)page_tasks_table(p, TABLE_THREAD)->rows + 1, sizeof(*priorities));

	if (!cpus || !priorities)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < cpus->n_values; cpu++)
		if (put_runs_of_cpu(p, cpu, priorities) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- states ---- */

/* The runs of a thread. next: the first one at or after the time of seek_run(), which only
 * grows. */
struct run_cursor {
	const struct table *sched;
	struct row_list runs;
	uint32_t next;
};

static void seek_run(struct run_cursor *c, int64_t ts)
{
	while (c->next < c->runs.n && table_ts(c->sched, SCHED_TS, c->runs.rows[c->next]) < ts)
		c->next++;
}

/* Returns the run that begins at ts, or NULL_U32. */
static uint32_t find_run_beginning_at(const struct run_cursor *c, int64_t ts)
{
	uint32_t row = c->next < c->runs.n ? c->runs.rows[c->next] : NULL_U32;

	return row != NULL_U32 && table_ts(c->sched, SCHED_TS, row) == ts ? row : NULL_U32;
}

/* Returns when a state that begins at ts is expected to end. */
static int64_t expected_end_of_state(const struct page *p, const struct run_cursor *c, bool running,
				     int64_t ts)
{
	uint32_t run = running		     ? find_run_beginning_at(c, ts)
		       : c->next < c->runs.n ? c->runs.rows[c->next]
					     : NULL_U32;
	int64_t dur;

	if (run == NULL_U32)
		return p->store->end_ts;
	if (!running)
		return table_ts(c->sched, SCHED_TS, run);
	dur = table_dur(c->sched, SCHED_DUR, run);
	return dur < 0 ? p->store->end_ts : page_add_times(ts, dur);
}

static void put_state_cpu(struct page *p, uint32_t run, uint32_t ucpu)
{
	bool same = run != NULL_U32 &&
		    table_u32(page_tasks_table(p, TABLE_SCHED), SCHED_CPU, run) == ucpu;

	page_put(&p->columns, PAGE_COLUMN_STATE_CPU,
		 same		    ? 0
		 : ucpu == NULL_U32 ? 1
				    : (uint64_t)ucpu + 2);
}

static void put_state_waker(struct page *p, uint32_t more)
{
	const struct table *t = page_tasks_table(p, TABLE_WAKER);
	uint32_t utid = more == NULL_U32 ? NULL_U32 : table_u32(t, WAKER_UTID, more);
	uint8_t irq = more == NULL_U32 ? NULL_U8 : table_u8(t, WAKER_IRQ_CONTEXT, more);

	page_put(&p->columns, PAGE_COLUMN_STATE_WAKER, utid == NULL_U32 ? 0 : (uint64_t)utid + 1);
	page_put(&p->columns, PAGE_COLUMN_STATE_IRQ, irq == NULL_U8 ? 0 : irq + 1u);
}

static void put_state_function(struct page *p, uint32_t more)
{
	const struct table *t = page_tasks_table(p, TABLE_BLOCKED);
	uint64_t function;

	if (more == NULL_U32) {
		page_put(&p->columns, PAGE_COLUMN_STATE_BLOCKED, 0);
		return;
	}
	function = page_string_number(p, table_u32(t, BLOCKED_FUNCTION, more));
	page_put(&p->columns, PAGE_COLUMN_STATE_BLOCKED,
		 1 + (table_u8(t, BLOCKED_IO_WAIT, more) == 1) + 2 * function);
}

/* *end: the end of the last state, which becomes that of this one. */
static void put_state(struct page *p, struct run_cursor *c, uint32_t row, int64_t *end)
{
	const struct table *t = page_tasks_table(p, TABLE_THREAD_STATE);
	uint16_t state = table_u16(t, STATE_STATE, row);
	uint32_t more = table_u32(t, STATE_MORE, row);
	int64_t ts = table_ts(t, STATE_TS, row), dur = table_dur(t, STATE_DUR, row), expected;

	seek_run(c, ts);
	expected = expected_end_of_state(p, c, state == STORE_STATE_RUNNING, ts);
	page_put_signed(&p->columns, PAGE_COLUMN_STATE_GAP, page_subtract_times(ts, *end));
	page_put(&p->columns, PAGE_COLUMN_STATE_END,
		 dur < 0 ? 0
			 : pb_zigzag(page_subtract_times(expected, page_add_times(ts, dur))) + 1);
	page_put(&p->columns, PAGE_COLUMN_STATE_STATE, state_plus_1(t, STATE_STATE, row));
	if (state == STORE_STATE_RUNNING)
		put_state_cpu(p, find_run_beginning_at(c, ts), more);
	else if (state == STORE_STATE_RUNNABLE)
		put_state_waker(p, more);
	else
		put_state_function(p, more);
	*end = page_add_times(ts, MAX(dur, 0));
}

/* Compares by time and, for runs that begin together, by CPU: the page merges runs in this
 * order. */
static int compare_time_and_cpu(const void *a, const void *b, void *table)
{
	const struct table *t = table;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t tx = table_ts(t, SCHED_TS, x), ty = table_ts(t, SCHED_TS, y);
	uint32_t cx = table_u32(t, SCHED_CPU, x), cy = table_u32(t, SCHED_CPU, y);

	if (tx != ty)
		return tx < ty ? -1 : 1;
	return cx != cy ? (cx < cy ? -1 : 1) : (x > y) - (x < y);
}

static int page_tasks_sort_runs(struct table *t, struct row_list *l)
{
	uint32_t i = 1;

	while (i < l->n && compare_time_and_cpu(&l->rows[i - 1], &l->rows[i], t) < 0)
		i++;
	if (i >= l->n)
		return 0;
	if (!l->sorted) {
		l->sorted = malloc(l->n * sizeof(*l->sorted));
		if (!l->sorted)
			return -ENOMEM;
		for (i = 0; i < l->n; i++)
			l->sorted[i] = l->rows[i];
		l->rows = l->sorted;
	}
	qsort_r(l->sorted, l->n, sizeof(*l->sorted), compare_time_and_cpu, t);
	return 0;
}

/* Fills the columns of a thread's states. A thread that is not recorded has none in the page: the
 * ends of most of its states are unknown. */
static int put_states_of_thread(struct page *p, uint32_t utid)
{
	struct table *sched = &p->store->tables[TABLE_SCHED];
	struct run_cursor c = {.sched = sched};
	struct row_list states;
	int64_t end = p->start;
	int r;

	if (p->store->recorded && !p->store->recorded[utid]) {
		page_put(&p->columns, PAGE_COLUMN_THREAD_STATES, 0);
		return 0;
	}
	r = page_list_rows(p, TABLE_THREAD_STATE, STATE_UTID, utid, STATE_DUR, &states);

	if (r == 0)
		r = page_list_rows(p, TABLE_SCHED, SCHED_UTID, utid, SCHED_DUR, &c.runs);
	if (r == 0)
		r = page_tasks_sort_runs(sched, &c.runs);
	if (r == 0) {
		page_put(&p->columns, PAGE_COLUMN_THREAD_STATES, states.n);
		p->states += states.n;
		for (uint32_t i = 0; i < states.n; i++)
			put_state(p, &c, states.rows[i], &end);
	}
	row_list_deinit(&states);
	row_list_deinit(&c.runs);
	return r;
}

int page_put_tasks(struct page *p)
{
	const struct table *threads = page_tasks_table(p, TABLE_THREAD);
	int r;

	put_processes(p);
	put_threads(p);
	put_state_names(p);
	r = put_runs(p);
	for (uint32_t utid = 0; r == 0 && utid < threads->rows; utid++)
		r = put_states_of_thread(p, utid);
	return r;
}
