// SPDX-License-Identifier: Apache-2.0
/*
 * The life of one linux.ftrace instance, between the producer's commands and the drain:
 *
 *	create   everything in tracefs, nothing recorded        ftrace_session_open
 *	start    counters of the rings, tracing_on, ticks       ds_started
 *	flush    rings to the end -> FtraceStats -> hand over   ds_flushed
 *	stop     tracing off, rings to the end, as flush;
 *	         then tracefs as it was                         ds_stopped
 *	destroy  the same at once, without the rest of the rings
 *
 * FtraceStats come as a pair, the counters at the start and those of now, with every flush: a trace
 * that is cut short still knows its losses up to there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/session_feed.h"
#include "ftrace/drain.h"
#include "ftrace/ftrace_ds.h"
#include "ftrace/ftrace_session.h"
#include "ftrace/ring_stats.h"
#include "gen/fields.h"

#define MAX_FLUSHES 64 /* asked for and not answered yet; the oldest go first */

struct ftrace_ds {
	struct ds_handle *handle;
	struct session_feed *feed;
	uint64_t session_id;
	struct writer *writer; /* owned */
	struct drain *drain; /* owned */
	struct ftrace_session session;
	struct ring_stats_all start_stats;
	uint64_t told_events; /* translated when the last FtraceStats were written */
	bool told;
	bool stopping;
	bool stopped;
	uint64_t flushes[MAX_FLUSHES];
	unsigned n_flushes;
};

/* ---- FtraceStats ---- */

static void read_stats(struct ftrace_ds *ds, struct ring_stats_all *ret)
{
	const struct cpu_readers *r = &ds->session.readers;
	_cleanup_(freep) uint32_t *cpus = calloc(r->n + 1, sizeof(*cpus));

	*ret = (struct ring_stats_all){0};
	if (!cpus || !instance_is_made(&ds->session.instance))
		return;
	for (unsigned i = 0; i < r->n; i++)
		cpus[i] = r->cpus[i].stream.cpu;
	ring_stats_read(&ds->session.instance, cpus, r->n, ret);
}

static uint32_t pages_of(const struct ftrace_ds *ds, uint32_t kb)
{
	uint32_t size = ds->session.layout.size;

	return size ? (uint32_t)(((uint64_t)kb * 1024 + size - 1) / size) : 0;
}

static void write_stats_packet(struct ftrace_ds *ds, const struct ring_stats_packet *p)
{
	ring_stats_write(p, writer_begin(ds->writer));
	writer_end(ds->writer);
}

static uint64_t translated(const struct ftrace_ds *ds)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ds->session.readers.n; i++)
		n += ds->session.readers.cpus[i].stream.events;
	return n;
}

static void write_stats(struct ftrace_ds *ds)
{
	const struct ftrace_session *s = &ds->session;
	struct ring_stats_packet p = {
		.phase = RING_STATS_START,
		.all = &ds->start_stats,
		.reports = &s->reports,
		.asked_pages = pages_of(ds, s->buffer_kb),
	};
	struct ring_stats_all now;

	if (instance_is_made(&s->instance))
		p.buffer_pages = pages_of(ds, instance_buffer_kb(&s->instance));
	write_stats_packet(ds, &p);

	read_stats(ds, &now);
	p.phase = RING_STATS_END;
	p.all = &now;
	p.reports = NULL;
	p.status_counts = s->translator ? s->translator->status_counts : NULL;
	write_stats_packet(ds, &p);
	ring_stats_deinit(&now);
	ds->told_events = translated(ds);
	ds->told = true;
}

/* ---- what the drain calls ---- */

static void before_turn(void *ctx)
{
	struct ftrace_ds *ds = ctx;
	struct ftrace_session *s = &ds->session;
	bool wanted;

	if (!s->translator)
		return;
	ftrace_session_sync_clock(s);
	wanted = ds->feed && session_feed_wanted(ds->feed, ds->session_id);
	s->translator->ctx.tids = wanted ? &s->tids : NULL;
	s->translator->ctx.renamed = wanted ? &s->renamed : NULL;
}

static void after_turn(void *ctx)
{
	struct ftrace_ds *ds = ctx;
	struct tid_set *tids = &ds->session.tids, *renamed = &ds->session.renamed;

	if (!tids->n && !renamed->n)
		return;
	session_feed_tell(ds->feed, ds->session_id,
			  &(struct feed_news){
				  .renamed = renamed->tids,
				  .n_renamed = renamed->n,
				  .tids = tids->tids,
				  .n_tids = tids->n,
			  });
	tid_set_clear(tids);
	tid_set_clear(renamed);
}

