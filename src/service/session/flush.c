/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flush asks each producer with an instance in the session to commit its data. A producer
 * acknowledges it in a CommitData request. When all have done so, or at the timeout, the service
 * scrapes the rest from the shared memories, and the flush is done.
 *
 *	session_flush --> waiting for { producer, ... } --acked by all--> timer at 0 --> done
 *	                                 |
 *	                                 +--timeout----------------------------------> done
 *
 * A flush always ends from its own timer, so that no request of a producer changes a session while
 * a caller walks over its fields.
 */
#include "service/session/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/loop_timer.h"
#include "config/limits.h"
#include "service/producer/producer_port.h"
#include "service/session/session_state.h"
#include "service/session/source_instances.h"

struct flush_wait {
	TAILQ_ENTRY(flush_wait) link; /* in the producer's list, until it answers */
	struct pending_flush *flush; /* borrowed: it owns us */
	struct producer_port *producer; /* borrowed; NULL: it has answered or disconnected */
};

struct pending_flush {
	TAILQ_ENTRY(pending_flush) link;
	struct session *session; /* borrowed: it owns us */
	uint64_t id; /* service-wide, ascending */
	struct flush_request request;
	struct loop_timer timer;
	struct flush_wait *waits; /* owned: one for each flushed producer */
	size_t n_waits;
	size_t cost; /* bytes charged to the session's user */
	size_t n_waiting; /* producers that have not answered */
};

/* Returns true if the instance takes part in the flush. */
static bool flush_includes(const struct pending_flush *f, const struct source_instance *i)
{
	const struct flush_request *r = &f->request;

	return !i->no_flush && (!r->includes || r->includes(r->ctx, i->buffer_id));
}

static void flush_call_done(const struct flush_request *r, bool success)
{
	if (r->done)
		r->done(r->ctx, &r->call, success);
}

static void stop_waiting_for_producer(struct flush_wait *w)
{
	TAILQ_REMOVE(&w->producer->flush_waits, w, link);
	w->producer = NULL;
	w->flush->n_waiting--;
}

static void flush_free(struct pending_flush *f)
{
	for (size_t i = 0; i < f->n_waits; i++)
		if (f->waits[i].producer)
			stop_waiting_for_producer(&f->waits[i]);
	loop_timer_deinit(&f->timer);
	quota_release(&f->session->account, QUOTA_CONN_BYTES, f->cost);
	free(f->waits);
	free(f);
}

static void unlink_flush(struct pending_flush *f)
{
	TAILQ_REMOVE(&f->session->flushes, f, link);
	f->session->n_flushes--;
}

/* ---- producers that were late ---- */

/* Returns true if the instance takes part in the flush, and its producer has not answered. */
static bool is_late_instance(const struct source_instance *i, const void *ctx)
{
	const struct pending_flush *f = ctx;

	for (size_t n = 0; n < f->n_waits; n++)
		if (f->waits[n].producer == i->producer)
			return flush_includes(f, i);
	return false;
}

static bool flush_precedes_end_of_trace(const struct pending_flush *f)
{
	uint64_t reason = f->request.flags & FLUSH_REASON_MASK;

	return reason == FLUSH_REASON_STOP || reason == FLUSH_REASON_CLONE;
}

/* ---- the end ---- */

static void flush_on_timer(void *ctx)
{
	struct pending_flush *f = ctx;
	struct session *s = f->session;
	bool success = f->n_waiting == 0;
	struct flush_request request = f->request;

	/* Data that arrives after the last flush of a session is lost. */
	if (!success && flush_precedes_end_of_trace(f))
		source_instances_record_slow(s, SERVICE_EVENT_SLOW_FLUSH, is_late_instance, f);
	unlink_flush(f);
	flush_free(f);
	/* A writer that did not take part in the flush may have data in an open chunk. */
	session_scrape(s);
	trace_record_event(s->trace, SERVICE_EVENT_ALL_FLUSHED);
	trace_snapshot_clocks(s->trace);
	if (success)
		s->flushes_succeeded++;
	else
		s->flushes_failed++;
	flush_call_done(&request, success);
}

void flush_on_ack(struct producer_port *p, uint64_t flush_id)
{
	struct flush_wait *w;

	while ((w = TAILQ_FIRST(&p->flush_waits)) && w->flush->id <= flush_id) {
		stop_waiting_for_producer(w);
		if (w->flush->n_waiting == 0)
			loop_timer_once(&w->flush->timer, 0, false);
	}
}

void flush_remove_producer(struct producer_port *p)
{
	flush_on_ack(p, UINT64_MAX);
}

