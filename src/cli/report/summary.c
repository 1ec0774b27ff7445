/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/data_losses.h"
#include "cli/report/missing_events.h"
#include "cli/report/record_facts.h"
#include "cli/report/snapshot_report.h"

/* ---- notes ---- */

/* Notes for readers of the trace that are neither about losses nor about missing data. */

static bool has_overwritten_data(const struct trace_scan *s)
{
	for (size_t i = 0; i < s->stats.n_buffers; i++)
		if (s->stats.buffers[i].bytes_overwritten)
			return true;
	return false;
}

/* Returns true if the event, which may be a pattern, is in a group of events that happen mostly in
 * interrupts, in threads of the kernel and on idle CPUs. */
static bool is_mostly_in_interrupts(const char *event)
{
	static const char *const groups[] = {"irq",   "irq_vectors", "workqueue", "power",
					     "timer", "napi",	     "net",	  "skb"};
	const char *slash = strchr(event, '/');
	_cleanup_(freep) char *group = slash ? strndup(event, (size_t)(slash - event)) : NULL;

	for (size_t i = 0; group && i < ARRAY_SIZE(groups); i++)
		if (str_glob(group, groups[i]))
			return true;
	return false;
}

/* Returns true if events that happen mostly in interrupts are requested, but are recorded only
 * while some threads run. */
static bool are_kernel_events_limited_to_threads(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *c = config_source_ftrace(config->data_sources[i]);

		if (!c || (!c->n_tids_to_trace && !c->n_pids_to_trace &&
			   !config->data_sources[i]->config->subject_config))
			continue;
		for (size_t j = 0; j < c->n_ftrace_events; j++)
			if (is_mostly_in_interrupts(c->ftrace_events[j]))
				return true;
	}
	return false;
}

/* Returns the time from the oldest event to the end of tracing; 0 if one of them is unknown. */
static uint64_t time_since_first_event(const struct trace_scan *s)
{
	uint64_t first = s->ftrace.first_ns + (uint64_t)s->ftrace.to_boot_ns;

	return s->ftrace.first_ns && s->disabled_ns > first ? s->disabled_ns - first : 0;
}

/* Tables that are full mean stacks by frame pointers, which may lack callers. */
static void add_unwind_note(const struct source_scan *s, struct strbuf *lines)
{
	char count[STR_COUNT_SIZE];

	if (s->unwind.cut)
		strbuf_printf(lines,
			      "too large for the unwind tables: %s (stacks in code beyond the "
			      "limit may be incomplete)\n",
			      str_count(s->unwind.cut, "file", count));
	if (s->unwind.evicted + s->unwind.refused + s->unwind.left_out == 0)
		return;
	strbuf_printf(lines,
		      "stacks may be incomplete in %s without unwind tables: %llu evicted, %llu "
		      "too large, %llu not read\n",
		      str_count(s->unwind.evicted + s->unwind.refused + s->unwind.left_out, "file",
				count),
		      (unsigned long long)s->unwind.evicted, (unsigned long long)s->unwind.refused,
		      (unsigned long long)s->unwind.left_out);
}

/* What a limit of the config left out is no loss: the totals include it. */
static void add_limit_notes(const struct source_scan *s, struct strbuf *lines)
{
	char number[32];

	for (size_t i = 0; i < s->n_counted; i++)
		if (s->counted[i].is_limit)
			strbuf_printf(lines, "%s: %s %s; their time is counted\n",
				      s->counted[i].family, str_thousands(s->counted[i].n, number),
				      s->counted[i].what);
}

