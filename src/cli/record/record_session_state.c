/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_session_state.h"
#include "cli/trace/service_help.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "config/limits.h"

void record_session_end(struct record_session *s, int error, const char *why)
{
	if (s->state == RECORD_ENDED)
		return;
	s->state = RECORD_ENDED;
	event_del(s->deadline);
	if (s->pass)
		event_del(s->pass);
	s->ops->on_end(s->ctx, error, why);
}

static const char *activity(enum record_session_state state)
{
	static const char *const words[] = {
		[RECORD_CONNECTING] = "connecting",
		[RECORD_QUERYING] = "querying its data sources",
		[RECORD_RECORDING] = "recording",
		[RECORD_FLUSHING] = "the final flush",
		[RECORD_DISABLING] = "stopping",
		[RECORD_DETACHING] = "detaching",
		[RECORD_READING] = "reading the trace",
		[RECORD_STATS] = "reading the counters",
		[RECORD_QUERYING_AGAIN] = "querying its data sources",
		[RECORD_HELD] = "the last snapshots",
		[RECORD_FREEING] = "closing the session",
		[RECORD_ENDED] = "nothing",
	};

	return words[state];
}

void record_session_fail(struct record_session *s, int error)
{
	struct err_text why;

	if (s->aborted.text[0]) {
		record_session_end(s, error, s->aborted.text);
		return;
	}
	if (error == -EPIPE)
		err_set(&why, error, "the tracing service disconnected during %s",
			activity(s->state));
	else if (error == -ENOSYS)
		err_set(&why, error, "the tracing service is too old: it does not support %s",
			activity(s->state));
	else if (error == -EPROTO)
		err_set(&why, error, "the tracing service refused %s", activity(s->state));
	else
		err_set(&why, error, "%s failed: %s", activity(s->state), strerror(-error));
	record_session_end(s, error, why.text);
}

static void record_session_state_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct record_session *s = ctx;
	struct err_text why;

	(void)fd;
	(void)what;
	if (s->state == RECORD_CONNECTING)
		service_explain(s->address, -ETIMEDOUT, &why);
	else
		err_set(&why, -ETIMEDOUT, "the tracing service does not answer; gave up during %s",
			activity(s->state));
	record_session_end(s, -ETIMEDOUT, why.text);
}

int record_session_new_deadline(struct record_session *s, struct event_base *loop)
{
	s->deadline = evtimer_new(loop, record_session_state_on_deadline, s);
	return s->deadline ? 0 : -ENOMEM;
}

/* Returns how long the state may last without an answer of the service, in ms; 0: no limit. */
static uint64_t patience(const struct record_session *s)
{
	const Pb__TraceConfig *c = s->config;
	uint64_t flush = c->flush_timeout_ms ? c->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
	uint64_t stop = c->data_source_stop_timeout_ms ? c->data_source_stop_timeout_ms
						       : DEFAULT_STOP_TIMEOUT_MS;

	switch (s->state) {
	case RECORD_RECORDING:
		if (!c->duration_ms || c->trigger_config)
			return 0;
		return c->duration_ms + flush + stop + RECORD_GRACE_MS;
	case RECORD_FLUSHING:
		return flush + RECORD_GRACE_MS;
	case RECORD_DISABLING:
		return stop + RECORD_GRACE_MS;
	case RECORD_CONNECTING:
		return CONNECT_TIMEOUT_MS;
	case RECORD_HELD: /* the owner of the hold has its own deadlines */
		return 0;
	default:
		return RECORD_GRACE_MS;
	}
}

void record_session_arm(struct record_session *s)
{
	uint64_t ms = patience(s);
	struct timeval t = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};

	event_del(s->deadline);
	if (ms)
		event_add(s->deadline, &t);
}

void record_session_enter(struct record_session *s, enum record_session_state state)
{
	s->state = state;
	record_session_arm(s);
}

bool record_session_tracing(const struct record_session *s)
{
	return s->state == RECORD_RECORDING || s->state == RECORD_FLUSHING ||
	       s->state == RECORD_DISABLING;
}
