/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/trace_tables.h"

/* The forms of sonda export. */

/* Each writes to a stream, whose errors the caller checks. Returns an SQLite result code. */
int export_json(const struct trace_tables *t,
		FILE *to); /* Chrome's JSON, as about:tracing and the Perfetto UI read it */
int export_folded_slices(const struct trace_tables *t,
			 FILE *to); /* "process;thread;slice;slice ns" */
int export_folded_sched(const struct trace_tables *t, FILE *to); /* "process;thread;state ns" */
/* "process;thread;function;function NUMBER": samples, ns of waits, ns of waits by waker */
int export_folded_stacks(const struct trace_tables *t, FILE *to);
int export_folded_waits(const struct trace_tables *t, FILE *to);
int export_folded_wakers(const struct trace_tables *t, FILE *to);
/* The same as a compressed profile.proto of pprof. */
int export_pprof_stacks(const struct trace_tables *t, FILE *to);
int export_pprof_waits(const struct trace_tables *t, FILE *to);
int export_pprof_wakers(const struct trace_tables *t, FILE *to);

/* Appends a frame of a folded stack. In its name, line ends and ';', which separates frames, are
 * replaced. */
void export_folded_add_frame(struct strbuf *b, const char *name, bool first);

struct out_path;
struct export_dir;

/* For _cleanup_: ends a statement. */
DEFINE_DESTRUCTOR(sqlite3_stmt *, sqlite3_finalize)

/* Calls fn with the name of each table (kind 't') or view (kind 'v') of the trace. Stops when fn
 * returns non-zero, and returns that value. sql is a view's statement, NULL for a table. Returns 0,
 * or -ENOMEM; e is "out of memory" unless fn sets it. */
int export_for_each_table(sqlite3 *db, char kind,
			  int (*fn)(void *ctx, const char *name, const char *sql), void *ctx,
			  struct err_text *e);
/* Returns true for a second name of a table, whose rows are in the file of its first name. */
bool export_is_alias(const char *name);

/* Each writes a file for each table. Returns 0, or -errno and sets e. */
int export_csv(const struct trace_tables *t, const struct export_dir *to, struct err_text *e);
/* For a spreadsheet: no text in it can be taken for a formula. */
int export_csv_sheet(const struct trace_tables *t, const struct export_dir *to, struct err_text *e);
int export_parquet(const struct trace_tables *t, const struct export_dir *to, struct err_text *e);

/* For sonda ship: only the tables that are listed and have rows. */
struct parquet_choice {
	const char *const *tables;
	size_t n_tables;
	const char *uuid; /* the value of the column trace_uuid */
};
/* Like export_parquet(); choice NULL: all tables. */
int export_parquet_chosen(const struct trace_tables *t, const struct parquet_choice *choice,
			  const struct export_dir *to, struct err_text *e);
/* Set *ret to the trace's uuid, NULL if it has none; or to its losses as a JSON object. The caller
 * frees it. Return 0, or -ENOMEM if a query fails. */
int export_read_uuid(const struct trace_tables *t, char **ret);
int export_read_losses(const struct trace_tables *t, char **ret);

/* Writes all tables into the hidden file, an SQLite database. Returns 0, or -errno and sets e. */
int export_sqlite(const struct trace_tables *t, const struct out_path *out, struct err_text *e);
