/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_table.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/store/stats.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/number_read.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/record_facts.h"
#include "cli/sql_output.h"
#include "cli/terminal/console.h"

#define MAX_COLUMNS 16
#define MIN_TEXT 8 /* a column of text is not cut below this */

enum unit { UNIT_NONE, UNIT_DURATION, UNIT_TIME, UNIT_SHARE, UNIT_BYTES, UNIT_VALUE, UNIT_BAR };

struct column {
	char head[32];
	enum unit unit;
	bool is_text;
	bool has_value; /* in some row */
	int width;
};

struct rows {
	struct column columns[MAX_COLUMNS];
	int n_columns;
	int shown; /* columns that the line has room for */
	int unit_column; /* names the unit of values of UNIT_VALUE, or is empty; -1: none */
	char **cells; /* owned, with the strings */
	size_t n, cap;
};

/* ---- style ---- */

static bool should_use_color(const char *when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (strcmp(when, "auto") != 0)
		return !strcmp(when, "always");
	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

struct report_style report_style_of_stdout(const char *color)
{
	struct report_style s = {.color = should_use_color(color)};
	const char *columns = getenv("COLUMNS");

	setlocale(LC_CTYPE, "");
	s.blocks = !strcmp(nl_langinfo(CODESET), "UTF-8");
	if (!isatty(STDOUT_FILENO))
		return s;
	s.width = (int)console_columns(STDOUT_FILENO);
	if (!s.width && columns)
		s.width = MAX(0, MIN((int)str_leading_i64(columns, 10), 4096));
	return s;
}

const char *report_style_bold(const struct report_style *style)
{
	return style->color ? "\033[1m" : "";
}

const char *report_style_dim(const struct report_style *style)
{
	return style->color ? "\033[2m" : "";
}

const char *report_style_plain(const struct report_style *style)
{
	return style->color ? "\033[0m" : "";
}

const char *report_style_blocks(const struct report_style *style)
{
	return style->blocks ? "▁▂▃▄▅▆▇█" : ".:-=+*%#";
}

/* Returns true for a byte that begins a character of UTF-8. */
static bool is_first_byte_of_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

int report_text_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += is_first_byte_of_character(*text);
	return n;
}

/* ---- cells ---- */

/* Splits a column's name into the head that is printed, cut to size, and the unit. */
static enum unit split_column_name(const char *name, char *head, size_t size)
{
	static const struct {
		const char *end;
		enum unit unit;
	} ends[] = {{"_ns", UNIT_DURATION}, {"_ts", UNIT_TIME},	    {"_pct", UNIT_SHARE},
		    {"_bytes", UNIT_BYTES}, {"_value", UNIT_VALUE}, {"_bar", UNIT_BAR}};
	enum unit unit = UNIT_NONE;

	snprintf(head, size, "%s", name);
	for (size_t e = 0; e < ARRAY_SIZE(ends) && unit == UNIT_NONE; e++)
		if (str_ends(head, ends[e].end)) {
			unit = ends[e].unit;
			head[strlen(head) - strlen(ends[e].end)] = '\0';
		}
	for (char *p = head; *p; p++)
		if (*p == '_')
			*p = ' ';
	return unit;
}

static void read_column_heads(sqlite3_stmt *st, struct rows *r)
{
	r->n_columns = MIN(sqlite3_column_count(st), MAX_COLUMNS);
	r->unit_column = -1;
	for (int i = 0; i < r->n_columns; i++) {
		struct column *c = &r->columns[i];

		c->unit = split_column_name(sqlite3_column_name(st, i), c->head,
					    sizeof(c->head) - strlen(" %"));
		if (!strcmp(c->head, "unit"))
			r->unit_column = i;
		if (c->unit == UNIT_SHARE)
			strcat(c->head, " %");
		c->width = report_text_width(c->head);
	}
}

