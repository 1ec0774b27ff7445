/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/refusals.h"

#include <stdbool.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/report/config_sources.h"
#include "cli/report/summary.h"

/*
 * Entries of FtraceStats.failed_ftrace_events:
 *
 *	group/name (filter refused: Field not found at character 4: a ^== 1)
 *	option:kprobe_events (reason)
 *	group/name (reason)		also a probe that was created and could not be switched on
 */

static enum refused_options classify_refusal(const char *entry)
{
	return strstr(entry, " at character ") || strstr(entry, " is not a place ")
		       ? OPTIONS_WRONG
		       : OPTIONS_REFUSED;
}

/* Returns the entry of a filter that was refused, or NULL. event: "group/name" or "name"; a pattern
 * has no entry. */
static const char *find_filter_entry(const struct ftrace_scan *s, const char *event)
{
	for (size_t i = 0; i < s->failed.n; i++) {
		const char *entry = s->failed.names[i], *slash = strchr(entry, '/');
		const char *name = strchr(event, '/') || !slash ? entry : slash + 1;

		if (str_starts(name, event) && str_starts(name + strlen(event), " (filter refused"))
			return entry;
	}
	return NULL;
}

/* Returns the entry of the first event of a filter if all events with this filter have one. */
static const char *find_entry_of_filters(const Pb__FtraceConfig *f, const struct ftrace_scan *s,
					 const char *filter)
{
	const char *first = NULL;

	for (size_t i = 0; i < f->n_event_filters; i++) {
		const char *entry;

		if (strcmp(f->event_filters[i]->filter, filter) != 0)
			continue;
		entry = find_filter_entry(s, f->event_filters[i]->event);
		if (!entry)
			return NULL;
		first = first ? first : entry;
	}
	return first;
}

/* Returns true if the entry is about the event of a probe, "p:[GROUP/]NAME PLACE". */
static bool is_of_probe(const char *entry, const char *definition)
{
	const char *colon = definition ? strchr(definition, ':') : NULL;
	size_t len = colon ? strcspn(colon + 1, " \t") : 0;
	const char *name = len ? memrchr(colon + 1, '/', len) : NULL;
	const char *slash = strchr(entry, '/');

	name = name ? name + 1 : colon + 1;
	len = len ? (size_t)(colon + 1 + len - name) : 0;
	return len && slash && !strncmp(slash + 1, name, len) &&
	       str_starts(slash + 1 + len, " (") && !str_starts(slash + 1 + len, " (limited by ");
}

static bool is_of_command_line_option(const Pb__FtraceConfig *f, const char *entry)
{
	static const char *const options[] = {"option:kprobe_events (", "option:uprobe_events (",
					      "option:enable_function_graph ("};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (str_starts(entry, options[i]))
			return true;
	for (size_t i = 0; i < f->n_kprobe_events; i++)
		if (is_of_probe(entry, f->kprobe_events[i]->definition))
			return true;
	for (size_t i = 0; i < f->n_uprobe_events; i++)
		if (is_of_probe(entry, f->uprobe_events[i]))
			return true;
	return false;
}

const char *refused_options_text(enum refused_options refused)
{
	return refused == OPTIONS_WRONG ? "a filter or a probe is wrong"
					: "a filter, a probe or a tracer was refused";
}

enum refused_options refused_options(const Pb__TraceConfig *config, const struct ftrace_scan *s)
{
	enum refused_options worst = OPTIONS_ACCEPTED;

	for (size_t d = 0; d < config->n_data_sources; d++) {
		const Pb__FtraceConfig *f = config_source_ftrace(config->data_sources[d]);

		for (size_t i = 0; f && i < f->n_event_filters; i++) {
			const char *entry =
				find_entry_of_filters(f, s, f->event_filters[i]->filter);

			if (entry)
				worst = MAX(worst, classify_refusal(entry));
		}
		for (size_t i = 0; f && i < s->failed.n; i++)
			if (is_of_command_line_option(f, s->failed.names[i]))
				worst = MAX(worst, classify_refusal(s->failed.names[i]));
	}
	return worst;
}

