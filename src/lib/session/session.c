/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/session/session_internal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"
#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* ObservableEvents.Type */
#define DATA_SOURCES_INSTANCES 1
#define ALL_DATA_SOURCES_STARTED 2
#define CLONE_TRIGGER_HIT 4
/* The library waits longer for the reply than the service waits for the data sources. */
#define FLUSH_GRACE_MS 2000
/* FlushFlags: an explicit flush by a consumer. */
#define FLUSH_FLAGS 0x34

/* ---- replies, on the loop's thread ---- */

static void session_on_done(void *ctx, int error)
{
	struct sonda_session *s = ctx;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	session_finish_call(s, error);
	pthread_mutex_unlock(&s->lock);
}

static void session_on_message(void *ctx, int error, const void *message, size_t len)
{
	struct sonda_session *s = ctx;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	session_finish_call(s, error ? error : session_append(&s->out, message, len));
	pthread_mutex_unlock(&s->lock);
}

/* Tracing has ended, or could not begin. */
static void session_on_ended(void *ctx, int error, const char *error_text)
{
	struct sonda_session *s = ctx;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	snprintf(s->end_text, sizeof(s->end_text), "%s", error_text);
	s->ended = true;
	session_queue_simple_event(s, SONDA_SESSION_ENDED);
	s->end_error = error || *error_text ? -EPROTO : 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void session_on_observed(void *ctx, int error, const void *events, size_t len, bool last)
{
	struct sonda_session *s = ctx;
	struct pb_field event;
	struct pb_dec d;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, events, len);
	while (pb_dec_next(&d, &event)) {
		if (event.id == PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED && event.u64)
			s->started = true;
		session_queue_observed(s, &event);
	}
	if (error)
		s->observe_error = error;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void session_on_cloned(void *ctx, int error, const struct consumer_clone_answer *answer)
{
	struct sonda_session *s = ctx;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	if (answer)
		memcpy(s->call_text, answer->error, sizeof(s->call_text));
	session_finish_call(s, answer && answer->success ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

/* ---- requests, on the loop's thread ---- */

static int send_enable(struct sonda_session *s, const struct session_args *a)
{
	return consumer_enable(s->consumer, a->config, a->len, -1, session_on_ended, s);
}

static int send_disable(struct sonda_session *s, const struct session_args *a)
{
	return consumer_disable(s->consumer, session_on_done, s);
}

static void ignore_result(void *ctx, int error)
{
	(void)ctx, (void)error; /* session_on_ended() gets the result */
}

static int send_disable_tracing(struct sonda_session *s, const struct session_args *a)
{
	return consumer_disable(s->consumer, ignore_result, s);
}

static int send_observe(struct sonda_session *s, const struct session_args *a)
{
	uint32_t events = ALL_DATA_SOURCES_STARTED;

	if (s->event_fd >= 0)
		events |= DATA_SOURCES_INSTANCES | CLONE_TRIGGER_HIT;
	return consumer_observe(s->consumer, events, session_on_observed, s);
}

static int send_flush(struct sonda_session *s, const struct session_args *a)
{
	return consumer_flush(s->consumer, a->ms, FLUSH_FLAGS, session_on_done, s);
}

static int send_detach(struct sonda_session *s, const struct session_args *a)
{
	return consumer_detach(s->consumer, a->name, session_on_done, s);
}

static int send_attach(struct sonda_session *s, const struct session_args *a)
{
	return consumer_attach(s->consumer, a->name, session_on_message, s);
}

/* Requests session_on_ended() for a session that another connection started. */
static int send_await_end(struct sonda_session *s, const struct session_args *a)
{
	return consumer_await_end(s->consumer, session_on_ended, s);
}

static int send_clone(struct sonda_session *s, const struct session_args *a)
{
	const struct consumer_clone_request request = {.name = a->name};

	return consumer_clone(s->consumer, &request, -1, session_on_cloned, s);
}

static int send_stats(struct sonda_session *s, const struct session_args *a)
{
	return consumer_stats(s->consumer, session_on_message, s);
}

static int send_query(struct sonda_session *s, const struct session_args *a)
{
	return consumer_query_state(s->consumer, false, session_on_message, s);
}

/* ---- the calls ---- */

SONDA_PUBLIC const char *sonda_session_error(const struct sonda_session *s)
{
	return s->error;
}

/* Returns the result of the tracing session, and copies its message to s->error. Call with s->lock
 * held. */
static int copy_end_result(struct sonda_session *s)
{
	memcpy(s->error, s->end_text, sizeof(s->error));
	return s->end_error;
}

static int session_wait_for_end(struct sonda_session *s, const struct session_deadline *d)
{
	int r = session_wait_for(s, &s->ended, d);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = copy_end_result(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* Waits until all data sources have started, or tracing has ended or failed. Returns 0; -EINVAL if
 * the service refused the config; or another -errno. Copies the service's message to s->error if
 * tracing has ended. */
static int wait_for_start(struct sonda_session *s, const struct session_deadline *d)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && !s->started && !s->ended && !s->reply_done && !s->observe_error &&
	       !s->lost)
		r = session_sleep(s, d);
	if (s->ended && !s->started && s->end_text[0])
		r = copy_end_result(s) < 0 ? -EINVAL : 0;
	else if (s->started || s->ended)
		r = copy_end_result(s);
	else if (s->lost)
		r = s->lost;
	else if (s->reply_done)
		r = s->reply_error;
	else if (s->observe_error)
		r = s->observe_error;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int send_start(struct sonda_session *s, const void *config, size_t len)
{
	const struct session_args args = {.config = config, .len = len};
	int r;

	session_reset(s);
	r = session_post(s, send_observe, NULL);
	return r < 0 ? r : session_post(s, send_enable, &args);
}

SONDA_PUBLIC int sonda_session_begin(struct sonda_session *s, const void *config, size_t len)
{
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	r = send_start(s, config, len);
	s->state = r < 0 ? SESSION_OVER : SESSION_TRACING;
	return r < 0 ? session_disconnect(s, r) : 0;
}

SONDA_PUBLIC int sonda_session_end(struct sonda_session *s)
{
	if (s->state != SESSION_TRACING)
		return -EINVAL;
	session_reset(s);
	return session_post(s, send_disable_tracing, NULL);
}

SONDA_PUBLIC int sonda_session_start(struct sonda_session *s, const void *config, size_t len,
				     int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	r = send_start(s, config, len);
	if (r == 0)
		r = wait_for_start(s, &d);
	s->state = r < 0 ? SESSION_OVER : SESSION_TRACING;
	return r < 0 ? session_disconnect(s, r) : 0;
}

SONDA_PUBLIC int sonda_session_wait(struct sonda_session *s, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);

	if (io_loop_is_current(&library_loop))
		return -EDEADLK;
	if (s->state != SESSION_TRACING)
		return -EINVAL;
	s->error[0] = '\0';
	return session_wait_for_end(s, &d);
}

SONDA_PUBLIC int sonda_session_flush(struct sonda_session *s, int timeout_ms)
{
	/* The service ends a flush after the config's timeout, which is not known here. */
	const struct session_deadline d = session_deadline(
		timeout_ms <= 0 ? -1 : MIN(timeout_ms, INT_MAX - FLUSH_GRACE_MS) + FLUSH_GRACE_MS);
	const struct session_args args = {.ms = (uint32_t)MAX(timeout_ms, 0)}; /* 0: the config's */

	if (s->state != SESSION_TRACING)
		return -EINVAL;
	return session_call(s, send_flush, &args, &d);
}

SONDA_PUBLIC int sonda_session_stop(struct sonda_session *s, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_TRACING)
		return -EINVAL;
	r = session_call(s, send_disable, NULL, &d);
	if (r == 0)
		r = session_wait_for_end(s, &d);
	return r == -ETIMEDOUT ? session_disconnect(s, r) : r;
}

SONDA_PUBLIC int sonda_session_detach(struct sonda_session *s, const char *key, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_TRACING || !*key)
		return -EINVAL;
	r = session_call(s, send_detach, &(struct session_args){.name = key}, &d);
	if (r == 0)
		s->state = SESSION_OVER;
	return r;
}

SONDA_PUBLIC int sonda_session_attach(struct sonda_session *s, const char *key, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	if (!*key)
		return -EINVAL;
	r = session_call(s, send_attach, &(struct session_args){.name = key}, &d);
	if (r < 0)
		return r;
	s->state = SESSION_TRACING;
	return session_post(s, send_await_end, NULL);
}

SONDA_PUBLIC int sonda_session_clone(struct sonda_session *s, const char *unique_session_name,
				     int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	r = session_call(s, send_clone, &(struct session_args){.name = unique_session_name}, &d);
	if (r == 0)
		s->state = SESSION_COPY;
	return r;
}

/* Moves the message of a reply to *ret. r: the result of the call, which is returned if it is an
 * error. Returns 0 or -errno. */
static int move_message(struct sonda_session *s, int r, void **ret, size_t *ret_len)
{
	if (r == 0)
		r = session_append(&s->out, "", 1); /* so that an empty message is not NULL */
	if (r < 0)
		return r;
	*ret_len = s->out.len - 1;
	*ret = s->out.data;
	s->out = (struct session_bytes){0};
	return 0;
}

SONDA_PUBLIC int sonda_session_stats(struct sonda_session *s, int timeout_ms, void **ret,
				     size_t *ret_len)
{
	const struct session_deadline d = session_deadline(timeout_ms);

	if (s->state != SESSION_TRACING && s->state != SESSION_COPY)
		return -EINVAL;
	return move_message(s, session_call(s, send_stats, NULL, &d), ret, ret_len);
}

SONDA_PUBLIC int sonda_session_query(struct sonda_session *s, int timeout_ms, void **ret,
				     size_t *ret_len)
{
	const struct session_deadline d = session_deadline(timeout_ms);

	return move_message(s, session_call(s, send_query, NULL, &d), ret, ret_len);
}

/* The channel stops reading while the program has this many bytes to take. */
#define PAUSE_BYTES (4u << 20)

/* ---- on the loop's thread ---- */

/* Appends a slice to the packet. A complete packet is moved to the output, after its preamble.
 * Returns 0 or -errno. */
static int read_add_slice(struct sonda_session *s, const struct consumer_slice *slice)
{
	uint8_t preamble[16] = {PB_WIRE_BYTES | 1 << 3}, *end;
	int r = slice->data ? session_append(&s->packet, slice->data, slice->len) : 0;

	if (r < 0 || !slice->ends)
		return r;
	end = pb_put_varint(preamble + 1, s->packet.len);
	r = session_append(&s->out, preamble, (size_t)(end - preamble));
	if (r == 0)
		r = session_append(&s->out, s->packet.data, s->packet.len);
	s->packet.len = 0;
	return r;
}

static void read_on_slices(void *ctx, int error, const void *slices, size_t len, bool last)
{
	struct sonda_session *s = ctx;
	struct consumer_slice slice;
	struct pb_dec d;
	int r = error;

	if (error == -EPIPE)
		return;
	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, slices, len);
	while (r == 0 && (r = consumer_next_slice(&d, &slice)) > 0)
		r = read_add_slice(s, &slice);
	if (r < 0 || last)
		session_finish_call(s, r);
	if (s->out.len > PAUSE_BYTES && !s->paused && s->consumer) {
		s->paused = true;
		consumer_pause(s->consumer, true);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static int send_read(struct sonda_session *s, const struct session_args *a)
{
	return consumer_read(s->consumer, read_on_slices, s);
}

/* ---- on the caller's thread ---- */

/* Waits for a part of the trace. Returns 0 and sets *ret, whose len is 0 at the end; or -errno. The
 * session reuses the memory that *ret had before. */
static int wait_for_trace_part(struct sonda_session *s, int timeout_ms, struct session_bytes *ret)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	struct session_bytes empty = {.data = ret->data, .cap = ret->cap};
	bool was_paused;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && s->out.len == 0 && !s->reply_done && !s->lost)
		r = session_sleep(s, &d);
	if (s->out.len > 0 && s->reply_error == 0)
		r = 0;
	else if (s->reply_done)
		r = s->reply_error;
	else if (s->lost)
		r = s->lost;
	*ret = s->out;
	s->out = empty;
	was_paused = s->paused;
	s->paused = false;
	pthread_mutex_unlock(&s->lock);
	if (was_paused)
		io_post(&library_loop, &s->resume);
	return r;
}

