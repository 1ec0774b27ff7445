/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/top/top_columns.h"

/* The columns that a terminal has room for, from left to right. */
struct top_layout {
	size_t columns[TOP_COLUMNS];
	size_t n;
};

#define NOTE_INDENT 11
#define NAME_MIN 12 /* columns for the command in a narrow terminal */

static size_t total_width(const bool chosen[static TOP_COLUMNS])
{
	size_t width = 0;

	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (chosen[i])
			width += 1 + (top_columns[i].width > 0 ? (size_t)top_columns[i].width
							       : NAME_MIN);
	return width - 1;
}

/* Returns the column of the highest rank, which is left out next; TOP_COLUMNS: none may be. */
static size_t least_important_column(const bool chosen[static TOP_COLUMNS], size_t sort)
{
	size_t worst = TOP_COLUMNS;

	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (chosen[i] && i != sort && top_columns[i].rank &&
		    (worst == TOP_COLUMNS || top_columns[i].rank >= top_columns[worst].rank))
			worst = i;
	return worst;
}

/* Chooses the columns for a terminal of width characters; 0: all. The column sort, by which the
 * rows are sorted, is always among them. */
static void top_choose_columns(struct top_layout *l, size_t sort, size_t width)
{
	bool chosen[TOP_COLUMNS];
	size_t out;

	memset(chosen, true, sizeof(chosen));
	while (width && total_width(chosen) > width &&
	       (out = least_important_column(chosen, sort)) != TOP_COLUMNS)
		chosen[out] = false;
	l->n = 0;
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (chosen[i])
			l->columns[l->n++] = i;
}

/* ---- lines about the machine ---- */

static void begin_line(struct strbuf *b, enum top_style style)
{
	strbuf_putc(b, (char)style);
}

/* Appends the parts that fit, each with two spaces in front, and ends the line. from: where its
 * text begins. width 0: not limited. */
static void put_fitting_parts(struct strbuf *b, size_t from, size_t width, const char *const *parts,
			      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!width || b->len - from + 2 + strlen(parts[i]) <= width)
			strbuf_printf(b, "  %s", parts[i]);
	strbuf_putc(b, '\n');
}

/* Appends the number of rows: "3 processes", "3 threads", "3 units". */
static void put_row_count(const struct top_view *v, const struct top_rows *rows, struct strbuf *b)
{
	const char *of = v->by_thread ? "thread" : "process";
	size_t n = rows->processes;

	if (v->selection.by != TOP_BY_PROCESS && !v->selection.tree) {
		of = top_by_name(v->selection.by);
		n = rows->n;
	}
	strbuf_printf(b, "  %zu %s%s", n, of, n == 1 ? "" : strcmp(of, "process") ? "s" : "es");
}

static void put_title(const struct top_view *v, const struct top_state *s,
		      const struct top_rows *rows, struct strbuf *b)
{
	time_t now = (time_t)(s->realtime_ns / NS_PER_S);
	struct tm local;
	char text[16];

	begin_line(b, TOP_PLAIN);
	strbuf_puts(b, "sonda top  ");
	if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
		strbuf_puts(b, text);
	put_row_count(v, rows, b);
	if (v->selection.within_by != TOP_BY_PROCESS)
		strbuf_printf(b, " of %s %.40s", top_by_name(v->selection.within_by),
			      v->selection.within);
	strbuf_printf(b, ", every %g s, by %s%s%s", v->period_s, top_columns[v->selection.sort].key,
		      v->selection.tree ? ", tree" : "", v->paused ? ", PAUSED" : "");
	strbuf_puts(b, s->has_ebpf ? "" : ", /proc only");
	if (v->is_typing || *v->selection.filter)
		strbuf_printf(b, "  filter: %s%s", v->selection.filter, v->is_typing ? "_" : "");
	strbuf_putc(b, '\n');
}

#define PART_SIZE 64

static void put_cpu(const struct live_machine *m, size_t width, struct strbuf *b)
{
	const struct {
		const char *name;
		double share;
	} times[] = {{"user", m->user},
		     {"system", m->system},
		     {"iowait", m->iowait},
		     {"irq", m->irq},
		     {"steal", m->steal}};
	char text[ARRAY_SIZE(times)][PART_SIZE];
	const char *parts[ARRAY_SIZE(times)];
	size_t from = b->len + 1;

	begin_line(b, TOP_PLAIN);
	if (!m->has_cpu) {
		strbuf_puts(b, "CPU        -\n");
		return;
	}
	strbuf_printf(b, "CPU        %.1f %% of %u CPUs",
		      (m->user + m->system + m->irq + m->steal) * 100, m->cpus);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		snprintf(text[i], PART_SIZE, "%s %.1f", times[i].name, times[i].share * 100);
		parts[i] = text[i];
	}
	put_fitting_parts(b, from, width, parts, ARRAY_SIZE(parts));
}

