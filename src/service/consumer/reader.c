/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reply is written by hand, once, into memory of the size of a frame:
 *
 *	| slices: length | data: length | bytes of the packet | last_slice_for_packet: 1 | ...
 *
 * A packet is one slice, whatever pieces it comes in. One that is larger than a slice may be is cut
 * into several; a slice never spans two replies.
 */
#include "service/consumer/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/msgsock.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "service/output/compressor.h"
#include "service/trace/read_pass.h"
#include "service/session/session.h"
#include "wire/frame.h"
#include "wire/pb_varint.h"

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

/* Opens the next slice of the packet; its bytes, and nothing else, must follow. */
static void begin_slice(struct reader *r)
{
	size_t len = MIN(r->packet_left, LIMIT_SLICE_BYTES);
	bool last = len == r->packet_left;
	size_t inner = 1 + pb_varint_len(len) + len + (last ? 2 : 0);

	if (r->reply_len + len + SLICE_OVERHEAD > READER_REPLY_BYTES)
		send_reply(r, true);
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICES, PB_WIRE_BYTES));
	put_varint(r, inner);
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_DATA, PB_WIRE_BYTES));
	put_varint(r, len);
	r->slice_left = len;
}

static void end_slice(struct reader *r)
{
	if (r->packet_left > 0) {
		begin_slice(r);
		return;
	}
	put_varint(r, pb_tag(PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, PB_WIRE_VARINT));
	put_varint(r, 1);
}

static void sink_begin(struct packet_sink *sink, size_t size)
{
	struct reader *r = container_of(sink, struct reader, sink);

	r->packet_left = size;
	begin_slice(r);
	if (size == 0)
		end_slice(r);
}

static void sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct reader *r = container_of(sink, struct reader, sink);
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = MIN(len, r->slice_left);

		memcpy(r->reply + r->reply_len, p, n);
		r->reply_len += n;
		r->slice_left -= n;
		r->packet_left -= n;
		p += n;
		len -= n;
		if (r->slice_left == 0)
			end_slice(r);
	}
}

/* ---- turns ---- */

static void stop(struct reader *r)
{
	loop_timer_stop(&r->turn);
	free(TAKE_PTR(r->reply));
	compressor_free(TAKE_PTR(r->compressor));
	r->reply_len = 0;
	r->session = NULL;
}

static bool do_pass(struct reader *r)
{
	bool more;

	if (!r->compressor)
		return read_pass(session_trace(r->session), &r->sink, READ_BATCH_BYTES);
	more = read_pass(session_trace(r->session), compressor_sink(r->compressor, &r->sink),
			 COMPRESSOR_GROUP_BYTES);
	compressor_end(r->compressor);
	return more;
}

static void on_turn(void *ctx)
{
	struct reader *r = ctx;
	bool more;

	if (ipc_conn_queued(r->conn) > 0)
		return; /* reader_on_drained goes on */
	more = do_pass(r);
	if (r->reply_len > 0 || !more)
		send_reply(r, more);
	if (more)
		loop_timer_once(&r->turn, 0, false);
	else
		stop(r);
}

void reader_on_drained(struct reader *r)
{
	if (r->session)
		loop_timer_once(&r->turn, 0, false);
}

void reader_cancel(struct reader *r)
{
	if (!r->session)
		return;
	stop(r);
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
	read_begin(session_trace(session));
	on_turn(r);
	return 0;
}

int reader_init(struct reader *r, struct event_base *loop, struct ipc_conn *conn)
{
	memset(r, 0, sizeof(*r));
	r->sink.begin = sink_begin;
	r->sink.bytes = sink_bytes;
	r->conn = conn;
	return loop_timer_init(&r->turn, loop, on_turn, r);
}

void reader_deinit(struct reader *r)
{
	loop_timer_deinit(&r->turn);
	free(r->reply);
	compressor_free(r->compressor);
}
