/* SPDX-License-Identifier: Apache-2.0 */
#include "service/consumer/observer.h"

#include <string.h>

#include "base/core/mem.h"
#include "common/observable_events.pb-c.h"
#include "gen/fields.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"
#include "service/trace/trace.h"

#define SEND_AT_BYTES (64u << 10) /* sent at once, before the next loop iteration */

static bool observer_is_subscribed(const struct observer *o, uint32_t event)
{
	return o->active && (o->events & event);
}

/* ---- sending ---- */

static void send_pending_events(void *ctx)
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

void observer_send(struct observer *o)
{
	if (o->active)
		send_pending_events(o);
}

/* Call after each event that was put into pending. Sends the pending events in the next loop
 * iteration, or at once if they are many. */
static void observer_send_soon(struct observer *o)
{
	if (pb_mem_len(&o->pending) >= SEND_AT_BYTES)
		send_pending_events(o);
	else
		loop_timer_once(&o->next_slice, 0, false);
}

static void end_event_stream(struct observer *o)
{
	if (!o->active)
		return;
	send_pending_events(o);
	o->active = false;
	loop_timer_stop(&o->next_slice);
	ipc_reply_empty(o->conn, &o->call);
}

/* ---- events ---- */

#define STATE(name)                                                                                \
	PB__OBSERVABLE_EVENTS__DATA_SOURCE_INSTANCE_STATE__DATA_SOURCE_INSTANCE_STATE_##name

/* Sets *ret to the state as consumers see it. Returns false for transitional states, which are not
 * reported. */
static bool find_reported_state(enum instance_state state, uint32_t *ret)
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

static void put_state_of_instance(void *ctx, const struct source_instance *i)
{
	struct observer *o = ctx;
	struct pb_enc *e = &o->pending.enc;
	uint32_t state;

	if (!find_reported_state(i->state, &state))
		return;
	pb_enc_open(e, PB_OBSERVABLE_EVENTS_INSTANCE_STATE_CHANGES);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_PRODUCER_NAME,
		   i->producer->name);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_DATA_SOURCE_NAME,
		   i->config->config->name);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_DATA_SOURCE_INSTANCE_STATE_CHANGE_STATE, state);
	pb_enc_close(e);
	observer_send_soon(o);
}

static void put_all_sources_started(struct observer *o)
{
	pb_enc_bool(&o->pending.enc, PB_OBSERVABLE_EVENTS_ALL_DATA_SOURCES_STARTED, true);
	observer_send_soon(o);
}

void observer_add_instance(struct observer *o, const struct source_instance *i)
{
	if (observer_is_subscribed(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_DATA_SOURCES_INSTANCES))
		put_state_of_instance(o, i);
}

void observer_add_all_started(struct observer *o)
{
	if (observer_is_subscribed(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED))
		put_all_sources_started(o);
}

/* Sends each event alone, because ObservableEvents has one field for it. */
void observer_add_clone_trigger(struct observer *o, uint64_t session_id,
				const struct received_trigger *trigger)
{
	struct pb_enc *e = &o->pending.enc;

	if (!observer_is_subscribed(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT))
		return;
	send_pending_events(o);
	pb_enc_open(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRACING_SESSION_ID, session_id);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME, trigger->name);
	pb_enc_str(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_NAME, trigger->producer);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_UID, trigger->uid);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_BOOT_TIME_NS, trigger->boot_ns);
	pb_enc_u64(e, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_DELAY_MS, trigger->delay_ms);
	pb_enc_close(e);
	send_pending_events(o);
}

void observer_begin(struct observer *o, const struct ipc_call *call, uint32_t events,
		    struct session *session)
{
	end_event_stream(o);
	o->active = true;
	o->call = *call;
	o->events = events;
	if (!events) {
		end_event_stream(o);
		return;
	}
	if (!session)
		return;
	if (observer_is_subscribed(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_DATA_SOURCES_INSTANCES))
		session_each_instance(session, put_state_of_instance, o);
	if (session_have_all_started(session) &&
	    observer_is_subscribed(o, PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED))
		put_all_sources_started(o);
}

int observer_init(struct observer *o, struct event_base *loop, struct ipc_conn *conn)
{
	int r;

	memset(o, 0, sizeof(*o));
	o->conn = conn;
	r = pb_mem_init(&o->pending);
	return r < 0 ? r : loop_timer_init(&o->next_slice, loop, send_pending_events, o);
}

void observer_deinit(struct observer *o)
{
	loop_timer_deinit(&o->next_slice);
	pb_mem_deinit(&o->pending);
}
