/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/concurrent.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "service/service.h"
#include "service/session/session.h"

/* ConcurrentSessionEvent.State has them in the same order, from 1 on. */
static uint32_t state_number(enum session_state state)
{
	return (uint32_t)state + 1;
}

static bool wants_events(const struct session *s)
{
	const Pb__TraceConfig__BuiltinDataSource *b = s->config->builtin_data_sources;

	return b && b->enable_concurrent_session_events &&
	       (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED ||
		s->state == SESSION_STOPPING);
}

static void note(struct session *s, const struct session *other)
{
	struct concurrent_events *c = &s->concurrent;
	const char *name = other->config->unique_session_name;
	struct concurrent_event event = {.boot_ns = other->state_boot_ns,
					 .session_id = other->id,
					 .state = state_number(other->state),
					 .uid = other->uid,
					 .n_sources = (uint32_t)other->n_instances};
	size_t at;

	if (c->n >= MAX_CONCURRENT_EVENTS) {
		s->service->quota.refused[REFUSED_CONCURRENT_EVENTS]++;
		return;
	}
	if (array_reserve(&c->list, &c->cap, c->n + 1, sizeof(c->list[0])) < 0)
		return;
	if (name && name[0] && (s->uid == 0 || s->uid == other->uid))
		event.name = strdup(name);
	for (at = c->n; at > 0 && c->list[at - 1].boot_ns > event.boot_ns; at--)
		;
	memmove(&c->list[at + 1], &c->list[at], (c->n++ - at) * sizeof(event));
	c->list[at] = event;
}

void concurrent_begin(struct session *s)
{
	const struct session *other;

	if (!wants_events(s))
		return;
	TAILQ_FOREACH (other, &s->service->sessions, link)
		if (other != s)
			note(s, other);
}

void concurrent_tell(const struct session *s)
{
	struct session *other;

	TAILQ_FOREACH (other, &s->service->sessions, link)
		if (other != s && wants_events(other))
			note(other, s);
}

void concurrent_clear(struct concurrent_events *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	c->n = 0;
}

void concurrent_deinit(struct concurrent_events *c)
{
	concurrent_clear(c);
	free(c->list);
}
