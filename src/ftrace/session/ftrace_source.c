/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a linux.ftrace data source instance, between the producer's commands and its rings:
 *
 *	create   set up tracefs in a coroutine, without recording    ftrace_session_set_up
 *	start    in a coroutine: save the ring counters, set
 *	         tracing_on; when the symbols are loaded: ticks      ds_started
 *	flush    read all -> FtraceStats -> commit                   ds_flushed
 *	stop     tracing off in a coroutine; when the symbols are
 *	         loaded: read all; restore tracefs in a coroutine    ds_stopped
 *	destroy  stop immediately, without reading the rest
 *
 * To set tracing_on the kernel takes a lock that it also holds while it makes or removes another
 * session's instance. During setup there is nothing to flush. A stop waits for the setup, and for
 * the symbols, but only for a limited time. A flush does not wait for symbols; if a stop follows,
 * the stop reads the rest.
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <tracefs.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/coroutine.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "config/limits.h"
#include "ftrace/session/data_sources.h"
#include "ftrace/session/ftrace_session.h"
#include "ftrace/session/metadata_publisher.h"
#include "ftrace/session/session_refresh.h"
#include "ftrace/session/session_stats.h"
#include "ftrace/tracefs/override.h"
#include "ftrace/tracefs/setting_file.h"
#include "ftrace/tracefs/undo_log.h"
#include "gen/fields.h"

/* Part of the service's stop timeout that may be spent before the rest is read. */
#define STOP_PATIENCE(ms) ((ms) / 5 * 3)
#define MAX_FLUSHES 64 /* unanswered flushes; the oldest are dropped */

struct ftrace_source {
	struct ds_handle *handle;
	struct ds_env env;
	struct coroutine *setting_up; /* the setup, then the start; NULL: neither is running */
	struct coroutine *winding_down; /* the stop, then the close; NULL: neither is running */
	bool start_waits; /* a start command arrived during the setup */
	uint32_t stop_patience_ms; /* how long a stop waits for the setup and the symbols */
	uint64_t stop_by_ns; /* CLOCK_MONOTONIC: when that time is over */
	struct metadata_publisher publisher;
	struct writer *writer; /* owned */
	struct ftrace_session session;
	struct session_stats stats;
	struct override *top_markers_off; /* owned; NULL: the top level gets copies of markers */
	/* owned: calls session_refresh() while the session records; after a stop during the setup,
	 * it limits the wait for setting_up */
	struct event *timer;
	bool started; /* ds_started was sent */
	bool reading; /* its rings are being read */
	bool stopping;
	bool is_off; /* recording has stopped */
	bool read_after_symbols; /* the rest of a stopped session waits for the symbols */
	bool stopped;
	uint64_t flushes[MAX_FLUSHES];
	unsigned n_flushes;
	/* A flush pass reads all rings to the end. Requests that arrive meanwhile belong to the
	 * next pass. */
	bool in_flush_pass;
	bool once_more;
	bool is_last_pass;
	unsigned n_in_flush_pass; /* this many of the oldest `flushes` belong to this pass */
};

/* ---- callbacks of the rings ---- */

static void ftrace_source_before_slice(struct ring_listener *l)
{
	struct ftrace_source *ds = l->ctx;
	bool is_own = l == &ds->session.ring;

	/* Metadata of other rings is published after the next pass over the own ring. */
	metadata_publisher_prepare_encoder(&ds->publisher, l->encoder, is_own ? l->pass_began : 0);
}

/* Publishes metadata of tasks after a slice of the session's instance: only its records create and
 * rename tasks; other rings mention them. */
static void ftrace_source_after_slice(struct ring_listener *l)
{
	struct ftrace_source *ds = l->ctx;

	if (ring_event_count(l))
		session_symbols_report_missing(&ds->session.symbols, &ds->session.errors);
	if (ds->session.encoder->lost)
		metadata_publisher_set_incomplete(&ds->publisher);
	metadata_publisher_publish(&ds->publisher, &ds->session.encoder->sync,
				   ds->session.ring.read_until);
}

static void ftrace_source_answer_flushes(struct ftrace_source *ds, unsigned n)
{
	uint64_t ids[MAX_FLUSHES];

	/* An acknowledgement may cause another flush, which changes the list. */
	memcpy(ids, ds->flushes, n * sizeof(*ids));
	ds->n_flushes -= n;
	memmove(ds->flushes, ds->flushes + n, ds->n_flushes * sizeof(*ds->flushes));
	ds->n_in_flush_pass = 0;
	for (unsigned i = 0; i < n; i++)
		ds_flushed(ds->handle, ids[i]);
}

