/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/session/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"
#include "lib/session/sessions.h"
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

static void session_events_deinit(struct sonda_session *s)
{
	free(s->events);
	closep(&s->event_fd);
}

/* The loop polls at most 64 descriptors, of which producers need some. */
#define MAX_SESSIONS 32
/* The maximum for one packet, so that a service cannot use up the memory. */
#define MAX_BYTES CONSUMER_MAX_MESSAGE

int session_append(struct session_bytes *b, const void *data, size_t len)
{
	int r;

	if (len > MAX_BYTES - MIN(b->len, (size_t)MAX_BYTES))
		return -EMSGSIZE;
	r = array_reserve(&b->data, &b->cap, b->len + len, 1);
	if (r == 0 && len > 0) {
		memcpy(b->data + b->len, data, len);
		b->len += len;
	}
	return r;
}

/* ---- on the loop's thread ---- */

static struct sonda_session *sessions;
static unsigned n_sessions;

static void connection_drop(struct sonda_session *s, int why)
{
	for (struct sonda_session **p = &sessions; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			n_sessions--;
			break;
		}
	consumer_free(TAKE_PTR(s->consumer));
	pthread_mutex_lock(&s->lock);
	if (!s->lost)
		session_queue_simple_event(s, SONDA_SESSION_LOST);
	s->lost = s->lost ? s->lost : why;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sessions_disconnect(void)
{
	while (sessions)
		connection_drop(sessions, -EPIPE);
}

void sessions_after_fork_in_child(void)
{
	for (struct sonda_session *s = sessions; s; s = s->next) {
		consumer_after_fork_in_child(s->consumer);
		/* A thread of the parent may have held the lock, or have waited. */
		pthread_mutex_init(&s->lock, NULL);
		pthread_cond_init(&s->changed, NULL);
		s->consumer = NULL;
		s->lost = -EPIPE;
		closep(&s->event_fd); /* the event is shared with the parent */
		s->n_events = 0;
	}
	sessions = NULL;
	n_sessions = 0;
}

static void connection_on_connected(void *ctx, int error)
{
	struct sonda_session *s = ctx;

	if (error < 0) {
		connection_drop(s, error);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->bound = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void connection_on_disconnected(void *ctx)
{
	connection_drop(ctx, -EPIPE);
}

static const struct consumer_ops consumer_ops = {.on_connected = connection_on_connected,
						 .on_disconnected = connection_on_disconnected};

static void on_connect(struct io_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);
	int r = -ENOTCONN; /* if the loop has ended meanwhile */

	if (io_loop_is_current(&library_loop))
		r = n_sessions >= MAX_SESSIONS ? -EMFILE
					       : consumer_connect(&library_loop, &s->target,
								  &consumer_ops, s, &s->consumer);
	if (r < 0) {
		connection_drop(s, r);
		return;
	}
	s->next = sessions;
	sessions = s;
	n_sessions++;
}

static void on_disconnect(struct io_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);

	connection_drop(s, -EPIPE);
	io_remove_posted(&library_loop, &s->resume);
}

void session_finish_call(struct sonda_session *s, int error)
{
	s->reply_done = true;
	s->reply_error = s->reply_error ? s->reply_error : error;
	pthread_cond_broadcast(&s->changed);
}

static void run_posted_request(struct io_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);
	int r = s->consumer ? s->request(s, s->args) : -EPIPE;

	if (r == 0)
		return;
	pthread_mutex_lock(&s->lock);
	session_finish_call(s, r);
	pthread_mutex_unlock(&s->lock);
}

static void on_resume(struct io_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, resume);

	pthread_mutex_lock(&s->lock);
	if (s->consumer && !s->paused)
		consumer_pause(s->consumer, false);
	pthread_mutex_unlock(&s->lock);
}

/* ---- on the caller's thread ---- */

struct session_deadline session_deadline(int timeout_ms)
{
	uint64_t ns = clock_mono_ns() + (uint64_t)MAX(timeout_ms, 0) * NS_PER_MS;

