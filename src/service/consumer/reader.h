/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_loop/loop_timer.h"
#include "service/filter/packet_sink.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/quota.h"

struct compressor;
struct event_base;
struct session;

/*
 * ReadBuffers: sends the trace of a session as a stream of replies. It reads one batch in each
 * iteration of the loop, and none while earlier replies are queued. So the queue is bounded by one
 * batch, for buffers of any size.
 *
 * A producer chooses how large its packets are. A packet above LARGE_PACKET_BYTES is copied,
 * because the buffer may overwrite it, and sent in pieces in the same way. It is dropped if the
 * consumer's user has no share left for the copy.
 */
struct reader {
	struct packet_sink sink;
	struct ipc_conn *conn; /* borrowed: it outlives us */
	struct loop_timer next_slice;
	struct session *session; /* borrowed; NULL: no stream */
	struct ipc_call call; /* the stream */
	struct compressor *compressor; /* owned; NULL: packets are not compressed */

	/* the reply that is being filled: a ReadBuffersResponse */
	uint8_t *reply; /* owned, of a frame's size; NULL: no stream */
	size_t reply_len;
	size_t packet_left, slice_left; /* remaining bytes of the packet and of its slice */

	struct quota_account account; /* account that the consumer's copy is charged to */
	struct {
		bool active; /* the current packet is one */
		uint8_t *bytes; /* owned; NULL: none waits, or it is dropped */
		size_t len, sent;
	} large;
};

/* Returns 0 or -ENOMEM. deinit may be called on zeroed memory. */
int reader_init(struct reader *r, struct event_base *loop, struct ipc_conn *conn,
		struct quota *quota, uint64_t user);
void reader_deinit(struct reader *r);

/* Begins the stream of a ReadBuffers call; rejects an earlier call. session NULL: answers at once
 * without data. Returns 0 or -ENOMEM. */
int reader_begin(struct reader *r, const struct ipc_call *call, struct session *session);
/* Call when all queued replies were sent. Continues the stream, if there is one. */
void reader_on_drained(struct reader *r);
/* Call before the session is freed. Ends the stream, if any, and rejects its call. */
void reader_cancel(struct reader *r);
