/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define MAX_COLUMNS 16
#define MIN_TEXT 8 /* a column of text is not cut below this */

enum unit { UNIT_NONE, UNIT_DURATION, UNIT_TIME, UNIT_SHARE };

struct column {
	char head[32];
	enum unit unit;
	bool is_text;
	int width;
};

struct rows {
	struct column columns[MAX_COLUMNS];
	int n_columns;
	char **cells; /* owned, with the strings */
	size_t n, cap;
};

struct report_style report_style_of(FILE *to)
{
	struct report_style s = {.width = 0};
	const char *columns = getenv("COLUMNS");
	struct winsize w;

	if (!isatty(fileno(to)))
		return s;
	s.bold = !(getenv("NO_COLOR") && *getenv("NO_COLOR"));
	if (ioctl(fileno(to), TIOCGWINSZ, &w) == 0 && w.ws_col)
		s.width = w.ws_col;
	else if (columns)
		s.width = atoi(columns);
	return s;
}

/* Columns on a terminal: characters of UTF-8. */
static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void read_heads(sqlite3_stmt *st, struct rows *r)
{
	static const struct {
		const char *end;
		enum unit unit;
	} ends[] = {{"_ns", UNIT_DURATION}, {"_ts", UNIT_TIME}, {"_pct", UNIT_SHARE}};

	r->n_columns = MIN(sqlite3_column_count(st), MAX_COLUMNS);
	for (int i = 0; i < r->n_columns; i++) {
		struct column *c = &r->columns[i];
		size_t len;

		snprintf(c->head, sizeof(c->head) - strlen(" %"), "%s", sqlite3_column_name(st, i));
		len = strlen(c->head);
		for (size_t e = 0; e < ARRAY_SIZE(ends); e++) {
			size_t end = strlen(ends[e].end);

			if (len > end && !strcmp(c->head + len - end, ends[e].end)) {
				c->unit = ends[e].unit;
				c->head[len - end] = '\0';
			}
		}
		if (c->unit == UNIT_SHARE)
			strcat(c->head, " %");
		for (char *p = c->head; *p; p++)
			if (*p == '_')
				*p = ' ';
		c->width = width_of(c->head);
	}
}

/* Three digits and a unit: 1.23 ms. */
static void format_duration(int64_t ns, char *buf, size_t size)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double v = (double)ns;
	unsigned u = 0;

	for (; v >= 999.5 && u < 3; u++)
		v /= 1000;
	snprintf(buf, size, "%.*f %s", u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, units[u]);
}

static char *cell(sqlite3_stmt *st, int i, const struct column *c, int64_t start_ts)
{
	int type = sqlite3_column_type(st, i);
	char buf[64] = "";
	struct strbuf b = {0};

	if (type == SQLITE_NULL) {
		strbuf_puts(&b, "-");
	} else if (c->unit == UNIT_DURATION) {
		format_duration(sqlite3_column_int64(st, i), buf, sizeof(buf));
	} else if (c->unit == UNIT_TIME) {
		snprintf(buf, sizeof(buf), "%.6f s",
			 (double)(sqlite3_column_int64(st, i) - start_ts) / 1e9);
	} else if (c->unit == UNIT_SHARE) {
		snprintf(buf, sizeof(buf), "%.1f", sqlite3_column_double(st, i));
	} else {
		strbuf_add(&b, sqlite3_column_text(st, i), (size_t)sqlite3_column_bytes(st, i));
	}
	strbuf_puts(&b, buf);
	if (b.s)
		str_make_plain(b.s, b.len, "");
	return strbuf_take(&b);
}

static int read_rows(sqlite3_stmt *st, const struct report_style *style, struct rows *rows)
{
	int r;

	while ((r = sqlite3_step(st)) == SQLITE_ROW) {
		if (array_reserve(&rows->cells, &rows->cap, rows->n + MAX_COLUMNS,
				  sizeof(*rows->cells)))
			return SQLITE_NOMEM;
		for (int i = 0; i < rows->n_columns; i++) {
			struct column *c = &rows->columns[i];
			char *s = cell(st, i, c, style->start_ts);

			if (!s)
				return SQLITE_NOMEM;
			c->is_text |= sqlite3_column_type(st, i) == SQLITE_TEXT;
			c->width = MAX(c->width, width_of(s));
			rows->cells[rows->n++] = s;
		}
	}
	return r;
}

/* Takes what a line has too much from the widest columns of text. */
static void fit(struct rows *rows, int width)
{
	int total = 2 * (rows->n_columns - 1);

	for (int i = 0; i < rows->n_columns; i++)
		total += rows->columns[i].width;
	while (width && total > width) {
		struct column *widest = NULL;

		for (int i = 0; i < rows->n_columns; i++) {
			struct column *c = &rows->columns[i];

			if (c->is_text && c->width > MIN_TEXT &&
			    (!widest || c->width > widest->width))
				widest = c;
		}
		if (!widest)
			return;
		widest->width--;
		total--;
	}
}

/* Prints a cell in its width; text that is longer ends in a dot. */
static void put_cell(const char *s, const struct column *c, bool last, FILE *to)
{
	int n = width_of(s), pad = MAX(0, c->width - n);

	if (!c->is_text) {
		fprintf(to, "%*s%s", pad, "", s);
	} else if (n <= c->width) {
		fprintf(to, "%s%*s", s, last ? 0 : pad, "");
	} else {
		const char *end = s;

		for (int left = c->width - 1; left > 0 || ((unsigned char)*end & 0xc0) == 0x80;
		     end++)
			if (((unsigned char)*end & 0xc0) != 0x80 && left-- == 0)
				break;
		fprintf(to, "%.*s.", (int)(end - s), s);
	}
	fputs(last ? "\n" : "  ", to);
}

static void print(const struct rows *rows, const struct report_style *style, FILE *to)
{
	fputs(style->bold ? "\033[2m" : "", to);
	for (int i = 0; i < rows->n_columns; i++)
		put_cell(rows->columns[i].head, &rows->columns[i], i == rows->n_columns - 1, to);
	fputs(style->bold ? "\033[0m" : "", to);
	for (size_t at = 0; at + (size_t)rows->n_columns <= rows->n; at += (size_t)rows->n_columns)
		for (int i = 0; i < rows->n_columns; i++)
			put_cell(rows->cells[at + (size_t)i], &rows->columns[i],
				 i == rows->n_columns - 1, to);
}

int report_table_print(sqlite3_stmt *st, const struct report_style *style, FILE *to)
{
	struct rows rows = {.n = 0};
	int r, n;

	read_heads(st, &rows);
	r = read_rows(st, style, &rows);
	n = rows.n_columns ? (int)(rows.n / (size_t)rows.n_columns) : 0;
	if (r == SQLITE_DONE && n > 0) {
		fit(&rows, style->width);
		print(&rows, style, to);
	}
	for (size_t i = 0; i < rows.n; i++)
		free(rows.cells[i]);
	free(rows.cells);
	return r == SQLITE_DONE ? n : -1;
}
