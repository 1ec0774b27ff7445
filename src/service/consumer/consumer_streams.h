/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/ipc/ipc_host.h"
#include "base/event_loop/loop_timer.h"
#include "service/filter/packet_sink.h"
#include "wire/pb_mem.h"

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

struct received_trigger;
struct source_instance;

/*
 * ObserveEvents: what a consumer wants to hear about its own session. The events of one turn of the
 * loop go out in one reply.
 */
struct observer {
	bool active;
	uint32_t events; /* mask of Pb__ObservableEvents__Type */
	struct ipc_call call; /* the stream */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	struct pb_mem pending; /* fields of ObservableEvents of this turn */
	struct loop_timer turn; /* sends them */
};

/* 0 or -ENOMEM; deinit is fine on zeroed memory. */
int observer_init(struct observer *o, struct event_base *loop, struct ipc_conn *conn);
void observer_deinit(struct observer *o);

/*
 * A call of ObserveEvents: ends the stream before, begins a new one for these events, and tells
 * what is the case now (session may be NULL). No events: the stream ends at once.
 */
void observe_begin(struct observer *o, const struct ipc_call *call, uint32_t events,
		   struct session *session);

/* Sends what has happened in this turn at once. */
void observe_send(struct observer *o);

/* Something happened; nothing is sent to who did not ask. */
void observe_instance(struct observer *o, const struct source_instance *i);
void observe_all_started(struct observer *o);
void observe_clone_trigger(struct observer *o, uint64_t session_id,
			   const struct received_trigger *trigger);
