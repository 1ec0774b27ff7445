/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each request is one call of the channel, and a record: its callback, and how to convert the reply
 * into the callback's arguments. The record lives from the call to its last reply. A stream with an
 * invalid reply keeps its record, without callbacks, until the service ends the stream.
 *
 *	consumer_stats() --> request{on_message} --> channel_call("GetTraceStats")
 *	    fn(stats)    <-- on_message()        <-- channel_reply{bytes}
 */
#include "client/transport/consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

struct consumer {
	struct channel *channel; /* owned */
	const struct consumer_ops *ops; /* borrowed from the owner for our life */
	void *ctx;
	bool bound;
	bool *freed; /* set by consumer_free(); NULL outside callbacks of a stream */
	LIST_HEAD(, consumer_request) open; /* owned */
};

struct consumer_request {
	LIST_ENTRY(consumer_request) link;
	struct consumer *consumer;
	void (*on_reply)(struct consumer_request *r, const struct channel_reply *reply);
	union {
		consumer_done done;
		consumer_ended ended;
		consumer_message message;
		consumer_stream stream;
		void (*cloned)(void *ctx, int error, const struct consumer_clone_answer *answer);
	} fn;
	void *ctx;
	uint8_t *gathered; /* owned: parts of a chunked answer */
	size_t len, cap;
	bool over; /* answered; further replies are dropped */
};

/* ---- connection ---- */

static void consumer_on_bound(void *ctx)
{
	struct consumer *c = ctx;

	c->bound = true;
	c->ops->on_connected(c->ctx, 0);
}

static void consumer_on_lost(void *ctx, int error)
{
	struct consumer *c = ctx;

	if (c->bound)
		c->ops->on_disconnected(c->ctx);
	else
		c->ops->on_connected(c->ctx, error ? error : -EPROTO);
}

static const struct channel_ops channel_ops = {
	.on_bound = consumer_on_bound,
	.on_lost = consumer_on_lost,
};

