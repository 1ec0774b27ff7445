/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda sessions: lists the sessions of a tracing service. sonda status: lists these, the
 * producers, their data sources, and the categories of track events. Control characters in the text
 * of other programs are replaced.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/verb.h"
#include "cli/trace/event_categories.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/json.h"

/* ---- sessions ---- */

/*
 *	ID  UID  STATE    STARTED   DURATION  BUFFERS   SOURCES  NAME
 *	3   0    STARTED  12:01:05  10 s      33.5 MB   2        flight
 */

typedef Pb__TracingServiceState__TracingSession session;

static void put_plain_text(struct strbuf *out, const char *text)
{
	size_t before = out->len;

	strbuf_puts(out, text ? text : "");
	if (out->len > before)
		str_make_plain(out->s + before, out->len - before, "");
}

/* Pads the text from offset `from` on to the width of its column, with at least one blank. */
static void pad_column(struct strbuf *out, size_t from, size_t width)
{
	size_t used = out->len - from;

	strbuf_printf(out, "%*s", used < width ? (int)(width - used) : 1, "");
}

static void put_clock_time(uint64_t boot_ns, struct strbuf *out)
{
	uint64_t now = clock_boot_ns();
	char text[16];
	struct tm tm;
	time_t t;

	if (!boot_ns || boot_ns > now)
		return;
	t = (time_t)((clock_ns(CLOCK_REALTIME) - (now - boot_ns)) / NS_PER_S);
	if (localtime_r(&t, &tm) && strftime(text, sizeof(text), "%H:%M:%S", &tm))
		strbuf_printf(out, " at %s", text);
}

/* Appends below the session which producer disconnected, and when. */
static void put_disconnected_producer(const Pb__SourceDeparture *d, struct strbuf *out)
{
	strbuf_puts(out, "      ");
	put_plain_text(out, d->data_source_name);
	strbuf_puts(out, ": ");
	put_plain_text(out, d->producer_name);
	strbuf_printf(out, " (pid %d) disconnected", d->producer_pid);
	put_clock_time(d->gone_boot_ns, out);
	if (d->times > 1)
		strbuf_printf(out, " (most recent of %u disconnections)", d->times);
	strbuf_puts(out, d->back_boot_ns ? "; another producer replaced it" : "");
	put_clock_time(d->back_boot_ns, out);
	strbuf_putc(out, '\n');
}

static void put_session(const session *s, struct strbuf *out)
{
	time_t t = (time_t)(s->start_realtime_ns / 1000000000);
	char start[16] = "-", duration[24] = "-", bytes[32];
	uint64_t size = 0;
	struct tm tm;

	if (s->start_realtime_ns > 0 && localtime_r(&t, &tm))
		strftime(start, sizeof(start), "%H:%M:%S", &tm);
	if (s->duration_ms)
		snprintf(duration, sizeof(duration), "%.1f s", s->duration_ms / 1e3);
	for (size_t i = 0; i < s->n_buffer_size_kb; i++)
		size += s->buffer_size_kb[i] * UINT64_C(1024);
	strbuf_printf(out, "%-5" PRIu64 " %-6d %-16.40s %-9s %-10s %-9s %-8u ", s->id,
		      s->consumer_uid, s->state ? s->state : "?", start, duration,
		      str_bytes(size, bytes), s->num_data_sources);
	put_plain_text(out, s->unique_session_name);
	strbuf_putc(out, '\n');
	for (size_t n = 0; n < s->n_departures; n++)
		put_disconnected_producer(s->departures[n], out);
}

static void sessions_put_sessions(const Pb__TracingServiceState *state, struct strbuf *out)
{
	int32_t hidden = state->num_sessions - (int32_t)state->n_tracing_sessions;

	if (state->n_tracing_sessions > 0)
		strbuf_puts(out, "ID    UID    STATE            STARTED   DURATION   BUFFERS   "
				 "SOURCES  NAME\n");
	for (size_t i = 0; i < state->n_tracing_sessions; i++)
		put_session(state->tracing_sessions[i], out);
	if (state->num_sessions == 0)
		strbuf_puts(out, "there are no sessions\n");
	else if (hidden > 0)
		strbuf_printf(out,
			      "%d session%s of other users (visible only to them and to root)\n",
			      hidden, hidden == 1 ? "" : "s");
}

/* ---- producers and data sources ---- */

static const char *producer_name(const Pb__TracingServiceState *state, int32_t id)
{
	for (size_t i = 0; i < state->n_producers; i++)
		if (state->producers[i]->id == id && state->producers[i]->name)
			return state->producers[i]->name;
	return "?";
}

/* Appends the producers and the data sources that they offer. */
static void sessions_put_producers(const Pb__TracingServiceState *state, struct strbuf *out)
{
	bool machines = false; /* there are producers on other machines */

	for (size_t i = 0; i < state->n_producers; i++)
		machines |= state->producers[i]->machine_id != 0;
	if (state->n_producers == 0) {
		strbuf_printf(out, "no producer is connected; run: %s\n",
			      service_probes_start_command());
		return;
	}
	strbuf_printf(out, "PRODUCER  PID      UID    %sNAME\n",
		      machines ? "MACHINE             " : "");
	for (size_t i = 0; i < state->n_producers; i++) {
		const Pb__TracingServiceState__Producer *p = state->producers[i];
		size_t from;

		strbuf_printf(out, "%-9d %-8d %-6d ", p->id, p->pid, p->uid);
		from = out->len;
		if (machines && !p->machine_id)
			strbuf_puts(out, "this one");
		else if (machines && p->machine_name && *p->machine_name)
			put_plain_text(out, p->machine_name);
		else if (machines)
			strbuf_printf(out, "%u", p->machine_id);
		if (machines)
			pad_column(out, from, 20);
		put_plain_text(out, p->name);
		strbuf_putc(out, '\n');
	}
	strbuf_puts(out, "\nDATA SOURCE                       PRODUCER\n");
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *d = state->data_sources[i];
		size_t from = out->len;

		put_plain_text(out, d->ds_descriptor ? d->ds_descriptor->name : NULL);
		pad_column(out, from, 34);
		put_plain_text(out, producer_name(state, d->producer_id));
		strbuf_printf(out, " (%d)\n", d->producer_id);
	}
}

