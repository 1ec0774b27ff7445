/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/session/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"
#include "wire/pb_dec.h"

/*
 * Events of a session are kept in an array until the program takes them. The eventfd is readable
 * while the array is not empty.
 */

#define MAX_EVENTS 1024 /* then the last one becomes SONDA_SESSION_EVENTS_LOST */

static void events_copy_text(char to[SONDA_SESSION_TEXT], const struct pb_field *f)
{
	size_t len = f->data ? MIN(f->len, (size_t)SONDA_SESSION_TEXT - 1) : 0;

	if (len)
		memcpy(to, f->data, len);
	to[len] = '\0';
}

static void session_queue_event(struct sonda_session *s, const struct sonda_session_event *event)
{
	const struct sonda_session_event lost = {.type = SONDA_SESSION_EVENTS_LOST};
	uint64_t one = 1;

	if (s->event_fd < 0)
		return;
	if (s->n_events < MAX_EVENTS &&
	    array_reserve(&s->events, &s->cap_events, s->n_events + 1, sizeof(*s->events)) == 0)
		s->events[s->n_events++] = *event;
	else if (s->n_events > 0)
		s->events[s->n_events - 1] = lost;
	(void)!write(s->event_fd, &one, sizeof(one));
}

void session_queue_simple_event(struct sonda_session *s, enum sonda_session_event_type type)
{
	const struct sonda_session_event event = {.type = type};

	session_queue_event(s, &event);
}

static void queue_source_change(struct sonda_session *s, const struct pb_field *message)
{
	struct sonda_session_event event = {.type = SONDA_SESSION_SOURCE_STOPPED};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_PRODUCER_NAME)
			events_copy_text(event.producer, &f);
		else if (f.id ==
			 PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_DATA_SOURCE_NAME)
			events_copy_text(event.name, &f);
		else if (f.id == PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_STATE &&
			 f.u64 == 2)
			event.type = SONDA_SESSION_SOURCE_STARTED;
	}
	session_queue_event(s, &event);
}

static void queue_clone_trigger(struct sonda_session *s, const struct pb_field *message)
{
	struct sonda_session_event event = {.type = SONDA_SESSION_CLONE_TRIGGER};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_NAME)
			events_copy_text(event.producer, &f);
		else if (f.id == PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME)
			events_copy_text(event.name, &f);
	}
	session_queue_event(s, &event);
}

void session_queue_observed(struct sonda_session *s, const struct pb_field *event)
{
	if (event->id == PB_OBSERVABLE_EVENTS_INSTANCE_STATE_CHANGES && event->data)
		queue_source_change(s, event);
	else if (event->id == PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT && event->data)
		queue_clone_trigger(s, event);
	else if (event->id == PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED && event->u64)
		session_queue_simple_event(s, SONDA_SESSION_ALL_STARTED);
}

SONDA_PUBLIC int sonda_session_fd(struct sonda_session *s)
{
	NO_CANCEL();
	int fd;

	pthread_mutex_lock(&s->lock);
	if (s->event_fd < 0) {
		s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (s->event_fd >= 0 && s->lost)
			session_queue_simple_event(s, SONDA_SESSION_LOST);
	}
	fd = s->event_fd >= 0 ? s->event_fd : -errno;
	pthread_mutex_unlock(&s->lock);
	return fd;
}

SONDA_PUBLIC int sonda_session_next_event(struct sonda_session *s, struct sonda_session_event *ret)
{
	NO_CANCEL();
	uint64_t count;
	int n;

	pthread_mutex_lock(&s->lock);
	n = s->n_events > 0;
	if (n) {
		*ret = s->events[0];
		memmove(s->events, s->events + 1, --s->n_events * sizeof(*s->events));
		if (s->n_events == 0)
			(void)!read(s->event_fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

void session_events_deinit(struct sonda_session *s)
{
	free(s->events);
	closep(&s->event_fd);
}
