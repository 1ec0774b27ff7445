/* SPDX-License-Identifier: Apache-2.0 */
#include "service/consumer/consumer_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/msgsock.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "service/output/compressor.h"
#include "service/ipc/limits.h"
#include "service/trace/trace_reader.h"
#include "service/session/session.h"
#include "wire/frame.h"
#include "wire/pb_varint.h"
#include "common/observable_events.pb-c.h"
#include "service/producer/producer_port.h"
#include "service/trace/trace.h"

/*
 * The reply is written by hand, once, into memory of the size of a frame:
 *
 *	| slices: length | data: length | bytes of the packet | last_slice_for_packet: 1 | ...
 *
 * A packet is one slice, even if the sink gets it in several pieces. A packet above
 * LIMIT_SLICE_BYTES is cut into several slices. A slice never spans two replies.
 */

#define READER_REPLY_BYTES (MSGSOCK_MAX_MESSAGE - FRAME_MAX_HEAD)
#define SLICE_OVERHEAD 16 /* two tags and lengths, and the mark of the last one */
_Static_assert(LIMIT_SLICE_BYTES + SLICE_OVERHEAD <= READER_REPLY_BYTES, "a slice fits a reply");

static void send_reply(struct reader *r, bool has_more)
{
	ipc_reply(r->conn, &r->call, has_more, r->reply, r->reply_len, -1);
	r->reply_len = 0;
}

static void put_varint(struct reader *r, uint64_t v)
{
	r->reply_len = (size_t)(pb_put_varint(r->reply + r->reply_len, v) - r->reply);
}

/* Opens the next slice of the packet; its bytes, and nothing else, must follow. Returns their
 * number. */
static size_t open_slice(struct reader *r, size_t left)
{
	size_t len = MIN(left, LIMIT_SLICE_BYTES);
	size_t inner = 1 + pb_varint_len(len) + len + (len == left ? 2 : 0);

	if (r->reply_len + len + SLICE_OVERHEAD > READER_REPLY_BYTES)
		send_reply(r, true);
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICES, PB_WIRE_BYTES));
	put_varint(r, inner);
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_DATA, PB_WIRE_BYTES));
	put_varint(r, len);
	return len;
}

static void put_bytes(struct reader *r, const void *data, size_t len)
{
	memcpy(r->reply + r->reply_len, data, len);
	r->reply_len += len;
}

static void consumer_streams_end_packet(struct reader *r)
{
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, PB_WIRE_VARINT));
	put_varint(r, 1);
}

static void end_slice(struct reader *r)
{
	if (r->packet_left > 0)
		r->slice_left = open_slice(r, r->packet_left);
	else
		consumer_streams_end_packet(r);
}

/* ---- large packets ---- */

static void drop_large(struct reader *r)
{
	free(TAKE_PTR(r->large.bytes));
	quota_release(&r->account, QUOTA_CONN_BYTES, r->large.len);
	r->large.len = r->large.sent = 0;
}

/* Sends up to `most` bytes of the copy. */
static void send_large(struct reader *r, size_t most)
{
	size_t end = MIN(r->large.len, r->large.sent + most);

	while (r->large.sent < end) {
		size_t len = open_slice(r, r->large.len - r->large.sent);

		put_bytes(r, r->large.bytes + r->large.sent, len);
		r->large.sent += len;
	}
	if (r->large.sent < r->large.len)
		return;
	consumer_streams_end_packet(r);
	drop_large(r);
}

static void begin_large(struct reader *r, size_t size)
{
	if (quota_charge(&r->account, QUOTA_CONN_BYTES, size, NULL) < 0)
		return;
	r->large.bytes = malloc(size);
	r->large.len = size;
	r->large.sent = 0;
	if (!r->large.bytes)
		drop_large(r);
}

static void consumer_streams_sink_begin(struct packet_sink *sink, size_t size)
{
	struct reader *r = container_of(sink, struct reader, sink);

	if (r->large.bytes)
		send_large(r, SIZE_MAX); /* packets stay in order */
	r->packet_left = size;
	r->large.active = size > LARGE_PACKET_BYTES;
	if (r->large.active) {
		begin_large(r, size);
		return;
	}
	r->slice_left = open_slice(r, size);
	if (size == 0)
		consumer_streams_end_packet(r);
}

