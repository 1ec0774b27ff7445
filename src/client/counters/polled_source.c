/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/polled_source.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/time_slice.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

/* Counts a failed read. is_new: the first one of its kind. */
static void counter_errors_count_read(struct counter_errors *t, bool is_new, const char *path,
				      int error)
{
	t->failures++;
	if (!is_new || t->n == COUNTER_ERRORS_KINDS)
		return;
	snprintf(t->kinds[t->n].path, COUNTER_ERRORS_PATH, "%.*s", COUNTER_ERRORS_PATH - 1, path);
	t->kinds[t->n].error = error;
	t->n++;
	t->is_new = true;
}

/* Sets the number of tracks that were refused since the start. */
static void counter_errors_set_refused(struct counter_errors *t, uint64_t refused)
{
	t->is_new |= refused && !t->refused;
	t->refused = refused;
}

/* Makes the next counter_errors_write() report everything again. */
static void counter_errors_report_again(struct counter_errors *t)
{
	t->written = 0;
	t->is_new = t->failures || t->refused;
}

/* Writes one packet if an error is new, or at a flush (all) if the counts have grown. source is the
 * name of the data source. */
static void counter_errors_write(struct counter_errors *t, struct writer *w, const char *source,
				 bool all)
{
	uint64_t sum = t->failures + t->refused;
	struct pb_enc *e;

	if (!t->is_new && (!all || sum == t->written))
		return;
	t->is_new = false;
	t->written = sum;
	e = writer_begin(w);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_POLLED_COUNTERS_STATS);
	pb_enc_str(e, PB_POLLED_COUNTERS_STATS_SOURCE, source);
	for (unsigned i = 0; i < t->n; i++) {
		pb_enc_open(e, PB_POLLED_COUNTERS_STATS_READ_FAILURES);
		pb_enc_str(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, t->kinds[i].path);
		pb_enc_i64(e, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR, t->kinds[i].error);
		pb_enc_close(e);
	}
	pb_enc_u64(e, PB_POLLED_COUNTERS_STATS_FAILED_READS, t->failures);
	if (t->refused)
		pb_enc_u64(e, PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS, t->refused);
	pb_enc_close(e);
	writer_end(w);
}

/*
 *	start, tick --> a pass --> time slices, until its last step --> the next tick is set
 *
 * After the first failure, the number of failures is a counter track as well. A separate packet
 * also reports the errors, for the summary of a recording.
 */

void polled_source_flush_writers(struct polled_source *p)
{
	writer_flush(p->writer);
	if (p->thread_writer)
		writer_flush(p->thread_writer);
}

static void polled_source_set_tick(struct polled_source *p)
{
	uint64_t took = (clock_mono_ns() - p->pass_began) / NS_PER_MS;

	event_timer_ms(p->tick, MAX((uint64_t)clock_ms_to_tick(p->period_ms), took));
}

static uint32_t add_counter_of_source(struct polled_source *p, const char *name,
				      const char *description)
{
	return tracks_add(p->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
							  .parent = p->group,
							  .name = name,
							  .description = description,
							  .unit = TRACK_UNIT_COUNT,
							  .total = true});
}

static void set_unless_zero(struct polled_source *p, uint32_t track, uint64_t v)
{
	if (v)
		tracks_set(p->tracks, track, (int64_t)v);
}

static void polled_source_begin_pass(struct polled_source *p)
{
	p->in_pass = true;
	p->pass++;
	p->pass_began = clock_mono_ns();
	p->ops->begin(p);
}

static void report_refused_tracks(struct polled_source *p)
{
	uint64_t refused = tracks_counts(p->tracks).refused;

	set_unless_zero(p, p->refused_track, refused);
	if (refused && !p->refused_reported)
		log_warn("%s: more than %u counters, or out of memory; further counters are "
			 "counted as "
			 "\"refused tracks\"",
			 p->ops->name, TRACKS_MAX);
	p->refused_reported = refused > 0;
	counter_errors_set_refused(&p->errors, refused);
}

static void polled_source_end_pass(struct polled_source *p)
{
	p->in_pass = p->is_waited_for = false;
	p->pass_took = clock_mono_ns() - p->pass_began;
	set_unless_zero(p, p->failures_track, p->errors.failures);
	report_refused_tracks(p);
	tracks_end(p->tracks);
	counter_errors_write(&p->errors, p->writer, p->ops->name, false);
	if (p->period_ms >= COUNTER_SLOW_MS)
		polled_source_flush_writers(p);
	if (!p->stopping)
		polled_source_set_tick(p);
}

static void run_steps_of_pass(struct polled_source *p, const struct time_slice *slice)
{
	tracks_begin(p->tracks, clock_boot_ns());
	do {
		if (!p->ops->step(p)) {
			polled_source_end_pass(p);
			break;
		}
	} while (!time_slice_over(slice));
	tracks_end(p->tracks);
}

/* Writes the last values, in time slices, and then answers the flushes and the stop. */
static void polled_source_answer(struct polled_source *p, const struct time_slice *slice)
{
	while (tracks_flush_piece(p->tracks)) {
		if (time_slice_over(slice)) {
			event_timer_soon(p->next_slice);
			return;
		}
	}
	counter_errors_write(&p->errors, p->writer, p->ops->name, true);
	polled_source_flush_writers(p);
	flushes_answer(&p->flushes, p->h);
	if (!p->stopping)
		return;
	p->stopping = false;
	ds_stopped(p->h);
}

