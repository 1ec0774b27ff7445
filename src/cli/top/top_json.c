/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_json.h"

#include <errno.h>
#include <inttypes.h>

#include "cli/top/top_columns.h"

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
		      ",\"unknown_values\":%" PRIu64 ",\"processes\":%" PRIu64
		      ",\"members\":%" PRIu64 ",\"service\":",
		      l->packets, l->bad_packets, l->unknown_values, l->processes, l->members);
	strbuf_put_json(b, s->lost);
	strbuf_puts(b, ",\"counters\":");
	strbuf_put_json(b, l->counters.len ? l->counters.s : "");
	strbuf_putc(b, '}');
	put_list("missing", live_ebpf_failures(s->live), b);
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

static void put_values(const struct live_process *p, struct strbuf *b)
{
	for (size_t i = 0; i < TOP_COLUMNS; i++)
		top_json_put_value(&top_columns[i], p, b);
	strbuf_putc(b, '}');
}

static void put_process(const struct live *live, const struct live_process *p, struct strbuf *b)
{
	const struct live_group *g = p->group ? live_find_group(live, p->group) : NULL;

	strbuf_printf(b, "{\"pid\":%d,\"name\":", p->tgid ? p->tgid : p->pid);
	strbuf_put_json(b, p->name);
	if (p->tgid)
		strbuf_printf(b, ",\"tid\":%d", p->pid);
	if (p->parent)
		strbuf_printf(b, ",\"parent_pid\":%d", p->parent);
	if (g && g->texts[LIVE_GROUP_PATH]) {
		strbuf_puts(b, ",\"cgroup\":");
		strbuf_put_json(b, g->texts[LIVE_GROUP_PATH]);
	}
	put_values(p, b);
}

static void put_subject(const struct top_row *row, struct strbuf *b)
{
	strbuf_puts(b, "{\"name\":");
	strbuf_put_json(b, row->key);
	strbuf_printf(b, ",\"count\":%u", row->count);
	put_values(row->p, b);
}

/* Appends up to v->rows of the rows that are subjects, or of those that are not. */
static void put_json_rows(const struct top_view *v, const struct top_state *s, const char *name,
			  const struct top_rows *rows, bool subjects, struct strbuf *b)
{
	size_t n = 0;

	strbuf_printf(b, ",\"%s\":[", name);
	for (size_t i = 0; i < rows->n && (!v->rows || n < v->rows); i++) {
		if ((rows->list[i].key != NULL) != subjects)
			continue;
		if (n++)
			strbuf_putc(b, ',');
		if (subjects)
			put_subject(&rows->list[i], b);
		else
			put_process(s->live, rows->list[i].p, b);
	}
	strbuf_putc(b, ']');
}

int top_view_json(const struct top_view *v, const struct top_state *s, struct strbuf *out)
{
	struct top_selection processes = v->selection;
	struct top_rows rows = {0}, subjects = {0};
	uint64_t at;
	int r;

	processes.by = TOP_BY_PROCESS;
	processes.tree = false;
	r = top_rows_make(&rows, &processes, s->live);
	if (!r && v->selection.by != TOP_BY_PROCESS)
		r = top_rows_make(&subjects, &v->selection, s->live);
	strbuf_printf(out, "{\"time_ns\":%" PRIu64 ",\"screen\":%" PRIu64 ",\"ebpf\":%s",
		      s->realtime_ns, s->screens, s->has_ebpf ? "true" : "false");
	strbuf_printf(out, ",\"stale\":%s", live_is_stale(s->live, &at) ? "true" : "false");
	top_json_put_machine(live_machine(s->live), out);
	top_json_put_losses(s, out);
	if (v->selection.by != TOP_BY_PROCESS) {
		strbuf_printf(out, ",\"by\":\"%s\"", top_by_name(v->selection.by));
		put_json_rows(v, s, "subjects", &subjects, true, out);
	}
	put_json_rows(v, s, v->by_thread ? "threads" : "processes", &rows, false, out);
	strbuf_puts(out, "}\n");
	top_rows_free(&rows);
	top_rows_free(&subjects);
	return out->failed ? -ENOMEM : r;
}