static void leave_bus(struct ftrace_source *ds)
{
	static const struct clock_sync boot;
	const struct page_encoder *t = ds->session.encoder;

	metadata_publisher_unregister(&ds->publisher, t ? &t->sync : &boot);
}

/* Starts the timer of the next refresh. A session that reads on request only also refreshes itself
 * only then (ftrace_flush). */
static void start_refresh_timer(struct ftrace_source *ds)
{
	if (!ds->session.settings.on_flush_only)
		event_timer_ms(ds->timer, clock_ms_to_tick(SESSION_REFRESH_MS));
}

/* Turns the copies of markers at the top level off while its tracing_on is 0, else on again. The
 * kernel copies a marker to one instance after the other. At the first instance that does not
 * record, it stops and the write to trace_marker fails with EBADF, although this session has the
 * marker. Errors are ignored: the session loses nothing. */
static void update_top_markers(struct ftrace_source *ds)
{
	const struct setup *s = &ds->session.setup;
	const struct override_target top = {
		.root = s->root,
		.subdir = "",
		.state = s->state_root,
		.reads_nothing = true,
	};
	_cleanup_(freep) char *on = NULL;
	char path[PATH_MAX];
	struct err_text e;

	if (!ds->session.instance.copies_markers ||
	    fs_join(path, sizeof(path), s->root, "tracing_on") < 0)
		return;
	on = setting_read(path);
	if (!on || *on != '0')
		ds->top_markers_off = override_free(ds->top_markers_off);
	else if (!ds->top_markers_off && override_new(&top, &ds->top_markers_off, &e) == 0)
		(void)override_write(ds->top_markers_off, "options/copy_trace_marker", "0");
}

/* Cancels a setup that continues after the stop and takes too long; otherwise refreshes the
 * events. */
static void ftrace_source_on_refresh_or_setup_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct ftrace_source *ds = arg;

	if (ds->setting_up) {
		coroutine_cancel(ds->setting_up);
		return;
	}
	session_refresh(&ds->session);
	update_top_markers(ds);
	start_refresh_timer(ds);
}

/* Closes the session after everything was read. So a kept instance is removed, too. */
static void close_session(void *ctx)
{
	struct ftrace_source *ds = ctx;

	ds->session.instance.stays = false;
	ftrace_session_close(&ds->session);
}

static void on_session_closed(void *ctx)
{
	struct ftrace_source *ds = ctx;

	ds_stopped(ds->handle);
}

/* Starts a coroutine. The work of a session of another user than root waits until root's work is
 * done. */
static void start_coroutine(struct ftrace_source *ds, struct coroutine **ret,
			    const struct coroutine_ops *ops)
{
	coroutine_start(ret, ds->env.loop, ops, ds);
	if (!ds_consumer_is_root(ds->handle))
		coroutine_run_last(*ret);
}

static const struct coroutine_ops winding_ops = {.run = close_session, .done = on_session_closed};

static void ftrace_source_finish(struct ftrace_source *ds)
{
	leave_bus(ds);
	ds->stopped = true;
	ftrace_source_answer_flushes(ds, ds->n_flushes);
	for (unsigned i = 0; i < ds->session.n_listeners; i++)
		ring_detach(ds->session.listeners[i]);
	start_coroutine(ds, &ds->winding_down, &winding_ops);
}

static void begin_flush_pass(struct ftrace_source *ds);

static void end_flush_pass(struct ftrace_source *ds)
{
	bool last = ds->is_last_pass;

	session_stats_write(&ds->stats, &ds->session, ds->writer, ds->n_in_flush_pass);
	writer_flush(ds->writer);
	if (!ds->once_more)
		metadata_publisher_set_busy(&ds->publisher, false);
	ds->in_flush_pass = false;
	/* An answer may cause a flush or a stop, which starts a pass. */
	ftrace_source_answer_flushes(ds, ds->n_in_flush_pass);
	if (last)
		ftrace_source_finish(ds);
	else if (ds->once_more && !ds->in_flush_pass)
		begin_flush_pass(ds);
}