int consumer_connect(struct io_loop *loop, const struct channel_target *target,
		     const struct consumer_ops *ops, void *ctx, struct consumer **ret)
{
	struct consumer *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->ops = ops;
	c->ctx = ctx;
	LIST_INIT(&c->open);
	r = channel_open(loop, target, CHANNEL_CONSUMER, &channel_ops, c, &c->channel);
	if (r < 0) {
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

static void request_free(struct consumer_request *r)
{
	LIST_REMOVE(r, link);
	free(r->gathered);
	free(r);
}

void consumer_free(struct consumer *c)
{
	struct consumer_request *r;

	if (!c)
		return;
	if (c->freed)
		*c->freed = true;
	channel_close(c->channel);
	while ((r = LIST_FIRST(&c->open)))
		request_free(r);
	free(c);
}

void consumer_after_fork_in_child(struct consumer *c)
{
	channel_after_fork_in_child(c->channel);
}

void consumer_pause(struct consumer *c, bool pause)
{
	channel_pause(c->channel, pause);
}

/* ---- requests ---- */

static void request_on_reply(void *ctx, const struct channel_reply *reply)
{
	struct consumer_request *r = ctx;

	if (!r->over)
		r->on_reply(r, reply);
	else if (!reply->has_more)
		request_free(r);
}

/* Ends a request that was answered: frees it, or keeps it silent until the service ends the
 * stream. */
static void request_retire(struct consumer_request *r, const struct channel_reply *reply)
{
	if (reply->has_more)
		r->over = true;
	else
		request_free(r);
}

/* Sends a request, whose record is a copy of r. args: NULL, or a message, which is freed. Returns
 * 0, or an error as channel_call(). */
static int request_send(struct consumer *c, const struct consumer_request *r, const char *method,
			struct pb_mem *args, int fd)
{
	struct consumer_request *q = args && args->failed ? NULL : calloc(1, sizeof(*q));
	int error = -ENOMEM;

	if (q) {
		*q = *r;
		q->consumer = c;
		LIST_INSERT_HEAD(&c->open, q, link);
		error = channel_call(c->channel, method, args ? args->buf : NULL,
				     args ? pb_mem_len(args) : 0, fd, request_on_reply, q);
		if (error < 0)
			request_free(q);
	}
	if (args)
		pb_mem_deinit(args);
	return error;
}

/* ---- replies ---- */

static void on_done(struct consumer_request *r, const struct channel_reply *reply)
{
	const struct consumer_request q = *r;
	int error = reply->error;

	request_retire(r, reply);
	q.fn.done(q.ctx, error);
}

static void consumer_copy_text(char text[512], const struct pb_field *f)
{
	size_t len = MIN(f->len, (size_t)511);

	memcpy(text, f->data, len);
	text[len] = '\0';
}

static void on_ended(struct consumer_request *r, const struct channel_reply *reply)
{
	const struct consumer_request q = *r;
	int error = reply->error;
	char text[512] = "";
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_ENABLE_TRACING_RESPONSE_ERROR && f.data)
			consumer_copy_text(text, &f);
	if (!error && !pb_dec_ok(&d))
		error = -EPROTO;
	request_retire(r, reply);
	q.fn.ended(q.ctx, error, text);
}

/* Appends field 1 of the reply, which is a part of a serialized message, to r->gathered. Returns 0;
 * -EMSGSIZE, -ENOMEM or -EPROTO; or the error of the reply. */
static int request_append_message(struct consumer_request *r, const struct channel_reply *reply)
{
	struct pb_field f;
	struct pb_dec d;

	if (reply->error)
		return reply->error;
	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != 1 || !f.data)
			continue;
		if (f.len > CONSUMER_MAX_MESSAGE - r->len)
			return -EMSGSIZE;
		if (array_reserve(&r->gathered, &r->cap, r->len + f.len, 1) < 0)
			return -ENOMEM;
		if (f.len)
			memcpy(r->gathered + r->len, f.data, f.len);
		r->len += f.len;
	}
	return pb_dec_ok(&d) ? 0 : -EPROTO;
}

/* Passes on the message in field 1 when all of its replies have arrived. */
static void on_message(struct consumer_request *r, const struct channel_reply *reply)
{
	struct consumer_request q;
	int error = request_append_message(r, reply);

	if (!error && reply->has_more)
		return;
	q = *r;
	r->gathered = NULL;
	request_retire(r, reply);
	q.fn.message(q.ctx, error, error ? NULL : q.gathered, error ? 0 : q.len);
	free(q.gathered);
}

/* Calls fn for a part of a stream. Returns false if it has freed the consumer. */
static bool request_call_stream(const struct consumer_request *r, const void *message, size_t len)
{
	struct consumer *c = r->consumer;
	bool freed = false;

	c->freed = &freed;
	r->fn.stream(r->ctx, 0, message, len, false);
	if (!freed)
		c->freed = NULL;
	return !freed;
}

static void request_end_stream(struct consumer_request *r, const struct channel_reply *reply,
			       int error)
{
	const struct consumer_request q = *r;

	request_retire(r, reply);
	q.fn.stream(q.ctx, error, NULL, 0, true);
}

/* Passes slices directly from the socket's buffer. */
static void pass_slices_to_reader(struct consumer_request *r, const struct channel_reply *reply)
{
	int error = reply->error;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, reply->data, reply->len);
	while (!error && pb_dec_next(&d, &f))
		if (f.id == PB_READ_BUFFERS_RESPONSE_SLICES && !f.data)
			error = -EPROTO;
	if (!error && !pb_dec_ok(&d))
		error = -EPROTO;
	if (!error && reply->len && !request_call_stream(r, reply->data, reply->len))
		return;
	if (error || !reply->has_more)
		request_end_stream(r, reply, error);
}