static const char *format_time(double ns, char buf[static 32])
{
	if (ns < 1e3)
		snprintf(buf, 32, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(buf, 32, "%.1f us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(buf, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, 32, "%.2f s", ns / 1e9);
	return buf;
}

static void put_queues(const struct live_machine *m, size_t width, struct strbuf *b)
{
	char p99[PART_SIZE], max[PART_SIZE], switches[PART_SIZE], time[32];
	size_t from = b->len + 1;

	if (!m->has_runq)
		return;
	begin_line(b, TOP_PLAIN);
	strbuf_printf(b, "run queue  %.1f waiting (max %.0f)", m->depth, m->depth_max);
	snprintf(p99, sizeof(p99), "latency p99 %s (CPU %u)", format_time(m->runq_p99_ns, time),
		 m->runq_p99_cpu);
	snprintf(max, sizeof(max), "max %s (CPU %u)", format_time(m->runq_max_ns, time),
		 m->runq_max_cpu);
	snprintf(switches, sizeof(switches), "%.0f switches/s", m->switches);
	put_fitting_parts(b, from, width, (const char *const[]){p99, max, switches}, 3);
}

static void put_memory(const struct live_machine *m, struct strbuf *b)
{
	char used[32], total[32], available[32], swap[32];

	if (!m->has_memory)
		return;
	begin_line(b, TOP_PLAIN);
	strbuf_printf(b, "memory     %s of %s used, %s available, swap %s\n",
		      str_bytes(m->memory_total - MIN(m->memory_available, m->memory_total), used),
		      str_bytes(m->memory_total, total), str_bytes(m->memory_available, available),
		      str_bytes(m->swap_total - MIN(m->swap_free, m->swap_total), swap));
}

static void put_pressure(const struct live_machine *m, struct strbuf *b)
{
	if (!m->has_pressure)
		return;
	begin_line(b, TOP_PLAIN);
	strbuf_printf(b, "pressure   cpu %.1f %%  io %.1f %%  memory %.1f %%\n",
		      m->pressure_cpu * 100, m->pressure_io * 100, m->pressure_memory * 100);
}

/* Appends "3 packets, ..." of all losses, or nothing. */
static void top_view_put_losses(const struct top_state *s, struct strbuf *b)
{
	const struct live_losses *l = live_losses(s->live);
	const struct {
		uint64_t n;
		const char *what;
	} counts[] = {
		{l->packets, "gaps between packets"},
		{l->bad_packets, "invalid packets"},
		{l->unknown_values, "values of unknown counters"},
		{l->processes, "values of processes beyond the limit"},
		{l->members, "control-group changes"},
	};
	const char *separator = "";
	char number[32];

	if (s->lost[0]) {
		strbuf_puts(b, s->lost);
		separator = ", ";
	}
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		if (!counts[i].n)
			continue;
		strbuf_printf(b, "%s%s %s", separator, str_thousands(counts[i].n, number),
			      counts[i].what);
		separator = ", ";
	}
	if (l->counters.len)
		strbuf_printf(b, "%s%s", separator, l->counters.s);
}

/* Appends each line of text as an alert, wrapped at the width. */
static void put_notes(const char *label, const char *text, size_t width, struct strbuf *b)
{
	size_t room = width > NOTE_INDENT + NAME_MIN ? width - NOTE_INDENT : 0;

	while (*text) {
		size_t n = strcspn(text, "\n"), cut = n;

		if (room && n > room) {
			for (cut = room; cut && text[cut] != ' ';)
				cut--;
			cut = cut ? cut : room;
		}
		begin_line(b, TOP_ALERT);
		strbuf_printf(b, "%-10s %.*s\n", label, (int)cut, text);
		label = text[cut] == '\n' ? label : "";
		text += cut + (text[cut] == '\n' || text[cut] == ' ');
	}
}

static void put_header(const struct top_view *v, const struct top_state *s,
		       const struct top_rows *rows, size_t width, struct strbuf *b)
{
	const struct live_machine *m = live_machine(s->live);
	struct strbuf losses = {0};

	put_title(v, s, rows, b);
	put_cpu(m, width, b);
	put_queues(m, width, b);
	put_memory(m, b);
	put_pressure(m, b);
	top_view_put_losses(s, &losses);
	begin_line(b, losses.len ? TOP_ALERT : TOP_PLAIN);
	strbuf_printf(b, "lost       %s\n", losses.len ? losses.s : "nothing");
	strbuf_deinit(&losses);
	put_notes("missing", live_ebpf_failures(s->live), width, b);
	put_notes("note", s->note, width, b);
}

/* ---- help ---- */

static const char *const key_help[] = {
	"up, down   select a row; also k and j",
	"Enter      record the selected process for 5 s, and show why it waited;",
	"           on a group: show its processes",
	"H          show threads or processes",
	"t          tree: processes under their parents or their group",
	"b          change the grouping: program, unit, container, pod, control group, none",
	"/          filter by part of the name or by process id; Esc removes the filter",
	"space      pause and continue",
	"<, >, s    sort by the column to the left or right",
	"1 to 9     sort by that column, from the left",
	"h, ?       this help",
	"q          quit",
	"",
};

size_t top_view_help_lines(void)
{
	return ARRAY_SIZE(key_help) + TOP_COLUMNS;
}

static void put_help(size_t first, size_t height, struct strbuf *b)
{
	size_t n = top_view_help_lines(), room = height && n - first > height ? height - 1 : n;

	for (size_t i = first; i < n && i < first + room; i++) {
		size_t column = i - ARRAY_SIZE(key_help);

		begin_line(b, TOP_PLAIN);
		if (i < ARRAY_SIZE(key_help))
			strbuf_printf(b, "%s\n", key_help[i]);
		else
			strbuf_printf(b, "%-10s %s\n", top_columns[column].title,
				      top_columns[column].help);
	}
	if (first + room < n) {
		begin_line(b, TOP_TITLE);
		strbuf_puts(b, "any key: the next page\n");
	}
}

bool top_view_turn_help_page(struct top_view *v, size_t height)
{
	size_t page = height > 1 ? height - 1 : 1;

	/* A line more fits on the last page, which has no hint. */
	if (top_view_help_lines() - v->help_line <= page + 1) {
		v->help = false;
		v->help_line = 0;
		return false;
	}
	v->help_line += page;
	return true;
}

/* ---- rows ---- */

/* Returns the title of a column; buf may hold it. In a list of subjects the titles of pid and name
 * say what is counted, and which kind of subject it is. */
static const char *title_of_column(const struct top_view *v, const struct top_column_spec *c,
				   char buf[static 16])
{
	const char *title = c->title;
	size_t n = 0;

	if (c->unit == TOP_PID && v->selection.by != TOP_BY_PROCESS && !v->selection.tree)
		title = v->by_thread ? "THREADS" : "PROCS";
	else if (c->unit == TOP_PID && v->by_thread)
		title = "TID";
	if (c->unit != TOP_NAME || v->selection.by == TOP_BY_PROCESS)
		return title;
	for (title = top_by_name(v->selection.by); title[n] && n < 15; n++)
		buf[n] = (char)(title[n] - 'a' + 'A');
	buf[n] = '\0';
	return buf;
}

static void put_column_titles(const struct top_view *v, const struct top_layout *layout,
			      struct strbuf *b)
{
	char buf[16];

	begin_line(b, TOP_TITLE);
	for (size_t i = 0; i < layout->n; i++) {
		const struct top_column_spec *c = &top_columns[layout->columns[i]];

		strbuf_printf(b, "%s%*s", i ? " " : "", c->width, title_of_column(v, c, buf));
	}
	strbuf_putc(b, '\n');
}

static void put_cell(const struct top_view *v, const struct top_column_spec *c,
		     const struct top_row *row, struct strbuf *b)
{
	char cell[64];

	if (c->unit == TOP_NAME) {
		strbuf_printf(b, "%*s%s", (int)(2 * row->depth), "", row->name);
		return;
	}
	if (c->unit != TOP_PID || !row->key)
		top_column_format(c, row->p, cell, sizeof(cell));
	else
		snprintf(cell, sizeof(cell), v->selection.tree ? "[%u]" : "%u", row->count);
	strbuf_printf(b, "%*s", c->width, cell);
}

static void put_row(const struct top_view *v, const struct top_layout *layout,
		    const struct top_row *row, bool selected, struct strbuf *b)
{
	size_t from;

	begin_line(b, selected ? TOP_SELECTED : TOP_PLAIN);
	from = b->len;
	for (size_t i = 0; i < layout->n; i++) {
		strbuf_puts(b, i ? " " : "");
		put_cell(v, &top_columns[layout->columns[i]], row, b);
	}
	/* Marks the row even without colours: the first column is the pid, which has room in
	 * front. */
	if (selected && !b->failed && b->s[from] == ' ')
		b->s[from] = '>';
	strbuf_putc(b, '\n');
}

/* Returns the index of the selected row, or rows->n if it is not among them. */
static size_t find_selected(const struct top_view *v, const struct top_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct top_row *row = &rows->list[i];

		if (row->key ? *v->selected_key && !strcmp(row->key, v->selected_key)
			     : v->selected && row->p->pid == v->selected)
			return i;
	}
	return rows->n;
}