/* Formats a duration with three digits and a unit: 1.23 ms. */
static void format_duration(double ns, char *buf, size_t size)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double v = ns;
	unsigned u = 0;

	for (; fabs(v) >= 999.5 && u < 3; u++)
		v /= 1000;
	snprintf(buf, size, "%.*f %s",
		 u == 0		    ? 0
		 : fabs(v) >= 99.95 ? 0
		 : fabs(v) >= 9.995 ? 1
				    : 2,
		 v, units[u]);
}

static void format_bytes(double v, char *buf, size_t size)
{
	char text[32];

	snprintf(buf, size, "%s%s", v < 0 ? "-" : "", str_bytes((uint64_t)fabs(v), text));
}

/* Writes a number: whole numbers, and others from 10000 up (rounded), with thousands separators;
 * the rest, and those from 9e15 up, with four significant digits. */
static void format_number(double v, char *buf, size_t size)
{
	char text[32];

	if (fabs(v) < 9e15 && (v == floor(v) || fabs(v) >= 10000))
		snprintf(buf, size, "%s%s", v < 0 ? "-" : "",
			 str_thousands((uint64_t)fabs(round(v)), text));
	else
		snprintf(buf, size, "%.4g", v);
}

void report_format_value(double v, const char *unit, char *buf, size_t size)
{
	if (unit && !strcmp(unit, "ns"))
		format_duration(v, buf, size);
	else if (unit && !strcmp(unit, "bytes"))
		format_bytes(v, buf, size);
	else
		format_number(v, buf, size);
}

static void format_cell(sqlite3_stmt *st, int i, const struct rows *rows, int64_t start_ts,
			char *buf, size_t size)
{
	double v = sqlite3_column_double(st, i);

	switch (rows->columns[i].unit) {
	case UNIT_DURATION:
		format_duration(v, buf, size);
		break;
	case UNIT_TIME:
		snprintf(buf, size, "%.6f s",
			 (double)(sqlite3_column_int64(st, i) - start_ts) / 1e9);
		break;
	case UNIT_SHARE:
		snprintf(buf, size, "%.1f", v);
		break;
	case UNIT_BYTES:
		format_bytes(v, buf, size);
		break;
	case UNIT_VALUE:
		report_format_value(v,
				    rows->unit_column < 0 ? NULL
							  : (const char *)sqlite3_column_text(
								    st, rows->unit_column),
				    buf, size);
		break;
	default:
		if (sqlite3_column_type(st, i) == SQLITE_FLOAT)
			format_number(v, buf, size);
		break;
	}
}

/* Returns true for the units that report_format_value() writes behind the value. */
static bool is_unit_in_value(const char *unit)
{
	return unit && (!strcmp(unit, "ns") || !strcmp(unit, "bytes"));
}

static char *format_cell_text(sqlite3_stmt *st, int i, const struct rows *rows, int64_t start_ts)
{
	int type = sqlite3_column_type(st, i);
	struct strbuf b = {0};
	char buf[64] = "";

	if (i == rows->unit_column && is_unit_in_value((const char *)sqlite3_column_text(st, i)))
		return strdup("");
	if (type == SQLITE_NULL)
		strbuf_puts(&b, "-");
	else if (type != SQLITE_TEXT)
		format_cell(st, i, rows, start_ts, buf, sizeof(buf));
	if (type != SQLITE_NULL && !buf[0])
		sql_add_text(st, i, &b);
	strbuf_puts(&b, buf);
	if (b.s)
		str_make_plain(b.s, b.len, "");
	return strbuf_take(&b);
}

void report_table_put_value(sqlite3_stmt *st, int column, const struct report_style *style,
			    struct strbuf *b)
{
	struct rows rows;
	char *text;

	read_column_heads(st, &rows);
	text = column < rows.n_columns ? format_cell_text(st, column, &rows, style->start_ts)
				       : NULL;
	strbuf_puts(b, text ? text : "");
	free(text);
}

