/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_clone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/buffer/trace_buffer.h"
#include "service/producer/producer_port.h"
#include "service/session/session_life.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"

/* Charges the account for a clone of the source. Returns 0, or -EDQUOT or -ENOMEM; what was charged
 * until then stays charged. */
static int session_clone_charge(struct quota_account *a, const struct session *source,
				struct err_text *e)
{
	int r = quota_charge(a, QUOTA_CLONES, 1, e);

	if (r == 0)
		r = quota_charge(a, QUOTA_BUFFERS, trace_n_buffers(source->trace), e);
	if (r == 0)
		r = quota_charge(a, QUOTA_CONFIG_BYTES, source->account.held[QUOTA_CONFIG_BYTES],
				 e);
	for (size_t i = 0; i < trace_n_buffers(source->trace) && r == 0; i++)
		r = quota_charge(a, QUOTA_BUFFER_BYTES,
				 trace_buffer_size(trace_get_buffer(source->trace, i)), e);
	return r;
}

int session_clone_init(struct session_clone *c, const struct session *source, uid_t uid,
		       struct err_text *e)
{
	int r;

	*c = (struct session_clone){.begun_boot_ns = clock_boot_ns(),
				    .n_buffers = trace_n_buffers(source->trace)};
	c->uid = uid;
	quota_open(&c->account, source->account.quota, uid);
	r = session_clone_charge(&c->account, source, e);
	c->buffers = calloc(c->n_buffers + 1, sizeof(struct trace_buffer *));
	c->taken_boot_ns = calloc(c->n_buffers + 1, sizeof(*c->taken_boot_ns));
	if (r == 0 && (!c->buffers || !c->taken_boot_ns))
		r = err_set(e, -ENOMEM, "out of memory");
	if (r < 0)
		session_clone_deinit(c);
	return r;
}

void session_clone_deinit(struct session_clone *c)
{
	for (size_t i = 0; c->buffers && i < c->n_buffers; i++)
		trace_buffer_free(c->buffers[i]);
	free(c->buffers);
	free(c->taken_boot_ns);
	received_trigger_deinit(&c->trigger);
	quota_close(&c->account);
	*c = (struct session_clone){0};
}

struct trace_buffer *session_replace_buffer(struct session *s, size_t i, struct trace_buffer *with)
{
	struct producer_port *producer;

	TAILQ_FOREACH (producer, &s->sessions->producers->list, link)
		producer_buffers_replace_granted(producer, trace_get_buffer_id(s->trace, i), with);
	/* The incremental state to which later packets would refer is in the old buffer. */
	source_instances_clear_incremental_state(s);
	return trace_replace_buffer(s->trace, i, with);
}

static Pb__TraceConfig *session_clone_copy_config(const Pb__TraceConfig *from)
{
	size_t size = pb__trace_config__get_packed_size(from);
	_cleanup_(freep) uint8_t *packed = malloc(size ? size : 1);

	if (!packed)
		return NULL;
	pb__trace_config__pack(from, packed);
	return pb__trace_config__unpack(NULL, size, packed);
}

/* Adds n buffers to the clone, all NULL. Returns 0, -ENOSPC or -errno. */
static int add_buffers(struct session *s, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		uint16_t id = sessions_new_buffer_id(s->sessions);

		r = id ? trace_add_buffer(s->trace, id, NULL) : -ENOSPC;
	}
	return r;
}

static void copy_counts(struct session *s, const struct session *source)
{
	s->flushes_requested = source->flushes_requested;
	s->flushes_succeeded = source->flushes_succeeded;
	s->flushes_failed = source->flushes_failed;
	s->all_started_reported = source->all_started_reported;
}

static void record_events(struct trace *t, const struct session_clone *c)
{
	trace_record_event_at(t, SERVICE_EVENT_CLONE_STARTED, c->begun_boot_ns, 1);
	for (size_t i = 0; i < c->n_buffers; i++)
		trace_record_event_at(t, SERVICE_EVENT_BUFFER_CLONED, c->taken_boot_ns[i],
				      (uint32_t)i);
	trace_record_event(t, SERVICE_EVENT_TRACING_DISABLED);
	trace_snapshot_clocks(t);
	trace_mark_due(t, TRACE_DUE_STATS | TRACE_DUE_SYNC_MARKER);
}

int session_clone_finish(struct session_clone *c, struct session *source,
			 struct session_owner owner, struct session **ret)
{
	_cleanup_(session_destroyp) struct session *s = NULL;
	int r = session_alloc(source->sessions, owner, c->uid, &s);

	if (r < 0)
		return r;
	s->config = session_clone_copy_config(source->config);
	if (!s->config)
		return -ENOMEM;
	if (session_end_reason(source))
		session_set_end_reason(s, session_end_reason(source));
	r = trace_new_clone(source->trace,
			    &(struct trace_owner){s->config, &s->account, session_put_stats, s},
			    c->unfiltered, &s->trace);
	if (r == 0)
		r = add_buffers(s, c->n_buffers);
	if (r == 0)
		r = session_copy_departures(source, s);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_buffers; i++)
		trace_replace_buffer(s->trace, i, TAKE_PTR(c->buffers[i]));
	s->id = ++s->sessions->last_session_id;
	copy_counts(s, source);
	record_events(s->trace, c);
	s->final_flush = c->flush_failed      ? FINAL_FLUSH_FAILED
			 : c->flush_succeeded ? FINAL_FLUSH_SUCCEEDED
					      : source->final_flush;
	trace_set_clone_trigger(s->trace, &c->trigger);
	trace_move_triggers(source->trace, s->trace);
	s->triggers.hit = source->triggers.hit;
	quota_move_charges(&c->account, &s->account);
	quota_charge_unchecked(&s->account, QUOTA_SESSIONS, 1);
	TAILQ_INSERT_TAIL(&s->sessions->list, s, link);
	session_set_state(s, SESSION_CLONED);
	*ret = TAKE_PTR(s);
	return 0;
}