/* Appends the rows that fit into `room` lines (0: not limited), moved so that the selected one is
 * among them. */
static void put_rows(const struct top_view *v, const struct top_layout *layout,
		     const struct top_rows *rows, size_t room, struct strbuf *out)
{
	size_t n = v->rows ? MIN(v->rows, rows->n) : rows->n, selected, first;

	if (room)
		n = MIN(n, room);
	selected = find_selected(v, rows);
	first = selected < rows->n && selected >= n && n ? selected - n + 1 : 0;
	for (size_t i = first; i < first + n; i++)
		put_row(v, layout, &rows->list[i], i == selected, out);
}

int top_view_lines(const struct top_view *v, const struct top_state *s, size_t width, size_t height,
		   struct strbuf *out)
{
	struct top_rows rows = {0};
	struct top_layout layout;
	size_t from = out->len, room = height;
	int r = 0;

	if (v->help) {
		put_help(v->help_line, height, out);
		return out->failed ? -ENOMEM : 0;
	}
	if (!s->live) {
		begin_line(out, TOP_PLAIN);
		strbuf_puts(out, "sonda top  waiting for the first values\n");
		put_notes("note", s->note, width, out);
		return out->failed ? -ENOMEM : 0;
	}
	r = top_rows_make(&rows, &v->selection, s->live);
	if (!r) {
		put_header(v, s, &rows, width, out);
		top_choose_columns(&layout, v->selection.sort, width);
		put_column_titles(v, &layout, out);
		for (size_t i = from; i < out->len; i++)
			room -= room && out->s[i] == '\n';
		if (!height || room)
			put_rows(v, &layout, &rows, room, out);
	}
	top_rows_free(&rows);
	return out->failed ? -ENOMEM : r;
}

