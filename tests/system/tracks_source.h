/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "client/counters/tracks.h"
#include "client/producer/data_source.h"

/*
 * The data source "sonda.test.tracks": counter tracks of every kind, a value each 2 ms.
 *
 *	test group/still         7 all the time, described as "never moves", in bytes
 *	test group/ticks         1, 2, 3 ..., a count
 *	test group/half          ticks / 2, a real number, in "h" (times 1000)
 *	test group/CPU 1/depth   ticks % 3
 *	test group/visitor N     5, in each tenth tick a new one, and gone with the next
 *	process/of process       ticks, under this process; thread/of thread under its main thread
 */
#define TRACKS_TICK_MS 2

struct tracks_instance {
	struct ds_handle *h;
	struct writer *w;
	struct tracks *t;
	struct event *tick;
	int64_t n;
	uint32_t group, still, ticks, half, depth, visitor, of_process, of_thread;
};

static inline uint32_t tracks_counter(struct tracks *t, uint32_t parent, const char *name)
{
	return tracks_add(t, &(struct track_spec){.kind = TRACK_COUNTER,
						  .parent = parent,
						  .name = name,
						  .unit = TRACK_UNIT_COUNT});
}

static inline void tracks_make(struct tracks_instance *x)
{
	const int32_t pid = getpid();
	const struct track_spec process = {.kind = TRACK_PROCESS, .pid = pid};
	const struct track_spec thread = {.kind = TRACK_THREAD, .pid = pid, .tid = pid};

	x->group = tracks_add(x->t, &(struct track_spec){.kind = TRACK_GROUP,
							 .name = "test group",
							 .description = "one of each"});
	x->still = tracks_add(x->t, &(struct track_spec){.kind = TRACK_COUNTER,
							 .parent = x->group,
							 .name = "still",
							 .unit = TRACK_UNIT_BYTES,
							 .description = "never moves"});
	x->half = tracks_add(x->t, &(struct track_spec){.kind = TRACK_COUNTER,
							.parent = x->group,
							.name = "half",
							.unit_name = "h",
							.unit_multiplier = 1000});
	x->ticks = tracks_counter(x->t, x->group, "ticks");
	x->depth = tracks_counter(x->t, tracks_add_cpu(x->t, x->group, 1), "depth");
	x->of_process = tracks_counter(x->t, tracks_add(x->t, &process), "of process");
	x->of_thread = tracks_counter(x->t, tracks_add(x->t, &thread), "of thread");
}

static inline void tracks_visit(struct tracks_instance *x)
{
	char name[32];

	tracks_remove(x->t, x->visitor);
	x->visitor = TRACK_VOID;
	if (x->n % 10 != 0)
		return;
	snprintf(name, sizeof(name), "visitor %d", (int)(x->n / 10));
	x->visitor = tracks_counter(x->t, x->group, name);
	tracks_set(x->t, x->visitor, 5);
}

static inline void tracks_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	static const struct timeval wait = {.tv_usec = TRACKS_TICK_MS * 1000};
	struct tracks_instance *x = ctx;

	(void)fd, (void)what;
	x->n++;
	tracks_begin(x->t, clock_boot_ns());
	tracks_set(x->t, x->still, 7);
	tracks_set(x->t, x->ticks, x->n);
	tracks_set_double(x->t, x->half, (double)x->n / 2);
	tracks_set(x->t, x->depth, x->n % 3);
	tracks_set(x->t, x->of_process, x->n);
	tracks_set(x->t, x->of_thread, x->n);
	tracks_visit(x);
	tracks_end(x->t);
	evtimer_add(x->tick, &wait);
}

static inline int tracks_create(struct ds_handle *h, const struct ds_env *env,
				const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct tracks_instance *x = calloc(1, sizeof(*x));

	(void)config;
	x->h = h;
	x->w = ds_writer_new(h);
	x->tick = evtimer_new(env->loop, tracks_on_tick, x);
	x->visitor = TRACK_VOID;
	if (tracks_new("sonda.test.tracks", x->w, &x->t) < 0)
		abort();
	*ret_instance = x;
	return 0;
}

static inline void tracks_start(void *instance)
{
	struct tracks_instance *x = instance;

	tracks_make(x);
	ds_started(x->h);
	tracks_on_tick(-1, 0, x);
}

static inline void tracks_on_flush(void *instance, uint64_t flush_id)
{
	struct tracks_instance *x = instance;

	tracks_flush(x->t);
	writer_flush(x->w);
	ds_flushed(x->h, flush_id);
}

static inline void tracks_on_clear(void *instance)
{
	tracks_clear(((struct tracks_instance *)instance)->t);
}

static inline void tracks_stop(void *instance)
{
	struct tracks_instance *x = instance;

	evtimer_del(x->tick);
	tracks_flush(x->t);
	writer_flush(x->w);
	ds_stopped(x->h);
}

static inline void tracks_destroy(void *instance)
{
	struct tracks_instance *x = instance;

	tracks_free(x->t);
	writer_free(x->w);
	event_free(x->tick);
	free(x);
}

static const struct data_source tracks_source = {
	.name = "sonda.test.tracks",
	.handles_incremental_state_clear = true,
	.create = tracks_create,
	.start = tracks_start,
	.flush = tracks_on_flush,
	.clear = tracks_on_clear,
	.stop = tracks_stop,
	.destroy = tracks_destroy,
};
