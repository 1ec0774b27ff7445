// SPDX-License-Identifier: Apache-2.0
/*
 *	private_daemons --> record_session -- packet by packet --+--> trace_file --> FILE
 *	(if nobody listens)     |                                |
 *	                        +-- stats, state --> result <----+--> trace_scan
 *
 * The callbacks write into one struct, and the loop ends when it is decided how the recording
 * ended: by the session's end, by the private service's end, or by a second signal.
 */

#include "cli/recording.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/sock.h"
#include "cli/daemon_process.h"
#include "cli/missing.h"
#include "cli/private_daemons.h"
#include "cli/progress.h"
#include "cli/record_session.h"
#include "cli/ring_watch.h"
#include "cli/source_producers.h"

#define TICK_MS 1000 /* between two lines of progress */
#define MAX_PROBES 8
#define LONG_RECORDING_MS 10000 /* worth a warning at its beginning, too */

static const int signal_numbers[] = {SIGINT, SIGTERM, SIGHUP};

struct recording {
	const struct recording_setup *setup; /* borrowed from the caller */
	struct recording_result *result; /* likewise */
	struct event_base *loop;
	struct event *signals[ARRAY_SIZE(signal_numbers)];
	struct event *tick;
	struct private_daemons *daemons; /* NULL: the service was there */
	struct record_session *session;
	unsigned interrupts;
	bool ended; /* error and why are decided */
	int error;
	struct err_text why;
	uint64_t started_ns; /* monotonic; 0 before */
	uint64_t stopped_ns;
	struct progress progress;
	struct source_producers producers;
	pid_t probes[MAX_PROBES]; /* producers that may be reading the kernel's rings */
	size_t n_probes;
	char *instance; /* owned: the tracefs instance of one of them; NULL unknown */
};

/* ---- how it ends ---- */

static void decide(struct recording *r, int error, const char *why)
{
	if (r->ended)
		return;
	r->ended = true;
	r->error = error;
	err_set(&r->why, 0, "%s", why);
	event_base_loopbreak(r->loop);
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
	struct recording *r = ctx;

	(void)number;
	(void)what;
	if (++r->interrupts > 1 || !r->session) {
		decide(r, -EINTR, "aborted: nothing was saved");
		return;
	}
	if (r->stopped_ns)
		console_say(r->setup->console, "saving; once more throws the recording away");
	record_session_stop(r->session);
}