void report_table_put_number(const char *column, double v, struct strbuf *b)
{
	char head[64], buf[64];

	switch (split_column_name(column, head, sizeof(head))) {
	case UNIT_DURATION:
		format_duration(v, buf, sizeof(buf));
		break;
	case UNIT_SHARE:
		snprintf(buf, sizeof(buf), "%g %%", v);
		break;
	case UNIT_BYTES:
		format_bytes(v, buf, sizeof(buf));
		break;
	default:
		format_number(v, buf, sizeof(buf));
		break;
	}
	strbuf_printf(b, "%s %s", head, buf);
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
			char *s = format_cell_text(st, i, rows, style->start_ts);

			if (!s)
				return SQLITE_NOMEM;
			c->is_text |= sqlite3_column_type(st, i) == SQLITE_TEXT;
			c->has_value |= sqlite3_column_type(st, i) != SQLITE_NULL;
			c->width = MAX(c->width, report_text_width(s));
			rows->cells[rows->n++] = s;
		}
	}
	return r;
}

static void drop_column(struct rows *rows, int column)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (i % (size_t)rows->n_columns == (size_t)column)
			free(rows->cells[i]);
		else
			rows->cells[n++] = rows->cells[i];
	rows->n = n;
	rows->n_columns--;
	memmove(&rows->columns[column], &rows->columns[column + 1],
		(size_t)(rows->n_columns - column) * sizeof(*rows->columns));
}

static bool is_column_empty(const struct rows *rows, int column)
{
	for (size_t i = (size_t)column; i < rows->n; i += (size_t)rows->n_columns)
		if (rows->cells[i][0] && strcmp(rows->cells[i], "-") != 0)
			return false;
	return true;
}

/* Drops the columns that only programs need: the unit, if all values include theirs, and the depth
 * of a row in a tree, which its indentation shows. */
static void drop_columns_of_programs(struct rows *rows)
{
	for (int i = rows->n_columns; i-- > 0;)
		if (!strcmp(rows->columns[i].head, "depth") ||
		    (i == rows->unit_column && is_column_empty(rows, i)))
			drop_column(rows, i);
}

/* ---- lines ---- */

static int line_width(const struct rows *rows)
{
	int total = 2 * (rows->n_columns - 1);

	for (int i = 0; i < rows->n_columns; i++)
		total += rows->columns[i].width;
	return total;
}

/* Removes the columns that have no value in any row. */
static void remove_empty_columns(struct rows *rows)
{
	int kept = 0;
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		if (rows->columns[i % (size_t)rows->n_columns].has_value)
			rows->cells[n++] = rows->cells[i];
		else
			free(rows->cells[i]);
	}
	rows->n = n;
	for (int i = 0; i < rows->n_columns; i++)
		if (rows->columns[i].has_value)
			rows->columns[kept++] = rows->columns[i];
	rows->n_columns = kept;
}

/* Makes the line fit into width (0: any): removes empty columns, narrows the widest columns of
 * text, then leaves out columns at the end of the line. */
static void shrink_columns_to_width(struct rows *rows, int width)
{
	int total;

	if (width && line_width(rows) > width)
		remove_empty_columns(rows);
	total = line_width(rows);
	rows->shown = rows->n_columns;
	while (width && total > width) {
		struct column *widest = NULL;

		for (int i = 0; i < rows->n_columns; i++) {
			struct column *c = &rows->columns[i];

			if (c->is_text && c->unit != UNIT_BAR && c->width > MIN_TEXT &&
			    (!widest || c->width > widest->width))
				widest = c;
		}
		if (!widest)
			break;
		widest->width--;
		total--;
	}
	for (; width && total + 2 * (rows->shown < rows->n_columns) > width && rows->shown > 1;
	     rows->shown--)
		total -= rows->columns[rows->shown - 1].width + 2;
}

/* Prints a cell, padded to the width of its column. Text that is longer is cut and ends in a
 * dot. */