int consumer_next_slice(struct pb_dec *slices, struct consumer_slice *ret)
{
	struct pb_field slice, f;
	struct pb_dec d;

	do
		if (!pb_dec_next(slices, &slice))
			return 0;
	while (slice.id != PB_READ_BUFFERS_RESPONSE_SLICES);
	*ret = (struct consumer_slice){0};
	pb_dec_init(&d, slice.data, slice.len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_DATA && f.data) {
			ret->data = f.data;
			ret->len = f.len;
		} else if (f.id == PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET) {
			ret->ends = f.u64 != 0;
		}
	}
	return pb_dec_ok(&d) ? 1 : -EPROTO;
}

static void on_observed_events(struct consumer_request *r, const struct channel_reply *reply)
{
	int error = reply->error;
	struct pb_field f, events = {0};
	struct pb_dec d;

	pb_dec_init(&d, reply->data, reply->len);
	while (!error && pb_dec_next(&d, &f))
		if (f.id == PB_OBSERVE_EVENTS_RESPONSE_EVENTS && f.data)
			events = f;
	if (!error && !pb_dec_ok(&d))
		error = -EPROTO;
	if (!error && events.data && !request_call_stream(r, events.data, events.len))
		return;
	if (error || !reply->has_more)
		request_end_stream(r, reply, error);
}

static void on_cloned(struct consumer_request *r, const struct channel_reply *reply)
{
	const struct consumer_request q = *r;
	struct consumer_clone_answer answer = {0};
	int error = reply->error;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, reply->data, reply->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_CLONE_SESSION_RESPONSE_SUCCESS)
			answer.success = f.u64 != 0;
		else if (f.id == PB_CLONE_SESSION_RESPONSE_WAS_WRITE_INTO_FILE)
			answer.was_written = f.u64 != 0;
		else if (f.id == PB_CLONE_SESSION_RESPONSE_ERROR && f.data)
			consumer_copy_text(answer.error, &f);
	}
	if (!error && !pb_dec_ok(&d))
		error = -EPROTO;
	request_retire(r, reply);
	q.fn.cloned(q.ctx, error, error ? NULL : &answer);
}

/* ---- a session ---- */

static int call_without_args(struct consumer *c, const char *method, consumer_done fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_done, .fn.done = fn, .ctx = ctx};

	return request_send(c, &r, method, NULL, -1);
}

int consumer_start(struct consumer *c, consumer_done fn, void *ctx)
{
	return call_without_args(c, "StartTracing", fn, ctx);
}

int consumer_disable(struct consumer *c, consumer_done fn, void *ctx)
{
	return call_without_args(c, "DisableTracing", fn, ctx);
}

int consumer_free_buffers(struct consumer *c, consumer_done fn, void *ctx)
{
	return call_without_args(c, "FreeBuffers", fn, ctx);
}

int consumer_flush(struct consumer *c, uint32_t timeout_ms, uint64_t flags, consumer_done fn,
		   void *ctx)
{
	const struct consumer_request r = {.on_reply = on_done, .fn.done = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	if (timeout_ms)
		pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_TIMEOUT_MS, timeout_ms);
	if (flags)
		pb_enc_u64(&m.enc, PB_FLUSH_REQUEST_FLAGS, flags);
	return request_send(c, &r, "Flush", &m, -1);
}

int consumer_enable(struct consumer *c, const void *config, size_t len, int fd, consumer_ended fn,
		    void *ctx)
{
	const struct consumer_request r = {.on_reply = on_ended, .fn.ended = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	/* Unchanged: fields unknown to us reach the service. */
	pb_enc_bytes(&m.enc, PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config, len);
	return request_send(c, &r, "EnableTracing", &m, fd);
}

int consumer_read(struct consumer *c, consumer_stream fn, void *ctx)
{
	const struct consumer_request r = {
		.on_reply = pass_slices_to_reader, .fn.stream = fn, .ctx = ctx};

	return request_send(c, &r, "ReadBuffers", NULL, -1);
}

int consumer_stats(struct consumer *c, consumer_message fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_message, .fn.message = fn, .ctx = ctx};

	return request_send(c, &r, "GetTraceStats", NULL, -1);
}

