/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop/loop_timer.h"
#include "service/ipc/ipc_host.h"
#include "wire/pb_enc.h"

struct event_base;
struct received_trigger;
struct session;
struct source_instance;

/* ObserveEvents: events of the consumer's own session. The events of one iteration of the loop are
 * sent in one reply. */
struct observer {
	bool active;
	uint32_t events; /* mask of Pb__ObservableEvents__Type */
	struct ipc_call call; /* the stream */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	struct pb_mem pending; /* fields of ObservableEvents of this iteration */
	struct loop_timer next_slice; /* sends them */
};

/* Returns 0 or -ENOMEM. deinit may be called on zeroed memory. */
int observer_init(struct observer *o, struct event_base *loop, struct ipc_conn *conn);
void observer_deinit(struct observer *o);

/* Begins the stream of an ObserveEvents call for these events: ends an earlier stream, and reports
 * the present state (session may be NULL). Without events the stream ends at once. */
void observer_begin(struct observer *o, const struct ipc_call *call, uint32_t events,
		    struct session *session);

/* Sends the collected events at once. */
void observer_send(struct observer *o);

/* Each adds an event, if the consumer has requested its type. */
void observer_add_instance(struct observer *o, const struct source_instance *i);
void observer_add_all_started(struct observer *o);
void observer_add_clone_trigger(struct observer *o, uint64_t session_id,
				const struct received_trigger *trigger);
