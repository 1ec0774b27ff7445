/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "config/limits.h"
#include "service/session/sessions.h"
#include "service/trace/concurrent.h"

const char *session_state_name(enum session_state state)
{
	static const char *const names[] = {
		[SESSION_DISABLED] = "DISABLED",       [SESSION_CONFIGURED] = "CONFIGURED",
		[SESSION_STARTED] = "STARTED",	       [SESSION_STOPPING] = "STOP_WAIT",
		[SESSION_CLONED] = "CLONED_READ_ONLY",
	};

	return names[state];
}

/* ---- other sessions: enable_concurrent_session_events ---- */

static bool wants_events(const struct session *s)
{
	const Pb__TraceConfig__BuiltinDataSource *b = s->config->builtin_data_sources;

	return b && b->enable_concurrent_session_events &&
	       (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED ||
		s->state == SESSION_STOPPING);
}

/* Only root and the same user learn the other session's name. */
static void record_other(struct session *s, const struct session *other)
{
	char *name = other->config->unique_session_name;
	bool may_see = s->uid == 0 || s->uid == other->uid;
	struct concurrent_event event = {
		.boot_ns = other->state_boot_ns,
		.session_id = other->id,
		/* ConcurrentSessionEvent.State has the states in the same order, from 1 on. */
		.state = (uint32_t)other->state + 1,
		.uid = other->uid,
		.n_sources = (uint32_t)other->n_instances,
		.name = name && name[0] && may_see ? name : NULL,
	};

	trace_add_concurrent(s->trace, &event);
}

void session_record_others(struct session *s)
{
	const struct session *other;

	if (!wants_events(s))
		return;
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s)
			record_other(s, other);
}

void session_set_state(struct session *s, enum session_state state)
{
	struct session *other;

	s->state = state;
	s->state_boot_ns = clock_boot_ns();
	TAILQ_FOREACH (other, &s->sessions->list, link)
		if (other != s && wants_events(other))
			record_other(other, s);
}

/* ---- owners and watches ---- */

struct session *session_find_detached(struct sessions *v, uid_t uid, const char *key)
{
	struct session *s;

	TAILQ_FOREACH (s, &v->list, link)
		if (session_is_detached(s) && s->uid == uid && s->detach_key &&
		    !strcmp(s->detach_key, key))
			return s;
	return NULL;
}

int session_detach(struct session *s, const char *key)
{
	char *copy = NULL;

	if (key && session_find_detached(s->sessions, s->uid, key))
		return -EEXIST;
	if (key) {
		copy = strdup(key);
		if (!copy)
			return -ENOMEM;
	}
	s->detach_key = copy;
	s->owner = (struct session_owner){0};
	return 0;
}

void session_attach(struct session *s, struct session_owner owner)
{
	free(TAKE_PTR(s->detach_key));
	s->owner = owner;
}

void session_watch_end(struct session *s, struct session_watch *w)
{
	TAILQ_INSERT_TAIL(&s->watches, w, link);
}

void session_unwatch(struct session *s, struct session_watch *w)
{
	TAILQ_REMOVE(&s->watches, w, link);
}

/* ---- the rest ---- */

static bool is_own_buffer(void *trace, uint16_t buffer_id)
{
	return trace_find_buffer(trace, buffer_id) >= 0;
}

void session_scrape(struct session *s)
{
	const struct producer_port *p;

	TAILQ_FOREACH (p, &s->sessions->producers->list, link)
		producer_port_scrape(p, is_own_buffer, s->trace);
}

uint32_t session_flush_timeout_ms(const struct session *s)
{
	return s->config->flush_timeout_ms ? s->config->flush_timeout_ms : DEFAULT_FLUSH_TIMEOUT_MS;
}

uint32_t session_stop_timeout_ms(const struct session *s)
{
	return s->config->data_source_stop_timeout_ms ? s->config->data_source_stop_timeout_ms
						      : DEFAULT_STOP_TIMEOUT_MS;
}
