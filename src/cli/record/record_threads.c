/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/waits_option.h"
#include "cli/report/config_sources.h"

/* ---- what happens while any thread runs ---- */

static const char *const ends[] = {"block/block_rq_complete", "block/block_bio_complete",
				   "block/block_io_done", NULL};
static const char *const issues[] = {"block/block_rq_issue", "block/block_rq_requeue", NULL};

static bool is_event_in_list(const char *event, const char *const *list)
{
	while (*list && strcmp(event, *list) != 0)
		list++;
	return *list;
}

/* Returns true if a name or a pattern, with its group or without, may mean "block/NAME". pattern
 * may be NULL. */
static bool pattern_may_mean_event(const char *pattern, const char *event)
{
	const char *bare = pattern ? strpbrk(pattern, "/:") : NULL;

	return pattern && str_glob(bare ? bare + 1 : pattern, strchr(event, '/') + 1);
}

/* Returns true if the event has a filter or a trigger. Such an event stays in its data source. */
static bool has_filter_or_trigger(const Pb__FtraceConfig *f, const char *event)
{
	for (size_t i = 0; i < f->n_event_filters; i++)
		if (pattern_may_mean_event(f->event_filters[i]->event, event))
			return true;
	for (size_t i = 0; i < f->n_event_triggers; i++)
		if (pattern_may_mean_event(f->event_triggers[i]->event, event))
			return true;
	return false;
}

/* Returns true if the source requests the event, with neither a filter nor a trigger. */
static bool requests_event_without_filter(const Pb__FtraceConfig *f, const char *event)
{
	for (size_t i = 0; i < f->n_ftrace_events; i++)
		if (!strcmp(f->ftrace_events[i], event))
			return !has_filter_or_trigger(f, event);
	return false;
}

/* Returns true if the event of a disk request may belong to any thread. A request belongs to the
 * thread of its block_rq_insert; another thread may pass it to the driver. Reports need all three
 * events of a request. */
static bool is_of_any_thread(const Pb__FtraceConfig *f, const char *event)
{
	if (is_event_in_list(event, issues) &&
	    !(requests_event_without_filter(f, "block/block_rq_insert") &&
	      requests_event_without_filter(f, "block/block_rq_complete")))
		return false;
	return (is_event_in_list(event, ends) || is_event_in_list(event, issues)) &&
	       !has_filter_or_trigger(f, event);
}

/* Adds a source with these events, and with the rings, CPUs and producers of the other source. */
static int add_source_like(Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *other,
			   char **events, size_t n)
{
	const Pb__FtraceConfig *f = other->config->ftrace_config;
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	Pb__DataSourceConfig source = *other->config;
	Pb__TraceConfig__DataSource added = *other, *copy, **longer;
	_cleanup_(freep) uint8_t *bytes = NULL;

	ftrace.n_ftrace_events = n;
	ftrace.ftrace_events = events;
	ftrace.tracing_cpumask = f->tracing_cpumask;
	ftrace.has_use_monotonic_raw_clock = f->has_use_monotonic_raw_clock;
	ftrace.use_monotonic_raw_clock = f->use_monotonic_raw_clock;
	ftrace.has_buffer_size_kb = f->has_buffer_size_kb;
	ftrace.buffer_size_kb = f->buffer_size_kb;
	ftrace.has_buffer_size_lower_bound = f->has_buffer_size_lower_bound;
	ftrace.buffer_size_lower_bound = f->buffer_size_lower_bound;
	ftrace.has_subbuf_size_kb = f->has_subbuf_size_kb;
	ftrace.subbuf_size_kb = f->subbuf_size_kb;
	ftrace.has_drain_period_ms = f->has_drain_period_ms;
	ftrace.drain_period_ms = f->drain_period_ms;
	ftrace.has_drain_buffer_percent = f->has_drain_buffer_percent;
	ftrace.drain_buffer_percent = f->drain_buffer_percent;
	source.ftrace_config = &ftrace;
	added.config = &source;
	bytes = malloc(protobuf_c_message_get_packed_size(&added.base) + 1);
	longer = realloc(config->data_sources, (config->n_data_sources + 1) * sizeof(*longer));
	if (longer)
		config->data_sources = longer;
	if (!bytes || !longer)
		return -ENOMEM;
	copy = (Pb__TraceConfig__DataSource *)protobuf_c_message_unpack(
		added.base.descriptor, NULL, protobuf_c_message_pack(&added.base, bytes), bytes);
	if (!copy)
		return -ENOMEM;
	longer[config->n_data_sources++] = copy;
	return 0;
}