static void put_cell_in_width(const char *s, const struct column *c, bool last, FILE *to)
{
	int n = report_text_width(s), pad = MAX(0, c->width - n);

	if (!c->is_text) {
		fprintf(to, "%*s%s", pad, "", s);
	} else if (n <= c->width) {
		fprintf(to, "%s%*s", s, last ? 0 : pad, "");
	} else {
		const char *end = s;

		for (int left = c->width - 1; left > 0 || !is_first_byte_of_character(*end); end++)
			if (is_first_byte_of_character(*end) && left-- == 0)
				break;
		fprintf(to, "%.*s.", (int)(end - s), s);
	}
}

static void put_line(char *const *cells, const struct rows *rows, const struct report_style *style,
		     FILE *to)
{
	for (int i = 0; i < rows->shown; i++) {
		bool is_bar = rows->columns[i].unit == UNIT_BAR && style->color;

		fputs(is_bar ? "\033[36m" : "", to);
		put_cell_in_width(cells[i], &rows->columns[i], i == rows->shown - 1, to);
		fputs(is_bar ? "\033[0m" : "", to);
		fputs(i == rows->shown - 1 ? "\n" : "  ", to);
	}
}

static void put_column_heads(const struct rows *rows, const struct report_style *style, FILE *to)
{
	fputs(report_style_dim(style), to);
	for (int i = 0; i < rows->shown; i++) {
		bool last = i == rows->shown - 1;

		put_cell_in_width(rows->columns[i].head, &rows->columns[i], last, to);
		fputs(!last ? "  " : rows->shown < rows->n_columns ? " +" : "", to);
	}
	fprintf(to, "%s\n", report_style_plain(style));
}

int report_table_print(sqlite3_stmt *st, const struct report_style *style, FILE *to)
{
	struct rows rows = {.n = 0};
	int r, n;

	read_column_heads(st, &rows);
	r = read_rows(st, style, &rows);
	n = rows.n_columns ? (int)(rows.n / (size_t)rows.n_columns) : 0;
	if (r == SQLITE_DONE && n > 0) {
		drop_columns_of_programs(&rows);
		shrink_columns_to_width(&rows, style->width);
		put_column_heads(&rows, style, to);
		for (int i = 0; i < n && i < style->top; i++)
			put_line(&rows.cells[(size_t)i * (size_t)rows.n_columns], &rows, style, to);
		if (n > style->top)
			fprintf(to, "%s... and more: --top N%s\n", report_style_dim(style),
				report_style_plain(style));
	}
	for (size_t i = 0; i < rows.n; i++)
		free(rows.cells[i]);
	free(rows.cells);
	return r == SQLITE_DONE ? n : -1;
}

/* ---- what was lost ---- */

/* Returns true for a statistic that counts events which a ring lost. */
static bool is_ring_count(uint32_t stat)
{
	return stat == STAT_FTRACE_CPU_OVERRUN_DELTA ||
	       stat == STAT_FTRACE_CPU_COMMIT_OVERRUN_DELTA ||
	       stat == STAT_FTRACE_CPU_DROPPED_EVENTS_DELTA;
}

/* Returns true for a statistic of other losses, whose number of events is unknown. */
static bool is_other_loss(uint32_t stat)
{
	switch (stat) {
	case STAT_TRACED_BUF_CHUNKS_DISCARDED:
	case STAT_TRACED_BUF_PATCHES_FAILED:
	case STAT_TRACED_BUF_TRACE_WRITER_PACKET_LOSS:
	case STAT_TRACED_BUF_ABI_VIOLATIONS:
	case STAT_TRACED_BUF_SEQUENCE_PACKET_LOSS:
	case STAT_TRACED_FINAL_FLUSH_FAILED:
	case STAT_FTRACE_KPROBE_MISSES_DELTA:
	case STAT_PERF_CPU_LOST_RECORDS:
	case STAT_PERF_SAMPLES_SKIPPED_DATALOSS:
		return true;
	default:
		return false;
	}
}

struct losses_config {
	size_t rings; /* linux.ftrace data sources: each has a ring for each CPU */
	bool wraps; /* the buffers are meant to wrap */
	bool rings_wrap; /* the kernel's rings are, too */
};

static struct losses_config read_losses_config(const Pb__TraceConfig *c)
{
	struct losses_config ret = {.rings = 0};

