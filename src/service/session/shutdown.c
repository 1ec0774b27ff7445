/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/shutdown.h"

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/system/log.h"
#include "service/ipc/limits.h"
#include "service/session/session_life.h"
#include "service/session/session_state.h"

#define TICK_MS 20

/* ---- ending the sessions ---- */

static void warn_if_lost(const struct session *s)
{
	if (!session_is_detached(s) || s->file)
		return;
	log_warn("discarding the trace of session %llu%s%s: the service is stopping, and no "
		 "consumer is attached to read it",
		 (unsigned long long)s->id, s->config->unique_session_name ? " " : "",
		 s->config->unique_session_name ? s->config->unique_session_name : "");
}

static void shutdown_end_session(struct session *s)
{
	warn_if_lost(s);
	if (session_has_ended(s) || s->state == SESSION_STOPPING) {
		if (session_is_detached(s) && !s->file)
			session_free(s);
		return;
	}
	session_set_error(s, SERVICE_STOPPED);
	if (s->state == SESSION_STARTED)
		session_flush_and_end(s);
	else if (session_is_detached(s))
		session_free(s);
	else
		session_disable(s, true);
}

/* ---- waiting for consumers ---- */

/* Returns true if the session has not ended, or its consumer may still read its trace or
 * counters. */
static bool is_session_awaited(const struct session *s)
{
	return !session_has_ended(s) || !session_is_detached(s);
}

static uint64_t compute_progress(const struct session *s)
{
	return s->id * 31 + s->state + trace_bytes_read(s->trace);
}

static void shutdown_on_tick(void *ctx)
{
	struct shutdown *d = ctx;
	uint64_t progress = 0, now = clock_mono_ns();
	uint32_t max_idle_ms = SHUTDOWN_READER_MS;
	bool waits = false;
	struct session *s;

	TAILQ_FOREACH (s, &d->sessions->list, link) {
		waits |= is_session_awaited(s);
		progress += compute_progress(s);
		if (!session_has_ended(s)) /* producers have deadlines of their own */
			max_idle_ms = SHUTDOWN_SESSION_MS;
	}
	if (progress != d->progress)
		d->progress_ns = now;
	d->progress = progress;
	if (!waits || now - d->progress_ns > max_idle_ms * NS_PER_MS ||
	    now - d->begin_ns > SHUTDOWN_MS * NS_PER_MS)
		event_base_loopbreak(d->sessions->loop);
}

/* ---- the shutdown ---- */

int shutdown_init(struct shutdown *d, struct sessions *sessions)
{
	*d = (struct shutdown){.sessions = sessions};
	return loop_timer_init(&d->tick, sessions->loop, shutdown_on_tick, d);
}

void shutdown_deinit(struct shutdown *d)
{
	loop_timer_deinit(&d->tick);
}

void shutdown_begin(struct shutdown *d)
{
	struct sessions *v = d->sessions;
	struct session *s, *next;

	if (v->is_stopping) {
		event_base_loopbreak(v->loop);
		return;
	}
	v->is_stopping = true;
	d->begin_ns = d->progress_ns = clock_mono_ns();
	for (s = TAILQ_FIRST(&v->list); s; s = next) {
		next = TAILQ_NEXT(s, link);
		shutdown_end_session(s);
	}
	loop_timer_every(&d->tick, TICK_MS, false);
	shutdown_on_tick(d);
}
