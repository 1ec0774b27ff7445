/* SPDX-License-Identifier: Apache-2.0 */
#include "service/consumer/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "service/ipc/limits.h"
#include "service/ipc/msgsock.h"
#include "service/output/compressor.h"
#include "service/session/session.h"
#include "service/trace/trace_reader.h"
#include "wire/frame.h"
#include "wire/pb_varint.h"

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

static void put_varint_into_reply(struct reader *r, uint64_t v)
{
	r->reply_len = (size_t)(pb_put_varint(r->reply + r->reply_len, v) - r->reply);
}

/* Opens the next slice of the packet; its bytes, and nothing else, must follow. Returns their
 * number. */
static size_t open_slice_of_packet(struct reader *r, size_t left)
{
	size_t len = MIN(left, LIMIT_SLICE_BYTES);
	size_t inner = 1 + pb_varint_len(len) + len + (len == left ? 2 : 0);

	if (r->reply_len + len + SLICE_OVERHEAD > READER_REPLY_BYTES)
		send_reply(r, true);
	put_varint_into_reply(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICES, PB_WIRE_BYTES));
	put_varint_into_reply(r, inner);
	put_varint_into_reply(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_DATA, PB_WIRE_BYTES));
	put_varint_into_reply(r, len);
	return len;
}

static void put_bytes_into_reply(struct reader *r, const void *data, size_t len)
{
	memcpy(r->reply + r->reply_len, data, len);
	r->reply_len += len;
}

static void reader_end_packet(struct reader *r)
{
	put_varint_into_reply(
		r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, PB_WIRE_VARINT));
	put_varint_into_reply(r, 1);
}

static void open_next_slice_or_end_packet(struct reader *r)
{
	if (r->packet_left > 0)
		r->slice_left = open_slice_of_packet(r, r->packet_left);
	else
		reader_end_packet(r);
}

/* ---- large packets ---- */

static void drop_large_packet(struct reader *r)
{
	free(TAKE_PTR(r->large.bytes));
	quota_release(&r->account, QUOTA_CONN_BYTES, r->large.len);
	r->large.len = r->large.sent = 0;
}

/* Sends up to `most` bytes of the copy. */
static void send_large_packet(struct reader *r, size_t most)
{
	size_t end = MIN(r->large.len, r->large.sent + most);

	while (r->large.sent < end) {
		size_t len = open_slice_of_packet(r, r->large.len - r->large.sent);

		put_bytes_into_reply(r, r->large.bytes + r->large.sent, len);
		r->large.sent += len;
	}
	if (r->large.sent < r->large.len)
		return;
	reader_end_packet(r);
	drop_large_packet(r);
}

static void begin_large_packet(struct reader *r, size_t size)
{
	if (quota_charge(&r->account, QUOTA_CONN_BYTES, size, NULL) < 0)
		return;
	r->large.bytes = malloc(size);
	r->large.len = size;
	r->large.sent = 0;
	if (!r->large.bytes)
		drop_large_packet(r);
}

static void reader_sink_begin(struct packet_sink *sink, size_t size)
{
	struct reader *r = container_of(sink, struct reader, sink);

	if (r->large.bytes)
		send_large_packet(r, SIZE_MAX); /* packets stay in order */
	r->packet_left = size;
	r->large.active = size > LARGE_PACKET_BYTES;
	if (r->large.active) {
		begin_large_packet(r, size);
		return;
	}
	r->slice_left = open_slice_of_packet(r, size);
	if (size == 0)
		reader_end_packet(r);
}

static void reader_sink_bytes(struct packet_sink *sink, const void *data, size_t len)
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

		put_bytes_into_reply(r, p, n);
		r->slice_left -= n;
		r->packet_left -= n;
		p += n;
		len -= n;
		if (r->slice_left == 0)
			open_next_slice_or_end_packet(r);
	}
}

/* ---- time slices ---- */

static void reader_stop(struct reader *r)
{
	loop_timer_stop(&r->next_slice);
	free(TAKE_PTR(r->reply));
	compressor_free(TAKE_PTR(r->compressor));
	drop_large_packet(r);
	r->reply_len = 0;
	r->session = NULL;
}

static bool read_batch_of_packets(struct reader *r)
{
	bool more;

	if (r->large.bytes) {
		send_large_packet(r, LARGE_PACKET_BYTES);
		return true;
	}
	if (!r->compressor)
		return trace_read_batch(session_trace(r->session), &r->sink, READ_BATCH_BYTES);
	more = trace_read_batch(session_trace(r->session), compressor_sink(r->compressor, &r->sink),
				COMPRESSOR_GROUP_BYTES);
	compressor_end_group(r->compressor);
	return more;
}

static void reader_on_next_slice(void *ctx)
{
	struct reader *r = ctx;
	bool more;

	if (ipc_conn_queued(r->conn) > 0)
		return; /* reader_on_drained() continues */
	more = read_batch_of_packets(r);
	if (!more && r->large.bytes)
		send_large_packet(r, SIZE_MAX);
	if (r->reply_len > 0 || !more)
		send_reply(r, more);
	if (more)
		loop_timer_once(&r->next_slice, 0, false);
	else
		reader_stop(r);
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
	reader_stop(r);
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
	reader_on_next_slice(r);
	return 0;
}

int reader_init(struct reader *r, struct event_base *loop, struct ipc_conn *conn,
		struct quota *quota, uint64_t user)
{
	memset(r, 0, sizeof(*r));
	quota_open(&r->account, quota, user);
	r->sink.begin = reader_sink_begin;
	r->sink.bytes = reader_sink_bytes;
	r->conn = conn;
	return loop_timer_init(&r->next_slice, loop, reader_on_next_slice, r);
}

void reader_deinit(struct reader *r)
{
	loop_timer_deinit(&r->next_slice);
	free(r->reply);
	free(r->large.bytes);
	quota_close(&r->account);
	compressor_free(r->compressor);
}