static int watch_signals(struct recording *r)
{
	struct sigaction old;

	/* A full disk and a closed pipe are told by write(2). */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(signal_numbers); i++) {
		/* nohup's wish is respected. */
		if (signal_numbers[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		r->signals[i] = evsignal_new(r->loop, signal_numbers[i], on_signal, r);
		if (!r->signals[i] || event_add(r->signals[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

/* ---- progress ---- */

/* Until one is found: it appears some time after the session. */
static void find_instance(struct recording *r, const Pb__TraceStats *stats)
{
	struct strbuf path = {0};

	if (r->instance || !r->setup->events || !stats->has_tracing_session_id)
		return;
	for (size_t i = 0; i < r->n_probes && !r->instance; i++) {
		strbuf_clear(&path);
		ring_watch_path(&path, r->setup->events->root, r->probes[i],
				stats->tracing_session_id);
		if (path.s && fs_exists(path.s))
			r->instance = strbuf_take(&path);
	}
	strbuf_deinit(&path);
}

static void note_progress(struct recording *r, const Pb__TraceStats *stats)
{
	r->progress.has_bytes = true;
	r->progress.bytes = 0;
	for (size_t i = 0; i < stats->n_buffer_stats; i++)
		r->progress.bytes += stats->buffer_stats[i]->bytes_written;
	find_instance(r, stats);
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct recording *r = ctx;
	struct ring_totals rings;
	char line[PROGRESS_MAX];

	(void)fd;
	(void)what;
	if (!record_session_is_recording(r->session))
		return;
	r->progress.elapsed_ms = (clock_mono_ns() - r->started_ns) / NS_PER_MS;
	if (r->instance && !ring_watch_read(r->instance, &rings)) {
		r->progress.has_events = true;
		r->progress.events = rings.events;
		r->progress.lost = rings.lost;
	}
	console_progress(r->setup->console, progress_format(&r->progress, line));
	record_session_ask_stats(r->session);
}

static void start_progress(struct recording *r)
{
	static const struct timeval period = {TICK_MS / 1000, TICK_MS % 1000 * 1000};

	if (!console_shows_progress(r->setup->console))
		return;
	r->progress.duration_ms = r->setup->config->duration_ms;
	r->tick = event_new(r->loop, -1, EV_PERSIST, on_tick, r);
	if (!r->tick)
		return;
	event_add(r->tick, &period);
	on_tick(-1, 0, r);
}

/* ---- the session ---- */

static void find_probes(struct recording *r, const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_producers && r->n_probes < MAX_PROBES; i++) {
		const Pb__TracingServiceState__Producer *p = state->producers[i];

		if (p->name && p->pid > 0 && strstr(p->name, "probes"))
			r->probes[r->n_probes++] = p->pid;
	}
}

static void note_offered(struct recording *r, const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name)
			name_list_add(&r->result->offered, (const uint8_t *)d->name,
				      strlen(d->name));
	}
}

/* A source that comes or goes meanwhile is not missing. */
static void keep_common(struct name_list *first, const struct name_list *second)
{
	size_t kept = 0;

	for (size_t i = 0; i < first->n; i++) {
		if (name_list_has(second, first->names[i]))
			first->names[kept++] = first->names[i];
		else
			free(first->names[i]);
	}
	first->n = kept;
}

static void on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	struct name_list missing = {0}, left_out = {0};
	struct recording *r = ctx;

	if (!at_end) {
		find_probes(r, state);
		note_offered(r, state);
		source_producers_note(&r->producers, r->setup->config, state);
		missing_sources(r->setup->config, state, &r->result->sources, &r->result->left_out);
		return;
	}
	missing_sources(r->setup->config, state, &missing, &left_out);
	keep_common(&r->result->sources, &missing);
	keep_common(&r->result->left_out, &left_out);
	source_producers_gone(&r->producers, state, &r->result->gone);
	name_list_deinit(&missing);
	name_list_deinit(&left_out);
}

/* Nobody wants to hear after an hour that an hour ago there was a mistake. */
static void warn_early(struct recording *r)
{
	const Pb__TraceConfig *config = r->setup->config;
	const struct name_list *sources = &r->result->sources;
	const struct name_list *left_out = &r->result->left_out;
	struct strbuf lines = {0};

	if (config->duration_ms && config->duration_ms < LONG_RECORDING_MS)
		return;
	for (size_t i = 0; i < sources->n; i++)
		strbuf_printf(&lines, "nobody provides the data source '%s' yet\n",
			      sources->names[i]);
	for (size_t i = 0; i < left_out->n; i++)
		strbuf_printf(&lines, "%s\n", left_out->names[i]);
	missing_events(config, NULL, r->setup->events, &lines);
	if (lines.s)
		console_block(r->setup->console, lines.s);
	strbuf_deinit(&lines);
}

static void on_recording(void *ctx)
{
	struct recording *r = ctx;

	r->started_ns = clock_mono_ns();
	warn_early(r);
	if (!r->setup->config->duration_ms && console_shows_progress(r->setup->console))
		console_say(r->setup->console, "recording; Ctrl-C stops and saves");
	start_progress(r);
}

static void take_stats(const Pb__TraceStats *stats, struct service_stats *ret)
{
	size_t len = pb__trace_stats__get_packed_size(stats);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	/* One decoder for the answer of the service and for the packets of a trace. */
	*ret = (struct service_stats){0};
	if (bytes) {
		pb__trace_stats__pack(stats, bytes);
		service_stats_decode(bytes, len, ret);
	}
}

static void on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	struct recording *r = ctx;
	struct recording_result *result = r->result;

	if (at_end) {
		take_stats(stats, &result->stats);
		result->has_stats = true;
		return;
	}
	if (!result->has_before) {
		take_stats(stats, &result->before);
		result->has_before = true;
	}
	note_progress(r, stats);
}

static void on_stopped(void *ctx, int flush_error)
{
	struct recording *r = ctx;

	r->stopped_ns = clock_mono_ns();
	r->result->elapsed_ms = (r->stopped_ns - r->started_ns) / NS_PER_MS;
	r->result->flush_failed = flush_error != 0;
	console_progress(r->setup->console, "  saving");
}

static int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct recording *r = ctx;
	int error = trace_file_packet(r->setup->file, data, len);

	if (error)
		r->result->write_error = error;
	else
		trace_scan_packet(&r->result->scan, data, len);
	return error;
}