/* Appends a line for each note. */
static void record_put_notes(const struct record_facts *f, struct strbuf *lines)
{
	const struct trace_scan *s = f->scan;

	if (s->compressed_packets)
		strbuf_printf(lines, "compressed packets not read for this summary: %llu\n",
			      (unsigned long long)s->compressed_packets);
	if (config_triggers_end_ring(f->config) && !f->snapshots && time_since_first_event(s) &&
	    has_overwritten_data(s))
		strbuf_printf(lines, "the ring buffer wrapped: the trace covers the last %.1f s\n",
			      (double)time_since_first_event(s) / 1e9);
	if (s->bad_packets)
		strbuf_printf(lines, "packets that this summary could not read: %llu\n",
			      (unsigned long long)s->bad_packets);
	add_unwind_note(&s->sources, lines);
	add_limit_notes(&s->sources, lines);
	if (s->sources.absent_texts)
		strbuf_printf(lines,
			      "system calls with an address in place of a string that was not in "
			      "memory: %llu\n",
			      (unsigned long long)s->sources.absent_texts);
	if (are_kernel_events_limited_to_threads(f->config))
		strbuf_printf(lines,
			      "interrupts, received packets, work queues and idle CPUs do not "
			      "belong to the recorded threads: the trace contains only events that "
			      "occurred while these threads ran%s\n",
			      f->from_words ? " (--all records all)" : "");
}

/* ---- lines of the summary ---- */

/*
 *	Recorded 5.00 s on 2 CPUs: 48,211 events, 143 processes, 1.24 MB to trace.pftrace
 *	  events   sched 47,900, task 311
 *	  probes   probe_libc/malloc 201 hits; none missed
 *	  ended    duration reached (-t 5s)
 *	  lost     kernel rings: 18,124 events (cpu2 18,112, cpu3 12); try -B 8mb or fewer events
 *	  holes    cpu2 1.204-1.377 s (18,112 events)
 *	           cpu3 1.301-1.302 s (12 events)
 *	  missing  event 'sched/sched_swich' does not exist; did you mean sched/sched_switch?
 */

#define HOLES_LISTED 3 /* per CPU */
#define GROUPS_LISTED 8 /* in a line; the others are summed */
#define PROBES_LISTED 8 /* in a line; the others are summed */
#define HOLE_LINES_LISTED 8
#define LINES_LISTED 20 /* lines of missing items; the others are counted */

static void write_time(const struct record_facts *f, struct strbuf *out)
{
	strbuf_printf(out, "%s %.2f s", f->goes_on ? "Snapshot after" : "Recorded",
		      record_seconds(f));
	record_put_other_durations(f, out);
	if (f->cpus)
		strbuf_printf(out, " on %u CPU%s", f->cpus, f->cpus == 1 ? "" : "s");
}

static void write_count(uint64_t n, const char *noun, const char *plural, struct strbuf *out)
{
	char number[32];

	strbuf_printf(out, "%s %s%s", str_thousands(n, number), noun, n == 1 ? "" : plural);
}

static size_t count_sample_kinds(const struct sample_counts *c)
{
	size_t n = 0;

	for (int i = 0; i < SAMPLES_KINDS; i++)
		n += c->of[i] != 0;
	return n;
}

/* Writes the number of samples, and their kind if there is only one. */
static void write_sample_total(const struct sample_counts *c, struct strbuf *out)
{
	int kind = 0;

	write_count(sample_counts_total(c), "sample", "s", out);
	while (!c->of[kind])
		kind++;
	if (count_sample_kinds(c) == 1)
		strbuf_printf(out, " (%s)", sample_counts_name(kind));
}

static void write_head(const struct record_facts *f, struct strbuf *out)
{
	const struct trace_scan *s = f->scan;
	bool samples = sample_counts_total(&s->samples);
	bool events = config_requests_ftrace(f->config) || s->ftrace.counts.total;
	char number[32];

	write_time(f, out);
	strbuf_puts(out, ": ");
	if (f->unread) {
		strbuf_puts(out, "the service wrote the trace to ");
		strbuf_put_plain(out, f->output);
		strbuf_putc(out, '\n');
		return;
	}
	if (events)
		write_count(s->ftrace.counts.total, "event", "s", out);
	if (events && samples)
		strbuf_puts(out, ", ");
	if (samples)
		write_sample_total(&s->samples, out);
	else if (!events) /* only programs have written data */
		write_count(s->packets, "packet", "s", out);
	if (s->processes) {
		strbuf_puts(out, ", ");
		write_count(s->processes, "process", "es", out);
	}
	strbuf_printf(out, ", %s to ", str_bytes(f->file_bytes, number));
	strbuf_put_plain(out, f->output);
	strbuf_putc(out, '\n');
}