/* ---- categories of track events ---- */

/*
 *	CATEGORY   TAGS   PROGRAM                    DESCRIPTION
 *	net        -      /usr/sbin/httpd (4)        Requests and replies
 */

/* Appends a category. processes: how many processes of the program have it. */
static void put_category(const struct event_category *row, size_t processes, struct strbuf *out)
{
	const Pb__TrackEventCategory *c = row->category;
	size_t from = out->len;

	put_plain_text(out, c->name);
	pad_column(out, from, 26);
	from = out->len;
	for (size_t i = 0; i < c->n_tags; i++) {
		strbuf_puts(out, i ? "," : "");
		put_plain_text(out, c->tags[i]);
	}
	strbuf_puts(out, c->n_tags ? "" : "-");
	pad_column(out, from, 12);
	from = out->len;
	put_plain_text(out, event_category_program(row));
	if (processes > 1)
		strbuf_printf(out, " (%zu)", processes);
	if (c->description && *c->description) {
		pad_column(out, from, 30);
		put_plain_text(out, c->description);
	}
	strbuf_putc(out, '\n');
}

static bool is_same_category(const struct event_category *a, const struct event_category *b)
{
	return !strcmp(a->category->name, b->category->name) &&
	       !strcmp(event_category_program(a), event_category_program(b));
}

/* Appends the categories that running programs have registered: words for sonda record --app. */
static void sessions_put_categories(const Pb__TracingServiceState *state, struct strbuf *out)
{
	_cleanup_(freep) struct event_category *rows = NULL;
	size_t n;

	if (event_categories_list(state, &rows, &n) < 0) {
		out->failed = true;
		return;
	}
	if (n == 0)
		return;
	strbuf_puts(out, "\nCATEGORY                  TAGS        PROGRAM                       "
			 "DESCRIPTION\n");
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && is_same_category(&rows[i], &rows[next]);)
			next++;
		put_category(&rows[i], next - i, out);
	}
}

/* ---- the verbs ---- */

static int sessions_query_state(const char *socket, bool sessions_only,
				Pb__TracingServiceState **ret)
{
	struct session_client *client;
	struct err_text e;
	int r = session_client_open(socket, &client, &e);

	if (r == 0) {
		r = session_client_query(client, sessions_only, ret, &e);
		session_client_free(client);
	}
	if (r < 0)
		log_error("%s", e.text);
	return r;
}

static int sessions_print(int argc, char **argv, bool sessions_only, const char *usage)
{
	Pb__TracingServiceState *state;
	struct strbuf text = {0};
	struct verb_options o;
	int code = verb_options_parse(argc, argv, "srj", 0, 0, usage, &o);
	size_t len;
	char *to;

	if (code >= 0)
		return code;
	if (sessions_query_state(o.socket, sessions_only, &state) < 0)
		return EXIT_FAILED;
	if (o.raw) {
		len = pb__tracing_service_state__get_packed_size(state);
		to = strbuf_reserve(&text, len);
		if (to)
			text.len += pb__tracing_service_state__pack(state, (uint8_t *)to);
	} else if (o.json) {
		json_print(&state->base, &text);
		strbuf_putc(&text, '\n');
	} else if (sessions_only) {
		sessions_put_sessions(state, &text);
	} else {
		strbuf_printf(&text, "Service: %s\n\n",
			      state->tracing_service_version ? state->tracing_service_version
							     : "unknown version");
		sessions_put_sessions(state, &text);
		strbuf_putc(&text, '\n');
		sessions_put_producers(state, &text);
		sessions_put_categories(state, &text);
	}
	pb__tracing_service_state__free_unpacked(state, NULL);
	if (!o.raw && text.s)
		str_make_plain(text.s, text.len, "\n");
	code = verb_print(&text);
	strbuf_deinit(&text);
	return code;
}

int cmd_sessions(int argc, char **argv)
{
	return sessions_print(
		argc, argv, true,
		"usage: sonda sessions [--socket ADDRESS] [--json | --raw]\n\n"
		"Lists this user's tracing sessions; root sees all users' sessions.\n\n"
		"  --socket ADDRESS   address of the service's consumer socket\n"
		"  --json             print the TracingServiceState message as JSON\n"
		"  --raw              print the serialized TracingServiceState message\n"
		"  -h, --help         print this help\n");
}

int cmd_status(int argc, char **argv)
{
	return sessions_print(
		argc, argv, false,
		"usage: sonda status [--socket ADDRESS] [--json | --raw]\n\n"
		"Shows the state of the tracing service: its sessions, the connected "
		"producers, their\n"
		"data sources, and the track-event categories that programs provide.\n"
		"\n"
		"  --socket ADDRESS   address of the service's consumer socket\n"
		"  --json             print the TracingServiceState message as JSON\n"
		"  --raw              print the serialized TracingServiceState message\n"
		"  -h, --help         print this help\n");
}