static void end_flush_requests(struct session *s, const void *ctx, bool reject)
{
	struct pending_flush *f;

	TAILQ_FOREACH (f, &s->flushes, link) {
		struct flush_request r = f->request;

		if (!r.done || r.ctx != ctx)
			continue;
		f->request.done = NULL;
		f->request.includes = NULL;
		if (reject)
			flush_call_done(&r, false);
	}
}

void session_reject_flushes(struct session *s, const void *ctx)
{
	end_flush_requests(s, ctx, true);
}

void session_remove_flushes(struct session *s, const void *ctx)
{
	end_flush_requests(s, ctx, false);
}

void flush_cancel_all(struct session *s)
{
	struct pending_flush *f;

	while ((f = TAILQ_FIRST(&s->flushes))) {
		struct flush_request r = f->request;

		unlink_flush(f);
		flush_free(f);
		flush_call_done(&r, false);
	}
}

/* ---- the beginning ---- */

/* Sends the request to a producer with an instance that flushes. ids: scratch, with room for all
 * instances of the session. */
static void request_flush_of_producer(struct pending_flush *f, struct producer_port *p,
				      uint64_t *ids)
{
	const struct source_instance *i;
	bool takes_part = false;
	size_t n = 0;

	TAILQ_FOREACH (i, &p->instances, of_producer) {
		takes_part |= i->session == f->session;
		if (i->session == f->session && flush_includes(f, i))
			ids[n++] = i->id;
	}
	/* The service cannot scrape the memory of a remote producer. The producer does that
	 * itself when it is flushed. */
	if (n == 0 && !(takes_part && p->peer->is_remote && p->wants_scraping))
		return;
	f->waits[f->n_waits] = (struct flush_wait){.flush = f, .producer = p};
	TAILQ_INSERT_TAIL(&p->flush_waits, &f->waits[f->n_waits], link);
	f->n_waits++;
	f->n_waiting++;
	producer_port_send_flush(p, ids, n, f->id, f->request.flags);
}

static int flush_charge(struct pending_flush *f, size_t bytes)
{
	int r = quota_charge(&f->session->account, QUOTA_CONN_BYTES, bytes, NULL);

	if (r == 0)
		f->cost = bytes;
	return r;
}

static int request_flush_of_producers(struct pending_flush *f)
{
	struct sessions *sessions = f->session->sessions;
	_cleanup_(freep) uint64_t *ids = calloc(f->session->n_instances + 1, sizeof(*ids));
	struct producer_port *p;

	size_t most = MIN(sessions->producers->n, f->session->n_instances) + 1;
	int r = flush_charge(f, sizeof(*f) + most * sizeof(*f->waits));

	if (r < 0)
		return r;
	f->waits = calloc(most, sizeof(*f->waits));
	if (!ids || !f->waits)
		return -ENOMEM;
	TAILQ_FOREACH (p, &sessions->producers->list, link)
		request_flush_of_producer(f, p, ids);
	return 0;
}

static struct pending_flush *flush_new(struct session *s, const struct flush_request *request)
{
	struct pending_flush *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct pending_flush){
		.session = s, .id = ++s->sessions->last_flush_id, .request = *request};
	if (loop_timer_init(&f->timer, s->sessions->loop, flush_on_timer, f) == 0)
		return f;
	flush_free(f);
	return NULL;
}

/* Starts the flush. Takes ownership of f, even on failure. Returns 0, -EDQUOT or -ENOMEM. */
static int flush_start(struct pending_flush *f)
{
	uint32_t timeout_ms = f->request.timeout_ms;
	struct session *s = f->session;
	int r = request_flush_of_producers(f);

	if (r < 0) {
		flush_free(f);
		return r;
	}
	s->flushes_requested++;
	trace_drop_events(s->trace, SERVICE_EVENT_SLOW_FLUSH);
	TAILQ_INSERT_TAIL(&s->flushes, f, link);
	s->n_flushes++;
	loop_timer_once(&f->timer,
			f->n_waiting == 0 ? 0
			: timeout_ms	  ? timeout_ms
					  : session_flush_timeout_ms(s),
			false);
	return 0;
}

/* Records the request in the trace. Returns 0; -EINVAL if the session is not started; or -EBUSY,
 * which is counted, if too many flushes are pending. */
static int flush_admit(struct session *s)
{
	trace_record_event(s->trace, SERVICE_EVENT_FLUSH_STARTED);
	if (s->state != SESSION_STARTED)
		return -EINVAL;
	if (s->n_flushes < LIMIT_PENDING_FLUSHES)
		return 0;
	s->account.quota->refused[REFUSED_FLUSHES]++;
	return -EBUSY;
}

int session_flush(struct session *s, const struct flush_request *request)
{
	int r = flush_admit(s);
	struct pending_flush *f = r == 0 ? flush_new(s, request) : NULL;

	if (!f)
		return r < 0 ? r : -ENOMEM;
	return flush_start(f);
}