/* Returns the config of linux.ftrace, or NULL. */
static Pb__FtraceConfig *ftrace_config_of_source(const Pb__TraceConfig__DataSource *s)
{
	return config_source_ftrace(s) ? s->config->ftrace_config : NULL;
}

/* Moves the events that may belong to any thread to a new source, which records all threads, if
 * other events remain. A source with an attached instance is not split: its filter by thread is
 * that of the instance. */
static int split_source(Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source)
{
	Pb__FtraceConfig *from = ftrace_config_of_source(source);
	size_t n = from->n_ftrace_events, moved = 0, kept = 0;
	_cleanup_(freep) char **events = calloc(2 * n + 1, sizeof(*events));
	char **others = events + n;
	int r;

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_of_any_thread(from, from->ftrace_events[i]))
			events[moved++] = from->ftrace_events[i];
		else
			others[kept++] = from->ftrace_events[i];
	if (!moved || !kept || from->instance_name || from->preserve_ftrace_buffer)
		return 0;
	r = add_source_like(config, source, events, moved);
	if (r)
		return r;
	for (size_t i = 0; i < moved; i++)
		free(events[i]);
	memcpy(from->ftrace_events, others, kept * sizeof(*others));
	from->n_ftrace_events = kept;
	return 0;
}

/* Returns true if the source is like those that split_source() adds: it records all threads, and
 * only ends of disk requests and perhaps their issues. */
static bool records_request_ends_only(const Pb__FtraceConfig *f)
{
	bool has_end = false;

	for (size_t i = 0; i < f->n_ftrace_events; i++) {
		bool is_end = is_event_in_list(f->ftrace_events[i], ends);

		if (!is_end && !is_event_in_list(f->ftrace_events[i], issues))
			return false;
		has_end |= is_end;
	}
	return has_end && !f->n_tids_to_trace && !f->n_pids_to_trace && !f->n_event_filters &&
	       !f->n_event_triggers && !f->n_syscall_events && !f->n_kprobe_events &&
	       !f->n_uprobe_events && !f->enable_function_graph;
}

/* ---- whose events ---- */

static int replace_numbers(size_t *n, uint32_t **list, const uint32_t *numbers, size_t count)
{
	uint32_t *copy = malloc(count * sizeof(*copy) + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, numbers, count * sizeof(*copy));
	free(*list);
	*list = copy;
	*n = count;
	return 0;
}

/* Returns true if the source is to be restricted: a source that only records the ends of all
 * requests is not, unless all sources are like this. */
static bool is_restricted(const Pb__TraceConfig *config, const Pb__FtraceConfig *f)
{
	if (!f || !records_request_ends_only(f))
		return f;
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *other = ftrace_config_of_source(config->data_sources[i]);

		if (other && !records_request_ends_only(other))
			return false;
	}
	return true;
}

/* Restricts a source to these threads, and to the processes if there are any. */
static int restrict_source(Pb__FtraceConfig *f, const uint32_t *tids, size_t n,
			   const struct pid_list *pids)
{
	int r = replace_numbers(&f->n_tids_to_trace, &f->tids_to_trace, tids, n);

	f->has_follow_children = f->follow_children = true;
	return r || !pids ? r
			  : replace_numbers(&f->n_pids_to_trace, &f->pids_to_trace, pids->pids,
					    pids->n);
}

static int restrict_sources(Pb__TraceConfig *config, const uint32_t *tids, size_t n,
			    const struct pid_list *pids)
{
	size_t n_sources = config->n_data_sources; /* without those that are added */
	_cleanup_(freep) bool *restricted = calloc(n_sources + 1, sizeof(*restricted));
	int r = restricted ? 0 : -ENOMEM;

	for (size_t i = 0; i < n_sources && !r; i++)
		restricted[i] =
			is_restricted(config, ftrace_config_of_source(config->data_sources[i]));
	for (size_t i = 0; i < n_sources && !r; i++) {
		if (!restricted[i])
			continue;
		r = restrict_source(ftrace_config_of_source(config->data_sources[i]), tids, n,
				    pids);
		if (!r)
			r = split_source(config, config->data_sources[i]);
	}
	return r;
}

/* Restricts waits to the processes and their future children. */
static int restrict_waits(Pb__TraceConfig *config, const uint32_t *pids, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		Pb__DataSourceConfig *source = config->data_sources[i]->config;
		Pb__WaitsConfig *c;

		if (!waits_option_is_source(source))
			continue;
		c = waits_option_config(source);
		if (!c)
			return -ENOMEM;
		r = replace_numbers(&c->n_pids, &c->pids, pids, n);
		c->has_follow_children = c->follow_children = true;
	}
	return r;
}

