/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_ds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/session_feed.h"
#include "procfs/process_names.h"
#include "procfs/process_queue.h"
#include "procfs/process_scan.h"
#include "procfs/turn.h"

/*
 * All work happens in turns of the loop (turn.h), the most urgent first:
 *
 *	feed ----> queue: tasks that ran, and may be gone soon
 *	start ---> scan:  every task of the machine; when it is through, the start is answered
 *
 * A turn opens at most one packet at a time and leaves none open. While there is work the next turn
 * is due at once, but behind whatever else is due on the loop.
 */

/* Flushes that may wait at a time; one more is answered with what is written by then. */
#define FLUSHES_MAX 16

struct process_ds {
	struct ds_handle *h; /* borrowed, as is env's */
	struct session_feed *feed;
	struct writer *writer; /* owned */
	struct event *turn; /* owned */
	struct process_names names;
	struct process_queue queue;
	struct process_scan scan;
	bool scan_on_start;
	bool on_demand;
	bool listening;
	bool start_answered;
	uint64_t flush_ids[FLUSHES_MAX];
	unsigned n_flushes;
};

static void schedule(struct process_ds *ds)
{
	static const struct timeval at_once;

	/* Not event_active(): that would go before the timers and sockets that are due. */
	if (!evtimer_pending(ds->turn, NULL))
		evtimer_add(ds->turn, &at_once);
}

static void answer_flushes(struct process_ds *ds)
{
	if (ds->n_flushes == 0)
		return;
	writer_flush(ds->writer);
	for (unsigned i = 0; i < ds->n_flushes; i++)
		ds_flushed(ds->h, ds->flush_ids[i]);
	ds->n_flushes = 0;
}

static void answer_start(struct process_ds *ds)
{
	if (ds->start_answered)
		return;
	ds->start_answered = true;
	ds_started(ds->h);
}

/* What comes with the feed goes first, and a flush waits for no more than that. */
static void run_turn(struct process_ds *ds)
{
	struct turn turn = turn_begin(clock_mono_ns);
	bool queued = process_queue_run(&ds->queue, &ds->names, &turn);
	bool scanning = process_scan_is_active(&ds->scan);

	if (!queued && scanning)
		scanning = process_scan_run(&ds->scan, &ds->names, &turn);
	process_tree_end(&ds->names.tree);
	if (queued || scanning)
		schedule(ds);
	if (!queued)
		answer_flushes(ds);
	if (!scanning)
		answer_start(ds);
}

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	run_turn(ctx);
}

static void on_news(void *ctx, const struct feed_news *news)
{
	struct process_ds *ds = ctx;

	for (size_t i = 0; i < news->n_renamed; i++) {
		process_names_forget(&ds->names, news->renamed[i]);
		process_queue_add(&ds->queue, news->renamed[i]);
	}
	for (size_t i = 0; i < news->n_tids; i++)
		if (!process_seen_has(&ds->names.seen, news->tids[i]))
			process_queue_add(&ds->queue, news->tids[i]);
	/* Now: the next turn of the loop may be too late for a task that is about to end. */
	if (!process_queue_is_empty(&ds->queue) && !evtimer_pending(ds->turn, NULL))
		run_turn(ds);
}

static void listen_to_feed(struct process_ds *ds)
{
	int r = session_feed_listen(ds->feed, ds_session_id(ds->h), on_news, ds);

	ds->listening = r == 0;
	if (r < 0)
		log_warn("linux.process_stats names no tasks that come later: %s", strerror(-r));
}

static void unlisten(struct process_ds *ds)
{
	if (ds->listening)
		session_feed_unlisten(ds->feed, ds_session_id(ds->h), ds);
	ds->listening = false;
}

/* ---- the data source ---- */

static void process_destroy(void *instance)
{
	struct process_ds *ds = instance;

	if (!ds)
		return;
	unlisten(ds);
	if (ds->turn)
		event_free(ds->turn);
	process_scan_end(&ds->scan);
	process_queue_deinit(&ds->queue);
	process_seen_clear(&ds->names.seen);
	proc_files_deinit(&ds->names.files);
	writer_free(ds->writer);
	free(ds);
}

static void destroyp(struct process_ds **ds)
{
	process_destroy(*ds);
}

static void configure(struct process_ds *ds, const Pb__ProcessStatsConfig *c)
{
	ds->on_demand = true;
	if (!c)
		return;
	ds->scan_on_start = c->scan_all_processes_on_start;
	ds->names.options = (struct process_names_options){
		.thread_names = c->record_thread_names,
		.age = c->record_process_age,
		.skip_main_thread = c->skip_main_thread_message,
	};
	for (size_t i = 0; i < c->n_quirks; i++)
		if (c->quirks[i] == PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND)
			ds->on_demand = false;
}

static int process_create(struct ds_handle *h, const struct ds_env *env,
			  const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(destroyp) struct process_ds *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->feed = env->feed;
	ds->names.files.root = -1;
	ds->names.tree.new_state = true;
	configure(ds, config->process_stats_config);
	r = proc_files_init(&ds->names.files, env->proc_root);
	if (r < 0)
		return r;
	ds->turn = evtimer_new(env->loop, on_turn, ds);
	ds->writer = ds_writer_new(h);
	ds->names.tree.w = ds->writer;
	if (!ds->turn || !ds->writer)
		return -ENOMEM;
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void process_start(void *instance)
{
	struct process_ds *ds = instance;
	int r;

	if (ds->on_demand)
		listen_to_feed(ds);
	if (ds->scan_on_start) {
		r = process_scan_begin(&ds->scan, &ds->names);
		if (r < 0)
			log_warn("linux.process_stats does not scan: %s", strerror(-r));
	}
	run_turn(ds);
}

static void process_flush(void *instance, uint64_t flush_id)
{
	struct process_ds *ds = instance;

	if (ds->n_flushes == FLUSHES_MAX)
		answer_flushes(ds);
	ds->flush_ids[ds->n_flushes++] = flush_id;
	/* Not now: other sources of the session, flushed in the same breath, may tell of tasks. */
	schedule(ds);
}

static void process_clear(void *instance)
{
	struct process_ds *ds = instance;

	process_names_clear(&ds->names);
}

static void process_stop(void *instance)
{
	struct process_ds *ds = instance;
	struct turn turn = turn_begin(clock_mono_ns);

	unlisten(ds);
	(void)process_queue_run(&ds->queue, &ds->names, &turn);
	process_tree_end(&ds->names.tree);
	process_scan_end(&ds->scan);
	event_del(ds->turn);
	writer_flush(ds->writer);
	ds_stopped(ds->h);
}

const struct data_source process_stats_data_source = {
	.name = "linux.process_stats",
	.handles_incremental_state_clear = true,
	.create = process_create,
	.start = process_start,
	.flush = process_flush,
	.clear = process_clear,
	.stop = process_stop,
	.destroy = process_destroy,
};
