/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How the rows of a report are printed for people. */
struct report_style {
	int width; /* of a line; 0: as wide as need be */
	bool bold; /* heads, on a terminal */
	int64_t start_ts; /* times are counted from here */
};

/* The style of a stream: its terminal's width, colours unless NO_COLOR is set. */
struct report_style report_style_of(FILE *to);

/* Runs the statement and prints its rows as a table: columns whose names end in _ns as durations, in _ts as times
 * since the trace's start, in _pct as shares. Text is cut where the line would be too long. Returns the
 * number of rows, or -1 after an error of SQLite. */
int report_table_print(sqlite3_stmt *st, const struct report_style *style, FILE *to);