static void consumer_streams_sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct reader *r = container_of(sink, struct reader, sink);
	const uint8_t *p = data;

	if (r->large.active) {
		if (r->large.bytes)
			memcpy(r->large.bytes + r->large.len - r->packet_left, p, len);
		r->packet_left -= len;
		return;
	}
	while (len > 0) {
		size_t n = MIN(len, r->slice_left);

		put_bytes(r, p, n);
		r->slice_left -= n;
		r->packet_left -= n;
		p += n;
		len -= n;
		if (r->slice_left == 0)
			end_slice(r);
	}
}

/* ---- time slices ---- */

static void consumer_streams_stop(struct reader *r)
{
	loop_timer_stop(&r->next_slice);
	free(TAKE_PTR(r->reply));
	compressor_free(TAKE_PTR(r->compressor));
	drop_large(r);
	r->reply_len = 0;
	r->session = NULL;
}

static bool read_batch(struct reader *r)
{
	bool more;

	if (r->large.bytes) {
		send_large(r, LARGE_PACKET_BYTES);
		return true;
	}
	if (!r->compressor)
		return trace_read_batch(session_trace(r->session), &r->sink, READ_BATCH_BYTES);
	more = trace_read_batch(session_trace(r->session), compressor_sink(r->compressor, &r->sink),
				COMPRESSOR_GROUP_BYTES);
	compressor_end(r->compressor);
	return more;
}

static void consumer_streams_on_next_slice(void *ctx)
{
	struct reader *r = ctx;
	bool more;

	if (ipc_conn_queued(r->conn) > 0)
		return; /* reader_on_drained() continues */
	more = read_batch(r);
	if (!more && r->large.bytes)
		send_large(r, SIZE_MAX);
	if (r->reply_len > 0 || !more)
		send_reply(r, more);
	if (more)
		loop_timer_once(&r->next_slice, 0, false);
	else
		consumer_streams_stop(r);
}

void reader_on_drained(struct reader *r)
{
	if (r->session)
		loop_timer_once(&r->next_slice, 0, false);
}

void reader_cancel(struct reader *r)
{
	if (!r->session)
		return;
	consumer_streams_stop(r);
	ipc_reject(r->conn, &r->call);
}

int reader_begin(struct reader *r, const struct ipc_call *call, struct session *session)
{
	reader_cancel(r);
	if (!session) {
		ipc_reply_empty(r->conn, call);
		return 0;
	}
	r->reply = malloc(READER_REPLY_BYTES);
	if (!r->reply || compressor_new(session_config(session), &r->compressor) < 0) {
		free(TAKE_PTR(r->reply));
		return -ENOMEM;
	}
	r->call = *call;
	r->session = session;
	trace_read_begin(session_trace(session));
	consumer_streams_on_next_slice(r);
	return 0;
}

int reader_init(struct reader *r, struct event_base *loop, struct ipc_conn *conn,
		struct quota *quota, uint64_t user)
{
	memset(r, 0, sizeof(*r));
	quota_open(&r->account, quota, user);
	r->sink.begin = consumer_streams_sink_begin;
	r->sink.bytes = consumer_streams_sink_bytes;
	r->conn = conn;
	return loop_timer_init(&r->next_slice, loop, consumer_streams_on_next_slice, r);
}

void reader_deinit(struct reader *r)
{
	loop_timer_deinit(&r->next_slice);
	free(r->reply);
	free(r->large.bytes);
	quota_close(&r->account);
	compressor_free(r->compressor);
}

#define SEND_AT_BYTES (64u << 10) /* sent at once, before the next loop iteration */

static bool observes(const struct observer *o, uint32_t event)
{
	return o->active && (o->events & event);
}

/* ---- sending ---- */

