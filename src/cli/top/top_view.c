/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"

/* The columns of sonda top. To add one, add an element to top_columns[] and raise TOP_COLUMNS. */

enum top_unit {
	TOP_PERCENT, /* of one CPU: ns per second */
	TOP_COUNT, /* per second */
	TOP_BYTES, /* per second */
	TOP_RSS,
	TOP_PID,
	TOP_NAME,
};

struct top_column_spec {
	const char *key; /* of -s */
	const char *title;
	int width; /* characters; negative: aligned to the left */
	unsigned rank; /* the highest is left out first if the terminal is narrow; 0: never */
	enum top_unit unit;
	enum live_metric metric; /* if the unit is TOP_PERCENT, TOP_COUNT or TOP_BYTES */
	const char *json; /* name of the total since the beginning; NULL: none */
	const char *json_rate; /* name of the rate, or of the value */
	const char *help;
};

#define TOP_COLUMNS 12

/* The columns that a terminal has room for, from left to right. */
struct top_layout {
	size_t columns[TOP_COLUMNS];
	size_t n;
};

#define NAME_MIN 12 /* columns for the command in a narrow terminal */

static const struct top_column_spec top_columns[TOP_COLUMNS] = {
	{"pid", "PID", 7, 0, TOP_PID, 0, NULL, "pid", "number of the process"},
	{"cpu", "%CPU", 6, 0, TOP_PERCENT, LIVE_CPU, "cpu_ns", "cpu_percent",
	 "time on a CPU; 100 is one whole CPU"},
	{"runq", "%RUNQ", 6, 1, TOP_PERCENT, LIVE_RUNQ, "runq_ns", "runq_percent",
	 "time ready to run without a CPU, the sum of its threads"},
	{"block", "%BLOCK", 6, 4, TOP_PERCENT, LIVE_BLOCKED, "blocked_ns", "blocked_percent",
	 "time blocked (D), most often in I/O, the sum of its threads"},
	{"sleep", "%SLEEP", 7, 9, TOP_PERCENT, LIVE_SLEEP, "sleep_ns", "sleep_percent",
	 "time asleep (S), the sum of its threads"},
	{"syscalls", "SYSC/s", 7, 2, TOP_COUNT, LIVE_SYSCALLS, "syscalls", "syscalls_per_s",
	 "system calls that returned"},
	{"systime", "%SYSC", 6, 8, TOP_PERCENT, LIVE_SYSCALL_TIME, "syscall_ns", "syscall_percent",
	 "time in system calls, also waiting in them"},
	{"errors", "ERR/s", 6, 7, TOP_COUNT, LIVE_SYSCALL_ERRORS, "syscall_errors",
	 "syscall_errors_per_s", "system calls that returned an error"},
	{"read", "READ/s", 7, 3, TOP_BYTES, LIVE_READ, "read_bytes", "read_bytes_per_s",
	 "bytes that it made the kernel read from storage"},
	{"write", "WRITE/s", 7, 3, TOP_BYTES, LIVE_WRITTEN, "written_bytes", "written_bytes_per_s",
	 "bytes that it will make the kernel write to storage"},
	{"rss", "RSS", 7, 5, TOP_RSS, 0, NULL, "rss_bytes", "memory in RAM"},
	{"command", "COMMAND", -1, 0, TOP_NAME, 0, NULL, "name", "the program"},
};

int top_find_column(const char *key)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (!strcmp(key, top_columns[i].key))
			return (int)i;
	return -1;
}

void top_keys(struct strbuf *out)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "", top_columns[i].key);
}

static size_t total_width(const bool chosen[static TOP_COLUMNS])
{
	size_t width = 0;

	for (size_t i = 0; i < TOP_COLUMNS; i++)
		if (chosen[i])
			width += 1 + (top_columns[i].width > 0 ? (size_t)top_columns[i].width
							       : NAME_MIN);
	return width - 1;
}

/* Returns the column to leave out next; TOP_COLUMNS: none. */
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

static void put_count(double v, char *buf, size_t size)
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	for (; v >= 99999.5 && unit + 2 < sizeof(units); unit++)
		v /= 1000;
	if (unit)
		snprintf(buf, size, "%.0f%c", v, units[unit]);
	else
		snprintf(buf, size, v > 0 && v < 9.95 ? "%.1f" : "%.0f", v);
}

static void put_bytes(double v, char *buf, size_t size)
{
	static const char units[] = "BKMGTP";
	size_t unit = 0;

	for (; v >= 1023.5 && unit + 2 < sizeof(units); unit++)
		v /= 1024;
	snprintf(buf, size, unit && v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[unit]);
}

