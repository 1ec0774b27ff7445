/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the reports of producers, and passes them to the sessions concerned. */
#include "service/session/sessions.h"

#include "service/output/file_writer.h"
#include "service/session/admission.h"
#include "service/session/flush.h"
#include "service/session/session_life.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"
#include "service/session/triggers.h"

static void on_source_registered(void *ctx, const struct registered_source *source)
{
	struct sessions *ss = ctx;
	struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (s->state == SESSION_CONFIGURED || s->state == SESSION_STARTED)
			source_instances_offer(s, source);
}

/* Removes the producer's instances of the data source of this name (NULL: of all) from all
 * sessions. send_stop: sends a stop command to running instances. */
static void withdraw_instances(struct sessions *ss, struct producer_port *p, const char *name,
			       bool send_stop)
{
	struct session *s, *next;

	for (s = TAILQ_FIRST(&ss->list); s; s = next) {
		next = TAILQ_NEXT(s, link);
		if (!source_instances_withdraw(s, p, name, send_stop))
			continue;
		session_check_all_started(s);
		session_check_all_stopped(s);
	}
}

static void on_source_unregistered(void *ctx, struct producer_port *p, const char *name)
{
	withdraw_instances(ctx, p, name, true);
}

static void on_instance_started(void *ctx, const struct producer_port *p, uint64_t id)
{
	struct session *s = source_instances_handle_started(p, id);

	if (s)
		session_check_all_started(s);
}

static void on_instance_stopped(void *ctx, const struct producer_port *p, uint64_t id)
{
	struct session *s = source_instances_handle_stopped(p, id);

	if (s)
		session_check_all_stopped(s);
}

/* Lets sessions with a file begin to write: their buffers may have received enough data. */
static void on_chunks_committed(void *ctx)
{
	const struct sessions *ss = ctx;
	const struct session *s;

	TAILQ_FOREACH (s, &ss->list, link)
		if (s->file)
			file_writer_on_committed(s->file);
}

static void on_flush_done(void *ctx, struct producer_port *p, uint64_t flush_id)
{
	flush_on_ack(p, flush_id);
}

static void on_trigger(void *ctx, const struct producer_port *p, const char *name, uint64_t *budget)
{
	triggers_activate(ctx, p->name, p->peer->uid, name, budget);
}

static void on_producer_disconnected(void *ctx, struct producer_port *p)
{
	flush_remove_producer(p);
	withdraw_instances(ctx, p, NULL, false);
}

const struct producer_events sessions_producer_events = {
	.source_registered = on_source_registered,
	.source_unregistered = on_source_unregistered,
	.instance_started = on_instance_started,
	.instance_stopped = on_instance_stopped,
	.committed = on_chunks_committed,
	.flush_done = on_flush_done,
	.trigger = on_trigger,
	.gone = on_producer_disconnected,
};

void sessions_deinit(struct sessions *ss)
{
	while (!TAILQ_EMPTY(&ss->list))
		session_free(TAILQ_FIRST(&ss->list));
	ss->recent = recent_sessions_free(ss->recent);
	trigger_history_deinit(&ss->trigger_history);
}
