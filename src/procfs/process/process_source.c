/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/event_free.h"
#include "procfs/data_sources.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/time_slice.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "client/producer/metadata_bus.h"
#include "client/transport/writer.h"
#include "gen/fields.h"
#include "procfs/process/process_poll.h"
#include "procfs/process/process_scan.h"
#include "procfs/process/process_tree.h"
#include "procfs/process/task_events.h"

/*
 * All work is done in time slices of the loop (time_slice.h), the most urgent first:
 *
 *	metadata bus -+--> task_events:  tasks that started, were renamed or executed a program
 *	              +--> process_tree: its queue of tasks that ran and may exit soon
 *	start ----------> process_scan: every task of the machine; then the start is confirmed. Once
 *	                                more for new processes when the bus begins to report all
 *	                                starts, and of all after a clear, if the config requests it
 *	tick -----------> process_poll: the counters of every process, if the config requests them
 *
 * The first three write rows of names (process_tree.h).
 *
 * A slice has at most one packet open at a time and leaves none open. While there is work the next
 * slice is due at once, after all other due events of the loop.
 *
 * There are up to three writers: readers drop the interned data of a sequence when a ProcessTree
 * marks new state, so counter tracks (process_tracks.h) use sequences of their own; see also
 * tracks_set_thread_writer.
 *
 * A flush is answered when everything that the bus published, and the pending metadata of its
 * publishers, has been written; a stop when no publisher is left in the session.
 */

/* A shorter period would poll all the time. */
#define POLL_MIN_MS 100u
#define SLOW_POLL_MS 500
#define READ_AGAIN_US 20000

struct process_source {
	struct ds_handle *h; /* borrowed */
	struct metadata_bus *bus;
	struct writer *writer; /* owned */
	struct writer *tracks_writer; /* owned; for counter tracks. NULL: no tracks */
	struct writer *thread_writer; /* owned; for tracks of threads. NULL: none */
	struct event *next_slice; /* owned */
	struct event *tick; /* owned; of the poll */
	struct event *again; /* owned; timer for reading missing command lines again */
	struct proc_files files;
	struct process_packet packet;
	struct process_tree tree;
	struct task_events events;
	struct process_scan scan;
	struct process_poll poll;
	uint32_t logged; /* bits by enum proc_file: its read errors were logged */
	bool logged_refused; /* tracks beyond the limit were logged */
	uint64_t written_errors; /* number of errors when they were last written */
	uint32_t poll_ms; /* 0: no polling */
	struct log_limit poll_errors;
	struct log_limit loss_errors;
	uint64_t dropped; /* dropped packets of all writers when everything was last rewritten */
	bool scan_on_start;
	bool scan_after_clear;
	bool scan_again; /* the bus began to report all starts after the first scan */
	bool on_demand;
	bool subscribed;
	bool knew_starts; /* knows_starts() was true before */
	bool started;
	bool stopping;
	bool start_answered;
	struct flushes flushes;
};

static void process_source_flush_writers(struct process_source *ds)
{
	writer_flush(ds->writer);
	if (ds->tracks_writer)
		writer_flush(ds->tracks_writer);
	if (ds->thread_writer)
		writer_flush(ds->thread_writer);
}

static void process_source_unsubscribe(struct process_source *ds)
{
	if (ds->subscribed)
		metadata_bus_unsubscribe(ds->bus, ds_session_id(ds->h), ds);
	ds->subscribed = false;
}

/* Returns true if a publisher reports starts and exits of tasks. */
static bool process_source_has_publisher(const struct process_source *ds)
{
	return ds->subscribed && metadata_bus_has_publisher(ds->bus, ds_session_id(ds->h));
}

/* Returns true if a publisher reports every start. */
static bool process_source_gets_all_starts(const struct process_source *ds)
{
	return ds->subscribed && metadata_bus_is_complete(ds->bus, ds_session_id(ds->h));
}

static void process_source_clear_written(struct process_source *ds)
{
	/* Without reports of new tasks a known id may belong to another task by now. */
	process_tree_clear(&ds->tree, process_source_gets_all_starts(ds));
	process_poll_clear(&ds->poll);
}

/* ---- errors ---- */

/* Logs read errors, and counter tracks that exceed the limit: the first error of each kind of file.
 * All are counted in the trace. */