/* Restricts system calls with their strings. The children of the processes are followed. */
static int restrict_calls(Pb__TraceConfig *config, const uint32_t *pids, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		Pb__DataSourceConfig *c = config->data_sources[i]->config;

		if (!c || !c->name || strcmp(c->name, "linux.syscalls") != 0)
			continue;
		if (!c->syscalls_config) {
			c->syscalls_config = malloc(sizeof(*c->syscalls_config));
			if (!c->syscalls_config)
				return -ENOMEM;
			pb__syscalls_config__init(c->syscalls_config);
		}
		r = replace_numbers(&c->syscalls_config->n_pids, &c->syscalls_config->pids, pids,
				    n);
	}
	return r;
}

int record_threads_restrict(Pb__TraceConfig *config, const uint32_t *tids, size_t n)
{
	int r = restrict_sources(config, tids, n, NULL);

	if (!r)
		r = restrict_waits(config, tids, n);
	return r ? r : restrict_calls(config, tids, n);
}

/* Restricts the counters of eBPF programs, which count by process, and samples of call stacks;
 * those of later children of the processes are not recorded. */
static int restrict_counters_to_pids(Pb__TraceConfig *config, const struct pid_list *pids)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;
		Pb__EbpfCountersConfig *b = c ? c->ebpf_counters_config : NULL;
		Pb__PerfEventConfig *p = c ? c->perf_event_config : NULL;

		if (b)
			r = replace_numbers(&b->n_pids, &b->pids, pids->pids, pids->n);
		if (p && !r)
			r = replace_numbers(&p->n_target_pid, (uint32_t **)&p->target_pid,
					    pids->pids, pids->n);
	}
	return r;
}

/* sonda-probes follows threads that are created from here on. A producer that does not support
 * pids_to_trace records only the threads that exist now. */
int record_threads_restrict_to_pids(Pb__TraceConfig *config, const struct pid_list *pids,
				    struct err_text *e)
{
	_cleanup_(freep) uint32_t *tids = NULL;
	size_t n;
	int r = pid_list_read_threads("/proc", pids, &tids, &n, e);

	if (!r)
		r = restrict_sources(config, tids, n, pids);
	if (!r)
		r = restrict_counters_to_pids(config, pids);
	if (!r)
		r = restrict_waits(config, pids->pids, pids->n);
	if (!r)
		r = restrict_calls(config, pids->pids, pids->n);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

/* ---- subjects ---- */

static int set_subject(Pb__DataSourceConfig *c, const Pb__SubjectConfig *subject)
{
	size_t len = pb__subject_config__get_packed_size(subject);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);
	Pb__SubjectConfig *copy = NULL;

	if (bytes) {
		pb__subject_config__pack(subject, bytes);
		copy = pb__subject_config__unpack(NULL, len, bytes);
	}
	if (!copy)
		return -ENOMEM;
	if (c->subject_config)
		pb__subject_config__free_unpacked(c->subject_config, NULL);
	c->subject_config = copy;
	return 0;
}

/* Returns true for the data sources that read subject_config. */
static bool has_subject(const Pb__DataSourceConfig *c)
{
	static const char *const names[] = {"linux.ftrace", "linux.ebpf_counters", "linux.perf",
					    "linux.waits", "linux.syscalls"};

	for (size_t i = 0; c && c->name && i < ARRAY_SIZE(names); i++)
		if (strcmp(c->name, names[i]) == 0)
			return true;
	return false;
}

/* Lets linux.process_stats describe only the processes that events name: few of a machine's
 * processes are in the trace. */
static void describe_only_seen_processes(const Pb__DataSourceConfig *c)
{
	Pb__ProcessStatsConfig *p = c ? c->process_stats_config : NULL;

	if (p)
		p->has_scan_all_processes_on_start = p->scan_all_processes_on_start = false;
}

int record_threads_restrict_to_subject(Pb__TraceConfig *config, const Pb__SubjectConfig *subject)
{
	size_t n_sources = config->n_data_sources; /* without those that are added */
	_cleanup_(freep) bool *restricted = calloc(n_sources + 1, sizeof(*restricted));
	int r = restricted ? 0 : -ENOMEM;

	for (size_t i = 0; i < n_sources && !r; i++) {
		const Pb__FtraceConfig *f = ftrace_config_of_source(config->data_sources[i]);

		restricted[i] =
			f ? is_restricted(config, f) : has_subject(config->data_sources[i]->config);
	}
	for (size_t i = 0; i < n_sources && !r; i++) {
		describe_only_seen_processes(config->data_sources[i]->config);
		if (!restricted[i])
			continue;
		if (ftrace_config_of_source(config->data_sources[i]))
			r = split_source(config, config->data_sources[i]);
		if (!r)
			r = set_subject(config->data_sources[i]->config, subject);
	}
	return r;
}
