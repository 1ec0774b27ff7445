/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/perfetto/perfetto_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

#define DETAILS_WIDTH 40

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void put_producers(const Pb__TracingServiceState *s, struct strbuf *out)
{
	strbuf_puts(
		out,
		"\n\nPRODUCER PROCESSES CONNECTED:\n\n"
		"ID     PID      UID      FLAGS  NAME                                       SDK\n"
		"==     ===      ===      =====  ====                                       ===\n");
	for (size_t i = 0; i < s->n_producers; i++) {
		const Pb__TracingServiceState__Producer *p = s->producers[i];

		strbuf_printf(out, "%-6d %-8d %-8d %-6s %-42s %s\n", p->id, p->pid, p->uid,
			      p->frozen ? "F" : "", or_empty(p->name), or_empty(p->sdk_version));
	}
}

static const char *producer_name(const Pb__TracingServiceState *s, int32_t id)
{
	for (size_t i = 0; i < s->n_producers; i++)
		if (s->producers[i]->id == id)
			return or_empty(s->producers[i]->name);
	return "";
}

/* The categories of track events, cut unless all of them are wanted. */
static void put_details(const Pb__DataSourceDescriptor *d, bool whole, struct strbuf *out)
{
	const Pb__TrackEventDescriptor *t = d ? d->track_event_descriptor : NULL;
	_cleanup_(strbuf_deinit) struct strbuf all = {0};

	for (size_t i = 0; t && i < t->n_available_categories; i++)
		strbuf_printf(&all, "%s%s", i ? "," : "",
			      or_empty(t->available_categories[i]->name));
	if (all.len > DETAILS_WIDTH && !whole)
		strbuf_printf(out, "%.*s... (use --long to expand)", DETAILS_WIDTH, all.s);
	else if (all.s)
		strbuf_add(out, all.s, all.len);
}

static void put_sources(const Pb__TracingServiceState *s, bool whole, struct strbuf *out)
{
	strbuf_puts(
		out,
		"\n\nDATA SOURCES REGISTERED:\n\n"
		"NAME                                     PRODUCER                     DETAILS\n"
		"===                                      ========                     ========\n");
	for (size_t i = 0; i < s->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *d = s->data_sources[i];
		char producer[128];

		snprintf(producer, sizeof(producer), "%s (%d)", producer_name(s, d->producer_id),
			 d->producer_id);
		strbuf_printf(out, "%-40s %-28s ",
			      d->ds_descriptor ? or_empty(d->ds_descriptor->name) : "", producer);
		put_details(d->ds_descriptor, whole, out);
		strbuf_putc(out, '\n');
	}
}

static void put_session(const Pb__TracingServiceState__TracingSession *s, struct strbuf *out)
{
	uint64_t seconds = (uint64_t)(s->start_realtime_ns / 1000000000) % 86400;
	unsigned kb = 0;

	for (size_t i = 0; i < s->n_buffer_size_kb; i++)
		kb += s->buffer_size_kb[i];
	strbuf_printf(out, "%-7" PRIu64 " %-7d %-10s (%zu) %-8u %-9u %-4u %02u:%02u:%02u %s\n",
		      s->id, s->consumer_uid, or_empty(s->state), s->n_buffer_size_kb, kb,
		      s->duration_ms / 1000, s->num_data_sources, (unsigned)(seconds / 3600),
		      (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
		      or_empty(s->unique_session_name));
}

void perfetto_query_text(const Pb__TracingServiceState *s, bool whole, struct strbuf *out)
{
	strbuf_printf(out, "Not meant for machine consumption. Use --query-raw for scripts.\n\n");
	strbuf_printf(out, "Service: %s\nTracing sessions: %d (started: %d)\n",
		      or_empty(s->tracing_service_version), s->num_sessions,
		      s->num_sessions_started);
	put_producers(s, out);
	put_sources(s, whole, out);
	strbuf_puts(out, "\n\nTRACING SESSIONS:\n\n"
			 "ID      UID     STATE      BUF (#) KB   DUR (s)   #DS  STARTED  NAME\n"
			 "===     ===     =====      ==========   =======   ===  =======  ====\n");
	for (size_t i = 0; i < s->n_tracing_sessions; i++)
		put_session(s->tracing_sessions[i], out);
	if ((size_t)s->num_sessions > s->n_tracing_sessions && geteuid() != 0)
		strbuf_puts(out,
			    "\nNOTE: Some tracing sessions are not reported in the list above.\n"
			    "This is likely because they are owned by a different UID.\n"
			    "If you want to list all session, re-run with root privileges.\n");
	if (out->s)
		str_make_plain(out->s, out->len, "\n");
}
