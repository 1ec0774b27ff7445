/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/time_slice.h"
#include "base/system/log.h"
#include "procfs/sys/sys_source.h"

/* In the order of a pass: small files first, tables of many files last. */
const struct sys_source *const sys_sources[] = {
	&sys_stat,	&sys_meminfo, &sys_vmstat,  &sys_psi,	  &sys_buddyinfo,
	&sys_diskstats, &sys_cpufreq, &sys_devfreq, &sys_gpufreq, &sys_thermal,
	&sys_cpuidle,	&sys_slab,    &sys_files,   NULL,
};

/*
 *	start, tick --> a pass: every table that is due is active until its last step is done
 *	pass ---------> time slices of a few ms, a packet each; nearly always one
 *	its end ------> sets the timer for the table that is due first, and answers flushes and
 *	                the stop, after a poll of the tables that were not polled just now
 *
 * A table is due at multiples of its period, so that several tables share one packet. There is one
 * timer, set at the end of a pass. A table that is due during a long pass waits for its end; a
 * table that was part of the pass waits for the next multiple after it. So a period that is too
 * short for the machine skips polls and never starves the loop.
 */

#define PERIOD_MIN_MS 10u
#define SOURCES_MAX 16
/* If all periods are at least this long, the values of a poll are committed at once. */
#define SLOW_MS 500
/* A flush and the stop poll tables that were polled longer ago than this. */
#define FRESH_MS 100u
/* The clock of the loop advances in kernel ticks of up to 4 ms. A timer may fire that much early; a
 * table that is due then is polled at once. */
#define EARLY_MS 4

struct slot {
	struct sys_state *state; /* owned */
	uint32_t period_ms;
	uint64_t due; /* CLOCK_MONOTONIC, ms */
	uint64_t polled_ms; /* start of its last pass; CLOCK_MONOTONIC, ms */
	bool active; /* has steps left in this pass */
	bool polled; /* is or was active in this pass */
};

struct sys_stats {
	struct ds_handle *h; /* borrowed */
	struct writer *writer; /* owned */
	struct event *next_slice; /* owned */
	struct event *tick; /* owned */
	struct sys_packet poll;
	struct slot slots[SOURCES_MAX];
	unsigned n_slots;
	struct flushes flushes;
	bool is_slow; /* all periods are at least SLOW_MS */
	bool start_answered;
	bool stopping;
};

static uint64_t now_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

/* ---- timer and steps ---- */

static void sys_stats_source_set_tick(struct sys_stats *ds)
{
	uint64_t now = now_ms(), due = UINT64_MAX;

	for (unsigned i = 0; i < ds->n_slots; i++) {
		struct slot *s = &ds->slots[i];

		if (s->polled)
			s->due = (MAX(now, s->due) / s->period_ms + 1) * s->period_ms;
		s->polled = false;
		due = MIN(due, s->due);
	}
	if (ds->n_slots == 0)
		return;
	event_timer_ms(ds->tick, due > now ? due - now : 1);
}

/* Runs one step of one table. Returns false if the pass is complete. */
static bool sys_stats_source_step(struct sys_stats *ds)
{
	for (unsigned i = 0; i < ds->n_slots; i++) {
		struct slot *s = &ds->slots[i];

		if (!s->active)
			continue;
		s->active = sys_source_step(s->state, &ds->poll);
		return true;
	}
	return false;
}

static void answer_start(struct sys_stats *ds)
{
	if (ds->start_answered)
		return;
	ds->start_answered = true;
	ds_started(ds->h);
}

/* Answers flushes and the stop. Returns false if they need more than this slice. */
static bool sys_stats_source_answer(struct sys_stats *ds, const struct time_slice *slice)
{
	if (!ds->flushes.n && !ds->stopping)
		return true;
	while (sys_packet_flush(&ds->poll))
		if (time_slice_over(slice))
			return false;
	writer_flush(ds->writer);
	flushes_answer(&ds->flushes, ds->h);
	if (!ds->stopping)
		return true;
	sys_packet_log_errors(&ds->poll);
	ds->stopping = false;
	ds_stopped(ds->h);
	return true;
}

static void sys_stats_source_run_slice(struct sys_stats *ds)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	bool more;

	sys_packet_begin(&ds->poll);
	do
		more = sys_stats_source_step(ds);
	while (more && !time_slice_over(&slice));
	sys_packet_end(&ds->poll);
	if (!more) {
		if (ds->is_slow)
			writer_flush(ds->writer);
		answer_start(ds);
		if (!ds->stopping)
			sys_stats_source_set_tick(ds);
	}
	if (more || !sys_stats_source_answer(ds, &slice))
		event_timer_us(ds->next_slice, 0);
}

static void sys_stats_source_on_slice(evutil_socket_t fd, short what, void *ctx)
{
	sys_stats_source_run_slice(ctx);
}

static void sys_stats_source_add_to_pass(struct slot *s, uint64_t now)
{
	s->active = s->polled = true;
	s->polled_ms = now;
}

static void sys_stats_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct sys_stats *ds = ctx;
	uint64_t now = now_ms();

	for (unsigned i = 0; i < ds->n_slots; i++)
		if (ds->slots[i].due <= now + EARLY_MS)
			sys_stats_source_add_to_pass(&ds->slots[i], now);
	sys_stats_source_run_slice(ds);
}

