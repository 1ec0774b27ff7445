/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/sessions.h"

#include "service/output/file_sink.h"
#include "service/service.h"
#include "service/session/session.h"

/* ---- producer_events ---- */

static void on_source_registered(void *ctx, const struct registered_source *source)
{
	struct service *v = ctx;
	struct session *s;

	TAILQ_FOREACH (s, &v->sessions, link)
		if (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED)
			instances_offer(s, source);
}

static void on_source_unregistered(void *ctx, struct producer_port *p, const char *name)
{
	instances_withdraw(ctx, p, name, true);
}

static void on_instance_started(void *ctx, const struct producer_port *p, uint64_t id)
{
	(void)ctx;
	instances_notify_started(p, id);
}

static void on_instance_stopped(void *ctx, const struct producer_port *p, uint64_t id)
{
	(void)ctx;
	instances_notify_stopped(p, id);
}

/* Buffers that are written into files may be full now. */
static void on_committed(void *ctx)
{
	const struct service *v = ctx;
	const struct session *s;

	TAILQ_FOREACH (s, &v->sessions, link)
		if (s->file)
			file_sink_committed(s->file);
}

static void on_flush_done(void *ctx, const struct producer_port *p, uint64_t flush_id)
{
	flush_acked(ctx, p, flush_id);
}

static void on_trigger(void *ctx, const struct producer_port *p, const char *name, uint64_t *budget)
{
	triggers_activate(ctx, p->name, p->peer->uid, name, budget);
}

static void on_gone(void *ctx, struct producer_port *p)
{
	flush_forget_producer(ctx, p);
	instances_withdraw(ctx, p, NULL, false);
}

const struct producer_events sessions_producer_events = {
	.source_registered = on_source_registered,
	.source_unregistered = on_source_unregistered,
	.instance_started = on_instance_started,
	.instance_stopped = on_instance_stopped,
	.committed = on_committed,
	.flush_done = on_flush_done,
	.trigger = on_trigger,
	.gone = on_gone,
};
