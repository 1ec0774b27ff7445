/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timers, and when each of them runs:
 *
 *	duration	all started .. disable	config.duration_ms; then a last flush. From
 *					DURATION_START_WAIT_MS after the start at the latest
 *	flush_tick	start .. disable	file_config_flush_period_ms
 *	clear_tick	start .. disable	config.incremental_state_config
 *	ring_tick	start .. disable	RING_TICK_MS, with clear_tick and without a file
 *	snapshot_tick	start .. disable	builtin_data_sources.snapshot_interval_ms
 *	slow_start	start .. all started	20 s
 *	stop_timeout	disable .. DISABLED	config.data_source_stop_timeout_ms
 *	abandoned	DISABLED .. freed	at once: detached, with its trace in a file
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "config/limits.h"
#include "service/ipc/limits.h"
#include "service/output/file_writer.h"
#include "service/session/session_internal.h"
#include "service/session/source_instances.h"
#include "service/session/trigger_config.h"
#include "service/session/triggers.h"
#include "wire/pb_mem.h"

/* How often the buffers of a session are checked for incremental state that they will overwrite. */
#define RING_TICK_MS 250

/* ---- timers ---- */

static void on_snapshot_tick(void *ctx)
{
	struct session *s = ctx;

	trace_mark_due(s->trace, TRACE_DUE_STATS | TRACE_DUE_SYNC_MARKER);
	trace_snapshot_clocks(s->trace);
}

static void on_flush_tick(void *ctx)
{
	session_flush(ctx,
		      &(struct flush_request){.flags = FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE});
}

static void on_clear_tick(void *ctx)
{
	source_instances_clear_incremental_state(ctx);
}

static void on_ring_tick(void *ctx)
{
	source_instances_clear_overwritten(ctx);
}

static void final_flush_done(void *ctx, const struct ipc_call *call, bool success)
{
	struct session *s = ctx;

	(void)call;
	s->final_flush = success ? FINAL_FLUSH_SUCCEEDED : FINAL_FLUSH_FAILED;
	/* session_free() calls this too, in the state DISABLED. A session with a file is freed when
	 * all data is in the file. */
	if (!session_is_detached(s) || s->file || s->state == SESSION_DISABLED)
		session_disable(s, false);
	else
		session_free(s);
}

void session_flush_and_end(struct session *s)
{
	struct flush_request request = {
		.flags = FLUSH_REASON_STOP | FLUSH_BY_SERVICE, .done = final_flush_done, .ctx = s};

	if (session_flush(s, &request) < 0)
		final_flush_done(s, NULL, false);
}

static void on_duration(void *ctx)
{
	struct session *s = ctx;
	enum trigger_mode mode = trigger_mode(s->config);

	session_set_end(s, mode == TRIGGER_STOP || mode == TRIGGER_CLONE
				   ? "trigger_timeout_ms is over"
				   : "its time is over");
	session_flush_and_end(s);
}

/* Records in the trace which data sources have not started, to explain missing data. */
static void on_slow_start(void *ctx)
{
	struct session *s = ctx;
	const struct source_instance *i;
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	unsigned n = 0;

	if (pb_mem_init(&m) < 0)
		return;
	TAILQ_FOREACH (i, &s->instances, link)
		if (i->state != INSTANCE_STARTED && n++ < MAX_SLOW_SOURCES)
			source_instances_put_source(i, &m.enc);
	if (n > 0 && !m.failed)
		trace_record_sources(s->trace, SERVICE_EVENT_SLOW_STARTING, m.buf, pb_mem_len(&m));
}

static void complete_disable(struct session *s);

static void on_stop_timeout(void *ctx)
{
	complete_disable(ctx);
}

/* Frees a detached session whose file is complete. */
static void on_abandoned(void *ctx)
{
	struct session *s = ctx;

	if (session_is_detached(s))
		session_free(s);
}

int session_init_timers(struct session *s)
{
	const struct {
		struct loop_timer *timer;
		void (*fire)(void *ctx);
	} timers[] = {
		{&s->duration, on_duration},	       {&s->flush_tick, on_flush_tick},
		{&s->clear_tick, on_clear_tick},       {&s->ring_tick, on_ring_tick},
		{&s->snapshot_tick, on_snapshot_tick}, {&s->slow_start, on_slow_start},
		{&s->stop_timeout, on_stop_timeout},   {&s->abandoned, on_abandoned},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(timers) && r == 0; i++)
		r = loop_timer_init(timers[i].timer, s->sessions->loop, timers[i].fire, s);
	return r < 0 ? r : triggers_init(s);
}

static void stop_timers(struct session *s)
{
	loop_timer_stop(&s->duration);
	loop_timer_stop(&s->flush_tick);
	loop_timer_stop(&s->clear_tick);
	loop_timer_stop(&s->ring_tick);
	loop_timer_stop(&s->snapshot_tick);
	loop_timer_stop(&s->slow_start);
	triggers_end(s);
}

void session_deinit_timers(struct session *s)
{
	loop_timer_deinit(&s->duration);
	loop_timer_deinit(&s->flush_tick);
	loop_timer_deinit(&s->clear_tick);
	loop_timer_deinit(&s->ring_tick);
	loop_timer_deinit(&s->snapshot_tick);
	loop_timer_deinit(&s->slow_start);
	loop_timer_deinit(&s->stop_timeout);
	loop_timer_deinit(&s->abandoned);
}

/* Starts the duration timer. wait_ms: added for data sources that have not started yet. */
static void start_duration(struct session *s, uint32_t wait_ms)
{
	const Pb__TraceConfig *c = s->config;

	if (c->duration_ms)
		loop_timer_once(&s->duration, c->duration_ms + wait_ms,
				c->prefer_suspend_clock_for_duration);
}