	return (struct session_deadline){
		.never = timeout_ms < 0,
		.end = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)}};
}

int session_sleep(struct sonda_session *s, const struct session_deadline *d)
{
	NO_CANCEL();
	if (d->never)
		return -pthread_cond_wait(&s->changed, &s->lock);
	return -pthread_cond_timedwait(&s->changed, &s->lock, &d->end);
}

int session_disconnect(struct sonda_session *s, int error)
{
	s->task.fn = on_disconnect;
	io_call(&library_loop, &s->task);
	return error;
}

int session_wait_for(struct sonda_session *s, const bool *what, const struct session_deadline *d)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && !*what && !s->lost)
		r = session_sleep(s, d);
	if (*what)
		r = 0;
	else if (s->lost)
		r = s->lost;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Checks that the session can make a call. Returns 0; -EDEADLK on the loop's thread; -ENOTCONN if
 * the loop does not run; or the error of a lost connection. */
static int session_check_caller(struct sonda_session *s)
{
	int r;

	if (io_loop_is_current(&library_loop))
		return -EDEADLK;
	if (!io_loop_runs(&library_loop))
		return -ENOTCONN;
	pthread_mutex_lock(&s->lock);
	r = s->lost;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void session_reset(struct sonda_session *s)
{
	s->error[0] = '\0';
	pthread_mutex_lock(&s->lock);
	s->reply_done = false;
	s->reply_error = 0;
	s->packet.len = 0;
	s->out.len = 0;
	s->call_text[0] = '\0';
	pthread_mutex_unlock(&s->lock);
}

int session_post(struct sonda_session *s, session_request request, const struct session_args *a)
{
	int r = session_check_caller(s);

	if (r < 0)
		return r;
	s->request = request;
	s->args = a;
	s->task.fn = run_posted_request;
	io_call(&library_loop, &s->task);
	return 0;
}

/* Waits for session_finish_call(), and closes the connection at a timeout. Returns the result of
 * the call, and copies the service's message to s->error. */
static int session_end_call(struct sonda_session *s, const struct session_deadline *d)
{
	int r = session_wait_for(s, &s->reply_done, d);

	if (r == -ETIMEDOUT)
		return session_disconnect(s, r);
	pthread_mutex_lock(&s->lock);
	if (r == 0)
		r = s->reply_error;
	memcpy(s->error, s->call_text, sizeof(s->error));
	pthread_mutex_unlock(&s->lock);
	return r;
}

int session_call(struct sonda_session *s, session_request request, const struct session_args *a,
		 const struct session_deadline *d)
{
	int r;

	session_reset(s);
	r = session_post(s, request, a);
	return r < 0 ? r : session_end_call(s, d);
}

int session_new(const struct channel_target *target, int timeout_ms, struct sonda_session **ret)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	struct sonda_session *s;
	pthread_condattr_t attr;
	int r = 0;

	if (io_loop_is_current(&library_loop))
		return -EDEADLK;
	if (!io_loop_runs(&library_loop))
		return -ENOTCONN;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	s->resume.fn = on_resume;
	s->task.fn = on_connect;
	s->event_fd = -1;
	s->target = *target;
	if (target->address && !(s->target.address = strdup(target->address)))
		r = -ENOMEM;
	else
		io_call(&library_loop, &s->task);
	if (r == 0)
		r = session_wait_for(s, &s->bound, &d);
	if (r < 0) {
		sonda_session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

SONDA_PUBLIC int sonda_session_new(const char *socket, int timeout_ms, struct sonda_session **ret)
{
	return session_new(&(struct channel_target){.address = socket}, timeout_ms, ret);
}

SONDA_PUBLIC void sonda_session_free(struct sonda_session *s)
{
	if (!s)
		return;
	session_disconnect(s, 0);
	session_events_deinit(s);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->packet.data);
	free(s->out.data);
	free((char *)s->target.address);
	free(s);
}
