/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text/str.h"
#include "cli/trace_tables.h"

/* How the rows of a report are printed for people. */
struct report_style {
	int width; /* of a line; 0: as wide as need be */
	bool color;
	bool blocks; /* the characters can be blocks of Unicode; else ASCII */
	int64_t start_ts; /* times are counted from here */
	int64_t top; /* at most this many rows are printed; then a line says that there are more */
};

/* Returns the style of stdout: its terminal's width; colours by "always", "never" or "auto": on a
 * terminal, unless NO_COLOR is set or TERM is unset or "dumb". The caller sets start_ts and top. */
struct report_style report_style_of_stdout(const char *color);

/* Return the code that a terminal needs to begin this style of text, or "" without colours. */
const char *report_style_bold(const struct report_style *style);
const char *report_style_dim(const struct report_style *style);
const char *report_style_plain(const struct report_style *style);

/* Returns eight characters of increasing height: blocks, or ASCII without them. */
const char *report_style_blocks(const struct report_style *style);

/* Returns how many columns a text takes on a terminal: the number of its UTF-8 characters. */
int report_text_width(const char *text);

/*
 * Runs the statement and prints its rows as a table. The end of a column's name says how its
 * numbers are printed:
 *
 *	_ns	duration				_pct	share
 *	_ts	time since the trace's start		_bytes	size
 *	_bar	text in the colour of bars
 *	_value	number in the unit that the column "unit" names
 *
 * Where a line would be too long, texts are cut, then columns at its right end are left out, and
 * the head ends in "+". Returns the number of rows of the statement, including those beyond
 * style->top, or -1 after an error of SQLite.
 */
int report_table_print(sqlite3_stmt *st, const struct report_style *style, FILE *to);

/* Appends a value of the statement's current row as such a table shows it. */
void report_table_put_value(sqlite3_stmt *st, int column, const struct report_style *style,
			    struct strbuf *b);

/* Appends the name and the number as a table shows it in a column of this name: "share 20 %". */
void report_table_put_number(const char *column, double v, struct strbuf *b);

/* Writes a number as such a table shows it: 1.23 ms for the unit "ns", 21.4 MiB for "bytes". */
void report_format_value(double v, const char *unit, char *buf, size_t size);

/* The losses of a report's trace, from the table `stats`. sonda info reports where, and what would
 * help. */
struct report_losses {
	uint64_t events; /* lost by rings of the kernel; 0: none, or an unknown number */
	bool more; /* an unknown number of events, or data of other sources, was lost as well */
	struct strbuf see; /* the command that shows more; owned */
};

/* Finds what the trace lost. file: the trace as the user named it; NULL: the user named none.
 * report_losses_deinit frees. */
void report_losses_find(const struct trace_tables *tables, const char *file,
			struct report_losses *ret);
void report_losses_deinit(struct report_losses *l);

/* Returns true if something was lost. If not, the next two functions print nothing. */
bool report_losses_any(const struct report_losses *l);
/* Prints the loss as a line, which goes before the tables, and an empty line. */
void report_losses_print(const struct report_losses *l, const struct report_style *style, FILE *to);
/* Logs the loss on stderr. */
void report_losses_warn(const struct report_losses *l);
/* Writes the loss as a JSON value: a list with one row. Returns an SQLite result code. */
int report_losses_json(const struct report_losses *l, sqlite3 *db, FILE *to);