/* Starts a timer of the config; a period of 0 is none. Each tick is work for the service and for all
 * producers of the session, so only root chooses a period as short as it likes. */
static void start_tick(struct session *s, struct loop_timer *tick, uint32_t period_ms,
		       bool in_suspend)
{
	if (!quota_is_root(s->account.quota, s->uid))
		period_ms = period_ms ? MAX(period_ms, MIN_PERIOD_MS) : 0;
	if (period_ms)
		loop_timer_every(tick, period_ms, in_suspend);
}

static void start_timers(struct session *s)
{
	const Pb__TraceConfig *c = s->config;
	const Pb__TraceConfig__BuiltinDataSource *b = c->builtin_data_sources;
	uint32_t interval = b && b->snapshot_interval_ms ? b->snapshot_interval_ms
							 : DEFAULT_SNAPSHOT_INTERVAL_MS;

	start_duration(s, trigger_mode(c) == TRIGGER_NONE ? DURATION_START_WAIT_MS : 0);
	start_tick(s, &s->flush_tick, file_config_flush_period_ms(c), false);
	if (c->incremental_state_config && c->incremental_state_config->clear_period_ms) {
		start_tick(s, &s->clear_tick, c->incremental_state_config->clear_period_ms, false);
		if (!s->file)
			loop_timer_every(&s->ring_tick, RING_TICK_MS, false);
	}
	start_tick(s, &s->snapshot_tick, interval, b && b->prefer_suspend_clock_for_snapshot);
	on_snapshot_tick(s);
	loop_timer_once(&s->slow_start, ALL_STARTED_TIMEOUT_MS, false);
}

/* ---- start ---- */

void session_check_all_started(struct session *s)
{
	if (s->state != SESSION_STARTED || s->all_started_reported ||
	    !source_instances_all_in(s, INSTANCE_STARTED))
		return;
	s->all_started_reported = true;
	loop_timer_stop(&s->slow_start);
	if (trigger_mode(s->config) == TRIGGER_NONE && !s->end_reason)
		start_duration(s, 0);
	trace_record(s->trace, SERVICE_EVENT_ALL_STARTED);
	trace_snapshot_clocks(s->trace);
	if (!session_is_detached(s))
		s->owner.ops->all_started(s->owner.ctx);
}

void session_start(struct session *s)
{
	if (s->state != SESSION_CONFIGURED)
		return;
	session_set_state(s, SESSION_STARTED);
	trace_start(s->trace);
	trace_record(s->trace, SERVICE_EVENT_TRACING_STARTED);
	start_timers(s);
	if (s->file)
		file_writer_start(s->file);
	source_instances_start_all(s);
	session_check_all_started(s);
}

void session_begin(struct session *s)
{
	source_instances_setup_all(s);
	if (triggers_begin(s) && !s->config->deferred_start)
		session_start(s);
}

/* ---- stop ---- */

void session_set_error(struct session *s, const char *text)
{
	if (!s->error)
		s->error = strdup(text);
	session_set_end(s, text);
}

void session_set_end(struct session *s, const char *reason)
{
	if (!s->end_reason)
		s->end_reason = strdup(reason);
}

const char *session_end_reason(const struct session *s)
{
	/* The reason of a trigger is set before the session ends. */
	bool runs = s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED;

	return runs ? NULL : s->end_reason;
}

void session_ended(struct session *s)
{
	if (!session_is_detached(s))
		s->owner.ops->ended(s->owner.ctx, s->error);
	else if (s->file)
		loop_timer_once(&s->abandoned, 0, false);
}

bool session_has_ended(const struct session *s)
{
	return (s->state == SESSION_DISABLED || s->state == SESSION_CLONED) &&
	       (!s->file || file_writer_is_closed(s->file));
}

bool session_writes_file(const struct session *s)
{
	return s->file && s->state != SESSION_CLONED && s->state != SESSION_CONFIGURED &&
	       !file_writer_is_closed(s->file);
}

/* The last step to DISABLED. Scrapes the data that was not committed. */
static void complete_disable(struct session *s)
{
	loop_timer_stop(&s->stop_timeout);
	trace_mark_due(s->trace, TRACE_DUE_STATS);
	source_instances_stop_all(s, true);
	session_set_state(s, SESSION_DISABLED);
	session_scrape(s);
	trace_record(s->trace, SERVICE_EVENT_TRACING_DISABLED);
	trace_snapshot_clocks(s->trace);
	if (s->file)
		file_writer_finish(s->file);
	else
		session_ended(s);
}

void session_check_all_stopped(struct session *s)
{
	if (s->state == SESSION_STOPPING && source_instances_all_in(s, INSTANCE_STOPPED))
		complete_disable(s);
}

void session_disable(struct session *s, bool at_once)
{
	switch (s->state) {
	case SESSION_DISABLED:
	case SESSION_CLONED:
		return;
	case SESSION_STOPPING:
		if (at_once)
			complete_disable(s);
		return;
	case SESSION_CONFIGURED:
		at_once = true; /* no data source was started, so none has to stop */
		break;
	case SESSION_STARTED:
		break;
	}
	stop_timers(s);
	/* session_set_state() would report STOPPING to other sessions, which is only done if the
	 * session stays in it. */
	s->state = SESSION_STOPPING;
	source_instances_stop_all(s, at_once);
	if (source_instances_all_in(s, INSTANCE_STOPPED)) {
		complete_disable(s);
		return;
	}
	session_set_state(s, SESSION_STOPPING);
	loop_timer_once(&s->stop_timeout, session_stop_timeout_ms(s), false);
}