static void process_source_log_errors(struct process_source *ds)
{
	for (unsigned i = 0; i < PROC_FILES; i++) {
		const struct proc_errors *e = &ds->files.errors[i];

		if ((!e->count && !e->absent) || ds->logged >> i & 1)
			continue;
		ds->logged |= 1u << i;
		log_warn("linux.process_stats: /proc/PID/%s: %s; its values are missing",
			 proc_file_name(i),
			 e->absent	       ? "not supported by this kernel"
			 : e->error == -EAGAIN ? "not read in time"
					       : fs_error_text(-e->error));
	}
	if (ds->logged_refused || !process_tracks_count_refused(&ds->poll.tracks))
		return;
	ds->logged_refused = true;
	log_warn("linux.process_stats: more than %u counter tracks; the excess is dropped",
		 TRACKS_MAX);
}

/* Writes a ProcessStats with unread_files and refused_tracks, if the counts have grown. */
static void process_source_write_errors(struct process_source *ds)
{
	uint64_t refused = process_tracks_count_refused(&ds->poll.tracks), sum = refused;

	for (unsigned i = 0; i < PROC_FILES; i++)
		sum += ds->files.errors[i].count + ds->files.errors[i].absent;
	if (sum == ds->written_errors)
		return;
	ds->written_errors = sum;
	process_packet_prepare(&ds->packet);
	for (unsigned i = 0; i < PROC_FILES; i++) {
		const struct proc_errors *error = &ds->files.errors[i];
		struct pb_enc *e;

		if (!error->count && !error->absent)
			continue;
		e = process_packet_open_row(&ds->packet, PROCESS_PACKET_STATS,
					    PB_PROCESS_STATS_UNREAD_FILES);
		pb_enc_str(e, PB_PROCESS_STATS_UNREAD_FILE_NAME, proc_file_name(i));
		pb_enc_i64(e, PB_PROCESS_STATS_UNREAD_FILE_ERROR, -error->error);
		pb_enc_u64(e, PB_PROCESS_STATS_UNREAD_FILE_COUNT, error->count);
		pb_enc_close(e);
	}
	if (refused)
		pb_enc_u64(process_packet_open(&ds->packet, PROCESS_PACKET_STATS),
			   PB_PROCESS_STATS_REFUSED_TRACKS, refused);
	process_packet_end(&ds->packet);
}

/* ---- a time slice ---- */

static void process_source_begin_scan(struct process_source *ds, bool only_new)
{
	int r = process_scan_begin(&ds->scan, &ds->tree, only_new);

	if (r < 0)
		log_warn("linux.process_stats cannot scan /proc: %s", strerror(-r));
}

/* Scans until the time slice is over. Returns true if there is more to scan. */
static bool process_source_run_scan(struct process_source *ds, const struct time_slice *slice)
{
	if (process_scan_is_active(&ds->scan) && process_scan_run(&ds->scan, &ds->tree, slice))
		return true;
	if (!ds->scan_again)
		return false;
	ds->scan_again = false;
	process_source_begin_scan(ds, true);
	return process_scan_is_active(&ds->scan);
}

/* Forgets what was written if packets were dropped: what they contained is unknown, so everything
 * is written again. */
static void process_source_clear_if_dropped(struct process_source *ds)
{
	uint64_t dropped = writer_dropped(ds->writer);

	if (ds->tracks_writer)
		dropped += writer_dropped(ds->tracks_writer);
	if (ds->thread_writer)
		dropped += writer_dropped(ds->thread_writer);
	if (dropped != ds->dropped)
		process_source_clear_written(ds);
	ds->dropped = dropped;
}

static void process_source_answer_flushes(struct process_source *ds)
{
	uint64_t now = clock_boot_ns();

	ds->tree.flushed_ns[0] = ds->flushes.n > 1 ? now : ds->tree.flushed_ns[1];
	ds->tree.flushed_ns[1] = now;
	flushes_answer(&ds->flushes, ds->h);
}

/* Answers flushes and the stop when their metadata is complete. If the time slice is over before
 * everything is written, the next one continues. */