/* Returns the config of linux.ftrace, which must exist. */
static const Pb__FtraceConfig *first_ftrace_config(const struct record_facts *f)
{
	const Pb__TraceConfig *c = f->config;
	size_t i = 0;

	while (!c->data_sources[i]->config || !c->data_sources[i]->config->ftrace_config)
		i++;
	return c->data_sources[i]->config->ftrace_config;
}

/* "group/event (why)" matches "group/event" and "event". Entries about a trigger and about a limit
 * do not match. */
static bool failure_is_about(const char *failed, const char *what)
{
	const char *bare = strchr(failed, '/');

	if (!strchr(what, '/') && !strchr(what, ':') && bare)
		failed = bare + 1;
	if (!str_starts(failed, what))
		return false;
	failed += strlen(what);
	return str_starts(failed, " (") && !str_starts(failed, " (trigger") &&
	       !str_starts(failed, " (limited by ");
}

static size_t count_setup_errors_of(const struct ftrace_scan *s, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < s->failed.n; i++)
		n += failure_is_about(s->failed.names[i], what);
	return n;
}

static bool event_has_failed(const struct ftrace_scan *s, const char *what)
{
	return count_setup_errors_of(s, what);
}

/* Returns true if the kernel's list of events is known, and each event of the pattern was
 * rejected. */
static bool pattern_has_failed(const struct record_facts *f, const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; f->events && i < f->events->n; i++) {
		const char *event = f->events->names[i];

		if (!tracefs_event_matches(event, pattern))
			continue;
		if (!event_has_failed(&f->scan->ftrace, event))
			return false;
		n++;
	}
	return n;
}

/* Returns 1 if the definition of a probe, "p:NAME PLACE", names an event that was rejected;
 * else 0. */
static size_t probe_has_failed(const struct ftrace_scan *s, const char *definition)
{
	const char *colon = definition ? strchr(definition, ':') : NULL;
	char name[TRACEFS_EVENTS_MAX_NAME];

	if (!colon)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(colon + 1, " \t"), colon + 1);
	return *name && event_has_failed(s, name);
}

/* Returns true if all n probes of an option ("option:kprobe_events") were rejected. s->failed has
 * an entry of the option for each probe that could not be created, or one entry for all if the
 * kernel has no such probes. n_events: probes that were created, but whose event was rejected. */
static bool probes_have_failed(const struct ftrace_scan *s, const char *option, size_t n,
			       size_t n_events)
{
	char lacking[80];

	snprintf(lacking, sizeof(lacking), "%s (the kernel has no ", option);
	for (size_t i = 0; i < s->failed.n; i++)
		if (str_starts(s->failed.names[i], lacking))
			return true;
	return count_setup_errors_of(s, option) + n_events >= n;
}

/* Returns true if every event, probe, system call and tracer was rejected. */
static bool all_requests_refused(const struct record_facts *f, const Pb__FtraceConfig *c)
{
	const struct ftrace_scan *s = &f->scan->ftrace;
	size_t kprobes = 0, uprobes = 0;

	if (c->n_atrace_categories || c->n_atrace_apps)
		return false;
	for (size_t i = 0; i < c->n_ftrace_events; i++)
		if (!name_list_has(&s->unknown, c->ftrace_events[i]) &&
		    !event_has_failed(s, c->ftrace_events[i]) &&
		    !pattern_has_failed(f, c->ftrace_events[i]))
			return false;
	for (size_t i = 0; i < c->n_kprobe_events; i++)
		kprobes += probe_has_failed(s, c->kprobe_events[i]->definition);
	for (size_t i = 0; i < c->n_uprobe_events; i++)
		uprobes += probe_has_failed(s, c->uprobe_events[i]);
	if (!probes_have_failed(s, "option:kprobe_events", c->n_kprobe_events, kprobes) ||
	    !probes_have_failed(s, "option:uprobe_events", c->n_uprobe_events, uprobes) ||
	    (c->n_syscall_events && !event_has_failed(s, "raw_syscalls/sys_enter")) ||
	    (c->enable_function_graph && !event_has_failed(s, "option:enable_function_graph")))
		return false;
	return c->n_ftrace_events || c->n_kprobe_events || c->n_uprobe_events ||
	       c->n_syscall_events || c->enable_function_graph;
}