static void select_row(struct top_view *v, const struct top_row *row)
{
	v->selected = row->key ? 0 : row->p->pid;
	v->selected_tgid = row->key ? 0 : row->p->tgid ? row->p->tgid : row->p->pid;
	v->selected_key[0] = '\0';
	if (row->key && strlen(row->key) < sizeof(v->selected_key))
		memcpy(v->selected_key, row->key, strlen(row->key) + 1);
}

void top_move_selection(struct top_view *v, const struct top_state *s, int n)
{
	struct top_rows rows = {0};
	ptrdiff_t at;

	if (s->live && !top_rows_make(&rows, &v->selection, s->live) && rows.n) {
		at = (ptrdiff_t)find_selected(v, &rows);
		at = at == (ptrdiff_t)rows.n ? 0 : MAX(0, MIN(at + n, (ptrdiff_t)rows.n - 1));
		select_row(v, &rows.list[at]);
	}
	top_rows_free(&rows);
}

size_t top_column_at(const struct top_view *v, size_t n, size_t width)
{
	struct top_layout layout;

	top_choose_columns(&layout, v->selection.sort, width);
	return n >= 1 && n <= layout.n ? layout.columns[n - 1] : v->selection.sort;
}

size_t top_adjacent_column(const struct top_view *v, int n, size_t width)
{
	struct top_layout layout;
	size_t at = 0;

	top_choose_columns(&layout, v->selection.sort, width);
	for (size_t i = 0; i < layout.n; i++)
		if (layout.columns[i] == v->selection.sort)
			at = i;
	if (layout.n == 0)
		return v->selection.sort;
	return layout.columns[(at + layout.n + (size_t)n) % layout.n];
}
