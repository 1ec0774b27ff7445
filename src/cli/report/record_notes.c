/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/record_notes.h"

#include "cli/report/config_sources.h"
#include "gen/fields.h"

static bool overwritten(const struct trace_scan *s)
{
	for (size_t i = 0; i < s->stats.n_buffers; i++)
		if (s->stats.buffers[i].bytes_overwritten)
			return true;
	return false;
}

/* Returns true if the kernel records events only while some threads run. */
static bool is_of_some_threads(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *c = requested_ftrace(config->data_sources[i]);

		if (c && (c->n_tids_to_trace || c->n_pids_to_trace))
			return true;
	}
	return false;
}

static bool has_packets(const struct event_counts *c)
{
	return c->known && (c->known[PB_FTRACE_EVENT_NET_DEV_XMIT] ||
			    c->known[PB_FTRACE_EVENT_NETIF_RECEIVE_SKB]);
}

void record_notes(const struct record_facts *f, struct strbuf *lines)
{
	const struct trace_scan *s = f->scan;

	if (s->compressed_packets)
		strbuf_printf(lines, "compressed packets that this summary does not read: %llu\n",
			      (unsigned long long)s->compressed_packets);
	if (triggers_end_a_ring(f->config) && !f->snapshots && s->ftrace.first_ns &&
	    s->disabled_ns > s->ftrace.first_ns && overwritten(s))
		strbuf_printf(lines, "the ring buffer wrapped: the trace covers the last %.1f s\n",
			      (double)(s->disabled_ns - s->ftrace.first_ns) / 1e9);
	if (s->bad_packets)
		strbuf_printf(lines, "packets that this summary could not read: %llu\n",
			      (unsigned long long)s->bad_packets);
	if (is_of_some_threads(f->config) && has_packets(&s->ftrace.counts))
		strbuf_printf(lines,
			      "packets arrive in interrupts; the recording has only those that "
			      "interrupted its threads%s\n",
			      f->from_words ? " (--all: all)" : "");
}
