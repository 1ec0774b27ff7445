/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/record_notes.h"

#include <string.h>

#include "base/core/mem.h"
#include "cli/report/config_sources.h"

static bool overwritten(const struct trace_scan *s)
{
	for (size_t i = 0; i < s->stats.n_buffers; i++)
		if (s->stats.buffers[i].bytes_overwritten)
			return true;
	return false;
}

/* Returns true if the event, which may be a pattern, is in a group of events that happen mostly in
 * interrupts, in threads of the kernel and on idle CPUs. */
static bool is_of_kernel(const char *event)
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

/* Returns true if events of the kernel are requested, but recorded only while some threads run. */
static bool lacks_kernel(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *c = requested_ftrace(config->data_sources[i]);

		if (!c || (!c->n_tids_to_trace && !c->n_pids_to_trace))
			continue;
		for (size_t j = 0; j < c->n_ftrace_events; j++)
			if (is_of_kernel(c->ftrace_events[j]))
				return true;
	}
	return false;
}

/* Returns the time from the oldest event to the end of tracing; 0 if one of them is unknown. */
static uint64_t covered_ns(const struct trace_scan *s)
{
	uint64_t first = s->ftrace.first_ns + (uint64_t)s->ftrace.to_boot_ns;

	return s->ftrace.first_ns && s->disabled_ns > first ? s->disabled_ns - first : 0;
}

void record_notes(const struct record_facts *f, struct strbuf *lines)
{
	const struct trace_scan *s = f->scan;

	if (s->compressed_packets)
		strbuf_printf(lines, "compressed packets that this summary does not read: %llu\n",
			      (unsigned long long)s->compressed_packets);
	if (triggers_end_a_ring(f->config) && !f->snapshots && covered_ns(s) && overwritten(s))
		strbuf_printf(lines, "the ring buffer wrapped: the trace covers the last %.1f s\n",
			      (double)covered_ns(s) / 1e9);
	if (s->bad_packets)
		strbuf_printf(lines, "packets that this summary could not read: %llu\n",
			      (unsigned long long)s->bad_packets);
	if (lacks_kernel(f->config))
		strbuf_printf(lines,
			      "interrupts, received packets, work queues and idle CPUs are not of "
			      "the recorded threads: the trace has only what happened while these "
			      "ran%s\n",
			      f->from_words ? " (--all: all)" : "");
}