bool record_is_refused(const struct record_facts *f)
{
	if (f->scan->ftrace.counts.total || !ftrace_scan_has_rings(&f->scan->ftrace) ||
	    !config_requests_ftrace(f->config))
		return false;
	for (size_t i = 0; i < f->config->n_data_sources; i++) {
		const Pb__FtraceConfig *c = config_source_ftrace(f->config->data_sources[i]);

		if (c && !all_requests_refused(f, c))
			return false;
	}
	return true;
}

/* Returns true if some events were rejected: perhaps all events of a pattern. */
static bool some_events_refused(const struct ftrace_scan *s)
{
	for (size_t i = 0; i < s->failed.n; i++)
		if (!str_starts(s->failed.names[i], "option:"))
			return true;
	return false;
}

/* Writes the probable reason why there are no events. */
static void write_no_events(const struct record_facts *f, bool lost, struct strbuf *out)
{
	const Pb__FtraceConfig *c = first_ftrace_config(f);
	const struct ftrace_scan *s = &f->scan->ftrace;

	strbuf_puts(out, "  events   none: ");
	if (!ftrace_scan_has_rings(s)) {
		strbuf_puts(out, s->problems.n ? "ftrace could not be used\n"
					       : "no producer recorded any\n");
	} else if (lost) {
		strbuf_puts(out, "all events were lost\n");
	} else if (record_is_refused(f)) {
		strbuf_puts(out, "none of the requested events could be recorded\n");
	} else {
		strbuf_printf(out, "none of the requested events%s occurred%s%s%s\n",
			      some_events_refused(s) ? " that could be recorded" : "",
			      c->n_tids_to_trace || c->n_pids_to_trace ? " in these threads" : "",
			      c->tracing_cpumask && *c->tracing_cpumask ? " on these CPUs" : "",
			      c->n_event_filters ? " and passed the filters" : "");
	}
}

static void write_groups(const struct record_facts *f, struct strbuf *out)
{
	_cleanup_(freep) struct group_count *groups = NULL;
	uint64_t rest = 0;
	char number[32];
	size_t i, n;

	if (event_counts_by_group(&f->scan->ftrace.counts, &groups, &n))
		return;
	strbuf_puts(out, "  events   ");
	for (i = 0; i < n && i < GROUPS_LISTED; i++)
		strbuf_printf(out, "%s%s %s", i ? ", " : "",
			      groups[i].group[0] ? groups[i].group : "without a group",
			      str_thousands(groups[i].count, number));
	for (; i < n; i++)
		rest += groups[i].count;
	if (rest)
		strbuf_printf(out, ", %zu other groups %s", n - GROUPS_LISTED,
			      str_thousands(rest, number));
	strbuf_putc(out, '\n');
}

/* Writes the number of each kind of sample. If there is only one kind, the head has it. */
static void write_samples(const struct sample_counts *c, struct strbuf *out)
{
	const char *separator = "  samples  ";
	char number[32];

	if (count_sample_kinds(c) < 2)
		return;
	for (int i = 0; i < SAMPLES_KINDS; i++) {
		if (!c->of[i])
			continue;
		strbuf_printf(out, "%s%s %s", separator, sample_counts_name(i),
			      str_thousands(c->of[i], number));
		separator = ", ";
	}
	strbuf_putc(out, '\n');
}

