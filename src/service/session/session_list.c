/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/sessions.h"

#include "service/ipc/limits.h"
#include "service/output/file_writer.h"
#include "service/session/admission.h"
#include "service/session/session_internal.h"
#include "service/session/source_instances.h"
#include "service/session/triggers.h"

/* ---- ids and counts ---- */

static bool is_used(const struct sessions *ss, uint16_t buffer_id)
{
	const struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (trace_find_buffer(s->trace, buffer_id) >= 0)
			return true;
	return false;
}

uint16_t sessions_new_buffer_id(struct sessions *ss)
{
	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		ss->last_buffer_id++;
		if (ss->last_buffer_id != 0 && !is_used(ss, ss->last_buffer_id))
			return ss->last_buffer_id;
	}
	return 0;
}

struct session *sessions_next(const struct sessions *ss, const struct session *s)
{
	return s ? TAILQ_NEXT(s, link) : TAILQ_FIRST(&ss->list);
}

size_t sessions_count(const struct sessions *ss)
{
	const struct session *s;
	size_t n = 0;

	TAILQ_FOREACH (s, &ss->list, link)
		n++;
	return n;
}

size_t sessions_count_buffers(const struct sessions *ss)
{
	const struct session *s;
	size_t n = 0;

	TAILQ_FOREACH (s, &ss->list, link)
		n += trace_n_buffers(s->trace);
	return n;
}

/* ---- life ---- */

void sessions_init(struct sessions *ss, struct event_base *loop, struct quota *quota,
		   struct producers *producers, const struct trace_env *env)
{
	*ss = (struct sessions){
		.loop = loop, .quota = quota, .producers = producers, .trace_env = *env};
	TAILQ_INIT(&ss->list);
}

void sessions_deinit(struct sessions *ss)
{
	while (!TAILQ_EMPTY(&ss->list))
		session_free(TAILQ_FIRST(&ss->list));
	ss->recent = recent_sessions_free(ss->recent);
	trigger_history_deinit(&ss->trigger_history);
}

/* ---- producer_events ---- */

static void on_source_registered(void *ctx, const struct registered_source *source)
{
	struct sessions *ss = ctx;
	struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED)
			source_instances_offer(s, source);
}

static void on_source_unregistered(void *ctx, struct producer_port *p, const char *name)
{
	source_instances_withdraw(ctx, p, name, true);
}

static void on_instance_started(void *ctx, const struct producer_port *p, uint64_t id)
{
	(void)ctx;
	source_instances_notify_started(p, id);
}

static void on_instance_stopped(void *ctx, const struct producer_port *p, uint64_t id)
{
	(void)ctx;
	source_instances_notify_stopped(p, id);
}

/* Buffers that are written into files may be full now. */
static void on_committed(void *ctx)
{
	const struct sessions *ss = ctx;
	const struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (s->file)
			file_writer_committed(s->file);
}

static void on_flush_done(void *ctx, struct producer_port *p, uint64_t flush_id)
{
	(void)ctx;
	flush_acked(p, flush_id);
}

static void on_trigger(void *ctx, const struct producer_port *p, const char *name, uint64_t *budget)
{
	triggers_activate(ctx, p->name, p->peer->uid, name, budget);
}

static void on_gone(void *ctx, struct producer_port *p)
{
	flush_forget_producer(p);
	source_instances_withdraw(ctx, p, NULL, false);
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