static void process_source_answer_requests(struct process_source *ds,
					   const struct time_slice *slice)
{
	bool is_busy = ds->subscribed && metadata_bus_is_busy(ds->bus, ds_session_id(ds->h));
	bool flushed = ds->flushes.n > 0 && !is_busy;
	bool stopped = ds->stopping && !process_source_has_publisher(ds);

	if (!flushed && !stopped)
		return;
	if (stopped) {
		process_source_unsubscribe(ds);
		/* Closes the open files, which may be thousands. */
		while (process_poll_free_rows(&ds->poll)) {
			if (time_slice_over(slice)) {
				event_timer_soon(ds->next_slice);
				return;
			}
		}
	}
	while (process_tracks_flush(&ds->poll.tracks)) {
		if (time_slice_over(slice)) {
			event_timer_soon(ds->next_slice);
			return;
		}
	}
	process_source_write_errors(ds);
	writer_flush(ds->writer);
	if (flushed)
		process_source_answer_flushes(ds);
	if (stopped) {
		ds->stopping = ds->started = false;
		event_del(ds->next_slice);
		ds_stopped(ds->h);
	}
}

static void process_source_schedule_retry(struct process_source *ds)
{
	if (ds->tree.n_unread && !ds->stopping && !evtimer_pending(ds->again, NULL))
		event_timer_us(ds->again, READ_AGAIN_US);
}

static void process_source_on_retry(evutil_socket_t fd, short what, void *ctx)
{
	struct process_source *ds = ctx;
	struct time_slice slice = time_slice_start(clock_mono_ns);

	process_tree_retry_unread(&ds->tree, &slice);
	process_packet_end(&ds->packet);
	process_source_schedule_retry(ds);
}

/* Works for one time slice: writes events and queued tasks; if none is left, continues the scan,
 * and after it the poll. Schedules the next slice if there is more to do, and answers the start,
 * flushes and the stop. */
static void process_source_run_slice(struct process_source *ds)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	/* Tasks of the bus go first; a flush waits for them only. */
	bool fed = task_events_write_all(&ds->events, &ds->tree, &slice) ||
		   process_tree_run_queue(&ds->tree, &slice);
	bool scanning = process_scan_is_active(&ds->scan) || ds->scan_again, polling = false;

	if (!fed && scanning)
		scanning = process_source_run_scan(ds, &slice);
	if (!fed && !scanning && process_poll_is_active(&ds->poll))
		polling = process_poll_run(&ds->poll, &slice);
	process_packet_end(&ds->packet);
	process_source_log_errors(ds);
	if (fed || scanning || polling || process_tree_has_queued(&ds->tree)) {
		event_timer_soon(ds->next_slice);
	} else {
		process_source_clear_if_dropped(ds);
		/* A slow poll is committed at its end, for consumers that read while they
		 * record. */
		if (ds->poll_ms >= SLOW_POLL_MS)
			process_source_flush_writers(ds);
	}
	process_source_schedule_retry(ds);
	if (!scanning && !ds->start_answered) {
		ds->start_answered = true;
		ds_started(ds->h);
	}
	if (!fed)
		process_source_answer_requests(ds, &slice);
}

static void process_source_on_slice(evutil_socket_t fd, short what, void *ctx)
{
	process_source_run_slice(ctx);
}

static void process_source_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct process_source *ds = ctx;
	int r = 0;

	event_timer_ms(ds->tick, clock_ms_to_tick(ds->poll_ms));
	ds->poll.knows_starts = process_source_gets_all_starts(ds);
	ds->poll.reported_until =
		ds->subscribed ? metadata_bus_published_until(ds->bus, ds_session_id(ds->h), true)
			       : 0;
	/* If a pass takes longer than the period, ticks are skipped. */
	if (!process_poll_is_active(&ds->poll))
		r = process_poll_begin(&ds->poll, &ds->tree);
	if (r < 0)
		log_write_limited(&ds->poll_errors, LOG_LEVEL_WARN,
				  "linux.process_stats does not poll: %s", strerror(-r));
	event_timer_soon(ds->next_slice);
}