/* The name of the file of a program that was started by its path; threads of the kernel such as
 * kworker/0:1 have no path. */
static const char *base_name(const char *name)
{
	const char *slash = *name == '/' || str_starts(name, "./") ? strrchr(name, '/') : NULL;

	return slash && slash[1] ? slash + 1 : name;
}

/* Writes the value of a process as the column shows it; "-" if it is unknown. */
static void top_format_cell(const struct top_column_spec *c, const struct live_process *p,
			    char *buf, size_t size)
{
	const struct live_value *v = &p->values[c->metric];

	snprintf(buf, size, "-");
	if (c->unit == TOP_PID)
		snprintf(buf, size, "%d", p->pid);
	else if (c->unit == TOP_NAME)
		snprintf(buf, size, "%s", p->name[0] ? base_name(p->name) : "(unknown)");
	else if (c->unit == TOP_RSS && p->has_rss)
		put_bytes((double)p->rss, buf, size);
	else if (c->unit == TOP_PERCENT && v->has_rate)
		snprintf(buf, size, "%.1f", v->rate / 1e7);
	else if (c->unit == TOP_COUNT && v->has_rate)
		put_count(v->rate, buf, size);
	else if (c->unit == TOP_BYTES && v->has_rate)
		put_bytes(v->rate, buf, size);
}

static double sort_value(const struct top_column_spec *c, const struct live_process *p)
{
	if (c->unit == TOP_RSS)
		return p->has_rss ? (double)p->rss : -1;
	return p->values[c->metric].has_rate ? p->values[c->metric].rate : -1;
}

/* Compares two processes for qsort: the largest first, names and pids in ascending order. */
static int top_compare(const struct top_column_spec *c, const struct live_process *a,
		       const struct live_process *b)
{
	int by_pid = a->pid < b->pid ? -1 : a->pid > b->pid;
	double x, y;
	int d;

	if (c->unit == TOP_PID)
		return by_pid;
	if (c->unit == TOP_NAME) {
		d = strcmp(a->name, b->name);
		return d ? d : by_pid;
	}
	x = sort_value(c, a);
	y = sort_value(c, b);
	return x > y ? -1 : x < y ? 1 : by_pid;
}

/* ---- the processes ---- */

/* The processes of a screen, sorted. */
struct top_rows {
	const struct live_process **list; /* owned; what it points to is borrowed from live */
	size_t n, cap;
};

struct collection {
	struct top_rows *rows;
	const struct top_selection *selection;
	bool failed;
};

static bool is_chosen(const struct top_selection *s, const struct live_process *p)
{
	bool chosen = !s->n_pids;
	char pid[16];

	for (size_t i = 0; i < s->n_pids; i++)
		chosen |= s->pids[i] == (uint32_t)p->pid;
	snprintf(pid, sizeof(pid), "%d", p->pid);
	return chosen && (!*s->filter || strcasestr(p->name, s->filter) || !strcmp(pid, s->filter));
}

static void top_rows_add(void *ctx, const struct live_process *p)
{
	struct collection *c = ctx;
	struct top_rows *r = c->rows;

	if (!is_chosen(c->selection, p))
		return;
	if (array_reserve(&r->list, &r->cap, r->n + 1, sizeof(*r->list)) < 0) {
		c->failed = true;
		return;
	}
	r->list[r->n++] = p;
}

static int top_rows_compare(const void *a, const void *b, void *column)
{
	return top_compare(column, *(const struct live_process *const *)a,
			   *(const struct live_process *const *)b);
}

/* Collects the selected processes and sorts them. Returns 0 or -ENOMEM. */
static int top_rows_sort(struct top_rows *r, const struct top_selection *s, const struct live *live)
{
	struct collection c = {.rows = r, .selection = s};

	live_each_process(live, top_rows_add, &c);
	if (r->n)
		qsort_r(r->list, r->n, sizeof(*r->list), top_rows_compare,
			(void *)&top_columns[s->sort]);
	return c.failed ? -ENOMEM : 0;
}

/* ---- lines about the machine ---- */

static void begin_line(struct strbuf *b, enum top_style style)
{
	strbuf_putc(b, (char)style);
}

static void put_title(const struct top_view *v, const struct top_state *s, size_t processes,
		      struct strbuf *b)
{
	time_t now = (time_t)(s->realtime_ns / NS_PER_S);
	struct tm local;
	char text[16];