static void send_pending(void *ctx)
{
	struct observer *o = ctx;
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (!o->pending.failed && pb_mem_len(&o->pending) > 0 && pb_mem_init(&m) == 0) {
		pb_enc_bytes(&m.enc, PB_OBSERVE_EVENTS_RESPONSE_EVENTS, o->pending.buf,
			     pb_mem_len(&o->pending));
		if (!m.failed)
			ipc_reply(o->conn, &o->call, true, m.buf, pb_mem_len(&m), -1);
	}
	pb_mem_reset(&o->pending);
}

void observe_send(struct observer *o)
{
	if (o->active)
		send_pending(o);
}

/* Called after each event that was put into pending. */
static void send_soon(struct observer *o)
{
	if (pb_mem_len(&o->pending) >= SEND_AT_BYTES)
		send_pending(o);
	else
		loop_timer_once(&o->next_slice, 0, false);
}

static void end_stream(struct observer *o)
{
	if (!o->active)
		return;
	send_pending(o);
	o->active = false;
	loop_timer_stop(&o->next_slice);
	ipc_reply_empty(o->conn, &o->call);
}

/* ---- events ---- */

#define STATE(name)                                                                                \
	PB__OBSERVABLE_EVENTS__DATA_SOURCE_INSTANCE_STATE__DATA_SOURCE_INSTANCE_STATE_##name

/* Returns false for transitional states, which are not reported. */
static bool observable_state(enum instance_state state, uint32_t *ret)
{
	switch (state) {
	case INSTANCE_CONFIGURED:
	case INSTANCE_STOPPED:
		*ret = STATE(STOPPED);
		return true;
	case INSTANCE_STARTED:
		*ret = STATE(STARTED);
		return true;
	default:
		return false;
	}
}

static void put_instance(void *ctx, const struct source_instance *i)
{
	struct observer *o = ctx;
	struct pb_enc *e = &o->pending.enc;
	uint32_t state;

	if (!observable_state(i->state, &state))
		return;
	pb_enc_open(e, PB_OBSERVABLE_EVENTS_INSTANCE_STATE_CHANGES);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_PRODUCER_NAME,
		   i->producer->name);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_DATA_SOURCE_NAME,
		   i->config->config->name);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_STATE, state);
	pb_enc_close(e);
	send_soon(o);
}

static void put_all_started(struct observer *o)
{
	pb_enc_bool(&o->pending.enc, PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED, true);
	send_soon(o);
}

void observe_instance(struct observer *o, const struct source_instance *i)
{
	if (observes(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_DATA_SOURCES_INSTANCES))
		put_instance(o, i);
}

void observe_all_started(struct observer *o)
{
	if (observes(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED))
		put_all_started(o);
}

/* Sends each event alone, because ObservableEvents has one field for it. */
void observe_clone_trigger(struct observer *o, uint64_t session_id,
			   const struct received_trigger *trigger)
{
	struct pb_enc *e = &o->pending.enc;

	if (!observes(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT))
		return;
	send_pending(o);
	pb_enc_open(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRACING_SESSION_ID, session_id);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME, trigger->name);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_NAME, trigger->producer);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_UID, trigger->uid);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_BOOT_TIME_NS, trigger->boot_ns);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_DELAY_MS, trigger->delay_ms);
	pb_enc_close(e);
	send_pending(o);
}

void observe_begin(struct observer *o, const struct ipc_call *call, uint32_t events,
		   struct session *session)
{
	end_stream(o);
	o->active = true;
	o->call = *call;
	o->events = events;
	if (!events) {
		end_stream(o);
		return;
	}
	if (!session)
		return;
	if (observes(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_DATA_SOURCES_INSTANCES))
		session_each_instance(session, put_instance, o);
	if (session_all_started(session) &&
	    observes(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED))
		put_all_started(o);
}

int observer_init(struct observer *o, struct event_base *loop, struct ipc_conn *conn)
{
	int r;

	memset(o, 0, sizeof(*o));
	o->conn = conn;
	r = pb_mem_init(&o->pending);
	return r < 0 ? r : loop_timer_init(&o->next_slice, loop, send_pending, o);
}

void observer_deinit(struct observer *o)
{
	loop_timer_deinit(&o->next_slice);
	pb_mem_deinit(&o->pending);
}
