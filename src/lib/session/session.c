/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is a connection of its own to the service. The caller's thread posts a call to the
 * loop's thread and sleeps until its reply, or what it waits for, is there:
 *
 *	caller                      loop
 *	call_service() ---task----> channel_call()
 *	   sleeps                   on_reply(): session.out, reply_done
 *	   wakes  <-----cond------
 *
 * A session that is of no use any more has `lost`; its channel is closed by the loop.
 */
#include <sonda/session.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "gen/fields.h"
#include "lib/channel/channel.h"
#include "lib/loop/loop.h"
#include "lib/public.h"
#include "lib/session/sessions.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"
#include "wire/pb_varint.h"

#define PORT "ConsumerPort"
#define ALL_DATA_SOURCES_STARTED 2 /* ObservableEvents.Type */
/* Above so many bytes that were not read the socket is not read either. */
#define PAUSE_BYTES (4u << 20)
/* How much longer than the service's own time for a flush we wait. */
#define FLUSH_GRACE_MS 2000
/* FlushFlags: an explicit flush by a consumer of a library. */
#define FLUSH_FLAGS 0x34

struct bytes {
	uint8_t *data; /* owned */
	size_t len, cap;
};

struct sonda_session {
	/* The caller's: */
	char *socket; /* owned; NULL: the default */
	char error[512];
	/* For the loop's thread: */
	struct channel *channel; /* owned */
	struct loop_task task; /* of the call that runs, or the end */
	struct loop_task resume;
	const char *method;
	const struct pb_mem *args;
	channel_reply_fn reply;
	bool paused;
	struct bytes packet; /* a packet whose end has not come */
	struct sonda_session *next; /* all with a channel */
	/* With the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int lost; /* 0, or why */
	bool bound, started, ended;
	int end_error;
	bool reply_done;
	int reply_error;
	struct bytes out; /* data of replies */
	char said[512]; /* the service's words */
};

/* ---- bytes ---- */

static int append(struct bytes *b, const void *data, size_t len)
{
	int r = array_reserve(&b->data, &b->cap, b->len + len, 1);

	if (r == 0 && len > 0) {
		memcpy(b->data + b->len, data, len);
		b->len += len;
	}
	return r;
}

/* ---- the loop's side ---- */

static struct sonda_session *sessions;

static void drop_channel(struct sonda_session *s, int why)
{
	for (struct sonda_session **p = &sessions; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	channel_close(TAKE_PTR(s->channel));
	pthread_mutex_lock(&s->lock);
	s->lost = why;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void sessions_lost(void)
{
	while (sessions)
		drop_channel(sessions, -EPIPE);
}

void sessions_forget(void)
{
	for (struct sonda_session *s = sessions; s; s = s->next) {
		channel_forget(s->channel);
		pthread_mutex_init(&s->lock, NULL);
		s->channel = NULL;
		s->lost = -EPIPE;
	}
	sessions = NULL;
}

static void on_bound(void *ctx)
{
	struct sonda_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->bound = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_lost(void *ctx, int error)
{
	drop_channel(ctx, error < 0 ? error : -EPIPE);
}

static const struct channel_ops channel_ops = {.on_bound = on_bound, .on_lost = on_lost};

static void on_connect(struct loop_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);
	int r = channel_open(s->socket ? s->socket : sock_default_consumer(), PORT, &channel_ops, s,
			     &s->channel);

	if (r < 0) {
		drop_channel(s, r);
		return;
	}
	s->next = sessions;
	sessions = s;
}

static void on_disconnect(struct loop_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);

	drop_channel(s, -EPIPE);
	loop_unpost(&s->resume);
}

/* s->lock is held */
static void finish(struct sonda_session *s, int error)
{
	s->reply_done = true;
	s->reply_error = s->reply_error ? s->reply_error : error;
	pthread_cond_broadcast(&s->changed);
}

static void on_call(struct loop_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, task);
	int r = -EPIPE;

	if (s->channel)
		r = channel_call(s->channel, s->method, s->args->buf, pb_mem_len(s->args), -1,
				 s->reply, s);
	if (r == 0)
		return;
	pthread_mutex_lock(&s->lock);
	finish(s, r);
	pthread_mutex_unlock(&s->lock);
}

