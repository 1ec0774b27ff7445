/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session/session_clone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "service/consumer/consumer_port.h"
#include "service/service.h"
#include "service/session/session_life.h"
#include "service/session/session_run.h"
#include "service/trace/session_trace.h"
#include "service/buffer/trace_buffer.h"
#include "service/filter/trace_filter.h"

/* As much as the source has. */
static int take_room(struct quota_account *a, const struct session *source, struct err_text *e)
{
	int r = quota_take(a, QUOTA_CLONES, 1, e);

	if (r == 0)
		r = quota_take(a, QUOTA_BUFFERS, source->n_buffers, e);
	if (r == 0)
		r = quota_take(a, QUOTA_CONFIG_BYTES, source->account.held[QUOTA_CONFIG_BYTES], e);
	for (size_t i = 0; i < source->n_buffers && r == 0; i++)
		r = quota_take(a, QUOTA_BUFFER_BYTES, trace_buffer_size(source->buffers[i].buffer),
			       e);
	return r;
}

int session_clone_init(struct session_clone *c, const struct session *source, uid_t uid,
		       struct err_text *e)
{
	int r;

	*c = (struct session_clone){.begun_boot_ns = clock_boot_ns(),
				    .n_buffers = source->n_buffers};
	quota_open(&c->account, &source->service->quota, uid);
	r = take_room(&c->account, source, e);
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

static Pb__TraceConfig *copy_config(const Pb__TraceConfig *from)
{
	size_t size = pb__trace_config__get_packed_size(from);
	_cleanup_(freep) uint8_t *packed = malloc(size ? size : 1);

	if (!packed)
		return NULL;
	pb__trace_config__pack(from, packed);
	return pb__trace_config__unpack(NULL, size, packed);
}

static int number_buffers(struct session *s, size_t n)
{
	s->buffers = calloc(n + 1, sizeof(*s->buffers));
	if (!s->buffers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s->buffers[i].id = service_new_buffer_id(s->service);
		if (!s->buffers[i].id)
			return -ENOSPC;
	}
	return 0;
}

static void copy_counts(struct session *s, const struct session *source)
{
	s->clocks = source->clocks;
	s->start_realtime_ns = source->start_realtime_ns;
	s->invalid_packets = source->invalid_packets;
	s->flushes_requested = source->flushes_requested;
	s->flushes_succeeded = source->flushes_succeeded;
	s->flushes_failed = source->flushes_failed;
	s->all_started_told = source->all_started_told;
}

static void record_events(struct session *s, const struct session_clone *c)
{
	lifecycle_add_value(&s->lifecycle, LIFECYCLE_CLONE_STARTED, c->begun_boot_ns, 1);
	for (size_t i = 0; i < c->n_buffers; i++)
		lifecycle_add_value(&s->lifecycle, LIFECYCLE_BUFFER_CLONED, c->taken_boot_ns[i],
				    (uint32_t)i);
	session_record(s, LIFECYCLE_TRACING_DISABLED);
	session_snapshot_clocks(s);
	s->sync_marker_due = s->stats_due = true;
}

static void move_triggers(struct session_triggers *from, struct session_triggers *to)
{
	to->received = TAKE_PTR(from->received);
	to->n_received = from->n_received;
	to->cap_received = from->cap_received;
	to->hit = from->hit;
	from->n_received = from->cap_received = 0;
}

int session_clone_finish(struct session_clone *c, struct session *source,
			 struct consumer_port *consumer, struct session **ret)
{
	_cleanup_(session_destroyp) struct session *s = NULL;
	int r = session_alloc(source->service, consumer, consumer->uid, &s);

	if (r < 0)
		return r;
	s->config = copy_config(source->config);
	if (!s->config)
		return -ENOMEM;
	if (session_end_reason(source))
		session_set_end(s, session_end_reason(source));
	r = number_buffers(s, c->n_buffers);
	if (r == 0 && source->filter && !c->unfiltered)
		r = trace_filter_new(s->config, NULL, &s->filter);
	if (r == 0)
		r = sequence_ids_copy(&source->sequences, &s->sequences);
	if (r == 0)
		r = lifecycle_copy(&source->lifecycle, &s->lifecycle);
	if (r == 0)
		r = departures_copy(&source->departures, &s->departures);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_buffers; i++)
		s->buffers[i].buffer = TAKE_PTR(c->buffers[i]);
	s->n_buffers = c->n_buffers;
	s->id = ++s->service->last_session_id;
	session_make_uuid_of(s, source->uuid_lsb);
	copy_counts(s, source);
	record_events(s, c);
	s->final_flush = c->final_flush != FINAL_FLUSH_NONE ? c->final_flush : source->final_flush;
	s->clone_trigger = c->trigger;
	c->trigger = (struct received_trigger){0};
	move_triggers(&source->triggers, &s->triggers);
	quota_move(&c->account, &s->account);
	quota_hold(&s->account, QUOTA_SESSIONS, 1);
	TAILQ_INSERT_TAIL(&s->service->sessions, s, link);
	session_set_state(s, SESSION_CLONED);
	*ret = TAKE_PTR(s);
	return 0;
}
