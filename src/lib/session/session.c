/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/session/session_internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/public.h"
#include "wire/pb_dec.h"

/* ObservableEvents.Type */
#define DATA_SOURCES_INSTANCES 1
#define ALL_DATA_SOURCES_STARTED 2
#define CLONE_TRIGGER_HIT 4
/* The library waits longer for the reply than the service waits for the data sources. */
#define FLUSH_GRACE_MS 2000
/* FlushFlags: an explicit flush by a consumer. */
#define FLUSH_FLAGS 0x34

/* ---- replies, on the loop's thread ---- */

/* A reply that only succeeds or fails. */
static void session_on_done(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	session_finish(s, reply->success ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

/* A message in field 1, in one or more replies: GetTraceStats, QueryServiceState. */
static void session_on_message(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (r == 0 && pb_dec_next(&d, &f))
		if (f.id == 1 && f.data)
			r = session_append(&s->out, f.data, f.len);
	if (r < 0)
		session_finish(s, r);
	else if (!reply->has_more)
		session_finish(s, reply->success ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

static void session_copy_text(char text[512], const struct pb_field *f)
{
	size_t len = MIN(f->len, (size_t)511);

	memcpy(text, f->data, len);
	text[len] = '\0';
}

/* The service replies to EnableTracing when tracing has ended, or could not begin. */
static void session_on_ended(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f;
	struct pb_dec d;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_ENABLE_TRACING_RESPONSE_ERROR && f.data)
			session_copy_text(s->end_text, &f);
	s->ended = true;
	session_put_simple_event(s, SONDA_SESSION_ENDED);
	s->end_error = reply->success && !s->end_text[0] ? 0 : -EPROTO;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void session_on_observed(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f, event;
	struct pb_dec d, events;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_OBSERVE_EVENTS_RESPONSE_EVENTS || !f.data)
			continue;
		pb_dec_init(&events, f.data, f.len);
		while (pb_dec_next(&events, &event)) {
			if (event.id == PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED && event.u64)
				s->started = true;
			session_put_observed(s, &event);
		}
	}
	if (!reply->success)
		s->observe_error = -EPROTO;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void session_on_cloned(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	bool good = false;
	struct pb_field f;
	struct pb_dec d;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_CLONE_SESSION_RESPONSE_SUCCESS)
			good = f.u64;
		else if (f.id == PB_CLONE_SESSION_RESPONSE_ERROR && f.data)
			session_copy_text(s->call_text, &f);
	}
	session_finish(s, reply->success && good ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the calls ---- */

SONDA_PUBLIC const char *sonda_session_error(const struct sonda_session *s)
{
	return s->error;
}

/* Returns the result of tracing, and sets s->error. Call with s->lock held. */
static int take_end(struct sonda_session *s)
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
	r = take_end(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int observe_start(struct sonda_session *s)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, ALL_DATA_SOURCES_STARTED);
	if (s->event_fd >= 0) {
		pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
			   DATA_SOURCES_INSTANCES);
		pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, CLONE_TRIGGER_HIT);
	}
	return session_post(s, "ObserveEvents", &m, session_on_observed);
}

/* Waits until all data sources have started, or tracing has ended or failed. */
static int wait_for_start(struct sonda_session *s, const struct session_deadline *d)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && !s->started && !s->ended && !s->reply_done && !s->observe_error &&
	       !s->lost)
		r = session_sleep(s, d);
	if (s->ended && !s->started && s->end_text[0])
		r = take_end(s) < 0 ? -EINVAL : 0;
	else if (s->started || s->ended)
		r = take_end(s);
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
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config, len);
	session_reset(s);
	r = observe_start(s);
	return r < 0 ? r : session_post(s, "EnableTracing", &m, session_on_ended);
}

SONDA_PUBLIC int sonda_session_begin(struct sonda_session *s, const void *config, size_t len)
{
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	r = send_start(s, config, len);
	s->state = r < 0 ? SESSION_OVER : SESSION_TRACING;
	return r < 0 ? session_give_up(s, r) : 0;
}