/* Writes how often the probes of the session were hit: also those that no recorded thread hit. */
static void write_probes(const struct ftrace_scan *s, struct strbuf *out)
{
	char count[STR_COUNT_SIZE];
	uint64_t rest = 0, misses = 0;
	char number[32];

	if (!s->n_probes)
		return;
	strbuf_puts(out, "  probes   ");
	for (size_t i = 0; i < s->n_probes; i++) {
		misses += s->probes[i].misses;
		if (i < PROBES_LISTED)
			strbuf_printf(out, "%s%s %s", i ? ", " : "", s->probes[i].name,
				      str_thousands(s->probes[i].hits, number));
		else
			rest += s->probes[i].hits;
	}
	if (s->n_probes > PROBES_LISTED)
		strbuf_printf(out, ", %s %s",
			      str_count(s->n_probes - PROBES_LISTED, "other", count),
			      str_thousands(rest, number));
	strbuf_printf(out, " hits; %s missed\n", misses ? str_thousands(misses, number) : "none");
}

/* Writes the number of events. Returns false if kernel events were requested, and the trace has
 * none. */
static bool write_events(const struct record_facts *f, bool lost, struct strbuf *out)
{
	if (f->scan->ftrace.counts.total) {
		write_groups(f, out);
		write_probes(&f->scan->ftrace, out);
		return true;
	}
	if (!config_requests_ftrace(f->config) || f->scan->compressed_packets || f->unread)
		return true;
	write_no_events(f, lost, out);
	write_probes(&f->scan->ftrace, out);
	return false;
}

/* Writes lines after one label: "  word     line", "           line". Lines past max are
 * counted. */
static void write_labelled_lines(const char *word, const char *lines, size_t max,
				 struct strbuf *out)
{
	size_t n = 0, left = 0;
	const char *end;

	for (; *lines; lines = end + 1) {
		end = strchrnul(lines, '\n');
		if (n++ < max) {
			strbuf_printf(out, "  %-9s", n == 1 ? word : "");
			strbuf_add(out, lines, (size_t)(end - lines));
			strbuf_putc(out, '\n');
		} else {
			left++;
		}
		if (!*end)
			break;
	}
	if (left)
		strbuf_printf(out, "  %-9s%zu more\n", "", left);
}

static void write_lines(const char *word, const char *lines, struct strbuf *out)
{
	write_labelled_lines(word, lines, LINES_LISTED, out);
}

static bool write_lost_line(const struct record_facts *f, const struct losses *losses,
			    struct strbuf *out)
{
	struct strbuf lines = {0};

	losses_write(losses, &lines);
	if (losses->n && record_is_end_missing(f))
		strbuf_puts(&lines, "further losses are unknown: the end of the recording is not "
				    "in the trace\n");
	if (losses->n)
		write_lines("lost", lines.s ? lines.s : "no memory for the details", out);
	else if (f->unread)
		write_lines("lost", "not known: the trace was not read here", out);
	else if (record_is_end_missing(f))
		write_lines("lost", "not known: the end of the recording is not in the trace", out);
	else if (record_losses_are_unknown(f))
		write_lines("lost", "not known: the kernel's counters are not in the trace", out);
	else
		write_lines("lost", "nothing", out);
	strbuf_deinit(&lines);
	return losses->n || record_losses_are_unknown(f);
}

/* ---- holes ---- */

static void write_hole(const struct trace_scan *s, const struct hole *h, struct strbuf *b)
{
	char number[32];

	strbuf_printf(b, " %.3f-%.3f s", record_seconds_at(s, h->from_ns),
		      record_seconds_at(s, h->to_ns));
	if (h->events)
		strbuf_printf(b, " (%s events)", str_thousands(h->events, number));
	else if (h->on_the_way)
		strbuf_puts(b, " (lost after the ring)");
	else if (h->between_sessions)
		strbuf_puts(b, " (not recorded)");
}