/* Adds tables that were not polled for FRESH_MS to the active pass, or starts a pass. */
static void poll_stale_tables(struct sys_stats *ds)
{
	uint64_t now = now_ms();

	/* Without this, the tick could start another pass in the middle of this one. */
	event_del(ds->tick);
	for (unsigned i = 0; i < ds->n_slots; i++)
		if (!ds->slots[i].active && now - ds->slots[i].polled_ms >= FRESH_MS)
			sys_stats_source_add_to_pass(&ds->slots[i], now);
	if (!evtimer_pending(ds->next_slice, NULL))
		sys_stats_source_run_slice(ds);
}

/* ---- the data source ---- */

static void sys_stats_destroy(void *instance)
{
	struct sys_stats *ds = instance;

	if (!ds)
		return;
	event_freep(&ds->next_slice);
	event_freep(&ds->tick);
	for (unsigned i = 0; i < ds->n_slots; i++)
		sys_source_close(ds->slots[i].state, &ds->poll);
	sys_packet_deinit(&ds->poll);
	writer_free(ds->writer);
	free(ds);
}

DEFINE_DESTRUCTOR(struct sys_stats *, sys_stats_destroy)

static int open_sources(struct sys_stats *ds, const Pb__SysStatsConfig *c)
{
	ds->is_slow = true;
	for (const struct sys_source *const *at = sys_sources; *at; at++) {
		const struct sys_source *source = *at;
		struct slot s = {0};
		int r;

		memcpy(&s.period_ms, (const char *)c + source->period, sizeof(s.period_ms));
		if (s.period_ms == 0)
			continue;
		if (s.period_ms < PERIOD_MIN_MS) {
			log_warn("linux.sys_stats: the period of %s, %u ms, is below the "
				 "minimum; using %u ms",
				 source->name, s.period_ms, PERIOD_MIN_MS);
			s.period_ms = PERIOD_MIN_MS;
		}
		r = sys_source_open(source, &ds->poll, c, &s.state);
		if (r < 0)
			return r;
		ds->is_slow &= s.period_ms >= SLOW_MS;
		ds->slots[ds->n_slots++] = s;
	}
	return 0;
}

/* Logs options without effect. */
static void log_unused_options(const struct sys_stats *ds, const Pb__SysStatsConfig *c)
{
	const char *without = c->n_meminfo_counters && !c->meminfo_period_ms ? "meminfo"
			      : c->n_vmstat_counters && !c->vmstat_period_ms ? "vmstat"
			      : c->n_stat_counters && !c->stat_period_ms     ? "stat"
									     : NULL;

	if (c->n_files && !c->files_period_ms)
		log_warn("linux.sys_stats: files record nothing without files_period_ms");
	if (without)
		log_warn("linux.sys_stats: %s_counters record nothing without %s_period_ms",
			 without, without);
	if (ds->n_slots == 0)
		log_warn("linux.sys_stats records nothing: no period is set");
}

static int sys_stats_create(struct ds_handle *h, const struct ds_env *env,
			    const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(sys_stats_destroyp) struct sys_stats *ds = calloc(1, sizeof(*ds));
	Pb__SysStatsConfig none = PB__SYS_STATS_CONFIG__INIT;
	const Pb__SysStatsConfig *c = config->sys_stats_config ? config->sys_stats_config : &none;
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->writer = ds_writer_new(h);
	ds->next_slice = evtimer_new(env->loop, sys_stats_source_on_slice, ds);
	ds->tick = evtimer_new(env->loop, sys_stats_source_on_tick, ds);
	if (!ds->writer || !ds->next_slice || !ds->tick)
		return -ENOMEM;
	ds_yield_to_root(h, ds->next_slice);
	ds_yield_to_root(h, ds->tick);
	ds->poll = (struct sys_packet){
		.proc_root = env->proc_root,
		.sys_root = env->sys_root,
		.w = ds->writer,
	};
	r = extra_counters_init(&ds->poll.extras, sys_stats_data_source.name, ds->writer);
	if (r == 0)
		r = open_sources(ds, c);
	if (r < 0)
		return r;
	log_unused_options(ds, c);
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

/* Starts polling. All tables are due at once. */
static void sys_stats_start(void *instance)
{
	sys_stats_source_on_tick(-1, 0, instance);
}

static void sys_stats_flush(void *instance, uint64_t flush_id)
{
	struct sys_stats *ds = instance;

	if (!flushes_add(&ds->flushes, flush_id)) {
		writer_flush(ds->writer);
		flushes_answer(&ds->flushes, ds->h);
		(void)flushes_add(&ds->flushes, flush_id);
	}
	poll_stale_tables(ds);
}

static void sys_stats_clear(void *instance)
{
	struct sys_stats *ds = instance;

	tracks_clear(ds->poll.extras.tracks);
}

static void sys_stats_stop(void *instance)
{
	struct sys_stats *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	poll_stale_tables(ds);
}

const struct data_source sys_stats_data_source = {
	.name = "linux.sys_stats",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.handles_incremental_state_clear = true,
	.create = sys_stats_create,
	.start = sys_stats_start,
	.flush = sys_stats_flush,
	.clear = sys_stats_clear,
	.stop = sys_stats_stop,
	.destroy = sys_stats_destroy,
};