static void on_end(void *ctx, int error, const char *why)
{
	decide(ctx, error, why);
}

static const struct record_session_ops session_ops = {
	.on_state = on_state,
	.on_recording = on_recording,
	.on_stats = on_stats,
	.on_stopped = on_stopped,
	.on_packet = on_packet,
	.on_end = on_end,
};

/* ---- the service: there, or our own ---- */

static int start_session(struct recording *r, const char *socket, struct err_text *e)
{
	return record_session_start(r->loop, socket, r->setup->config, &session_ops, r, e,
				    &r->session);
}

static void on_daemons_ready(void *ctx)
{
	struct recording *r = ctx;
	struct err_text e;
	int error;

	error = start_session(r, private_daemons_address(r->daemons), &e);
	if (error)
		decide(r, error, e.text);
}

static void on_daemons_failed(void *ctx, const char *why)
{
	decide(ctx, -EPIPE, why);
}

/* The service lives, and has all that was handed over: that is worth saving. */
static void on_daemons_cut_short(void *ctx, const char *why)
{
	struct recording *r = ctx;

	console_error(r->setup->console, "%s: saving what was recorded until now", why);
	record_session_stop(r->session);
}

static void on_daemons_line(void *ctx, const char *line)
{
	struct recording *r = ctx;
	struct strbuf b = {0};

	strbuf_printf(&b, "%s\n", line);
	if (b.s)
		console_block(r->setup->console, b.s);
	strbuf_deinit(&b);
}

static const struct private_daemons_ops daemon_ops = {
	.on_ready = on_daemons_ready,
	.on_failed = on_daemons_failed,
	.on_producer_ended = on_daemons_cut_short,
	.on_line = on_daemons_line,
};

/* Better told now than by an empty trace. */
static int check_rights(struct err_text *e)
{
	if (daemon_program_has_rights("sonda-probes") || geteuid() == 0)
		return 0; /* more than ours, or enough to mount tracefs */
	return tracefs_events_may_record(tracefs_roots, e);
}

static int connect_or_start(struct recording *r, struct err_text *e)
{
	int error = start_session(r, r->setup->socket, e);

	if ((error != -ENOENT && error != -ECONNREFUSED) || r->setup->socket)
		return error;
	error = r->setup->needs_ftrace ? check_rights(e) : 0;
	if (error)
		return error;
	console_say(r->setup->console,
		    "no tracing service runs on %s; starting one for this recording",
		    sock_default_consumer());
	return private_daemons_start(r->loop, &daemon_ops, r, e, &r->daemons);
}

/* A private daemon that died is why the connection broke; its end is known a moment later. */
static void explain_by_daemons(struct recording *r)
{
	static const struct timespec moment = {0, 10 * NS_PER_MS};
	struct err_text why;

	if (r->error != -EPIPE || !r->daemons)
		return;
	for (int i = 0; i < 50; i++) {
		if (private_daemons_have_failed(r->daemons, &why)) {
			r->why = why;
			return;
		}
		nanosleep(&moment, NULL);
	}
}

/* ---- all of it ---- */

static int run(struct recording *r, struct err_text *why)
{
	int error;

	r->loop = event_base_new();
	if (!r->loop || watch_signals(r))
		return err_set(why, -ENOMEM, "no memory");
	error = connect_or_start(r, why);
	if (error)
		return error;
	event_base_dispatch(r->loop);
	explain_by_daemons(r);
	*why = r->why;
	return r->error;
}

static void clean_up(struct recording *r)
{
	console_clear(r->setup->console);
	record_session_free(r->session);
	private_daemons_free(r->daemons);
	for (size_t i = 0; i < ARRAY_SIZE(r->signals); i++)
		if (r->signals[i])
			event_free(r->signals[i]);
	if (r->tick)
		event_free(r->tick);
	if (r->loop)
		event_base_free(r->loop);
	free(r->instance);
	source_producers_deinit(&r->producers);
}

int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why)
{
	struct recording r = {.setup = setup, .result = ret};
	int error = run(&r, why);

	clean_up(&r);
	return error;
}

void recording_result_deinit(struct recording_result *r)
{
	trace_scan_deinit(&r->scan);
	name_list_deinit(&r->sources);
	name_list_deinit(&r->left_out);
	name_list_deinit(&r->offered);
	name_list_deinit(&r->gone);
}