static void process_source_on_metadata(void *ctx, const struct metadata_batch *batch)
{
	struct process_source *ds = ctx;

	if (!ds->started)
		return;
	for (size_t i = 0; i < batch->n_tasks; i++)
		task_events_add(&ds->events, &ds->tree, &batch->tasks[i]);
	/* Above the limit of waiting events, adding one has written another. */
	process_packet_end(&ds->packet);
	for (size_t i = 0; i < batch->n_tids; i++)
		process_tree_queue_task(&ds->tree, batch->tids[i]);
	if (batch->lost)
		log_write_limited(&ds->loss_errors, LOG_LEVEL_WARN,
				  "linux.process_stats: too many task events; some tasks may have "
				  "an old name or none");
	/* No scan yet: the publisher begins to record with its next step. */
	if (!ds->knew_starts && process_source_gets_all_starts(ds)) {
		ds->knew_starts = true;
		ds->scan_again = ds->scan_on_start && !ds->stopping;
		event_timer_soon(ds->next_slice);
	}
	/* Serve tasks at once: the next slice may be too late for a task that is about to exit. */
	if ((!task_events_is_empty(&ds->events) || process_tree_has_queued(&ds->tree)) &&
	    !evtimer_pending(ds->next_slice, NULL))
		process_source_run_slice(ds);
	else if (ds->flushes.n || ds->stopping)
		event_timer_soon(ds->next_slice);
}

/* ---- the data source ---- */

static void process_source_destroy(void *instance)
{
	struct process_source *ds = instance;

	if (!ds)
		return;
	process_source_unsubscribe(ds);
	event_freep(&ds->next_slice);
	event_freep(&ds->tick);
	event_freep(&ds->again);
	process_scan_end(&ds->scan);
	process_poll_deinit(&ds->poll);
	task_events_deinit(&ds->events);
	process_tree_deinit(&ds->tree);
	proc_files_deinit(&ds->files);
	writer_free(ds->writer);
	writer_free(ds->tracks_writer);
	writer_free(ds->thread_writer);
	free(ds);
}

DEFINE_DESTRUCTOR(struct process_source *, process_source_destroy)

static void process_source_configure(struct process_source *ds, const Pb__ProcessStatsConfig *c)
{
	ds->on_demand = true;
	ds->poll.options.full_every = 1;
	if (!c)
		return;
	ds->scan_on_start = c->scan_all_processes_on_start;
	ds->scan_after_clear = ds->scan_on_start && c->scan_after_clear;
	ds->tree.options = (struct process_tree_options){
		.thread_names = c->record_thread_names,
		.age = c->record_process_age,
		.skip_main_thread = c->skip_main_thread_message,
	};
	ds->poll_ms = c->proc_stats_poll_ms ? MAX(c->proc_stats_poll_ms, POLL_MIN_MS) : 0;
	ds->poll.options = (struct process_poll_options){
		.runtime = c->record_process_runtime,
		.smaps_rollup = c->scan_smaps_rollup,
		.dmabuf_rss = c->record_process_dmabuf_rss,
		.full_every = ds->poll_ms ? MAX(c->proc_stats_cache_ttl_ms / ds->poll_ms, 1) : 1,
	};
	ds->poll.tracks.options = (struct process_tracks_options){
		.io = c->record_process_io,
		.sched = c->record_thread_sched,
		.cgroup = c->record_process_cgroup,
	};
	for (size_t i = 0; i < c->n_quirks; i++)
		if (c->quirks[i] == PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND)
			ds->on_demand = false;
}

/* Logs options without effect. */
static void process_source_log_unused_options(const Pb__ProcessStatsConfig *c)
{
	const char *unpolled = c->scan_smaps_rollup	      ? "scan_smaps_rollup"
			       : c->record_process_io	      ? "record_process_io"
			       : c->record_thread_sched	      ? "record_thread_sched"
			       : c->record_process_cgroup     ? "record_process_cgroup"
			       : c->record_process_runtime    ? "record_process_runtime"
			       : c->record_process_dmabuf_rss ? "record_process_dmabuf_rss"
							      : NULL;

	if (c->proc_stats_poll_ms && c->proc_stats_poll_ms < POLL_MIN_MS)
		log_warn("linux.process_stats: proc_stats_poll_ms %u is below the minimum; "
			 "using %u ms",
			 c->proc_stats_poll_ms, POLL_MIN_MS);
	if (unpolled && !c->proc_stats_poll_ms)
		log_warn("linux.process_stats: %s records nothing without proc_stats_poll_ms",
			 unpolled);
}

/* Creates the counter tracks if the config requests some. They have their own incremental state, so
 * they need writers of their own. Returns 0 or -ENOMEM. */