/* ---- the service ---- */

int consumer_query_state(struct consumer *c, bool sessions_only, consumer_message fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_message, .fn.message = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	if (sessions_only)
		pb_enc_bool(&m.enc, PB_QUERY_SERVICE_STATE_REQUEST_SESSIONS_ONLY, true);
	return request_send(c, &r, "QueryServiceState", &m, -1);
}

int consumer_observe(struct consumer *c, uint32_t events, consumer_stream fn, void *ctx)
{
	const struct consumer_request r = {
		.on_reply = on_observed_events, .fn.stream = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	for (uint32_t left = events; left; left &= left - 1)
		pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, left & -left);
	return request_send(c, &r, "ObserveEvents", &m, -1);
}

/* ---- existing sessions ---- */

/* Adds the trigger, so that the clone contains its reason. */
static void consumer_put_trigger(struct pb_enc *e, const struct consumer_clone_trigger *t)
{
	if (t->name)
		pb_enc_str(e, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_NAME, t->name);
	if (t->producer_name)
		pb_enc_str(e, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_PRODUCER_NAME,
			   t->producer_name);
	if (t->has_producer_uid)
		pb_enc_i64(e, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_TRUSTED_PRODUCER_UID,
			   t->producer_uid);
	if (t->boot_time_ns)
		pb_enc_u64(e, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_BOOT_TIME_NS, t->boot_time_ns);
	if (t->delay_ms)
		pb_enc_u64(e, PB_CLONE_SESSION_REQUEST_CLONE_TRIGGER_DELAY_MS, t->delay_ms);
}

int consumer_clone(struct consumer *c, const struct consumer_clone_request *request, int fd,
		   void (*fn)(void *ctx, int error, const struct consumer_clone_answer *answer),
		   void *ctx)
{
	const struct consumer_request r = {.on_reply = on_cloned, .fn.cloned = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	if (request->name)
		pb_enc_str(&m.enc, PB_CLONE_SESSION_REQUEST_UNIQUE_SESSION_NAME, request->name);
	else
		pb_enc_u64(&m.enc, PB_CLONE_SESSION_REQUEST_SESSION_ID, request->session_id);
	if (request->skip_filter)
		pb_enc_bool(&m.enc, PB_CLONE_SESSION_REQUEST_SKIP_TRACE_FILTER, true);
	if (request->trigger)
		consumer_put_trigger(&m.enc, request->trigger);
	return request_send(c, &r, "CloneSession", &m, fd);
}

/* Calls a method whose only argument is a key. Returns 0, or an error as channel_call(). */
static int call_with_key(struct consumer *c, const struct consumer_request *r, const char *method,
			 const char *key)
{
	struct pb_mem m;

	_Static_assert((int)PB_DETACH_REQUEST_KEY == (int)PB_ATTACH_REQUEST_KEY, "one message");
	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_str(&m.enc, PB_DETACH_REQUEST_KEY, key);
	return request_send(c, r, method, &m, -1);
}

int consumer_detach(struct consumer *c, const char *key, consumer_done fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_done, .fn.done = fn, .ctx = ctx};

	return call_with_key(c, &r, "Detach", key);
}

int consumer_attach(struct consumer *c, const char *key, consumer_message fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_message, .fn.message = fn, .ctx = ctx};

	return call_with_key(c, &r, "Attach", key);
}

int consumer_await_end(struct consumer *c, consumer_ended fn, void *ctx)
{
	const struct consumer_request r = {.on_reply = on_ended, .fn.ended = fn, .ctx = ctx};
	struct pb_mem m;

	if (pb_mem_init(&m) < 0)
		return -ENOMEM;
	pb_enc_bool(&m.enc, PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, true);
	return request_send(c, &r, "EnableTracing", &m, -1);
}
