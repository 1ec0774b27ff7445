/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/text/str.h"

/* The forms of sonda export. db is the trace's database (cli/trace_tables.h). */

/* Each writes its text to a stream, whose errors the caller checks. Returns an SQLite result
 * code. */
int export_json(sqlite3 *db,
		FILE *to); /* Chrome's JSON, as about:tracing and the Perfetto UI read it */
int export_folded_slices(sqlite3 *db, FILE *to); /* "process;thread;slice;slice ns" */
int export_folded_stacks(sqlite3 *db, FILE *to); /* "process;thread;function;function samples" */
int export_folded_sched(sqlite3 *db, FILE *to); /* "process;thread;state ns" */

struct out_path;

/* Writes a file for each table into the hidden folder. Returns 0, or -errno and sets e. */
int export_csv(sqlite3 *db, const struct out_path *out, struct err_text *e);
/* The same for a spreadsheet, which takes none of the texts for a formula. */
int export_csv_sheet(sqlite3 *db, const struct out_path *out, struct err_text *e);
/* Writes all tables into the hidden file, an SQLite database. Returns 0, or -errno and sets e. */
int export_sqlite(sqlite3 *db, const struct out_path *out, struct err_text *e);
