/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* ---- table: the first rows decide how wide the columns are ---- */

#define WIDTH_ROWS 1000u
#define MAX_WIDTH 60

struct table_text {
	char **cells; /* owned, with the strings: rows x columns */
	size_t n, cap;
	int *widths; /* owned */
	int columns;
};

/* Returns the number of columns on a terminal: one for each UTF-8 character. */
static int sql_output_text_width(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Steps to the next row. After a write error, as on a full disk, returns SQLITE_DONE instead. */
static int step_to_next_row(sqlite3_stmt *st, FILE *to)
{
	return ferror(to) ? SQLITE_DONE : sqlite3_step(st);
}

void sql_add_text(sqlite3_stmt *st, int i, struct strbuf *b)
{
	bool is_null = sqlite3_column_type(st, i) == SQLITE_NULL;
	const unsigned char *s = sqlite3_column_text(st, i);

	/* The conversion to text comes first: it may change the number of bytes. */
	if (s)
		strbuf_add(b, s, (size_t)sqlite3_column_bytes(st, i));
	else
		b->failed |= !is_null;
}

static char *copy_cell_text(sqlite3_stmt *st, int i)
{
	struct strbuf b = {0};

	if (sqlite3_column_type(st, i) == SQLITE_NULL)
		strbuf_puts(&b, "NULL");
	else
		sql_add_text(st, i, &b);
	strbuf_puts(&b, "");
	if (b.s)
		str_make_plain(b.s, b.len, "");
	return strbuf_take(&b);
}

static bool is_number(sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_INTEGER ||
	       sqlite3_column_type(st, i) == SQLITE_FLOAT;
}

static void put_cell(const char *s, int width, bool right, bool last, FILE *to)
{
	int pad = MAX(0, width - sql_output_text_width(s));

	if (right)
		fprintf(to, "%*s%s", pad, "", s);
	else
		fprintf(to, "%s%*s", s, last ? 0 : pad, "");
	fputs(last ? "\n" : "  ", to);
}

static void sql_output_put_head(sqlite3_stmt *st, const struct table_text *t, FILE *to)
{
	for (int i = 0; i < t->columns; i++)
		put_cell(sqlite3_column_name(st, i), t->widths[i], false, i == t->columns - 1, to);
	for (int i = 0; i < t->columns; i++) {
		for (int n = 0; n < t->widths[i]; n++)
			fputc('-', to);
		fputs(i == t->columns - 1 ? "\n" : "  ", to);
	}
}

static void put_row(char *const *cells, const struct table_text *t, const bool *right, FILE *to)
{
	for (int i = 0; i < t->columns; i++)
		put_cell(cells[i], t->widths[i], right[i], i == t->columns - 1, to);
}

static int output_table(sqlite3_stmt *st, FILE *to)
{
	struct table_text t = {.columns = sqlite3_column_count(st)};
	size_t columns = (size_t)t.columns, rows = 0;
	bool *right = calloc(columns, sizeof(*right));
	int r = SQLITE_NOMEM;

	t.widths = calloc(columns, sizeof(*t.widths));
	if (!t.widths || !right)
		goto end;
	for (int i = 0; i < t.columns; i++)
		t.widths[i] = sql_output_text_width(sqlite3_column_name(st, i));
	while (rows < WIDTH_ROWS && (r = step_to_next_row(st, to)) == SQLITE_ROW) {
		if (array_reserve(&t.cells, &t.cap, t.n + columns, sizeof(*t.cells))) {
			r = SQLITE_NOMEM;
			goto end;
		}
		for (int i = 0; i < t.columns; i++) {
			bool is_right = is_number(st, i);
			char *s = copy_cell_text(st, i);

			if (!s) {
				r = SQLITE_NOMEM;
				goto end;
			}
			right[i] |= is_right;
			t.cells[t.n++] = s;
			t.widths[i] = MIN(MAX_WIDTH, MAX(t.widths[i], sql_output_text_width(s)));
		}
		rows++;
	}
	sql_output_put_head(st, &t, to);
	for (size_t i = 0; i < t.n; i += columns)
		put_row(t.cells + i, &t, right, to);
	while (r == SQLITE_ROW && (r = step_to_next_row(st, to)) == SQLITE_ROW)
		for (int i = 0; i < t.columns; i++) {
			_cleanup_(freep) char *s = copy_cell_text(st, i);

			if (!s) {
				r = SQLITE_NOMEM;
				break;
			}
			put_cell(s, t.widths[i], right[i], i == t.columns - 1, to);
		}
end:
	for (size_t i = 0; i < t.n; i++)
		free(t.cells[i]);
	free(t.cells);
	free(t.widths);
	free(right);
	return r;
}

/* ---- records ---- */

static int output_records(sqlite3_stmt *st, FILE *to)
{
	int columns = sqlite3_column_count(st), width = 0, r;
	unsigned long row = 0;

	for (int i = 0; i < columns; i++)
		width = MAX(width, sql_output_text_width(sqlite3_column_name(st, i)));
	while ((r = step_to_next_row(st, to)) == SQLITE_ROW) {
		fprintf(to, "-[ %lu ]-\n", ++row);
		for (int i = 0; i < columns; i++) {
			_cleanup_(freep) char *s = copy_cell_text(st, i);

			if (!s)
				return SQLITE_NOMEM;
			put_cell(sqlite3_column_name(st, i), width, false, false, to);
			fprintf(to, "%s\n", s);
		}
	}
	return r;
}

/* ---- CSV ---- */

static void put_csv(const char *s, size_t len, FILE *to)
{
	if (!memchr(s, '"', len) && !memchr(s, ',', len) && !memchr(s, '\n', len) &&
	    !memchr(s, '\r', len)) {
		fwrite(s, 1, len, to);
		return;
	}
	fputc('"', to);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			fputc('"', to);
		fputc(s[i], to);
	}
	fputc('"', to);
}