static void write_holes(const struct trace_scan *s, struct strbuf *out)
{
	const struct holes *h = &s->ftrace.holes;
	struct strbuf lines = {0};

	for (size_t i = 0, n, next; i < h->n; i = next) {
		for (n = 0, next = i; next < h->n && h->list[next].cpu == h->list[i].cpu; next++) {
			if (ftrace_scan_hole_is_before(&s->ftrace, &h->list[next]) ||
			    n++ >= HOLES_LISTED)
				continue;
			if (n == 1)
				strbuf_printf(&lines, "cpu%u", h->list[i].cpu);
			strbuf_puts(&lines, n > 1 ? "," : "");
			write_hole(s, &h->list[next], &lines);
		}
		if (n > HOLES_LISTED)
			strbuf_printf(&lines, ", %zu more", n - HOLES_LISTED);
		if (n)
			strbuf_putc(&lines, '\n');
	}
	if (h->total > h->n)
		strbuf_printf(&lines, "%llu shorter ones\n", (unsigned long long)(h->total - h->n));
	if (lines.s)
		write_labelled_lines("holes", lines.s, HOLE_LINES_LISTED, out);
	strbuf_deinit(&lines);
}

/* Writes what the kernel overwrote in rings that are read on request only. */
static void write_overwrites(const struct trace_scan *s, struct strbuf *out)
{
	struct ring_overwrites o;
	char number[32];

	if (!ftrace_scan_overwrites(&s->ftrace, &o) || !o.events)
		return;
	strbuf_printf(out,
		      "  rings    the kernel overwrote %s older events; complete for the last ",
		      str_thousands(o.events, number));
	strbuf_printf(out, "%.3f s\n",
		      (double)(s->ftrace.last_ns - MIN(o.complete_ns, s->ftrace.last_ns)) / 1e9);
}

/* ---- snapshots ---- */

/* Writes the snapshots. Returns true if a snapshot has losses or was not saved. */
static bool write_snapshots(const struct record_facts *f, struct strbuf *out)
{
	const struct snapshot_log *log = f->snapshots;
	struct strbuf lines = {0};

	write_time(f, out);
	strbuf_printf(out, ": %zu snapshot%s", log->saved, log->saved == 1 ? "" : "s");
	if (log->failed)
		strbuf_printf(out, ", %zu not saved", log->failed);
	strbuf_putc(out, '\n');
	snapshot_log_write(log, &lines);
	if (lines.s) /* the log has its own limit */
		write_labelled_lines("snapshot", lines.s, SIZE_MAX, out);
	strbuf_deinit(&lines);
	return log->lossy || log->failed;
}

static bool is_program_source(const char *source)
{
	return !strcmp(source, "track_event");
}

/* Returns true if a program provided the source during the recording, although it was missing at
 * the start and at the end. */
static bool has_appeared_since(const struct record_facts *f, const char *source)
{
	const struct sample_counts *c = &f->scan->samples;

	return is_program_source(source) && (c->of[SAMPLES_SLICES] || c->of[SAMPLES_COUNTERS]);
}

/* Reports a missing source. If a registered name is similar, it suggests that one. */
static void put_source(const struct record_facts *f, const char *name, struct strbuf *lines)
{
	const char *nearest = f->offered ? config_sources_nearest(f->offered, name) : NULL;

	if (is_program_source(name)) {
		strbuf_puts(lines, "no track events, and no program that provides them was running "
				   "at the start or at the end\n");
		return;
	}
	strbuf_printf(lines, "no producer provides the data source '%s'", name);
	if (nearest)
		strbuf_printf(lines, "; did you mean %s?", nearest);
	else if (str_starts(name, "linux.") &&
		 !(f->offered && name_list_has(f->offered, "linux.ftrace")))
		strbuf_puts(lines, ": is sonda-probes running?");
	strbuf_putc(lines, '\n');
}