/* ---- data sources ---- */

static const char *find_perf_entry(const struct trace_scan *s)
{
	for (size_t i = 0; i < s->sources.unread.n && !s->samples.of[SAMPLES_STACKS]; i++)
		if (str_starts(s->sources.unread.names[i], "linux.perf: "))
			return s->sources.unread.names[i];
	return NULL;
}

/* Returns the entry of the first family of eBPF counters that does not run, if none runs; else
 * NULL. */
static const char *find_ebpf_entry(const struct trace_scan *s)
{
	bool some = s->sources.ebpf_costs.n || s->samples.of[SAMPLES_COUNTERS] ||
		    s->samples.of[SAMPLES_PROCESS_ROWS] || s->samples.of[SAMPLES_HISTOGRAMS];

	return !some && s->sources.uncounted.n ? s->sources.uncounted.names[0] : NULL;
}

static const char *find_ftrace_entry(const struct record_facts *f)
{
	const struct ftrace_scan *s = &f->scan->ftrace;

	if (s->counts.total)
		return NULL;
	if (!ftrace_scan_has_rings(s))
		return s->problems.n ? s->problems.names[0] : NULL;
	return record_is_refused(f) ? "all requested events were refused" : NULL;
}

/* Returns the entry "'NAME' recorded nothing: REASON", or NULL: sonda-probes refused a source of
 * that name. The session may have other sources of that name, so the entry counts only if the trace
 * has no data at all. */
static const char *find_probes_entry(const struct trace_scan *s, const char *name)
{
	const struct name_list *l = &s->sources.refusals;

	for (size_t i = 0; i < l->n; i++)
		if (!s->ftrace.counts.total && !sample_counts_total(&s->samples) &&
		    l->names[i][0] == '\'' && str_starts(l->names[i] + 1, name) &&
		    l->names[i][1 + strlen(name)] == '\'')
			return l->names[i];
	return NULL;
}

static bool is_source_refused(const struct record_facts *f, const Pb__DataSourceConfig *d,
			      struct err_text *why)
{
	bool has_ftrace = f->scan->ftrace.counts.total || ftrace_scan_has_rings(&f->scan->ftrace);
	const char *entry = NULL;

	/* Configs are also made for other machines; programs come and go. */
	if (f->from_words && f->sources && name_list_has(f->sources, d->name) &&
	    strcmp(d->name, "track_event") != 0 &&
	    !(has_ftrace && !strcmp(d->name, "linux.ftrace"))) {
		err_set(why, 0, "no producer provides the data source '%.80s'", d->name);
		return true;
	}
	if (!strcmp(d->name, "linux.perf"))
		entry = find_perf_entry(f->scan);
	else if (!strcmp(d->name, "linux.ebpf_counters"))
		entry = find_ebpf_entry(f->scan);
	else if (!strcmp(d->name, "linux.ftrace"))
		entry = find_ftrace_entry(f);
	if (!entry)
		entry = find_probes_entry(f->scan, d->name);
	if (entry)
		err_set(why, 0, "%s", entry);
	return entry;
}

bool refusals_find_sources(const struct record_facts *f, bool all, struct err_text *why)
{
	size_t asked = 0, refused = 0;
	struct err_text next;

	if (f->unread || f->snapshots || f->scan->compressed_packets || record_is_end_missing(f))
		return false;
	if (!all && f->scan->sources.refusals.n) {
		err_set(why, 0, "%s", f->scan->sources.refusals.names[0]);
		return true;
	}
	for (size_t i = 0; i < f->config->n_data_sources; i++) {
		const Pb__DataSourceConfig *d = f->config->data_sources[i]->config;

		if (!d || !d->name || (f->from_words && config_source_only_names_processes(d)))
			continue;
		asked++;
		if (is_source_refused(f, d, &next) && !refused++)
			*why = next;
	}
	return refused && (!all || refused == asked);
}