/* Returns true if text for `to` reaches a terminal. A stream in memory is printed on the standard
 * output later. */
static bool is_for_terminal(FILE *to)
{
	int fd = fileno(to);

	return isatty(fd < 0 ? STDOUT_FILENO : fd);
}

/* Returns true for text that a spreadsheet takes for a formula. */
static bool is_spreadsheet_formula(sqlite3_stmt *st, int i)
{
	const unsigned char *s =
		sqlite3_column_type(st, i) == SQLITE_TEXT ? sqlite3_column_text(st, i) : NULL;

	return s && *s && strchr("=+-@\t\r", *s);
}

struct csv_form {
	bool is_sheet; /* formulas become text: they begin with ' */
	bool is_plain; /* control characters are replaced */
};

/* Writes a value: all its bytes, or for a terminal (is_plain) without control characters. Returns
 * false if memory runs out. */
static bool put_csv_cell(sqlite3_stmt *st, int i, const struct csv_form *form, struct strbuf *copy,
			 FILE *to)
{
	bool is_null = sqlite3_column_type(st, i) == SQLITE_NULL;

	strbuf_clear(copy);
	if (form->is_sheet && is_spreadsheet_formula(st, i))
		strbuf_putc(copy, '\'');
	sql_add_text(st, i, copy);
	if (copy->failed)
		return false;
	if (copy->len && form->is_plain)
		str_make_plain(copy->s, copy->len, "\n\t");
	if (!is_null)
		put_csv(copy->len ? copy->s : "", copy->len, to);
	return true;
}

static int output_csv(sqlite3_stmt *st, bool is_sheet, FILE *to, bool *ret_some)
{
	const struct csv_form form = {.is_sheet = is_sheet, .is_plain = is_for_terminal(to)};
	int columns = sqlite3_column_count(st), r;
	struct strbuf copy = {0};

	for (int i = 0; i < columns; i++) {
		put_csv(sqlite3_column_name(st, i), strlen(sqlite3_column_name(st, i)), to);
		fputs(i == columns - 1 ? "\r\n" : ",", to);
	}
	for (; (r = step_to_next_row(st, to)) == SQLITE_ROW; *ret_some = true)
		for (int i = 0; i < columns; i++) {
			if (!put_csv_cell(st, i, &form, &copy, to)) {
				strbuf_deinit(&copy);
				return SQLITE_NOMEM;
			}
			fputs(i == columns - 1 ? "\r\n" : ",", to);
		}
	strbuf_deinit(&copy);
	return r;
}

/* ---- JSON ---- */

static void sql_output_put_json(sqlite3_stmt *st, int i, struct strbuf *b)
{
	const char *text;
	double real;

	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		strbuf_printf(b, "%lld", (long long)sqlite3_column_int64(st, i));
		break;
	case SQLITE_FLOAT:
		real = sqlite3_column_double(st, i);
		if (isfinite(real))
			strbuf_printf(b, "%.17g", real);
		else
			strbuf_puts(b, "null");
		break;
	case SQLITE_NULL:
		strbuf_puts(b, "null");
		break;
	default:
		text = (const char *)sqlite3_column_text(st, i);
		b->failed |= !text;
		if (text)
			strbuf_put_json_n(b, text, (size_t)sqlite3_column_bytes(st, i));
	}
}

