/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/ipc/ipc_host.h"
#include "base/event_loop/loop_timer.h"
#include "service/filter/packet_sink.h"

struct compressor;
struct event_base;
struct session;

/*
 * ReadBuffers: turns reading passes over a session into a stream of replies. One pass a turn of the
 * loop, and none while the consumer has not read the replies before: what waits for it is bounded
 * by one pass, however large the buffers are.
 */
struct reader {
	struct packet_sink sink;
	struct ipc_conn *conn; /* borrowed: it outlives us */
	struct loop_timer turn;
	struct session *session; /* borrowed; NULL while nothing is read */
	struct ipc_call call; /* the stream */
	struct compressor *compressor; /* owned; NULL: packets go out as they are */

	/* the reply that is being filled: a ReadBuffersResponse */
	uint8_t *reply; /* owned, of a frame's size; only while something is read */
	size_t reply_len;
	size_t packet_left, slice_left; /* bytes of the packet and its slice still to come */
};

/* 0 or -ENOMEM; deinit is fine on zeroed memory. */
int reader_init(struct reader *r, struct event_base *loop, struct ipc_conn *conn);
void reader_deinit(struct reader *r);

/* A call of ReadBuffers; one that still runs is rejected. session NULL: answers at once, with
 * nothing. 0 or -ENOMEM. */
int reader_begin(struct reader *r, const struct ipc_call *call, struct session *session);
/* The connection's replies are out: goes on. */
void reader_on_drained(struct reader *r);
/* The session is going away: a stream that still runs is rejected. */
void reader_cancel(struct reader *r);