static void on_resume(struct loop_task *t)
{
	struct sonda_session *s = container_of(t, struct sonda_session, resume);

	s->paused = false;
	if (s->channel)
		channel_pause(s->channel, false);
}

/* ---- replies ---- */

/* What only succeeds or fails. */
static void on_done(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;

	pthread_mutex_lock(&s->lock);
	finish(s, reply->success ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

/* One message in field 1, perhaps in several replies: GetTraceStats, QueryServiceState. */
static void on_message(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f;
	struct pb_dec d;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f))
		if (f.id == 1 && f.data && append(&s->out, f.data, f.len) < 0)
			s->reply_error = -ENOMEM;
	if (!reply->has_more)
		finish(s, reply->success ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

static void keep_words(struct sonda_session *s, const struct pb_field *f)
{
	size_t len = MIN(f->len, sizeof(s->said) - 1);

	memcpy(s->said, f->data, len);
	s->said[len] = '\0';
}

/* EnableTracing is answered when tracing has ended, or could not begin. */
static void on_ended(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f;
	struct pb_dec d;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_ENABLE_TRACING_RESPONSE_ERROR && f.data)
			keep_words(s, &f);
	s->ended = true;
	s->end_error = reply->success ? 0 : -EPROTO;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_observed(void *ctx, const struct channel_reply *reply)
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
		while (pb_dec_next(&events, &event))
			if (event.id == PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED && event.u64)
				s->started = true;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_cloned(void *ctx, const struct channel_reply *reply)
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
			keep_words(s, &f);
	}
	finish(s, reply->success && good ? 0 : -EPROTO);
	pthread_mutex_unlock(&s->lock);
}

/* A slice: appends it to the packet; a whole packet goes to the output with its preamble. */
static int add_slice(struct sonda_session *s, const struct pb_field *slice)
{
	uint8_t preamble[16] = {PB_WIRE_BYTES | 1 << 3}, *end;
	bool last = false;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	pb_dec_init(&d, slice->data, slice->len);
	while (r == 0 && pb_dec_next(&d, &f)) {
		if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_DATA && f.data)
			r = append(&s->packet, f.data, f.len);
		else if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET)
			last = f.u64;
	}
	if (r < 0 || !last)
		return r;
	end = pb_put_varint(preamble + 1, s->packet.len);
	r = append(&s->out, preamble, (size_t)(end - preamble));
	if (r == 0)
		r = append(&s->out, s->packet.data, s->packet.len);
	s->packet.len = 0;
	return r;
}

