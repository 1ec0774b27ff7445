/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * Rows of a statement as text: a table with aligned columns, records with a line for each column,
 * CSV (RFC 4180) or JSON (an array of objects).
 */

enum sql_format {
	SQL_TABLE,
	SQL_CSV,
	SQL_JSON,
	SQL_RECORDS, /* a line for each column */
	SQL_CSV_SHEET, /* text that a spreadsheet would take for a formula gets a ' in front */
	SQL_JSON_NUMBERS, /* JSON without the columns *_bar, which are pictures for people */
};

/* Reads the value of --csv, NULL if there is none. Returns 0, or -EINVAL and sets e. */
int sql_parse_csv_format(const char *value, enum sql_format *ret, struct err_text *e);

/* Runs the statement and writes its rows. A statement without columns writes nothing. Returns an
 * SQLite result code: SQLITE_OK, or the error, after rows that came before it. */
int sql_output(sqlite3_stmt *st, enum sql_format format, FILE *to);
/* Does the same, and sets *ret_some to whether there were rows; for CSV and JSON only. */
int sql_output_write_and_check(sqlite3_stmt *st, enum sql_format format, FILE *to, bool *ret_some);
/* Appends the names of the columns that SQL_JSON_NUMBERS writes, as a JSON array. */
void sql_output_put_columns(sqlite3_stmt *st, struct strbuf *b);
/* Appends the value of a column as text: nothing for NULL. Sets b->failed if memory runs out. */
void sql_add_text(sqlite3_stmt *st, int column, struct strbuf *b);
