/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of SQL that scripts for trace_processor use: EXTRACT_ARG, EXTRACT_METADATA, the bounds
 * of the trace, and times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/store/arg_sets.h"
#include "analyze/tables/table_module.h"
#include "base/core/mem.h"

static void convert_arg_to_value(const struct arg *a, struct value *ret)
{
	*ret = (struct value){.kind = VALUE_NULL};
	switch (a->type) {
	case ARG_INT:
	case ARG_UINT:
	case ARG_BOOL:
	case ARG_POINTER:
		*ret = (struct value){.kind = VALUE_INT, .i = a->i};
		break;
	case ARG_REAL:
		*ret = (struct value){.kind = VALUE_REAL, .real = a->real};
		break;
	case ARG_STRING:
	case ARG_JSON:
		*ret = (struct value){.kind = VALUE_TEXT, .s = a->s, .len = a->len};
		break;
	case ARG_NULL:
		break;
	}
}

static void extract_arg(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct store *s = sqlite3_user_data(ctx);
	struct arg_list list = {.n = 0};
	const char *key;
	struct value v;
	size_t len;

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER ||
	    sqlite3_value_type(argv[1]) != SQLITE_TEXT) {
		sqlite3_result_error(
			ctx,
			"EXTRACT_ARG: the first argument must be an arg_set_id, the second a key",
			-1);
		return;
	}
	key = (const char *)sqlite3_value_text(argv[1]);
	len = (size_t)sqlite3_value_bytes(argv[1]);
	if (arg_sets_list(s, sqlite3_value_int64(argv[0]), &list) < 0)
		sqlite3_result_error_nomem(ctx);
	for (size_t i = 0; i < list.n; i++)
		if (list.args[i].key_len == len && !memcmp(list.args[i].key, key, len)) {
			convert_arg_to_value(&list.args[i], &v);
			table_module_set_result(ctx, &v);
			break;
		}
	free(list.args);
}

static void extract_metadata(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct store *s = sqlite3_user_data(ctx);
	const struct table *t = &s->tables[TABLE_METADATA];
	uint32_t name;
	struct value v;

	if (sqlite3_value_type(argv[0]) != SQLITE_TEXT)
		return;
	name = strings_find(&s->strings, sqlite3_value_text(argv[0]),
			    (size_t)sqlite3_value_bytes(argv[0]));
	for (uint32_t row = 0; row < t->rows; row++)
		if (name != NULL_U32 && table_u32(t, METADATA_NAME, row) == name) {
			store_read_value(s, t, row, METADATA_INT, &v);
			if (v.kind == VALUE_NULL)
				store_read_value(s, t, row, METADATA_STR, &v);
			table_module_set_result(ctx, &v);
			return;
		}
}

static void trace_start(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, ((const struct store *)sqlite3_user_data(ctx))->start_ts);
}

static void trace_end(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_result_int64(ctx, ((const struct store *)sqlite3_user_data(ctx))->end_ts);
}

static void trace_dur(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct store *s = sqlite3_user_data(ctx);

	sqlite3_result_int64(ctx, s->end_ts - s->start_ts);
}

/* time_from_ms(n) and its like return n units in ns; time_to_ms(t) and its like return how many
 * whole units a time in ns has. */
static void time_from(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx,
				     (int64_t)((uint64_t)sqlite3_value_int64(argv[0]) * (uint64_t) *
					       (const int64_t *)sqlite3_user_data(ctx)));
}

static void time_to(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx, sqlite3_value_int64(argv[0]) /
						  *(const int64_t *)sqlite3_user_data(ctx));
}

static int register_times(sqlite3 *db)
{
	static const struct time_unit {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1},
		     {"us", 1000},
		     {"ms", 1000000},
		     {"s", 1000000000},
		     {"min", 60000000000},
		     {"hours", 3600000000000},
		     {"days", 86400000000000}};
	char name[24];
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(units) && r == SQLITE_OK; i++) {
		void *ns = (void *)&units[i].ns;

		snprintf(name, sizeof(name), "time_from_%s", units[i].name);
		r = sqlite3_create_function(db, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, ns,
					    time_from, NULL, NULL);
		snprintf(name, sizeof(name), "time_to_%s", units[i].name);
		if (r == SQLITE_OK)
			r = sqlite3_create_function(db, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
						    ns, time_to, NULL, NULL);
	}
	return r;
}