/* Appends the name of a column. If an earlier column has this name, adds a number: an object has
 * each name once. */
static void put_json_name(sqlite3_stmt *st, int column, struct strbuf *b)
{
	const char *name = sqlite3_column_name(st, column);
	struct strbuf numbered = {0};
	int before = 0;

	for (int i = 0; i < column; i++)
		before += !strcmp(sqlite3_column_name(st, i), name);
	strbuf_puts(&numbered, name);
	if (before)
		strbuf_printf(&numbered, "_%d", before);
	strbuf_put_json_n(b, numbered.s ? numbered.s : "", numbered.len);
	b->failed |= numbered.failed;
	strbuf_deinit(&numbered);
}

/* Returns true for a column that is a picture for people. */
static bool is_bar_column(sqlite3_stmt *st, int column)
{
	return str_ends(sqlite3_column_name(st, column), "_bar");
}

void sql_output_put_columns(sqlite3_stmt *st, struct strbuf *b)
{
	int columns = sqlite3_column_count(st);
	bool first = true;

	strbuf_putc(b, '[');
	for (int i = 0; i < columns; i++) {
		if (is_bar_column(st, i))
			continue;
		strbuf_puts(b, first ? "" : ",");
		put_json_name(st, i, b);
		first = false;
	}
	strbuf_putc(b, ']');
}

/* Returns the columns' names with the colon, as each row has them, and a comma in front of all but
 * the first; empty for a column that is left out. NULL if memory runs out. The caller frees the
 * array and its strings. */
static struct strbuf *make_json_names(sqlite3_stmt *st, int columns, bool no_bars)
{
	struct strbuf *names = calloc((size_t)columns, sizeof(*names));
	bool first = true;

	for (int i = 0; names && i < columns; i++) {
		if (no_bars && is_bar_column(st, i))
			continue;
		strbuf_puts(&names[i], first ? "" : ",");
		put_json_name(st, i, &names[i]);
		strbuf_putc(&names[i], ':');
		first = false;
	}
	return names;
}

static int output_json(sqlite3_stmt *st, bool no_bars, FILE *to, bool *ret_some)
{
	int columns = sqlite3_column_count(st), r;
	struct strbuf b = {0}, *names = make_json_names(st, columns, no_bars);
	bool first = true;

	if (!names)
		return SQLITE_NOMEM;

	fputc('[', to);
	while ((r = step_to_next_row(st, to)) == SQLITE_ROW) {
		strbuf_clear(&b);
		strbuf_puts(&b, first ? "\n{" : ",\n{");
		for (int i = 0; i < columns; i++) {
			b.failed |= names[i].failed;
			if (!names[i].len)
				continue;
			strbuf_add(&b, names[i].s, names[i].len);
			sql_output_put_json(st, i, &b);
		}
		strbuf_putc(&b, '}');
		if (b.failed) {
			r = SQLITE_NOMEM;
			break;
		}
		fwrite(b.s, 1, b.len, to);
		first = false;
	}
	*ret_some = !first;
	fputs(first ? "]\n" : "\n]\n", to);
	for (int i = 0; i < columns; i++)
		strbuf_deinit(&names[i]);
	free(names);
	strbuf_deinit(&b);
	return r;
}

int sql_parse_csv_format(const char *value, enum sql_format *ret, struct err_text *e)
{
	if (value && strcmp(value, "sheet") != 0)
		return err_set(e, -EINVAL, "--csv=%.80s: use --csv or --csv=sheet", value);
	*ret = value ? SQL_CSV_SHEET : SQL_CSV;
	return 0;
}

int sql_output_write_and_check(sqlite3_stmt *st, enum sql_format format, FILE *to, bool *ret_some)
{
	int r;

	*ret_some = false;
	if (!sqlite3_column_count(st))
		r = sqlite3_step(st);
	else if (format == SQL_CSV || format == SQL_CSV_SHEET)
		r = output_csv(st, format == SQL_CSV_SHEET, to, ret_some);
	else if (format == SQL_JSON || format == SQL_JSON_NUMBERS)
		r = output_json(st, format == SQL_JSON_NUMBERS, to, ret_some);
	else if (format == SQL_RECORDS)
		r = output_records(st, to);
	else
		r = output_table(st, to);
	return r == SQLITE_DONE || r == SQLITE_ROW ? SQLITE_OK : r;
}

int sql_output(sqlite3_stmt *st, enum sql_format format, FILE *to)
{
	bool some;

	return sql_output_write_and_check(st, format, to, &some);
}