static void on_rings_read(struct ring_listener *l)
{
	struct ftrace_source *ds = l->ctx;
	const struct ftrace_session *s = &ds->session;

	for (unsigned i = 0; i < s->n_listeners; i++)
		if (s->listeners[i]->reading_all)
			return;
	end_flush_pass(ds);
}

static const struct ring_listener_ops ring_ops = {
	.before_slice = ftrace_source_before_slice,
	.after_slice = ftrace_source_after_slice,
	.all_read = on_rings_read,
};

/* Begins to read all rings to the end. If there is no ring, the pass is over immediately. */
static void begin_flush_pass(struct ftrace_source *ds)
{
	const struct ftrace_session *s = &ds->session;

	ds->in_flush_pass = true;
	ds->once_more = false;
	ds->is_last_pass = ds->is_off;
	ds->n_in_flush_pass = ds->n_flushes;
	metadata_publisher_set_busy(&ds->publisher, true);
	for (unsigned i = 0; i < s->n_listeners; i++)
		ring_read_all(s->listeners[i]);
	if (!s->n_listeners)
		end_flush_pass(ds);
}

static void read_everything(struct ftrace_source *ds)
{
	if (ds->in_flush_pass)
		ds->once_more = true;
	else
		begin_flush_pass(ds);
}

/* ---- commands of the producer ---- */

/* If hold is true, leaves the records in the rings, unless another session reads them; else reads
 * them. */
static void set_rings_hold(struct ftrace_source *ds, bool hold)
{
	for (unsigned i = 0; i < ds->session.n_listeners; i++)
		ring_set_hold(ds->session.listeners[i], hold);
}

static void attach_rings(struct ftrace_source *ds)
{
	for (unsigned i = 0; i < ds->session.n_listeners; i++) {
		struct ring_listener *l = ds->session.listeners[i];

		l->ops = &ring_ops;
		l->ctx = ds;
		ring_set_hold(l, true);
		ring_attach(l);
	}
}

static void report_started(struct ftrace_source *ds)
{
	if (ds->started)
		return;
	ds->started = true;
	ds_started(ds->handle);
}

/* Starts reading, and passes the symbols to the encoders. Is called again if the symbols come
 * late. */
static void begin_reading(void *ctx)
{
	struct ftrace_source *ds = ctx;
	struct ftrace_session *s = &ds->session;

	session_symbols_apply(&s->symbols, s->listeners, s->n_listeners, &s->extra, &s->errors);
	set_rings_hold(ds, false);
	ds->reading = true;
	report_started(ds);
}

static void ftrace_destroy(void *instance)
{
	struct ftrace_source *ds = instance;

	coroutine_finish(ds->setting_up);
	coroutine_finish(ds->winding_down);
	leave_bus(ds);
	ds->top_markers_off = override_free(ds->top_markers_off);
	ftrace_session_close(&ds->session);
	event_freep(&ds->timer);
	writer_free(ds->writer);
	session_stats_deinit(&ds->stats);
	free(ds);
}

/* Starts the recording in the session's instance. Returns 0 or -errno. */
static int begin_instance(struct ftrace_session *s)
{
	int r = event_triggers_start(&s->triggers, &s->instance, &s->errors);
	bool markers = s->triggers.on_markers;

	for (size_t i = 0; i < s->events.n; i++)
		markers = markers || event_is_marker(&s->events.events[i]);
	/* A kernel without the option was reported during setup. */
	if (!r && markers && instance_can_copy_markers(&s->instance))
		r = instance_copy_markers(&s->instance);
	return r;
}

static void end_recording(struct ftrace_source *ds);

static void switch_recording_on(void *ctx)
{
	struct ftrace_source *ds = ctx;
	struct ftrace_session *s = &ds->session;
	int r;

	session_stats_begin(&ds->stats, s, ds->writer);
	metadata_publisher_begin(&ds->publisher, &s->setup, &s->table);
	if (instance_is_made(&s->instance)) {
		/* Before the rings fill: reading the settings may take long on a busy machine. */
		foreign_changes_begin(&s->foreign, &s->instance, &s->events,
				      event_triggers_can_pause(s->setup.config));
		r = begin_instance(s);
		if (r)
			setup_error_set_fatal(&s->errors, "cannot start recording: %s",
					      strerror(-r));
		else
			s->instance.stays = s->setup.config->kept_instance != NULL;
	}
	top_level_start(&s->top);
	if (instance_is_made(&s->instance))
		update_top_markers(ds);
}