	begin_line(b, TOP_PLAIN);
	strbuf_puts(b, "sonda top  ");
	if (localtime_r(&now, &local) && strftime(text, sizeof(text), "%H:%M:%S", &local))
		strbuf_puts(b, text);
	strbuf_printf(b, "  %zu processes, every %g s, by %s%s", processes, v->period_s,
		      top_columns[v->selection.sort].key, v->paused ? ", PAUSED" : "");
	strbuf_puts(b, s->has_ebpf ? "" : ", /proc only");
	if (v->is_typing || *v->selection.filter)
		strbuf_printf(b, "  filter: %s%s", v->selection.filter, v->is_typing ? "_" : "");
	strbuf_putc(b, '\n');
}

static void put_cpu(const struct live_machine *m, struct strbuf *b)
{
	begin_line(b, TOP_PLAIN);
	if (!m->has_cpu) {
		strbuf_puts(b, "CPU        -\n");
		return;
	}
	strbuf_printf(
		b,
		"CPU        %.1f %% of %u CPUs  user %.1f  system %.1f  irq %.1f  iowait %.1f  "
		"steal %.1f\n",
		(m->user + m->system + m->irq + m->steal) * 100, m->cpus, m->user * 100,
		m->system * 100, m->irq * 100, m->iowait * 100, m->steal * 100);
}

static void top_view_put_time(double ns, struct strbuf *b)
{
	if (ns < 1e3)
		strbuf_printf(b, "%.0f ns", ns);
	else if (ns < 1e6)
		strbuf_printf(b, "%.1f us", ns / 1e3);
	else if (ns < 1e9)
		strbuf_printf(b, "%.1f ms", ns / 1e6);
	else
		strbuf_printf(b, "%.2f s", ns / 1e9);
}