/* ---- clocks ---- */

enum { REALTIME = 1, MONOTONIC = 3 };

/* Converts a time of the trace to a clock of the machine that was recorded, by the last snapshot of
 * the clocks before it. A time before the first one becomes that of the first one. Returns false if
 * no snapshot has the clock. */
static bool convert_time(const struct store *s, int64_t ts, int64_t clock, int64_t *ret)
{
	const struct table *t = &s->tables[TABLE_CLOCK_SNAPSHOT];
	int64_t at = INT64_MIN;
	bool found = false;

	for (uint32_t row = 0; row < t->rows; row++) {
		int64_t taken = table_i64(t, CLOCK_TS, row);

		if (table_i64(t, CLOCK_CLOCK, row) != clock ||
		    table_u32(t, CLOCK_MACHINE, row) != 0 || (found && (taken > ts || taken < at)))
			continue;
		found = true;
		at = taken;
		*ret = (int64_t)((uint64_t)table_i64(t, CLOCK_VALUE, row) +
				 (uint64_t)MAX(ts, taken) - (uint64_t)taken);
	}
	return found;
}

static bool convert_argument(sqlite3_context *ctx, sqlite3_value **argv, int64_t clock,
			     int64_t *ret)
{
	return sqlite3_value_type(argv[0]) != SQLITE_NULL &&
	       convert_time(sqlite3_user_data(ctx), sqlite3_value_int64(argv[0]), clock, ret);
}

static void to_realtime(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t t;

	if (convert_argument(ctx, argv, REALTIME, &t))
		sqlite3_result_int64(ctx, t);
}

static void to_monotonic(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t t;

	if (convert_argument(ctx, argv, MONOTONIC, &t))
		sqlite3_result_int64(ctx, t);
}

/* The date and time of day (UTC), as 2026-11-21T01:36:01.445203948. */
static void abs_time_str(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	char date[40], text[64];
	int64_t t, ns;
	struct tm tm;
	time_t s;

	if (!convert_argument(ctx, argv, REALTIME, &t))
		return;
	ns = (t % 1000000000 + 1000000000) % 1000000000;
	s = (time_t)((t - ns) / 1000000000);
	if (!gmtime_r(&s, &tm))
		return;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%09" PRId64, date, ns);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* A duration as 01:02:03 000 000 001. */
static void to_timecode(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t t = sqlite3_value_int64(argv[0]), s = t / 1000000000;
	char text[96];

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text),
		 "%02" PRId64 ":%02" PRId64 ":%02" PRId64 " %03" PRId64 " %03" PRId64 " %03" PRId64,
		 s / 3600, s / 60 % 60, s % 60, t / 1000000 % 1000, t / 1000 % 1000, t % 1000);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

int sql_functions_register(sqlite3 *db, struct store *s)
{
	static const struct {
		const char *name;
		int n_args;
		void (*fn)(sqlite3_context *ctx, int argc, sqlite3_value **argv);
	} functions[] = {
		{"extract_arg", 2, extract_arg},   {"extract_metadata", 1, extract_metadata},
		{"trace_start", 0, trace_start},   {"trace_end", 0, trace_end},
		{"trace_dur", 0, trace_dur},	   {"to_realtime", 1, to_realtime},
		{"to_monotonic", 1, to_monotonic}, {"abs_time_str", 1, abs_time_str},
		{"to_timecode", 1, to_timecode},
	};
	int r = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && r == SQLITE_OK; i++)
		r = sqlite3_create_function(db, functions[i].name, functions[i].n_args,
					    SQLITE_UTF8 | SQLITE_DETERMINISTIC, s, functions[i].fn,
					    NULL, NULL);
	return r == SQLITE_OK ? register_times(db) : r;
}
