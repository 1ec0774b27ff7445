// SPDX-License-Identifier: Apache-2.0
/* A screen as a line of JSON, for programs: totals since sonda top began, and rates of the
 * period. */
#include <errno.h>
#include <inttypes.h>

#include "base/core/mem.h"
#include "cli/top/top_columns.h"
#include "cli/top/top_view.h"
#include "config/json.h"

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
		json_print_string(line.s ? line.s : "", b);
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
	json_print_string(s->lost, b);
	strbuf_puts(b, ",\"counters\":");
	json_print_string(l->counters.len ? l->counters.s : "", b);
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
	json_print_string(p->name, b);
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
	top_rows_deinit(&rows);
	return out->failed ? -ENOMEM : r;
}
