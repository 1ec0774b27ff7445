// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/record/private_daemons.h"
#include "cli/record/record_session.h"
#include "config/trace_config.h"

struct top_session {
	struct event_base *loop; /* borrowed */
	const struct top_session_setup *setup; /* borrowed from the owner */
	const struct top_session_ops *ops; /* likewise */
	void *ctx;
	Pb__TraceConfig *config; /* owned */
	struct record_session *session; /* owned */
	struct private_daemons *daemons; /* owned; NULL: a service was running */
	bool without_ebpf;
	bool without_processes; /* linux.process_stats lists the processes, no eBPF family */
};

/* ---- the config ---- */

/*
 * The buffer holds many periods: a terminal that stops the output for a time loses nothing. Values
 * are written when they change. Descriptions are repeated, in case the buffer wrapped nevertheless.
 */
static const char frame[] =
	"buffers { size_kb: 32768 fill_policy: RING_BUFFER }\n"
	"incremental_state_config { clear_period_ms: 60000 }\n"
	"builtin_data_sources { disable_clock_snapshotting: true disable_trace_config: true\n"
	"  disable_system_info: true disable_service_events: true\n"
	"  disable_extension_descriptors: true disable_chunk_usage_histograms: true }\n"
	"priority_boost { policy: POLICY_SCHED_OTHER priority: 0 }\n";

static void put_ebpf(const struct top_session_setup *setup, bool without_processes,
		     struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.ebpf_counters\" ebpf_counters_config {\n"
		"  families: RUNQ families: CPU_TIME families: SYSCALLS%s\n"
		"  period_ms: %u top_n: %u no_call_names: true process_rows: true\n",
		without_processes ? "" : " families: PROCESSES", setup->period_ms,
		TOP_SESSION_PROCESSES);
	for (size_t i = 0; i < setup->n_pids; i++)
		strbuf_printf(b, "  pids: %u\n", setup->pids[i]);
	strbuf_puts(b, "} } }\n");
}

static void put_process_stats(const struct top_session_setup *setup, bool with_sched,
			      struct strbuf *b)
{
	strbuf_printf(
		b,
		"data_sources { config { name: \"linux.process_stats\" process_stats_config {\n"
		"  scan_all_processes_on_start: true record_process_age: true\n"
		"  quirks: DISABLE_ON_DEMAND skip_main_thread_message: true\n"
		"  proc_stats_poll_ms: %u record_process_io: true%s } } }\n",
		MAX(setup->period_ms, 100u), with_sched ? " record_thread_sched: true" : "");
}

static int build_config(const struct top_session *s, Pb__TraceConfig **ret)
{
	const struct top_session_setup *setup = s->setup;
	struct strbuf text = {0}, errors = {0};
	int r;

	strbuf_puts(&text, frame);
	if (!s->without_ebpf)
		put_ebpf(setup, s->without_processes, &text);
	if (s->without_ebpf || s->without_processes)
		put_process_stats(setup, s->without_ebpf, &text);
	strbuf_printf(
		&text,
		"data_sources { config { name: \"linux.sys_stats\" sys_stats_config {\n"
		"  stat_period_ms: %u stat_counters: STAT_CPU_TIMES psi_period_ms: %u\n"
		"  meminfo_period_ms: %u\n"
		"  meminfo_counters: MEMINFO_MEM_TOTAL meminfo_counters: MEMINFO_MEM_AVAILABLE\n"
		"  meminfo_counters: MEMINFO_SWAP_TOTAL meminfo_counters: MEMINFO_SWAP_FREE\n"
		"} } }\n",
		setup->period_ms, setup->period_ms, setup->period_ms);
	if (text.failed)
		r = -ENOMEM;
	else
		r = trace_config_load("sonda top", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
				      ret);
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	return r;
}

/* ---- the session ---- */

static bool offers_ebpf(const Pb__TracingServiceState *state)
{
	for (size_t i = 0; i < state->n_data_sources; i++) {
		const Pb__DataSourceDescriptor *d = state->data_sources[i]->ds_descriptor;

		if (d && d->name && !strcmp(d->name, "linux.ebpf_counters"))
			return true;
	}
	return false;
}

static int replace_config(struct top_session *s)
{
	Pb__TraceConfig *next;
	int r = build_config(s, &next);

	if (r)
		return r;
	/* s->session keeps a pointer to *s->config, but none into it: its members can be
	 * replaced. */
	if (s->config) {
		Pb__TraceConfig old = *s->config;

		*s->config = *next;
		*next = old;
		pb__trace_config__free_unpacked(next, NULL);
	} else {
		s->config = next;
	}
	return 0;
}