static void on_read(void *ctx, const struct channel_reply *reply)
{
	struct sonda_session *s = ctx;
	struct pb_field f;
	struct pb_dec d;

	pthread_mutex_lock(&s->lock);
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_READ_BUFFERS_RESPONSE_SLICES && f.data && add_slice(s, &f) < 0)
			s->reply_error = -ENOMEM;
	if (!reply->has_more)
		finish(s, reply->success ? 0 : -EPROTO);
	if (s->out.len > PAUSE_BYTES && !s->paused) {
		s->paused = true;
		channel_pause(s->channel, true);
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the caller's side ---- */

static struct timespec deadline(int timeout_ms)
{
	uint64_t ns = clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;

	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

/* Sleeps until something changes, or it is time. Returns 0 or -ETIMEDOUT. s->lock is held. */
static int sleep_until(struct sonda_session *s, int timeout_ms, const struct timespec *end)
{
	if (timeout_ms < 0)
		return -pthread_cond_wait(&s->changed, &s->lock);
	return -pthread_cond_timedwait(&s->changed, &s->lock, end);
}

/* Closes the connection: a reply that comes too late must meet nobody. */
static int give_up(struct sonda_session *s, int error)
{
	s->task.fn = on_disconnect;
	loop_call(&s->task);
	return error;
}

/* Waits until *what is true. */
static int wait_for(struct sonda_session *s, const bool *what, int timeout_ms)
{
	struct timespec end = deadline(timeout_ms);
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && !*what && !s->lost)
		r = sleep_until(s, timeout_ms, &end);
	if (*what)
		r = 0;
	else if (s->lost)
		r = s->lost;
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int check_caller(const struct sonda_session *s)
{
	if (loop_is_here())
		return -EDEADLK;
	if (!loop_runs())
		return -ENOTCONN;
	return s->lost;
}

/* Begins a call; its reply sets reply_done. */
static int begin_call(struct sonda_session *s, const char *method, const struct pb_mem *args,
		      channel_reply_fn reply)
{
	int r = check_caller(s);

	if (r < 0)
		return r;
	if (args->failed)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	s->reply_done = false;
	s->reply_error = 0;
	s->out.len = 0;
	s->said[0] = '\0';
	pthread_mutex_unlock(&s->lock);
	s->method = method;
	s->args = args;
	s->reply = reply;
	s->task.fn = on_call;
	loop_call(&s->task);
	return 0;
}

static int end_call(struct sonda_session *s, int timeout_ms)
{
	int r = wait_for(s, &s->reply_done, timeout_ms);

	if (r == -ETIMEDOUT)
		return give_up(s, r);
	pthread_mutex_lock(&s->lock);
	if (r == 0)
		r = s->reply_error;
	memcpy(s->error, s->said, sizeof(s->error));
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int call_service(struct sonda_session *s, const char *method, const struct pb_mem *args,
			channel_reply_fn reply, int timeout_ms)
{
	int r = begin_call(s, method, args, reply);

	return r < 0 ? r : end_call(s, timeout_ms);
}

SONDA_PUBLIC const char *sonda_session_error(const struct sonda_session *s)
{
	return s->error;
}

SONDA_PUBLIC int sonda_session_new(const char *socket, int timeout_ms, struct sonda_session **ret)
{
	struct sonda_session *s;
	pthread_condattr_t attr;
	int r = 0;

	if (loop_is_here())
		return -EDEADLK;
	if (!loop_runs())
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
	if (socket && !(s->socket = strdup(socket)))
		r = -ENOMEM;
	else
		loop_call(&s->task);
	if (r == 0)
		r = wait_for(s, &s->bound, timeout_ms);
	if (r < 0) {
		sonda_session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

SONDA_PUBLIC void sonda_session_free(struct sonda_session *s)
{
	if (!s)
		return;
	give_up(s, 0);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->packet.data);
	free(s->out.data);
	free(s->socket);
	free(s);
}

static int observe_start(struct sonda_session *s)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, ALL_DATA_SOURCES_STARTED);
	return begin_call(s, "ObserveEvents", &m, on_observed);
}

SONDA_PUBLIC int sonda_session_start(struct sonda_session *s, const void *config, size_t len,
				     int timeout_ms)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct timespec end = deadline(timeout_ms);
	int r = pb_mem_init(&m);

	if (r == 0)
		r = observe_start(s);
	if (r < 0)
		return r;
	pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config, len);
	r = begin_call(s, "EnableTracing", &m, on_ended);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	while (r == 0 && !s->started && !s->ended && !s->reply_done && !s->lost)
		r = sleep_until(s, timeout_ms, &end);
	memcpy(s->error, s->said, sizeof(s->error));
	if (s->lost)
		r = s->lost;
	else if (s->reply_done && s->reply_error)
		r = s->reply_error;
	else if (s->ended && !s->started && s->said[0])
		r = -EINVAL;
	else if (s->started || s->ended)
		r = s->end_error;
	pthread_mutex_unlock(&s->lock);
	return r == -ETIMEDOUT ? give_up(s, r) : r;
}

