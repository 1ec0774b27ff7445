/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/record/record_config.h"
#include "config/source_merge.h"

/* ---- what happens while any thread runs ---- */

static bool is_one_of(const char *event, const char *const *list)
{
	while (*list && strcmp(event, *list) != 0)
		list++;
	return *list;
}

/* Returns true if the event has a filter or a trigger, which stays with it in its data source. */
static bool has_extras(const Pb__FtraceConfig *f, const char *event)
{
	for (size_t i = 0; i < f->n_event_filters; i++)
		if (!strcmp(f->event_filters[i]->event, event))
			return true;
	for (size_t i = 0; i < f->n_event_triggers; i++)
		if (!strcmp(f->event_triggers[i]->event, event))
			return true;
	return false;
}

/* Returns true if the source requests the event, without a filter and a trigger. */
static bool has_plain(const Pb__FtraceConfig *f, const char *event)
{
	for (size_t i = 0; i < f->n_ftrace_events; i++)
		if (!strcmp(f->ftrace_events[i], event))
			return !has_extras(f, event);
	return false;
}

/* Returns true if the event of a disk request may be of any thread. A request belongs to the thread
 * of its block_rq_insert; another thread may pass it to the driver. Reports need all three events
 * of a request. */
static bool is_of_any_thread(const Pb__FtraceConfig *f, const char *event)
{
	static const char *const ends[] = {"block/block_rq_complete", "block/block_bio_complete",
					   "block/block_io_done", NULL};
	static const char *const issues[] = {"block/block_rq_issue", "block/block_rq_requeue",
					     NULL};

	if (is_one_of(event, issues) &&
	    !(has_plain(f, "block/block_rq_insert") && has_plain(f, "block/block_rq_complete")))
		return false;
	return (is_one_of(event, ends) || is_one_of(event, issues)) && !has_extras(f, event);
}

/* Adds a source like the other one, without events. */
static Pb__FtraceConfig *add_source_like(Pb__TraceConfig *config, const Pb__DataSourceConfig *other)
{
	Pb__DataSourceConfig *source =
		record_config_add_source(config, "linux.ftrace", other->target_buffer);

	if (!source)
		return NULL;
	if (other->priority_boost && !(source->priority_boost = record_config_no_boost()))
		return NULL;
	source->ftrace_config = malloc(sizeof(*source->ftrace_config));
	if (source->ftrace_config)
		pb__ftrace_config__init(source->ftrace_config);
	return source->ftrace_config;
}

/* Moves the events of any thread to a source that records them of all, if others remain. */
static int split_source(Pb__TraceConfig *config, const Pb__DataSourceConfig *source)
{
	Pb__FtraceConfig *from = source->ftrace_config, *to;
	_cleanup_(freep) bool *moves = calloc(from->n_ftrace_events + 1, sizeof(*moves));
	size_t n = 0, kept = 0;

	if (!moves)
		return -ENOMEM;
	for (size_t i = 0; i < from->n_ftrace_events; i++)
		n += moves[i] = is_of_any_thread(from, from->ftrace_events[i]);
	if (n == 0 || n == from->n_ftrace_events)
		return 0;
	to = add_source_like(config, source);
	if (!to || !(to->ftrace_events = calloc(n, sizeof(*to->ftrace_events))))
		return -ENOMEM;
	for (size_t i = 0; i < from->n_ftrace_events; i++)
		if (moves[i])
			to->ftrace_events[to->n_ftrace_events++] = from->ftrace_events[i];
		else
			from->ftrace_events[kept++] = from->ftrace_events[i];
	from->n_ftrace_events = kept;
	return 0;
}

/* ---- whose events ---- */

static int set_numbers(size_t *n, uint32_t **list, const uint32_t *numbers, size_t count)
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

int record_threads_set(Pb__TraceConfig *config, const uint32_t *tids, size_t n)
{
	Pb__DataSourceConfig *source = config_find_ftrace(config);
	Pb__FtraceConfig *f = source ? source->ftrace_config : NULL;
	int r;

	if (!f)
		return 0;
	f->has_follow_children = f->follow_children = true;
	r = set_numbers(&f->n_tids_to_trace, &f->tids_to_trace, tids, n);
	return r ? r : split_source(config, source);
}

/* Restricts the counters of eBPF programs, which count by process. */
static int set_counted_pids(Pb__TraceConfig *config, const struct pid_list *pids)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;
		Pb__EbpfCountersConfig *b = c ? c->ebpf_counters_config : NULL;

		if (b)
			r = set_numbers(&b->n_pids, &b->pids, pids->pids, pids->n);
	}
	return r;
}

/* Restricts the samples of call stacks; those of later children of the processes are not
 * recorded. */
static int set_sampled_pids(Pb__TraceConfig *config, const struct pid_list *pids)
{
	int r = 0;

	for (size_t i = 0; i < config->n_data_sources && !r; i++) {
		const Pb__DataSourceConfig *c = config->data_sources[i]->config;
		Pb__PerfEventConfig *p = c ? c->perf_event_config : NULL;

		if (p)
			r = set_numbers(&p->n_target_pid, (uint32_t **)&p->target_pid, pids->pids,
					pids->n);
	}
	return r;
}

/* sonda-probes follows threads that are created from here on. A producer that does not support
 * pids_to_trace records only the threads that exist now. */
int record_threads_set_pids(Pb__TraceConfig *config, const struct pid_list *pids,
			    struct err_text *e)
{
	_cleanup_(freep) uint32_t *tids = NULL;
	Pb__DataSourceConfig *source;
	Pb__FtraceConfig *f;
	size_t n;
	int r = pid_tasks_list("/proc", pids, &tids, &n, e);

	if (!r)
		r = record_threads_set(config, tids, n);
	if (!r)
		r = set_counted_pids(config, pids);
	if (!r)
		r = set_sampled_pids(config, pids);
	if (!r) {
		source = config_find_ftrace(config);
		f = source ? source->ftrace_config : NULL;
		r = !f ? 0
		       : set_numbers(&f->n_pids_to_trace, &f->pids_to_trace, pids->pids, pids->n);
	}
	return r == -ENOMEM ? err_set(e, r, "no memory") : r;
}
