/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/totals.h"

#include <stdlib.h>

#include "analyze/store/columns.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"

#define NONE UINT32_MAX

/* Of a thread on a CPU, or in a state. */
struct total {
	uint32_t key; /* the CPU or the state */
	uint32_t next; /* of the thread, or NONE */
	uint64_t n, woken;
	uint64_t time, longest; /* ns; wraps around with times that no clock has */
};

struct totals {
	uint32_t *first; /* owned: by utid; NONE: the thread has none */
	uint32_t n_threads;
	struct total *list; /* owned */
	size_t n, cap;
};

static int totals_init(struct totals *t, const struct store *s)
{
	*t = (struct totals){.n_threads = s->tables[TABLE_THREAD].rows};
	t->first = malloc((t->n_threads + 1) * sizeof(*t->first));
	if (!t->first)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < t->n_threads; i++)
		t->first[i] = NONE;
	return SQLITE_OK;
}

static void totals_deinit(struct totals *t)
{
	free(t->first);
	free(t->list);
}

/* Returns the total of a thread and key, or NULL without memory. */
static struct total *find(struct totals *t, uint32_t utid, uint32_t key)
{
	for (uint32_t i = t->first[utid]; i != NONE; i = t->list[i].next)
		if (t->list[i].key == key)
			return &t->list[i];
	if (t->n == NONE - 1 || array_reserve(&t->list, &t->cap, t->n + 1, sizeof(*t->list)))
		return NULL;
	t->list[t->n] = (struct total){.key = key, .next = t->first[utid]};
	t->first[utid] = (uint32_t)t->n;
	return &t->list[t->n++];
}

/* Adds what is within the window. Returns false without memory. */
static bool add(struct totals *t, uint32_t utid, uint32_t key, int64_t begin, int64_t end,
		bool woken)
{
	uint64_t time = (uint64_t)end - (uint64_t)begin;
	struct total *total;

	if (end <= begin || utid >= t->n_threads)
		return true;
	total = find(t, utid, key);
	if (!total)
		return false;
	total->n++;
	total->woken += woken;
	total->time += time;
	total->longest = MAX(total->longest, time);
	return true;
}

/* Returns the last row of each value of a column (owned by the caller), or NULL without memory. */
static uint32_t *last_rows(const struct table *t, unsigned column)
{
	uint32_t values = 0, *last;

	for (uint32_t row = 0; row < t->rows; row++)
		values = MAX(values, table_u32(t, column, row) + 1);
	last = calloc((size_t)values + 1, sizeof(*last));
	for (uint32_t row = 0; last && row < t->rows; row++)
		last[table_u32(t, column, row)] = row;
	return last;
}

static int64_t end_of(int64_t ts, int64_t dur, int64_t to)
{
	int64_t end;

	return dur < 0 || __builtin_add_overflow(ts, dur, &end) ? to : MIN(end, to);
}

/* ---- sched ---- */

static int sum_runs(const struct store *s, int64_t from, int64_t to, struct totals *ret)
{
	const struct table *t = &s->tables[TABLE_SCHED];
	uint32_t *last = last_rows(t, SCHED_CPU);
	bool good = last;

	for (uint32_t row = 0; good && row < t->rows; row++) {
		int64_t ts = table_ts(t, SCHED_TS, row), dur = table_dur(t, SCHED_DUR, row);
		uint32_t cpu = table_u32(t, SCHED_CPU, row);

		if (dur >= 0 || last[cpu] == row)
			good = add(ret, table_u32(t, SCHED_UTID, row), cpu, MAX(ts, from),
				   end_of(ts, dur, to), false);
	}
	free(last);
	return good ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- thread_state ---- */

static int sum_states(const struct store *s, int64_t from, int64_t to, struct totals *ret)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	uint32_t *last = last_rows(t, STATE_UTID);
	bool good = last;

	for (uint32_t row = 0; good && row < t->rows; row++) {
		int64_t ts = table_ts(t, STATE_TS, row), dur = table_dur(t, STATE_DUR, row);
		uint16_t state = TABLE_CELL(uint16_t, t, STATE_STATE, row);
		uint32_t utid = table_u32(t, STATE_UTID, row);
		bool woken =
			state == STORE_STATE_RUNNABLE && table_u32(t, STATE_MORE, row) != NULL_U32;

		if (dur >= 0 || last[utid] == row)
			good = add(ret, utid, state, MAX(ts, from), end_of(ts, dur, to), woken);
	}
	free(last);
	return good ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- to SQL ---- */

/* Fills the table with a row for each total. states: keys are states, else numbers. */
static int insert(sqlite3 *db, const char *sql, const struct store *s, const struct totals *t,
		  bool states)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	for (uint32_t utid = 0; utid < t->n_threads; utid++)
		for (uint32_t i = t->first[utid]; i != NONE && r == SQLITE_OK;
		     i = t->list[i].next) {
			const struct total *total = &t->list[i];

			sqlite3_bind_int64(st, 1, utid);
			if (states && total->key < s->n_states)
				sqlite3_bind_text(st, 2,
						  strings_get(&s->strings, s->states[total->key]),
						  -1, SQLITE_STATIC);
			else
				sqlite3_bind_int64(st, 2, total->key);
			sqlite3_bind_int64(st, 3, (sqlite3_int64)total->time);
			sqlite3_bind_int64(st, 4, (sqlite3_int64)total->n);
			sqlite3_bind_int64(st, 5, (sqlite3_int64)total->longest);
			if (states)
				sqlite3_bind_int64(st, 6, (sqlite3_int64)total->woken);
			sqlite3_step(st);
			r = sqlite3_reset(st);
		}
	sqlite3_finalize(st);
	return r;
}

static const char create[] =
	"CREATE TEMP TABLE used(utid INTEGER, cpu INTEGER, time INTEGER, n INTEGER, longest "
	"INTEGER); CREATE TEMP TABLE spent(utid INTEGER, state TEXT, time INTEGER, n INTEGER, "
	"longest INTEGER, woken INTEGER); BEGIN";

int totals_create(sqlite3 *db, const struct store *s, int64_t from, int64_t to)
{
	struct totals runs = {.n = 0}, states = {.n = 0};
	int r = sqlite3_exec(db, create, NULL, NULL, NULL);

	if (r == SQLITE_OK)
		r = totals_init(&runs, s);
	if (r == SQLITE_OK)
		r = sum_runs(s, from, to, &runs);
	if (r == SQLITE_OK)
		r = insert(db, "INSERT INTO used VALUES (?1, ?2, ?3, ?4, ?5)", s, &runs, false);
	if (r == SQLITE_OK)
		r = totals_init(&states, s);
	if (r == SQLITE_OK)
		r = sum_states(s, from, to, &states);
	if (r == SQLITE_OK)
		r = insert(db, "INSERT INTO spent VALUES (?1, ?2, ?3, ?4, ?5, ?6)", s, &states,
			   true);
	totals_deinit(&runs);
	totals_deinit(&states);
	return r == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : r;
}
