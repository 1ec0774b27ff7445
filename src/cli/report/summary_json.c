/* SPDX-License-Identifier: Apache-2.0 */
/* docs/reference/info.md describes the keys. A key without a value is omitted. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/contents.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/data_losses.h"
#include "cli/report/snapshot_report.h"
#include "cli/report/summary.h"

/* ---- values ---- */

static void put_json_key(struct strbuf *b, const char *name)
{
	char last = b->len ? b->s[b->len - 1] : '{';

	if (last != '{' && last != '[')
		strbuf_putc(b, ',');
	strbuf_printf(b, "\"%s\":", name);
}

static void summary_json_put_text(struct strbuf *b, const char *name, const char *text)
{
	if (!text)
		return;
	put_json_key(b, name);
	strbuf_put_json(b, text);
}

static void summary_json_put_number(struct strbuf *b, const char *name, uint64_t n)
{
	put_json_key(b, name);
	strbuf_printf(b, "%llu", (unsigned long long)n);
}

static void put_seconds(struct strbuf *b, const char *name, double s)
{
	put_json_key(b, name);
	strbuf_printf(b, "%.6f", isfinite(s) ? s : 0.0);
}

static void put_bool(struct strbuf *b, const char *name, bool value)
{
	put_json_key(b, name);
	strbuf_puts(b, value ? "true" : "false");
}

static void open_json_element(struct strbuf *b)
{
	if (b->len && b->s[b->len - 1] != '[')
		strbuf_putc(b, ',');
	strbuf_putc(b, '{');
}

/* Writes lines as a list. A line that begins with a blank continues the line before. */
static void put_lines(struct strbuf *b, const char *name, const char *lines)
{
	struct strbuf text = {0};
	const char *end;
	bool first = true;

	put_json_key(b, name);
	strbuf_putc(b, '[');
	for (; lines && *lines; lines = end + (*end == '\n')) {
		end = strchrnul(lines, '\n');
		strbuf_add(&text, lines, (size_t)(end - lines));
		if (end[0] == '\n' && end[1] == ' ') {
			strbuf_putc(&text, ' ');
			continue;
		}
		strbuf_puts(b, first ? "" : ",");
		strbuf_put_json(b, text.s ? text.s : "");
		strbuf_clear(&text);
		first = false;
	}
	strbuf_putc(b, ']');
	strbuf_deinit(&text);
}

/* ---- parts ---- */

static void put_groups(const struct trace_scan *s, struct strbuf *b)
{
	_cleanup_(freep) struct group_count *groups = NULL;
	size_t n = 0;

	if (event_counts_by_group(&s->ftrace.counts, &groups, &n))
		return;
	put_json_key(b, "event_groups");
	strbuf_putc(b, '{');
	for (size_t i = 0; i < n; i++) {
		strbuf_puts(b, i ? "," : "");
		strbuf_put_json(b, groups[i].group);
		strbuf_printf(b, ":%llu", (unsigned long long)groups[i].count);
	}
	strbuf_putc(b, '}');
}

static void put_samples(const struct sample_counts *c, struct strbuf *b)
{
	put_json_key(b, "samples");
	strbuf_putc(b, '{');
	for (int i = 0; i < SAMPLES_KINDS; i++)
		if (c->of[i])
			summary_json_put_number(b, sample_counts_name(i), c->of[i]);
	strbuf_putc(b, '}');
}

static void put_probes(const struct ftrace_scan *s, struct strbuf *b)
{
	if (!s->n_probes)
		return;
	put_json_key(b, "probes");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < s->n_probes; i++) {
		open_json_element(b);
		summary_json_put_text(b, "name", s->probes[i].name);
		summary_json_put_number(b, "hits", s->probes[i].hits);
		summary_json_put_number(b, "misses", s->probes[i].misses);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
}

static void summary_json_put_losses(const struct losses *l, struct strbuf *b)
{
	put_json_key(b, "losses");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct loss *one = &l->list[i];

		open_json_element(b);
		summary_json_put_text(b, "place", one->place[0] ? one->place : NULL);
		if (one->unit && one->count) {
			summary_json_put_number(b, "count", one->count);
			summary_json_put_text(b, "unit", one->unit);
		}
		summary_json_put_text(b, "text", one->text.s);
		summary_json_put_text(b, "advice", one->advice.s);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
}

static void put_holes(const struct trace_scan *s, struct strbuf *b)
{
	struct ring_overwrites o;

	if (ftrace_scan_overwrites(&s->ftrace, &o)) {
		summary_json_put_number(b, "overwritten_events", o.events);
		put_seconds(b, "complete_from_s", record_seconds_at(s, o.complete_ns));
	}
	summary_json_put_number(b, "hole_count", s->ftrace.holes.total);
	put_json_key(b, "holes");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < s->ftrace.holes.n; i++) {
		const struct hole *h = &s->ftrace.holes.list[i];

		open_json_element(b);
		summary_json_put_number(b, "cpu", h->cpu);
		put_seconds(b, "from_s", record_seconds_at(s, h->from_ns));
		put_seconds(b, "to_s", record_seconds_at(s, h->to_ns));
		summary_json_put_text(b, "place",
				      h->between_sessions ? "between sessions"
				      : h->on_the_way	  ? "behind the ring"
							  : "kernel ring");
		if (h->events)
			summary_json_put_number(b, "events", h->events);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
}