/* Requests the counters of /proc instead if no producer offers eBPF counters. */
static void top_session_on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	struct top_session *s = ctx;

	if (at_end || s->without_ebpf || offers_ebpf(state))
		return;
	s->without_ebpf = true;
	if (replace_config(s))
		s->without_ebpf = false;
}

static int before_recording(void *ctx, struct err_text *why)
{
	(void)ctx, (void)why;
	return 0;
}

static void on_recording(void *ctx)
{
	(void)ctx;
}

static void on_started(void *ctx)
{
	struct top_session *s = ctx;

	s->ops->on_began(s->ctx, !s->without_ebpf);
}

static void top_session_on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	struct top_session *s = ctx;

	(void)at_end;
	s->ops->on_stats(s->ctx, stats);
}

static void top_session_on_stopped(void *ctx, int flush_error)
{
	(void)ctx, (void)flush_error;
}

static int top_session_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct top_session *s = ctx;

	s->ops->on_packet(s->ctx, data, len);
	return 0;
}

static int on_caught_up(void *ctx)
{
	struct top_session *s = ctx;

	s->ops->on_packets(s->ctx);
	return 0;
}

static void top_session_on_end(void *ctx, int error, const char *why)
{
	struct top_session *s = ctx;
	struct err_text better;

	if (error == -EPIPE && s->daemons && private_daemons_explain(s->daemons, &better))
		why = better.text;
	s->ops->on_end(s->ctx, error, why);
}

static const struct record_session_ops session_ops = {
	.on_state = top_session_on_state,
	.before_recording = before_recording,
	.on_recording = on_recording,
	.on_started = on_started,
	.on_stats = top_session_on_stats,
	.on_stopped = top_session_on_stopped,
	.on_packet = top_session_on_packet,
	.on_caught_up = on_caught_up,
	.on_end = top_session_on_end,
};

static int start_session(struct top_session *s, const char *socket, struct err_text *e)
{
	int r = record_session_start(s->loop, socket, s->config, &session_ops, s, e, &s->session);

	if (!r && record_session_read_when_asked(s->session, s->loop))
		r = err_set(e, -ENOMEM, "no memory");
	return r;
}

/* ---- private daemons ---- */

static void on_daemons_ready(void *ctx)
{
	struct top_session *s = ctx;
	struct err_text e;
	int r = start_session(s, private_daemons_address(s->daemons), &e);

	if (r)
		s->ops->on_end(s->ctx, r, e.text);
}

static void on_daemons_failed(void *ctx, const char *why)
{
	struct top_session *s = ctx;

	s->ops->on_end(s->ctx, -EPIPE, why);
}

static void on_daemons_line(void *ctx, const char *line)
{
	struct top_session *s = ctx;

	s->ops->on_line(s->ctx, line);
}

static const struct private_daemons_ops daemon_ops = {
	.on_ready = on_daemons_ready,
	.on_failed = on_daemons_failed,
	.on_producer_ended = on_daemons_failed,
	.on_line = on_daemons_line,
};

int top_session_start(struct event_base *loop, const struct top_session_setup *setup,
		      const struct top_session_ops *ops, void *ctx, struct err_text *e,
		      struct top_session **ret)
{
	struct top_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->loop = loop;
	s->setup = setup;
	s->ops = ops;
	s->ctx = ctx;
	r = replace_config(s);
	if (r)
		err_set(e, r, "cannot build the config: %s", strerror(-r));
	else
		r = start_session(s, setup->socket, e);
	if ((r == -ENOENT || r == -ECONNREFUSED) && !setup->socket)
		r = private_daemons_start(loop, NULL, &daemon_ops, s, e, &s->daemons);
	if (r) {
		top_session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

bool top_session_ask(struct top_session *s, bool flush)
{
	if (!s->session || !record_session_catch_up(s->session, flush))
		return false;
	record_session_ask_stats(s->session);
	return true;
}

static int begin_again(struct top_session *s, struct err_text *e)
{
	int r;

	record_session_free(TAKE_PTR(s->session));
	r = replace_config(s);
	if (r)
		return err_set(e, r, "cannot build the config: %s", strerror(-r));
	return start_session(s, s->daemons ? private_daemons_address(s->daemons) : s->setup->socket,
			     e);
}

int top_session_without_ebpf(struct top_session *s, struct err_text *e)
{
	s->without_ebpf = true;
	return begin_again(s, e);
}

int top_session_without_processes(struct top_session *s, struct err_text *e)
{
	s->without_processes = true;
	return begin_again(s, e);
}

void top_session_free(struct top_session *s)
{
	if (!s)
		return;
	record_session_free(s->session);
	private_daemons_free(s->daemons);
	if (s->config)
		pb__trace_config__free_unpacked(s->config, NULL);
	free(s);
}