/* Returns true if the loss of the source's producer is already reported. */
static bool has_lost_producer(const struct record_facts *f, const char *source)
{
	const struct service_stats *s = record_find_stats(f);

	for (size_t i = 0; s && i < s->n_departures; i++)
		if (!strcmp(s->departures[i].source, source))
			return true;
	return false;
}

/* Reports sources of the config that have polled nothing: this machine has no such device. */
static size_t put_idle_sources(const struct record_facts *f, struct strbuf *lines)
{
	const struct {
		const char *source, *nothing;
		enum sample_kind kind;
	} polled[] = {
		{"linux.sysfs_power", "there is no battery or power supply with readable values",
		 SAMPLES_BATTERY},
	};
	size_t n = 0;

	if (f->snapshots || f->scan->compressed_packets || f->unread)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(polled); i++) {
		if (f->scan->samples.of[polled[i].kind] ||
		    !config_requests_source(f->config, polled[i].source) ||
		    has_lost_producer(f, polled[i].source) ||
		    (f->sources && name_list_has(f->sources, polled[i].source)))
			continue;
		strbuf_printf(lines, "data source '%s' recorded nothing: %s\n", polled[i].source,
			      polled[i].nothing);
		n++;
	}
	return n;
}

static void put_unread(const char *name, struct strbuf *lines)
{
	static const char callers[] = "linux.perf callers: ", groups[] = "linux.cgroup_members: ";

	if (str_starts(name, callers))
		strbuf_printf(lines, "callers in programs without frame pointers: %s\n",
			      name + strlen(callers));
	else if (str_starts(name, groups))
		strbuf_printf(lines,
			      "control groups of short-lived processes: /proc was polled: %s\n",
			      name + strlen(groups));
	else
		strbuf_printf(lines, "%s of %s\n",
			      str_starts(name, "linux.perf: ") ? "samples" : "counters", name);
}

size_t record_put_missing(const struct record_facts *f, struct strbuf *ret)
{
	struct strbuf lines = {0};
	size_t n = 0;

	for (size_t i = 0; f->sources && i < f->sources->n; i++)
		if (!has_lost_producer(f, f->sources->names[i]) &&
		    !has_appeared_since(f, f->sources->names[i])) {
			put_source(f, f->sources->names[i], &lines);
			n++;
		}
	for (size_t i = 0; f->left_out && i < f->left_out->n; i++, n++)
		strbuf_printf(&lines, "%s\n", f->left_out->names[i]);
	for (size_t i = 0; f->skipped && i < f->skipped->n; i++, n++)
		strbuf_printf(&lines, "%s\n", f->skipped->names[i]);
	for (size_t i = 0; i < f->scan->sources.refusals.n; i++, n++)
		strbuf_printf(&lines, "data source %s\n", f->scan->sources.refusals.names[i]);
	if (f->not_started) {
		strbuf_puts(&lines, "the recording ended before all data sources had started\n");
		n++;
	}
	if (f->idle)
		n += missing_events_write_idle(f->idle, f->events, &lines);
	for (size_t i = 0; i < f->scan->sources.unread.n; i++, n++)
		put_unread(f->scan->sources.unread.names[i], &lines);
	for (size_t i = 0; i < f->scan->sources.uncounted.n; i++, n++)
		strbuf_printf(&lines, "eBPF counters: %s\n", f->scan->sources.uncounted.names[i]);
	n += missing_events_write(f->config, &f->scan->ftrace, f->events, &lines);
	n += put_idle_sources(f, &lines);
	strbuf_puts(ret, lines.s ? lines.s : "");
	strbuf_deinit(&lines);
	return n;
}

static bool write_missing(const struct record_facts *f, struct strbuf *out)
{
	struct strbuf lines = {0};
	size_t n = record_put_missing(f, &lines);

	if (n)
		write_lines("missing", lines.s ? lines.s : "", out);
	strbuf_deinit(&lines);
	return n != 0;
}