static void polled_source_run_slice(struct polled_source *p)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);

	if (p->in_pass)
		run_steps_of_pass(p, &slice);
	if (p->in_pass) {
		event_timer_soon(p->next_slice);
	} else if (!p->start_answered) {
		p->start_answered = true;
		ds_started(p->h);
	}
	if ((p->flushes.n || p->stopping) && !p->is_waited_for)
		polled_source_answer(p, &slice);
}

static void polled_source_on_next_slice(evutil_socket_t fd, short what, void *ctx)
{
	polled_source_run_slice(ctx);
}

static void polled_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct polled_source *p = ctx;

	polled_source_begin_pass(p);
	polled_source_run_slice(p);
}

int polled_source_init(struct polled_source *p, const struct polled_source_ops *ops,
		       struct ds_handle *h, const struct ds_env *env, uint32_t period_ms)
{
	int r;

	*p = (struct polled_source){.ops = ops, .h = h};
	p->period_ms = period_ms ? MAX(period_ms, COUNTER_PERIOD_MIN_MS) : COUNTER_PERIOD_MS;
	if (period_ms && period_ms < COUNTER_PERIOD_MIN_MS)
		log_warn("%s: a period of %u ms is too short; using %u ms", ops->name, period_ms,
			 COUNTER_PERIOD_MIN_MS);
	p->next_slice = evtimer_new(env->loop, polled_source_on_next_slice, p);
	p->tick = evtimer_new(env->loop, polled_source_on_tick, p);
	p->writer = ds_writer_new(h);
	if (ops->has_thread_tracks)
		p->thread_writer = ds_writer_new(h);
	if (!p->next_slice || !p->tick || !p->writer ||
	    (ops->has_thread_tracks && !p->thread_writer))
		return -ENOMEM;
	ds_yield_to_root(h, p->next_slice);
	ds_yield_to_root(h, p->tick);
	r = tracks_new(ops->name, p->writer, &p->tracks);
	if (r < 0)
		return r;
	if (p->thread_writer)
		tracks_set_thread_writer(p->tracks, p->thread_writer);
	p->group = tracks_add(p->tracks,
			      &(struct track_spec){.kind = TRACK_GROUP, .name = ops->group});
	p->failures_track =
		add_counter_of_source(p, "failed reads", "files that could not be read or parsed");
	p->refused_track = add_counter_of_source(p, "refused tracks", "counters beyond the limit");
	return p->refused_track == TRACK_VOID ? -ENOMEM : 0;
}

void polled_source_deinit(struct polled_source *p)
{
	event_freep(&p->next_slice);
	event_freep(&p->tick);
	tracks_free(p->tracks);
	writer_free(p->writer);
	writer_free(p->thread_writer);
	strbuf_deinit(&p->text);
}

void polled_source_failed(struct polled_source *p, bool *logged, const char *path, int error)
{
	counter_errors_count_read(&p->errors, !*logged, path, error);
	if (!*logged)
		log_warn("%s: %s: %s; counted as \"failed reads\" from now on", p->ops->name, path,
			 fs_error_text(error));
	*logged = true;
}

/* ---- the data source ---- */

void polled_source_start(void *instance)
{
	polled_source_on_tick(-1, 0, instance);
}

/* Starts an extra pass for current values, for which the flushes and the stop wait. Does nothing if
 * a pass is in progress, or if the last pass is recent or was long. */
static void begin_pass_for_current_values(struct polled_source *p)
{
	uint64_t age = clock_mono_ns() - p->pass_began;

	if (p->in_pass || age < COUNTER_NEW_MS * NS_PER_MS ||
	    p->pass_took > COUNTER_SHORT_MS * NS_PER_MS)
		return;
	evtimer_del(p->tick);
	polled_source_begin_pass(p);
	p->is_waited_for = true;
}

void polled_source_flush(void *instance, uint64_t flush_id)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	struct polled_source *p = instance;

	if (!flushes_add(&p->flushes, flush_id)) {
		polled_source_flush_writers(p);
		flushes_answer(&p->flushes, p->h);
		(void)flushes_add(&p->flushes, flush_id);
	}
	begin_pass_for_current_values(p);
	if (!p->is_waited_for)
		polled_source_answer(p, &slice);
	else if (!evtimer_pending(p->next_slice, NULL))
		polled_source_run_slice(p);
}

void polled_source_clear(void *instance)
{
	struct polled_source *p = instance;

	tracks_clear(p->tracks);
	counter_errors_report_again(&p->errors);
}

void polled_source_stop(void *instance)
{
	struct polled_source *p = instance;

	if (p->stopping)
		return;
	p->stopping = true;
	evtimer_del(p->next_slice);
	evtimer_del(p->tick);
	/* A pass that has not ended yet takes long, and so would another one. */
	if (p->in_pass && !p->is_waited_for)
		p->in_pass = false;
	else
		begin_pass_for_current_values(p);
	polled_source_run_slice(p);
}

void polled_source_destroy(void *instance)
{
	struct polled_source *p = instance;

	p->ops->deinit(p);
}