static void on_switched_on(void *ctx)
{
	struct ftrace_source *ds = ctx;
	struct ftrace_session *s = &ds->session;
	bool stop_waits = ds->stopping;

	event_del(ds->timer);
	if (instance_is_made(&s->instance))
		start_refresh_timer(ds);
	attach_rings(ds);
	session_stats_write_start(&ds->stats, s, ds->writer);
	writer_flush(ds->writer);
	if (!session_symbols_wait(&s->symbols, SESSION_SYMBOLS_WAIT_MS, begin_reading, ds))
		begin_reading(ds);
	if (stop_waits)
		end_recording(ds);
}

static const struct coroutine_ops switching_on_ops = {.run = switch_recording_on,
						      .done = on_switched_on};

static void begin_recording(struct ftrace_source *ds)
{
	start_coroutine(ds, &ds->setting_up, &switching_on_ops);
}

/* Cancels the wait for symbols and begins reading without them. */
static void end_waiting(struct ftrace_source *ds)
{
	session_symbols_stop_waiting(&ds->session.symbols);
	if (!ds->reading)
		begin_reading(ds);
}

static void read_remaining_data(struct ftrace_source *ds)
{
	end_waiting(ds);
	read_everything(ds);
}

/* Called when the symbols are loaded or took too long. If they are loaded now, the remaining
 * records have names. */
static void on_symbols(void *ctx)
{
	struct ftrace_source *ds = ctx;
	bool first = ds->read_after_symbols;

	ds->read_after_symbols = false;
	begin_reading(ds);
	if (first)
		read_remaining_data(ds);
}

/* Suspends reading until the symbols are loaded or the stop's time is over, unless a flush pass has
 * begun. Returns true if on_symbols() will be called. */
static bool wait_for_symbols(struct ftrace_source *ds)
{
	uint64_t now = clock_mono_ns();
	uint32_t ms = ds->stop_by_ns > now ? (uint32_t)((ds->stop_by_ns - now) / NS_PER_MS) : 0;

	if (ds->in_flush_pass || !ms ||
	    !session_symbols_wait(&ds->session.symbols, ms, on_symbols, ds))
		return false;
	set_rings_hold(ds, true);
	ds->read_after_symbols = true;
	return true;
}

static void switch_recording_off(void *ctx)
{
	struct ftrace_source *ds = ctx;

	if (instance_is_made(&ds->session.instance)) {
		foreign_changes_check_recording(&ds->session.foreign);
		event_triggers_stop_recording(&ds->session.triggers, &ds->session.instance);
	}
	ds->top_markers_off = override_free(ds->top_markers_off);
	top_level_stop(&ds->session.top);
	if (instance_is_made(&ds->session.instance)) {
		foreign_changes_check_settings(&ds->session.foreign, &ds->session.instance);
		foreign_changes_end(&ds->session.foreign);
	}
}

static void on_switched_off(void *ctx)
{
	struct ftrace_source *ds = ctx;

	ds->is_off = true;
	if (!wait_for_symbols(ds))
		read_remaining_data(ds);
}

static const struct coroutine_ops switching_off_ops = {.run = switch_recording_off,
						       .done = on_switched_off};

/* Switches the recording off in a coroutine; the rings are still read meanwhile. */
static void end_recording(struct ftrace_source *ds)
{
	event_del(ds->timer);
	start_coroutine(ds, &ds->winding_down, &switching_off_ops);
}

/* ---- setup ---- */

static void ftrace_source_set_up(void *ctx)
{
	struct ftrace_source *ds = ctx;

	ftrace_session_set_up(&ds->session, &ds->env, ds->writer);
}

/* Called after the setup. A session that was stopped during its setup still reports what failed in
 * it. */
static void on_set_up(void *ctx)
{
	struct ftrace_source *ds = ctx;

	event_del(ds->timer);
	if (ds->session.errors.fatal)
		log_warn("linux.ftrace: %s", ds->session.errors.fatal);
	log_debug("linux.ftrace: ring buffers of %u KiB per CPU",
		  ds->session.settings.buffer_size_kb);
	if (ds->start_waits)
		begin_recording(ds);
	else if (ds->stopping)
		end_recording(ds);
}

static const struct coroutine_ops setting_up_ops = {.run = ftrace_source_set_up, .done = on_set_up};