static void put_queues(const struct live_machine *m, struct strbuf *b)
{
	if (!m->has_runq)
		return;
	begin_line(b, TOP_PLAIN);
	strbuf_printf(b, "run queue  %.1f waiting (max %.0f)  latency p99 ", m->depth,
		      m->depth_max);
	top_view_put_time(m->runq_p99_ns, b);
	strbuf_printf(b, " (CPU %u)  max ", m->runq_p99_cpu);
	top_view_put_time(m->runq_max_ns, b);
	strbuf_printf(b, " (CPU %u)  %.0f switches/s\n", m->runq_max_cpu, m->switches);
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

/* Appends each line of text as an alert. */
static void put_notes(const char *label, const char *text, struct strbuf *b)
{
	for (const char *end; *text; text = end) {
		end = strchrnul(text, '\n');
		begin_line(b, TOP_ALERT);
		strbuf_printf(b, "%-10s %.*s\n", label, (int)(end - text), text);
		end += *end == '\n';
	}
}

static void put_header(const struct top_view *v, const struct top_state *s, size_t processes,
		       struct strbuf *b)
{
	const struct live_machine *m = live_machine(s->live);
	struct strbuf losses = {0};

	put_title(v, s, processes, b);
	put_cpu(m, b);
	put_queues(m, b);
	put_memory(m, b);
	put_pressure(m, b);
	top_view_put_losses(s, &losses);
	begin_line(b, losses.len ? TOP_ALERT : TOP_PLAIN);
	strbuf_printf(b, "lost       %s\n", losses.len ? losses.s : "nothing");
	strbuf_deinit(&losses);
	put_notes("missing", live_failures(s->live), b);
	put_notes("note", s->note, b);
}

/* ---- help ---- */

static void put_help(struct strbuf *b)
{
	static const char *const keys[] = {
		"up, down   select a process; also k and j",
		"Enter      record the selected process for 5 s, and show why it waited",
		"/          filter by a part of the name, or by the process id; Esc removes the filter",
		"q          end",
		"space      pause and continue",
		"<, >       sort by the column to the left or right",
		"1 to 9     sort by that column, from the left",
		"s          sort by the next column",
		"h, ?       this help; any key ends it",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		begin_line(b, TOP_PLAIN);
		strbuf_printf(b, "%s\n", keys[i]);
	}
	for (size_t i = 0; i < TOP_COLUMNS; i++) {
		begin_line(b, TOP_PLAIN);
		strbuf_printf(b, "%-10s %s\n", top_columns[i].title, top_columns[i].help);
	}
}

/* ---- rows ---- */

static void put_column_titles(const struct top_layout *layout, struct strbuf *b)
{
	begin_line(b, TOP_TITLE);
	for (size_t i = 0; i < layout->n; i++) {
		const struct top_column_spec *c = &top_columns[layout->columns[i]];

		strbuf_printf(b, "%s%*s", i ? " " : "", c->width, c->title);
	}
	strbuf_putc(b, '\n');
}

static void put_row(const struct top_layout *layout, const struct live_process *p, bool selected,
		    struct strbuf *b)
{
	char cell[LIVE_NAME_SIZE];
	size_t from;

	begin_line(b, selected ? TOP_SELECTED : TOP_PLAIN);
	from = b->len;
	for (size_t i = 0; i < layout->n; i++) {
		const struct top_column_spec *c = &top_columns[layout->columns[i]];

		top_format_cell(c, p, cell, sizeof(cell));
		strbuf_printf(b, "%s%*s", i ? " " : "", c->width, cell);
	}
	/* Marks the row even without colours: the first column is the pid, which has room in
	 * front. */
	if (selected && !b->failed && b->s[from] == ' ')
		b->s[from] = '>';
	strbuf_putc(b, '\n');
}

/* Returns the row of the selected process, or n. */
static size_t find_selected(const struct top_rows *rows, int32_t pid)
{
	size_t i = 0;

	while (i < rows->n && rows->list[i]->pid != pid)
		i++;
	return i;
}

/* The rows that fit into room lines (0: not limited), moved so that the selected one is among them. */
static void put_rows(const struct top_view *v, const struct top_layout *layout,
		     const struct top_rows *rows, size_t room, struct strbuf *out)
{
	size_t n = v->rows ? MIN(v->rows, rows->n) : rows->n, selected, first;

	if (room)
		n = MIN(n, room);
	selected = find_selected(rows, v->selected);
	first = selected < rows->n && selected >= n && n ? selected - n + 1 : 0;
	for (size_t i = first; i < first + n; i++)
		put_row(layout, rows->list[i], i == selected, out);
}

int top_view_lines(const struct top_view *v, const struct top_state *s, size_t width, size_t height,
		   struct strbuf *out)
{
	struct top_rows rows = {0};
	struct top_layout layout;
	size_t from = out->len, room = height;
	int r = 0;

	if (v->help) {
		put_help(out);
		return out->failed ? -ENOMEM : 0;
	}
	if (!s->live) {
		begin_line(out, TOP_PLAIN);
		strbuf_puts(out, "sonda top  waiting for the first values\n");
		put_notes("note", s->note, out);
		return out->failed ? -ENOMEM : 0;
	}
	r = top_rows_sort(&rows, &v->selection, s->live);
	if (!r) {
		put_header(v, s, rows.n, out);
		top_choose_columns(&layout, v->selection.sort, width);
		put_column_titles(&layout, out);
		for (size_t i = from; i < out->len; i++)
			room -= room && out->s[i] == '\n';
		if (!height || room)
			put_rows(v, &layout, &rows, room, out);
	}
	free(rows.list);
	return out->failed ? -ENOMEM : r;
}

int32_t top_process_beside(const struct top_view *v, const struct top_state *s, int n)
{
	struct top_rows rows = {0};
	int32_t pid = 0;
	ptrdiff_t at;

	if (s->live && !top_rows_sort(&rows, &v->selection, s->live) && rows.n) {
		at = (ptrdiff_t)find_selected(&rows, v->selected);
		at = at == (ptrdiff_t)rows.n ? 0 : MAX(0, MIN(at + n, (ptrdiff_t)rows.n - 1));
		pid = rows.list[at]->pid;
	}
	free(rows.list);
	return pid;
}

size_t top_column_at(const struct top_view *v, size_t n, size_t width)
{
	struct top_layout layout;

	top_choose_columns(&layout, v->selection.sort, width);
	return n >= 1 && n <= layout.n ? layout.columns[n - 1] : v->selection.sort;
}

size_t top_column_beside(const struct top_view *v, int n, size_t width)
{
	struct top_layout layout;
	size_t at = 0;

	top_choose_columns(&layout, v->selection.sort, width);
	for (size_t i = 0; i < layout.n; i++)
		if (layout.columns[i] == v->selection.sort)
			at = i;
	at = (at + layout.n + (size_t)n) % layout.n;
	return layout.columns[at];
}

/* ---- JSON: totals since sonda top began, and rates of the period ---- */

static void top_json_put_machine(const struct live_machine *m, struct strbuf *b)
{
	strbuf_puts(b, ",\"machine\":{\"cpus\":");
	strbuf_printf(b, "%u", m->cpus);
	if (m->has_cpu)
		strbuf_printf(
			b,
			",\"user_percent\":%.2f,\"system_percent\":%.2f,\"irq_percent\":%.2f,"
			"\"iowait_percent\":%.2f,\"steal_percent\":%.2f,\"idle_percent\":%.2f",
			m->user * 100, m->system * 100, m->irq * 100, m->iowait * 100,
			m->steal * 100, m->idle * 100);
	if (m->has_runq)
		strbuf_printf(b,
			      ",\"runq_depth\":%.1f,\"runq_depth_max\":%.0f,\"runq_p99_ns\":%.0f,"
			      "\"runq_max_ns\":%.0f,\"switches_per_s\":%.1f",
			      m->depth, m->depth_max, m->runq_p99_ns, m->runq_max_ns, m->switches);
	if (m->has_memory)
		strbuf_printf(b,
			      ",\"memory_total_bytes\":%" PRIu64
			      ",\"memory_available_bytes\":%" PRIu64
			      ",\"swap_total_bytes\":%" PRIu64 ",\"swap_free_bytes\":%" PRIu64,
			      m->memory_total, m->memory_available, m->swap_total, m->swap_free);
	if (m->has_pressure)
		strbuf_printf(b,
			      ",\"pressure_cpu_percent\":%.2f,\"pressure_io_percent\":%.2f,"
			      "\"pressure_memory_percent\":%.2f",
			      m->pressure_cpu * 100, m->pressure_io * 100,
			      m->pressure_memory * 100);
	strbuf_putc(b, '}');
}

/* Appends the lines of text as strings of a list. */
static void put_list(const char *name, const char *text, struct strbuf *b)
{
	struct strbuf line = {0};
	const char *separator = "", *end;

	strbuf_printf(b, ",\"%s\":[", name);
	for (; *text; text = end) {
		end = text;
		while (*end && *end != '\n')
			end++;
		strbuf_clear(&line);
		strbuf_add(&line, text, (size_t)(end - text));
		strbuf_puts(b, separator);
		strbuf_put_json(b, line.s ? line.s : "");
		separator = ",";
		end += *end == '\n';
	}
	strbuf_putc(b, ']');
	strbuf_deinit(&line);
}

static void top_json_put_losses(const struct top_state *s, struct strbuf *b)
{
	const struct live_losses *l = live_losses(s->live);

	strbuf_printf(b,
		      ",\"lost\":{\"gaps\":%" PRIu64 ",\"bad_packets\":%" PRIu64
		      ",\"unknown_values\":%" PRIu64 ",\"processes\":%" PRIu64 ",\"service\":",
		      l->packets, l->bad_packets, l->unknown_values, l->processes);
	strbuf_put_json(b, s->lost);
	strbuf_puts(b, ",\"counters\":");
	strbuf_put_json(b, l->counters.len ? l->counters.s : "");
	strbuf_putc(b, '}');
	put_list("missing", live_failures(s->live), b);
	put_list("notes", s->note, b);
}

static void top_json_put_value(const struct top_column_spec *c, const struct live_process *p,
			       struct strbuf *b)
{
	const struct live_value *v = &p->values[c->metric];

	if (c->unit == TOP_RSS && p->has_rss)
		strbuf_printf(b, ",\"%s\":%" PRIu64, c->json_rate, p->rss);
	if (c->unit > TOP_BYTES || !v->has_total)
		return;
	strbuf_printf(b, ",\"%s\":%" PRIu64, c->json, v->total);
	if (v->has_rate)
		strbuf_printf(b, ",\"%s\":%.2f", c->json_rate,
			      c->unit == TOP_PERCENT ? v->rate / 1e7 : v->rate);
}

static void put_process(const struct live_process *p, struct strbuf *b)
{
	strbuf_printf(b, "{\"pid\":%d,\"name\":", p->pid);
	strbuf_put_json(b, p->name);
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		top_json_put_value(&top_columns[i], p, b);
	strbuf_putc(b, '}');
}

int top_view_json(const struct top_view *v, const struct top_state *s, struct strbuf *out)
{
	struct top_rows rows = {0};
	int r = top_rows_sort(&rows, &v->selection, s->live);
	uint64_t at;

	strbuf_printf(out, "{\"time_ns\":%" PRIu64 ",\"screen\":%" PRIu64 ",\"ebpf\":%s",
		      s->realtime_ns, s->screens, s->has_ebpf ? "true" : "false");
	strbuf_printf(out, ",\"stale\":%s", live_is_stale(s->live, &at) ? "true" : "false");
	top_json_put_machine(live_machine(s->live), out);
	top_json_put_losses(s, out);
	strbuf_puts(out, ",\"processes\":[");
	for (size_t i = 0; i < rows.n && (!v->rows || i < v->rows); i++) {
		if (i)
			strbuf_putc(out, ',');
		put_process(rows.list[i], out);
	}
	strbuf_puts(out, "]}\n");
	free(rows.list);
	return out->failed ? -ENOMEM : r;
}