static void on_nothing(void *ctx, const struct channel_reply *reply)
{
	(void)ctx, (void)reply; /* session_on_ended() gets the result */
}

SONDA_PUBLIC int sonda_session_end(struct sonda_session *s)
{
	const struct pb_mem none = {0};

	if (s->state != SESSION_TRACING)
		return -EINVAL;
	session_reset(s);
	return session_post(s, "DisableTracing", &none, on_nothing);
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
	return r < 0 ? session_give_up(s, r) : 0;
}

SONDA_PUBLIC int sonda_session_wait(struct sonda_session *s, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);

	if (loop_is_here())
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
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r;

	if (s->state != SESSION_TRACING)
		return -EINVAL;
	r = pb_mem_init(&m);
	if (r < 0)
		return r;
	/* 0: the timeout of the config. */
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, (uint32_t)MAX(timeout_ms, 0));
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_FLAGS, FLUSH_FLAGS);
	return session_call(s, "Flush", &m, session_on_done, &d);
}

/* A call without arguments. */
static int call_plain(struct sonda_session *s, const char *method, channel_reply_fn reply,
		      const struct session_deadline *d)
{
	const struct pb_mem none = {0};

	return session_call(s, method, &none, reply, d);
}

/* A call with one string, in field 1. */
static int call_with_key(struct sonda_session *s, const char *method, const char *key,
			 const struct session_deadline *d)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_str(&m.enc, PB_DETACH_REQUEST_KEY, key);
	return session_call(s, method, &m, session_on_done, d);
}

SONDA_PUBLIC int sonda_session_stop(struct sonda_session *s, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_TRACING)
		return -EINVAL;
	r = call_plain(s, "DisableTracing", session_on_done, &d);
	if (r == 0)
		r = session_wait_for_end(s, &d);
	return r == -ETIMEDOUT ? session_give_up(s, r) : r;
}

SONDA_PUBLIC int sonda_session_detach(struct sonda_session *s, const char *key, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_TRACING || !*key)
		return -EINVAL;
	r = call_with_key(s, "Detach", key, &d);
	if (r == 0)
		s->state = SESSION_OVER;
	return r;
}

/* Requests session_on_ended() for a session that another connection started. */
static int watch_end(struct sonda_session *s)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_u64(&m.enc, PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, 1);
	return session_post(s, "EnableTracing", &m, session_on_ended);
}

SONDA_PUBLIC int sonda_session_attach(struct sonda_session *s, const char *key, int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	if (!*key)
		return -EINVAL;
	r = call_with_key(s, "Attach", key, &d);
	if (r < 0)
		return r;
	s->state = SESSION_TRACING;
	return watch_end(s);
}

SONDA_PUBLIC int sonda_session_clone(struct sonda_session *s, const char *unique_session_name,
				     int timeout_ms)
{
	const struct session_deadline d = session_deadline(timeout_ms);
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r;

	if (s->state != SESSION_NEW)
		return -EBUSY;
	r = pb_mem_init(&m);
	if (r < 0)
		return r;
	pb_enc_str(&m.enc, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, unique_session_name);
	r = session_call(s, "CloneSession", &m, session_on_cloned, &d);
	if (r == 0)
		s->state = SESSION_COPY;
	return r;
}

/* Moves the message of a reply to *ret. r: the result of the call, which is returned if it is an
 * error. Returns 0 or -errno. */
static int take_message(struct sonda_session *s, int r, void **ret, size_t *ret_len)
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
	return take_message(s, call_plain(s, "GetTraceStats", session_on_message, &d), ret,
			    ret_len);
}

SONDA_PUBLIC int sonda_session_query(struct sonda_session *s, int timeout_ms, void **ret,
				     size_t *ret_len)
{
	const struct session_deadline d = session_deadline(timeout_ms);

	return take_message(s, call_plain(s, "QueryServiceState", session_on_message, &d), ret,
			    ret_len);
}