static void put_departures(const struct record_facts *f, struct strbuf *b)
{
	const struct service_stats *s = record_find_stats(f);

	put_json_key(b, "departures");
	strbuf_putc(b, '[');
	for (size_t i = 0; s && i < s->n_departures; i++) {
		const struct departure_stats *d = &s->departures[i];

		open_json_element(b);
		summary_json_put_text(b, "data_source", d->source);
		summary_json_put_text(b, "producer", d->producer);
		summary_json_put_number(b, "pid", (uint64_t)MAX(d->pid, 0));
		if (f->scan->started_ns && d->gone_ns)
			put_seconds(b, "gone_s",
				    (double)(int64_t)(d->gone_ns - f->scan->started_ns) / 1e9);
		if (f->scan->started_ns && d->back_ns)
			put_seconds(b, "back_s",
				    (double)(int64_t)(d->back_ns - f->scan->started_ns) / 1e9);
		summary_json_put_number(b, "times", d->times);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
}

static void put_snapshots(const struct snapshot_log *log, struct strbuf *b)
{
	struct strbuf lines = {0};

	summary_json_put_number(b, "snapshots_saved", log->saved);
	summary_json_put_number(b, "snapshots_failed", log->failed);
	snapshot_log_write(log, &lines);
	put_lines(b, "snapshots", lines.s);
	strbuf_deinit(&lines);
}

static void put_trace(const struct record_facts *f, struct strbuf *b, struct record_verdict *v)
{
	const struct trace_scan *s = f->scan;
	struct losses losses = {0};

	losses_collect(f, &losses);
	summary_json_put_text(b, "output", f->output);
	put_bool(b, "read", !f->unread);
	if (!f->unread) {
		summary_json_put_number(b, "file_bytes", f->file_bytes);
		summary_json_put_number(b, "events", s->ftrace.counts.total);
		if (record_event_seconds(f) > 0)
			put_seconds(b, "events_s", record_event_seconds(f));
		put_groups(s, b);
		put_samples(&s->samples, b);
		put_probes(&s->ftrace, b);
		summary_json_put_number(b, "processes", s->processes);
		put_holes(s, b);
	}
	summary_json_put_losses(&losses, b);
	v->lost = losses.n || record_losses_are_unknown(f);
	put_bool(b, "losses_known", !record_losses_are_unknown(f));
	v->missing = config_requests_ftrace(f->config) && !s->ftrace.counts.total &&
		     !s->compressed_packets && !f->unread;
	v->refused = v->missing && record_is_refused(f);
	losses_deinit(&losses);
}

static void put_contents(const struct record_facts *f, struct strbuf *b)
{
	const struct service_stats *s = record_find_stats(f);
	struct content_row *rows;
	size_t n;

	if (contents_list_rows(f->contents, &rows, &n) < 0) {
		b->failed = true;
		return;
	}
	put_json_key(b, "machines");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < f->contents->n_machines; i++) {
		const struct content_machine *m = &f->contents->machines[i];

		open_json_element(b);
		summary_json_put_number(b, "id", m->id);
		summary_json_put_text(b, "system", m->system);
		summary_json_put_text(b, "release", m->release);
		summary_json_put_text(b, "arch", m->arch);
		summary_json_put_number(b, "cpus", m->cpus);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
	put_json_key(b, "data_sources");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < f->config->n_data_sources; i++) {
		const Pb__DataSourceConfig *source = f->config->data_sources[i]->config;

		open_json_element(b);
		summary_json_put_text(b, "name", source && source->name ? source->name : "");
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
	put_json_key(b, "buffers");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < f->config->n_buffers; i++) {
		open_json_element(b);
		summary_json_put_number(b, "size", (uint64_t)f->config->buffers[i]->size_kb << 10);
		summary_json_put_number(b, "size_bytes",
					(uint64_t)f->config->buffers[i]->size_kb << 10);
		if (s && i < s->n_buffers && !record_is_end_missing(f)) {
			summary_json_put_number(b, "bytes_written", s->buffers[i].bytes_written);
			summary_json_put_number(b, "bytes_overwritten",
						s->buffers[i].bytes_overwritten);
			summary_json_put_number(b, "chunks_discarded",
						s->buffers[i].chunks_discarded);
		}
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
	put_json_key(b, "contents");
	strbuf_putc(b, '[');
	for (size_t i = 0; i < n; i++) {
		open_json_element(b);
		summary_json_put_text(b, "name", rows[i].name);
		summary_json_put_number(b, "count", rows[i].count);
		summary_json_put_number(b, "bytes", rows[i].bytes);
		strbuf_putc(b, '}');
	}
	strbuf_putc(b, ']');
	free(rows);
}

void record_summary_write_json(const struct record_facts *f, struct strbuf *out,
			       struct record_verdict *ret)
{
	struct record_verdict v = {0};
	struct strbuf missing = {0};

	strbuf_putc(out, '{');
	put_seconds(out, "duration_s", record_seconds(f));
	if (record_requested_seconds(f->config) > 0)
		put_seconds(out, "asked_s", record_requested_seconds(f->config));
	if (record_set_up_seconds(f->scan) > 0)
		put_seconds(out, "set_up_s", record_set_up_seconds(f->scan));
	if (f->cpus)
		summary_json_put_number(out, "cpus", f->cpus);
	if (f->snapshots) {
		put_snapshots(f->snapshots, out);
		v.lost = f->snapshots->lossy || f->snapshots->failed;
	} else {
		put_trace(f, out, &v);
	}
	put_departures(f, out);
	v.missing |= record_put_missing(f, &missing) != 0;
	put_lines(out, "missing", missing.s);
	if (f->contents)
		put_contents(f, out);
	if (f->private_cpu_ns)
		put_seconds(out, "service_cpu_s", (double)f->private_cpu_ns / 1e9);
	summary_json_put_text(out, "command", f->command_end);
	summary_json_put_text(out, "end", f->end);
	put_bool(out, "goes_on", f->goes_on);
	put_bool(out, "lossy", v.lost || v.missing);
	strbuf_puts(out, "}\n");
	strbuf_deinit(&missing);
	*ret = v;
}
