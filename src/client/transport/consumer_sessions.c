/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/consumer.h"

#include <errno.h>

#include "client/transport/consumer_sessions.h"

static void on_cloned(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__CloneSessionResponse *) = r->fn.cloned;
	Pb__CloneSessionResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__clone_session_response__descriptor, reply, &error);
	request_retire(r, reply);
	done(ctx, error, m);
	request_free_message(m);
}

/* Adds the trigger, so that the clone contains its reason. */
static void put_trigger(const Pb__ObservableEvents__CloneTriggerHit *hit,
			Pb__CloneSessionRequest *ret)
{
	ret->clone_trigger_name = hit->trigger_name;
	ret->clone_trigger_producer_name = hit->producer_name;
	ret->has_clone_trigger_trusted_producer_uid = hit->has_producer_uid;
	ret->clone_trigger_trusted_producer_uid = (int32_t)hit->producer_uid;
	ret->has_clone_trigger_boot_time_ns = hit->has_boot_time_ns;
	ret->clone_trigger_boot_time_ns = hit->boot_time_ns;
	ret->has_clone_trigger_delay_ms = hit->has_trigger_delay_ms;
	ret->clone_trigger_delay_ms = hit->trigger_delay_ms;
}

int consumer_clone(struct consumer *c, const struct consumer_clone_request *request, int fd,
		   void (*done)(void *ctx, int error, const Pb__CloneSessionResponse *answer),
		   void *ctx)
{
	Pb__CloneSessionRequest args = PB__CLONE_SESSION_REQUEST__INIT;
	struct request *r = request_new(c, on_cloned, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.cloned = done;
	if (request->name) {
		args.selector_case = PB__CLONE_SESSION_REQUEST__SELECTOR_UNIQUE_SESSION_NAME;
		args.unique_session_name = (char *)request->name;
	} else {
		args.selector_case = PB__CLONE_SESSION_REQUEST__SELECTOR_SESSION_ID;
		args.session_id = request->session_id;
	}
	if (request->trigger)
		put_trigger(request->trigger, &args);
	return request_send_msg(r, "CloneSession", &args.base, fd);
}

int consumer_detach(struct consumer *c, const char *key, consumer_done done, void *ctx)
{
	Pb__DetachRequest args = PB__DETACH_REQUEST__INIT;
	struct request *r = request_new_done(c, done, ctx);

	if (!r)
		return -ENOMEM;
	args.key = (char *)key;
	return request_send_msg(r, "Detach", &args.base, -1);
}

static void on_attached(struct request *r, const struct connection_reply *reply)
{
	void (*done)(void *, int, const Pb__TraceConfig *) = r->fn.attached;
	Pb__TraceConfig nothing = PB__TRACE_CONFIG__INIT;
	Pb__AttachResponse *m;
	void *ctx = r->ctx;
	int error;

	m = request_unpack(&pb__attach_response__descriptor, reply, &error);
	request_retire(r, reply);
	if (m)
		done(ctx, 0, m->trace_config ? m->trace_config : &nothing);
	else
		done(ctx, error, NULL);
	request_free_message(m);
}

int consumer_attach(struct consumer *c, const char *key,
		    void (*done)(void *ctx, int error, const Pb__TraceConfig *config), void *ctx)
{
	Pb__AttachRequest args = PB__ATTACH_REQUEST__INIT;
	struct request *r = request_new(c, on_attached, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.attached = done;
	args.key = (char *)key;
	return request_send_msg(r, "Attach", &args.base, -1);
}

int consumer_await_end(struct consumer *c,
		       void (*done)(void *ctx, int error, const char *error_text), void *ctx)
{
	Pb__EnableTracingRequest args = PB__ENABLE_TRACING_REQUEST__INIT;
	struct request *r = request_new(c, request_on_enabled, ctx);

	if (!r)
		return -ENOMEM;
	r->fn.enabled = done;
	args.has_attach_notification_only = args.attach_notification_only = true;
	return request_send_msg(r, "EnableTracing", &args.base, -1);
}