SONDA_PUBLIC int sonda_session_read(struct sonda_session *s,
				    int (*fn)(void *ctx, const void *data, size_t len), void *ctx,
				    int timeout_ms)
{
	NO_CANCEL();
	struct session_bytes part = {0};
	int r;

	if (s->state != SESSION_TRACING && s->state != SESSION_COPY)
		return -EINVAL;
	session_reset(s);
	r = session_post(s, send_read, NULL);
	if (r < 0)
		return r;
	do {
		r = wait_for_trace_part(s, timeout_ms, &part);
		if (r == 0 && part.len > 0)
			r = fn(ctx, part.data, part.len);
	} while (r == 0 && part.len > 0);
	free(part.data);
	return r == 0 ? 0 : session_disconnect(s, r);
}

struct output {
	int fd; /* borrowed */
	int timeout_ms;
};

static int read_write_all(void *ctx, const void *data, size_t len)
{
	const struct output *o = ctx;
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};
	const uint8_t *at = data;

	while (len > 0) {
		ssize_t n = write(o->fd, at, len);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (poll(&p, 1, o->timeout_ms) == 0)
				return -ETIMEDOUT;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

SONDA_PUBLIC int sonda_session_read_fd(struct sonda_session *s, int fd, int timeout_ms)
{
	struct output o = {.fd = fd, .timeout_ms = timeout_ms};

	return sonda_session_read(s, read_write_all, &o, timeout_ms);
}
