/* SPDX-License-Identifier: Apache-2.0 */
/* The values of counters as intervals that last until the next value of the track. */
#include <stdlib.h>
#include <string.h>

#include "analyze/row_sets/result_rows.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define COUNTERS_POINTER "sonda counters"

struct counter_row {
	int64_t id, ts;
	double value;
};

struct counter_rows {
	UT_hash_handle hh;
	int64_t track_id;
	struct counter_row *v; /* owned */
	size_t n, cap;
};

struct counters {
	struct counter_rows *by_track; /* owned; in the order of their first rows */
};

static void counters_free(void *p)
{
	struct counters *c = p;
	struct counter_rows *at, *next;

	HASH_ITER (hh, c->by_track, at, next) {
		HASH_DEL(c->by_track, at);
		free(at->v);
		free(at);
	}
	free(c);
}

/* Returns the rows of a track, created if needed; NULL if out of memory. */
static struct counter_rows *counters_find_or_add(struct counters *c, int64_t track_id)
{
	struct counter_rows *rows;

	HASH_FIND(hh, c->by_track, &track_id, sizeof(track_id), rows);
	if (rows)
		return rows;
	rows = calloc(1, sizeof(*rows));
	if (!rows)
		return NULL;
	rows->track_id = track_id;
	HASH_ADD(hh, c->by_track, track_id, sizeof(track_id), rows);
	if (!rows->hh.tbl) {
		free(rows);
		return NULL;
	}
	return rows;
}

/* Adds a row. The arguments are (id, ts, track_id, value). */
static void counters_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct counters **c = sqlite3_aggregate_context(ctx, sizeof(struct counters *));
	struct counter_rows *rows;

	if (c && !*c)
		*c = calloc(1, sizeof(**c));
	rows = c && *c ? counters_find_or_add(*c, sqlite3_value_int64(argv[2])) : NULL;
	if (!rows || array_reserve(&rows->v, &rows->cap, rows->n + 1, sizeof(*rows->v))) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	rows->v[rows->n++] = (struct counter_row){.id = sqlite3_value_int64(argv[0]),
						  .ts = sqlite3_value_int64(argv[1]),
						  .value = sqlite3_value_double(argv[3])};
}

/* Removes each value that is equal to the two before it and to the next, if there is one: as in
 * trace_processor, a run of equal values becomes at most three intervals. */
static void thin_runs_of_equal_values(struct counter_rows *rows)
{
	size_t kept = 0;
	double before[2] = {0, 0}; /* the last two values, also those that were removed */

	for (size_t i = 0; i < rows->n; i++) {
		struct counter_row r = rows->v[i];
		bool in_run = i >= 2 && r.value == before[0] && r.value == before[1] &&
			      (i + 1 == rows->n || r.value == rows->v[i + 1].value);

		before[0] = before[1];
		before[1] = r.value;
		if (!in_run)
			rows->v[kept++] = r;
	}
	rows->n = kept;
}

static void counters_final(sqlite3_context *ctx)
{
	struct counters **c = sqlite3_aggregate_context(ctx, 0);

	for (struct counter_rows *r = c && *c ? (*c)->by_track : NULL; r; r = r->hh.next)
		thin_runs_of_equal_values(r);
	if (c && *c)
		sqlite3_result_pointer(ctx, *c, COUNTERS_POINTER, counters_free);
}

static bool add_intervals(struct result_rows *out, const struct counter_rows *rows, int64_t end)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct counter_row *r = &rows->v[i];
		bool is_last = i + 1 == rows->n;
		struct cell *row = result_rows_add(out);

		if (!row)
			return false;
		row[0] = (struct cell){.kind = CELL_INT, .i = r->id};
		row[1] = (struct cell){.kind = CELL_INT, .i = r->ts};
		row[2] = (struct cell){.kind = CELL_INT, .i = (is_last ? end : r[1].ts) - r->ts};
		row[3] = (struct cell){.kind = CELL_INT, .i = rows->track_id};
		row[4] = (struct cell){.kind = CELL_REAL, .real = r->value};
		if (!is_last)
			row[5] = (struct cell){.kind = CELL_REAL, .real = r[1].value};
		if (i)
			row[6] = (struct cell){.kind = CELL_REAL, .real = r->value - r[-1].value};
	}
	return true;
}

/* Returns the intervals between the counters' values. The arguments are ('leading', end of the
 * trace, counters). */
static void counter_intervals_call(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	static const char *const names[] = {"id",    "ts",	   "dur",	  "track_id",
					    "value", "next_value", "delta_value", NULL};
	const struct counters *c = sqlite3_value_pointer(argv[2], COUNTERS_POINTER);
	const char *kind = (const char *)sqlite3_value_text(argv[0]);
	struct result_rows *rows;
	bool good;

	if (!kind || strcmp(kind, "leading") != 0) {
		sqlite3_result_error(ctx, "counter intervals: only leading intervals are supported",
				     -1);
		return;
	}
	if (!c)
		return;
	rows = result_rows_new(names);
	good = rows;
	for (const struct counter_rows *r = c->by_track; r && good; r = r->hh.next)
		good = add_intervals(rows, r, sqlite3_value_int64(argv[1]));
	if (good)
		result_rows_return(ctx, TAKE_PTR(rows));
	else
		sqlite3_result_error_nomem(ctx);
	result_rows_put(rows);
}

int counter_functions_register(sqlite3 *db)
{
	int r = row_sets_aggregate(db, "__intrinsic_counter_per_track_agg", 4, counters_step,
				   counters_final);

	return r == SQLITE_OK ? row_sets_function(db, "__intrinsic_counter_intervals", 3,
						  counter_intervals_call)
			      : r;
}
