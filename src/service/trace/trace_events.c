/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has happened in a session, kept until a reading pass writes it into the trace: events of the
 * service, state changes of other sessions, and received triggers.
 */
#include "service/trace/trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "service/ipc/limits.h"

/*
 * The events are in one array, in the order of time. A new event is nearly always the last one. If
 * its kind has max_events_of_kind() events already, it replaces the oldest of them.
 */

static size_t max_events_of_kind(enum service_event_kind kind)
{
	if (kind == SERVICE_EVENT_BUFFER_CLONED)
		return LIMIT_BUFFERS;
	return kind == SERVICE_EVENT_ALL_FLUSHED || kind == SERVICE_EVENT_FLUSH_STARTED
		       ? SERVICE_EVENT_FLUSH_EVENTS
		       : 1;
}

static struct slow_sources *slow_sources_of_kind(struct service_events *l,
						 enum service_event_kind kind)
{
	if (kind == SERVICE_EVENT_SLOW_STARTING)
		return &l->slow_starting;
	return kind == SERVICE_EVENT_SLOW_FLUSH ? &l->slow_flush : NULL;
}

static void slow_sources_clear(struct slow_sources *s)
{
	free(s->bytes);
	*s = (struct slow_sources){0};
}

static void remove_event_at(struct service_events *l, size_t i)
{
	l->n--;
	memmove(&l->events[i], &l->events[i + 1], (l->n - i) * sizeof(l->events[0]));
}

void service_events_add(struct service_events *l, enum service_event_kind kind, uint64_t boot_ns)
{
	service_events_add_value(l, kind, boot_ns, 1);
}

void service_events_add_value(struct service_events *l, enum service_event_kind kind,
			      uint64_t boot_ns, uint32_t value)
{
	struct service_event event = {.boot_ns = boot_ns, .kind = kind, .value = value};
	size_t oldest = l->n, count = 0, at;

	for (size_t i = l->n; i-- > 0;)
		if (l->events[i].kind == kind) {
			oldest = i;
			count++;
		}
	if (count >= max_events_of_kind(kind))
		remove_event_at(l, oldest);
	for (at = l->n; at > 0 && l->events[at - 1].boot_ns > boot_ns; at--)
		;
	memmove(&l->events[at + 1], &l->events[at], (l->n++ - at) * sizeof(event));
	l->events[at] = event;
}

void service_events_add_sources(struct service_events *l, enum service_event_kind kind,
				uint64_t boot_ns, const void *bytes, size_t len)
{
	struct slow_sources *s = slow_sources_of_kind(l, kind);
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		return;
	memcpy(copy, bytes, len);
	slow_sources_clear(s);
	*s = (struct slow_sources){.bytes = copy, .len = len};
	service_events_add(l, kind, boot_ns);
}

void service_events_remove(struct service_events *l, enum service_event_kind kind)
{
	struct slow_sources *s = slow_sources_of_kind(l, kind);

	for (size_t i = l->n; i-- > 0;)
		if (l->events[i].kind == kind)
			remove_event_at(l, i);
	if (s)
		slow_sources_clear(s);
}

void service_events_clear(struct service_events *l)
{
	l->n = 0;
	slow_sources_clear(&l->slow_starting);
	slow_sources_clear(&l->slow_flush);
}

static int slow_sources_copy(const struct slow_sources *from, struct slow_sources *to)
{
	if (!from->bytes)
		return 0;
	to->bytes = malloc(from->len ? from->len : 1);
	if (!to->bytes)
		return -ENOMEM;
	memcpy(to->bytes, from->bytes, from->len);
	to->len = from->len;
	return 0;
}

int service_events_copy(const struct service_events *from, struct service_events *to)
{
	memcpy(to->events, from->events, from->n * sizeof(from->events[0]));
	to->n = from->n;
	if (slow_sources_copy(&from->slow_starting, &to->slow_starting) < 0)
		return -ENOMEM;
	return slow_sources_copy(&from->slow_flush, &to->slow_flush);
}

void service_events_deinit(struct service_events *l)
{
	service_events_clear(l);
}

const struct slow_sources *service_events_get_sources(const struct service_events *l,
						      enum service_event_kind kind)
{
	return slow_sources_of_kind((struct service_events *)l, kind);
}

bool concurrent_session_events_add(struct concurrent_events *c,
				   const struct concurrent_event *event)
{
	size_t at;

	if (c->n >= MAX_CONCURRENT_EVENTS)
		return false;
	if (array_reserve(&c->list, &c->cap, c->n + 1, sizeof(c->list[0])) < 0)
		return true;
	for (at = c->n; at > 0 && c->list[at - 1].boot_ns > event->boot_ns; at--)
		;
	memmove(&c->list[at + 1], &c->list[at], (c->n++ - at) * sizeof(*event));
	c->list[at] = *event;
	c->list[at].name = event->name ? strdup(event->name) : NULL;
	return true;
}

void concurrent_session_events_clear(struct concurrent_events *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	c->n = 0;
}

void concurrent_session_events_deinit(struct concurrent_events *c)
{
	concurrent_session_events_clear(c);
	free(c->list);
}

/* ---- received triggers ---- */

void received_trigger_deinit(struct received_trigger *t)
{
	free(t->name);
	free(t->producer);
	*t = (struct received_trigger){0};
}

int received_trigger_copy(const struct received_trigger *from, struct received_trigger *ret)
{
	struct received_trigger t = *from;

	t.name = strdup(from->name);
	t.producer = strdup(from->producer);
	if (!t.name || !t.producer) {
		received_trigger_deinit(&t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}