static void write_cost(const struct record_facts *f, struct strbuf *out)
{
	const struct source_scan *s = &f->scan->sources;
	struct strbuf lines = {0};

	if (f->private_cpu_ns)
		strbuf_printf(&lines, "%.2f s of CPU for a private sondad and sonda-probes%s\n",
			      (double)f->private_cpu_ns / 1e9,
			      f->has_priority ? " (SCHED_FIFO 1, at most 50 % of a CPU each)" : "");
	for (size_t i = 0; i < s->ebpf_costs.n; i++) {
		if (i == 0)
			strbuf_printf(&lines, "%.3f %% of the machine for eBPF counters: ",
				      (double)s->ebpf_ppm / 1e4);
		strbuf_printf(&lines, "%s%s", i ? ", " : "", s->ebpf_costs.names[i]);
	}
	if (lines.s)
		write_lines("cost", lines.s, out);
	strbuf_deinit(&lines);
}

static void write_notes(const struct record_facts *f, struct strbuf *out)
{
	struct strbuf lines = {0};

	record_put_notes(f, &lines);
	if (lines.s)
		write_lines("note", lines.s, out);
	strbuf_deinit(&lines);
}

static void write_trace(const struct record_facts *f, struct strbuf *out,
			struct record_verdict *ret)
{
	struct losses losses = {0};

	losses_collect(f, &losses);
	write_head(f, out);
	ret->missing = !write_events(f, losses.n, out);
	ret->refused = ret->missing && record_is_refused(f);
	write_samples(&f->scan->samples, out);
	if (f->command_end)
		write_lines("command", f->command_end, out);
	if (f->end)
		write_lines("ended", f->end, out);
	ret->lost = write_lost_line(f, &losses, out);
	write_overwrites(f->scan, out);
	write_holes(f->scan, out);
	losses_deinit(&losses);
}

void record_summary_write(const struct record_facts *f, struct strbuf *out,
			  struct record_verdict *ret)
{
	struct record_verdict v = {0};

	if (f->snapshots) {
		v.lost = write_snapshots(f, out);
		if (f->command_end)
			write_lines("command", f->command_end, out);
		if (f->end)
			write_lines("ended", f->end, out);
	} else {
		write_trace(f, out, &v);
	}
	v.missing |= write_missing(f, out);
	write_cost(f, out);
	write_notes(f, out);
	*ret = v;
}

static bool has_only_system_calls(const struct event_counts *counts)
{
	_cleanup_(freep) struct group_count *groups = NULL;
	size_t n = 0;

	return event_counts_by_group(counts, &groups, &n) == 0 && n == 1 &&
	       !strcmp(groups[0].group, "raw_syscalls");
}

/* Returns the report on the only contents of the trace, with a blank behind it, if the overview
 * does not show them; else "". */
static const char *choose_next_report(const struct record_facts *f)
{
	const struct trace_scan *s = f->scan;
	bool one_kind = count_sample_kinds(&s->samples) == 1;

	if (s->ftrace.counts.total)
		return !sample_counts_total(&s->samples) && has_only_system_calls(&s->ftrace.counts)
			       ? "syscalls "
			       : "";
	if (one_kind && s->samples.of[SAMPLES_COUNTERS])
		return "counters ";
	return one_kind && s->samples.of[SAMPLES_SLICES] &&
			       config_requests_source(f->config, "linux.syscalls") &&
			       !config_requests_source(f->config, "linux.waits")
		       ? "syscalls "
		       : "";
}

void record_summary_with_next_step(const struct record_facts *f, struct strbuf *text,
				   struct record_verdict *ret)
{
	record_summary_write(f, text, ret);
	if (f->output && *f->output && f->file_bytes && !f->snapshots && !f->unread &&
	    strcmp(f->output, "standard output") != 0) {
		strbuf_printf(text, "next      sonda report %s", choose_next_report(f));
		strbuf_put_word(text, f->first_file && *f->first_file ? f->first_file : f->output);
		strbuf_putc(text, '\n');
	}
}