static void answer_flushes(struct ftrace_ds *ds)
{
	unsigned n = ds->n_flushes;

	ds->n_flushes = 0;
	for (unsigned i = 0; i < n; i++)
		ds_flushed(ds->handle, ds->flushes[i]);
}

static void finish(struct ftrace_ds *ds)
{
	drain_halt(ds->drain);
	ftrace_session_close(&ds->session);
	ds->stopped = true;
	ds_stopped(ds->handle);
}

static void all_read(void *ctx)
{
	struct ftrace_ds *ds = ctx;
	/* An answer may bring a stop, which wants the rings to the end once more. */
	bool last = ds->stopping;

	if (ds->n_flushes || !ds->told || ds->told_events != translated(ds))
		write_stats(ds);
	writer_flush(ds->writer);
	answer_flushes(ds);
	if (last)
		finish(ds);
}

static const struct drain_ops drain_ops = {
	.before_turn = before_turn,
	.after_turn = after_turn,
	.all_read = all_read,
};

/* ---- what the producer calls ---- */

static void ftrace_destroy(void *instance)
{
	struct ftrace_ds *ds = instance;

	drain_free(ds->drain);
	ftrace_session_close(&ds->session);
	writer_free(ds->writer);
	ring_stats_deinit(&ds->start_stats);
	free(ds);
}

static int ftrace_create(struct ds_handle *h, const struct ds_env *env,
			 const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct ftrace_ds *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->handle = h;
	ds->feed = env->feed;
	ds->session_id = ds_session_id(h);
	ds->session.clock_fd = -1;
	ds->writer = ds_writer_new(h);
	r = ds->writer ? ftrace_session_open(&ds->session, env, ds->session_id,
					     config->ftrace_config, ds->writer)
		       : -ENOMEM;
	if (!r)
		r = drain_new(
			&(struct drain_options){
				.loop = env->loop,
				.readers = &ds->session.readers,
				.translator = ds->session.translator,
				.period_ms = ds->session.settings.drain_period_ms,
				.ops = &drain_ops,
				.ctx = ds,
			},
			&ds->drain);
	if (r) {
		ftrace_destroy(ds);
		return r;
	}
	if (ds->session.reports.problem)
		log_warn("linux.ftrace: %s", ds->session.reports.problem);
	*ret_instance = ds;
	return 0;
}

static void ftrace_start(void *instance)
{
	struct ftrace_ds *ds = instance;
	struct ftrace_session *s = &ds->session;
	int r;

	read_stats(ds, &ds->start_stats);
	if (instance_is_made(&s->instance)) {
		r = instance_write(&s->instance, "tracing_on", "1");
		if (r)
			report_problem(&s->reports, "cannot write tracing_on: %s", strerror(-r));
	}
	drain_start(ds->drain);
	ds_started(ds->handle);
}

static void ftrace_flush(void *instance, uint64_t flush_id)
{
	struct ftrace_ds *ds = instance;

	if (ds->stopped) {
		ds_flushed(ds->handle, flush_id);
		return;
	}
	if (ds->n_flushes == MAX_FLUSHES)
		memmove(ds->flushes, ds->flushes + 1, --ds->n_flushes * sizeof(*ds->flushes));
	ds->flushes[ds->n_flushes++] = flush_id;
	drain_all(ds->drain);
}

static void ftrace_stop(void *instance)
{
	struct ftrace_ds *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	if (instance_is_made(&ds->session.instance))
		instance_write(&ds->session.instance, "tracing_on", "0");
	drain_all(ds->drain);
}

/* The categories of ftrace_descriptor are Android's; that it is there says what we are. */
static void ftrace_describe(struct pb_enc *e)
{
	pb_enc_open(e, PB_DATA_SOURCE_DESCRIPTOR_FTRACE_DESCRIPTOR);
	pb_enc_close(e);
}

const struct data_source ftrace_data_source = {
	.name = "linux.ftrace",
	.create = ftrace_create,
	.start = ftrace_start,
	.flush = ftrace_flush,
	.stop = ftrace_stop,
	.destroy = ftrace_destroy,
	.describe = ftrace_describe,
};

int ftrace_remove_stale_instances(const char *tracefs_root)
{
	return instance_remove_stale(tracefs_root);
}