static int process_source_create_tracks(struct process_source *ds)
{
	const struct process_tracks_options *o = &ds->poll.tracks.options;

	if (!ds->poll_ms || !(o->io || o->sched || o->cgroup))
		return 0;
	ds->tracks_writer = ds_writer_new(ds->h);
	if (o->sched)
		ds->thread_writer = ds_writer_new(ds->h);
	if (!ds->tracks_writer || (o->sched && !ds->thread_writer))
		return -ENOMEM;
	return process_tracks_init(&ds->poll.tracks, &ds->tree.tasks, ds->tracks_writer,
				   ds->thread_writer);
}

static int process_source_create(struct ds_handle *h, const struct ds_env *env,
				 const Pb__DataSourceConfig *config, void **ret_instance)
{
	_cleanup_(process_source_destroyp) struct process_source *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->h = h;
	ds->bus = env->bus;
	ds->files.root = -1;
	ds->tree.files = &ds->files;
	ds->tree.packet = &ds->packet;
	process_source_configure(ds, config->process_stats_config);
	r = proc_files_init(&ds->files, env->proc_root);
	if (r < 0)
		return r;
	ds->next_slice = evtimer_new(env->loop, process_source_on_slice, ds);
	ds->tick = evtimer_new(env->loop, process_source_on_tick, ds);
	ds->again = evtimer_new(env->loop, process_source_on_retry, ds);
	ds->writer = ds_writer_new(h);
	if (!ds->next_slice || !ds->tick || !ds->again || !ds->writer)
		return -ENOMEM;
	ds_yield_to_root(h, ds->next_slice);
	ds_yield_to_root(h, ds->tick);
	ds_yield_to_root(h, ds->again);
	r = process_source_create_tracks(ds);
	if (r < 0)
		return r;
	ds->packet = (struct process_packet){.w = ds->writer, .new_state = true};
	if (config->process_stats_config)
		process_source_log_unused_options(config->process_stats_config);
	/* Subscribe before any source starts: publishers check at their start whether there are
	 * subscribers. */
	if (ds->on_demand) {
		r = metadata_bus_subscribe(ds->bus, ds_session_id(h), process_source_on_metadata,
					   ds);
		ds->subscribed = r == 0;
		if (r < 0)
			log_warn("linux.process_stats does not describe tasks that start later: %s",
				 strerror(-r));
	}
	*ret_instance = TAKE_PTR(ds);
	return 0;
}

static void process_source_start(void *instance)
{
	struct process_source *ds = instance;

	ds->started = true;
	ds->knew_starts = process_source_gets_all_starts(ds);
	if (!ds->poll_ms && !ds->scan_on_start && !process_source_has_publisher(ds))
		log_warn("linux.process_stats records nothing: set scan_all_processes_on_start or "
			 "proc_stats_poll_ms, or record linux.ftrace in the same session");
	if (ds->scan_on_start)
		process_source_begin_scan(ds, false);
	if (ds->poll_ms)
		process_source_on_tick(-1, 0, ds);
	process_source_run_slice(ds);
}

static void process_source_flush(void *instance, uint64_t flush_id)
{
	struct process_source *ds = instance;

	if (!flushes_add(&ds->flushes, flush_id)) {
		process_source_flush_writers(ds);
		process_source_answer_flushes(ds);
		(void)flushes_add(&ds->flushes, flush_id);
	}
	/* No answer yet: other sources of the session may publish tasks at this flush. */
	event_timer_soon(ds->next_slice);
}

static void process_source_clear(void *instance)
{
	struct process_source *ds = instance;

	process_source_clear_written(ds);
	if (!ds->scan_after_clear || !ds->started || ds->stopping)
		return;
	process_scan_end(&ds->scan); /* what it has written belongs to the old state */
	process_source_begin_scan(ds, false);
	event_timer_soon(ds->next_slice);
}

static void process_source_stop(void *instance)
{
	struct process_source *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	ds->scan_again = false;
	process_scan_end(&ds->scan);
	process_poll_end(&ds->poll);
	event_del(ds->tick);
	event_del(ds->again);
	process_source_run_slice(ds);
}

const struct data_source process_stats_data_source = {
	.name = "linux.process_stats",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_NET_ADMIN | 1ull << CAP_SYS_NICE |
			1ull << CAP_SYS_PTRACE,
	.handles_incremental_state_clear = true,
	.create = process_source_create,
	.start = process_source_start,
	.flush = process_source_flush,
	.clear = process_source_clear,
	.stop = process_source_stop,
	.destroy = process_source_destroy,
};