static int ftrace_create(struct ds_handle *h, const struct ds_env *env,
			 const Pb__DataSourceConfig *config, void **ret_instance)
{
	struct ftrace_source *ds = calloc(1, sizeof(*ds));
	int r;

	if (!ds)
		return -ENOMEM;
	ds->handle = h;
	ds->env = *env;
	ds->stop_patience_ms = STOP_PATIENCE(config->stop_timeout_ms ? config->stop_timeout_ms
								     : DEFAULT_STOP_TIMEOUT_MS);
	metadata_publisher_register(&ds->publisher, env->bus, ds_session_id(h));
	ds->writer = ds_writer_new(h);
	ds->timer = evtimer_new(env->loop, ftrace_source_on_refresh_or_setup_timeout, ds);
	r = ftrace_session_init(&ds->session, env, ds_session_id(h), ds_consumer_uid(h), config);
	if (r || !ds->writer || !ds->timer) {
		ftrace_destroy(ds);
		return -ENOMEM;
	}
	ds_yield_to_root(h, ds->timer);
	start_coroutine(ds, &ds->setting_up, &setting_up_ops);
	*ret_instance = ds;
	return 0;
}

static void ftrace_start(void *instance)
{
	struct ftrace_source *ds = instance;

	if (ds->setting_up)
		ds->start_waits = true;
	else
		begin_recording(ds);
}

/* Returns true if a flush leaves the records to the stop that follows, because the symbols for them
 * are not loaded. */
static bool flush_leaves_records_to_stop(const struct ftrace_source *ds)
{
	return ds->read_after_symbols ||
	       (ds_flush_precedes_stop(ds->handle) && !ds->in_flush_pass &&
		session_symbols_are_pending(&ds->session.symbols));
}

static void ftrace_flush(void *instance, uint64_t flush_id)
{
	struct ftrace_source *ds = instance;

	if (ds->stopped || ds->setting_up || flush_leaves_records_to_stop(ds)) {
		if (!ds->setting_up)
			report_started(ds); /* the source records, although nothing is read yet */
		ds_flushed(ds->handle, flush_id);
		return;
	}
	if (ds->n_flushes == MAX_FLUSHES) {
		memmove(ds->flushes, ds->flushes + 1, --ds->n_flushes * sizeof(*ds->flushes));
		ds->n_in_flush_pass -= ds->n_in_flush_pass > 0;
	}
	ds->flushes[ds->n_flushes++] = flush_id;
	if (!ds->winding_down)
		session_refresh(&ds->session);
	end_waiting(ds);
	read_everything(ds);
}

static void ftrace_stop(void *instance)
{
	struct ftrace_source *ds = instance;

	if (ds->stopping)
		return;
	ds->stopping = true;
	ds->stop_by_ns = clock_mono_ns() + ds->stop_patience_ms * NS_PER_MS;
	if (ds->setting_up)
		event_timer_ms(ds->timer, ds->stop_patience_ms);
	else
		end_recording(ds);
}

/* Describes the source. It lists no categories, because they are Android's. knows_own_fields
 * indicates that this producer reads sonda's own fields of FtraceConfig. */
static void ftrace_describe(struct pb_enc *e)
{
	pb_enc_open(e, PB_DATA_SOURCE_DESCRIPTOR_FTRACE_DESCRIPTOR);
	pb_enc_bool(e, PB_FTRACE_DESCRIPTOR_KNOWS_OWN_FIELDS, true);
	pb_enc_close(e);
}

const struct data_source ftrace_data_source = {
	.name = "linux.ftrace",
	.capabilities = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_NET_ADMIN | 1ull << CAP_SYS_ADMIN |
			1ull << CAP_SYS_NICE | 1ull << CAP_SYS_PTRACE | 1ull << CAP_SYSLOG,
	.is_timely = true,
	.create = ftrace_create,
	.start = ftrace_start,
	.flush = ftrace_flush,
	.stop = ftrace_stop,
	.destroy = ftrace_destroy,
	.describe = ftrace_describe,
};

int ftrace_remove_stale_instances(const char *tracefs_root)
{
	int r = instance_remove_stale(tracefs_root);

	/* Dynamic events can be removed only after the instances that enabled them. */
	dynevents_destroy_stale(tracefs_root);
	return r;
}

int ftrace_undo_stale_overrides(const char *tracefs_root, const char *state_root)
{
	return undo_logs_roll_back(state_root, tracefs_root);
}