SONDA_PUBLIC int sonda_session_wait(struct sonda_session *s, int timeout_ms)
{
	int r = check_caller(s);

	return r < 0 ? r : wait_for(s, &s->ended, timeout_ms);
}

SONDA_PUBLIC int sonda_session_flush(struct sonda_session *s, int timeout_ms)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, (uint32_t)timeout_ms);
	pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_FLAGS, FLUSH_FLAGS);
	return call_service(s, "Flush", &m, on_done, timeout_ms + FLUSH_GRACE_MS);
}

/* A call without arguments. */
static int call_plain(struct sonda_session *s, const char *method, channel_reply_fn reply,
		      int timeout_ms)
{
	const struct pb_mem none = {0};

	return call_service(s, method, &none, reply, timeout_ms);
}

SONDA_PUBLIC int sonda_session_stop(struct sonda_session *s, int timeout_ms)
{
	int r = call_plain(s, "DisableTracing", on_done, timeout_ms);

	if (r == 0)
		r = wait_for(s, &s->ended, timeout_ms);
	return r == -ETIMEDOUT ? give_up(s, r) : r;
}

SONDA_PUBLIC int sonda_session_clone(struct sonda_session *s, const char *unique_session_name,
				     int timeout_ms)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	pb_enc_str(&m.enc, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, unique_session_name);
	return call_service(s, "CloneSession", &m, on_cloned, timeout_ms);
}

static int take_out(struct sonda_session *s, int r, void **ret, size_t *ret_len)
{
	if (r < 0)
		return r;
	if (append(&s->out, "", 1) < 0) /* so an empty message is no NULL */
		return -ENOMEM;
	*ret_len = s->out.len - 1;
	*ret = s->out.data;
	s->out = (struct bytes){0};
	return 0;
}

SONDA_PUBLIC int sonda_session_stats(struct sonda_session *s, int timeout_ms, void **ret,
				     size_t *ret_len)
{
	return take_out(s, call_plain(s, "GetTraceStats", on_message, timeout_ms), ret, ret_len);
}

SONDA_PUBLIC int sonda_session_query(struct sonda_session *s, int timeout_ms, void **ret,
				     size_t *ret_len)
{
	return take_out(s, call_plain(s, "QueryServiceState", on_message, timeout_ms), ret,
			ret_len);
}

/* Waits for a part of the trace. Returns 0 with *ret, whose len is 0 at the end. */
static int next_part(struct sonda_session *s, int timeout_ms, struct bytes *ret)
{
	struct timespec end = deadline(timeout_ms);
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && s->out.len == 0 && !s->reply_done && !s->lost)
		r = sleep_until(s, timeout_ms, &end);
	if (s->out.len > 0) {
		struct bytes empty = *ret;

		empty.len = 0;
		*ret = s->out;
		s->out = empty;
		r = 0;
	} else if (r == 0) {
		r = s->lost ? s->lost : s->reply_error;
		ret->len = 0;
	}
	pthread_mutex_unlock(&s->lock);
	loop_post(&s->resume);
	return r;
}

SONDA_PUBLIC int sonda_session_read(struct sonda_session *s,
				    int (*fn)(void *ctx, const void *data, size_t len), void *ctx,
				    int timeout_ms)
{
	const struct pb_mem none = {0};
	struct bytes part = {0};
	int r = begin_call(s, "ReadBuffers", &none, on_read);

	if (r < 0)
		return r;
	do {
		r = next_part(s, timeout_ms, &part);
		if (r == 0 && part.len > 0)
			r = fn(ctx, part.data, part.len);
	} while (r == 0 && part.len > 0);
	free(part.data);
	return r < 0 ? give_up(s, r) : r;
}

static int write_all(void *ctx, const void *data, size_t len)
{
	const uint8_t *p = data;
	int fd = *(int *)ctx;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

SONDA_PUBLIC int sonda_session_read_fd(struct sonda_session *s, int fd, int timeout_ms)
{
	return sonda_session_read(s, write_all, &fd, timeout_ms);
}