	for (size_t i = 0; c && i < c->n_data_sources; i++) {
		const Pb__FtraceConfig *f = config_source_ftrace(c->data_sources[i]);

		ret.rings += f != NULL;
		ret.rings_wrap |= f && f->read_on_flush_only;
	}
	ret.wraps = c && config_triggers_end_ring(c);
	return ret;
}

static void add_stats(const struct store *s, const struct losses_config *c,
		      struct report_losses *ret)
{
	const struct table *t = &s->tables[TABLE_STATS];
	bool some = false;

	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t stat = table_u32(t, STATS_KEY, row);
		int64_t value = table_i64(t, STATS_VALUE, row);

		if (value <= 0)
			continue;
		if (is_ring_count(stat) &&
		    !(c->rings_wrap && stat == STAT_FTRACE_CPU_OVERRUN_DELTA))
			ret->events += (uint64_t)value;
		some |= stat == STAT_FTRACE_CPU_HAS_DATA_LOSS;
		ret->more |= is_other_loss(stat) ||
			     (stat == STAT_TRACED_BUF_BYTES_OVERWRITTEN && !c->wraps);
	}
	ret->more |= some && !ret->events;
}

void report_losses_find(const struct trace_tables *tables, const char *file,
			struct report_losses *ret)
{
	struct losses_config c = read_losses_config(tables->config);

	*ret = (struct report_losses){.more = tables->result.cut_off};
	add_stats(&tables->store, &c, ret);
	/* The statistics are by CPU: if a CPU has several rings, they count the losses of the last
	 * one only. */
	if (ret->events && (c.rings > 1 || tables->store.tables[TABLE_MACHINE].rows > 1)) {
		ret->events = 0;
		ret->more = true;
	}
	strbuf_puts(&ret->see, file ? "sonda info " : "sonda info");
	if (file)
		strbuf_put_word(&ret->see, strcmp(file, "-") != 0 ? file : "FILE");
}

void report_losses_deinit(struct report_losses *l)
{
	strbuf_deinit(&l->see);
}

bool report_losses_any(const struct report_losses *l)
{
	return l->events || l->more;
}

/* ---- output ---- */

/* Returns buf, or a constant: "7 events", "at least 7 events", "some events". */
static const char *format_events(const struct report_losses *l, char buf[static 64])
{
	char number[32];

	if (!l->events)
		return "some events";
	snprintf(buf, 64, "%s%s event%s", l->more ? "at least " : "",
		 str_thousands(l->events, number), l->events == 1 ? "" : "s");
	return buf;
}

void report_losses_print(const struct report_losses *l, const struct report_style *style, FILE *to)
{
	char buf[64];

	if (report_losses_any(l))
		fprintf(to, "%sLost%s: %s are missing from this report   %s(%s)%s\n\n",
			report_style_bold(style), report_style_plain(style), format_events(l, buf),
			report_style_dim(style), l->see.s ? l->see.s : "",
			report_style_plain(style));
}

void report_losses_warn(const struct report_losses *l)
{
	char buf[64];

	if (report_losses_any(l))
		log_warn("the trace lost %s, which are missing from the report; see %s",
			 format_events(l, buf), l->see.s ? l->see.s : "sonda info");
}

int report_losses_json(const struct report_losses *l, sqlite3 *db, FILE *to)
{
	sqlite3_stmt *st;
	int r = sqlite3_prepare_v2(db, "SELECT nullif(?, 0) AS events, ? AS more, ? AS see", -1,
				   &st, NULL);

	if (r != SQLITE_OK)
		return r;
	sqlite3_bind_int64(st, 1, (int64_t)MIN(l->events, (uint64_t)INT64_MAX));
	sqlite3_bind_int(st, 2, l->more);
	sqlite3_bind_text(st, 3, l->see.s ? l->see.s : "", -1, SQLITE_STATIC);
	r = sql_output(st, SQL_JSON, to);
	sqlite3_finalize(st);
	return r;
}
