/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	          +------------------ the pause is over ------------------+
 *	          v                                                       |
 *	begin --> STARTING -- all data sources record --> RECORDING       |
 *	  ^  |        |                                       |           |
 *	  |  |        +-- a daemon, the session ended --------+--> WAITING
 *	  |  +----- the file system is nearly full ----------------> |
 *	                                                      signal --> ENDING
 *
 * sondad writes the parts of a session and removes the oldest of them (TraceConfig.rotate), because
 * it can keep up however fast they grow. Every TICK_MS this process removes parts of earlier
 * sessions, to limit the size of the whole ring, and parts that are too old. It also checks the
 * free space.
 *
 * With --in-kernel nothing is written until a snapshot is taken, so there are no ticks: one follows
 * each time that a part was written. It also records while the file system is full, because the
 * events are in the kernel; the session that a snapshot makes write a part then ends, and another
 * one takes over the rings.
 *
 * A second session, without data sources, waits for triggers (CLONE_SNAPSHOT). Whenever one fires,
 * another process saves a snapshot (recorder_saver.h).
 */

#include "cli/recorder/recorder_run.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/text/str.h"
#include "cli/doctor/doctor.h"
#include "cli/record/private_daemons.h"
#include "cli/record/record_session.h"
#include "cli/recorder/recorder_alerts.h"
#include "cli/recorder/recorder_crash.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/recorder/recorder_kernel.h"
#include "cli/recorder/recorder_saver.h"
#include "cli/recorder/recorder_state.h"
#include "cli/report/config_sources.h"
#include "cli/terminal/signals.h"
#include "cli/trace/trace_file.h"

#define TICK_MS 2000
#define FULL_PAUSE_MS 10000 /* between two checks of a file system that was full */
#define FIRST_PAUSE_MS 1000 /* after a failure; doubled by each further one */
#define LAST_PAUSE_MS 60000
#define START_PATIENCE_MS 30000 /* a data source that has not started by then is not awaited */
#define LISTEN_AGAIN_MS 1000 /* after the session that waits for triggers has ended */
#define IS_FULL "the file system is nearly full"
#define GOOD_AFTER_MS 60000 /* a failure after recording this long counts as the first one */

enum recorder_phase { PHASE_STARTING, PHASE_RECORDING, PHASE_WAITING, PHASE_ENDING };

struct recorder {
	const struct recorder_options *o; /* borrowed */
	struct event_base *loop; /* owned, as all that follows */
	struct termination_signals *signals;
	struct event *tick, *pause, *listen, *user_signal;
	struct event *on_write; /* of the directory; NULL without --in-kernel */
	int dir_watch; /* of inotify; -1: none */
	struct private_daemons *daemons;
	struct record_session *session, *listener;
	Pb__TraceConfig *config, *awaited; /* of both */
	struct recorder_saver *saver;
	struct recorder_alerts *alerts; /* NULL: without --alerts */
	struct notify notify;
	int lock;
	enum recorder_phase phase;
	struct recorder_state state;
	uint64_t phase_began_ns;
	uint32_t pause_ms; /* after the next failure */
	struct err_text cause; /* why the session was stopped; "": it ended by itself */
};

/* ---- what it reports about itself ---- */

static void recorder_write_state(const struct recorder *r)
{
	int error = recorder_state_write(r->o->dir, &r->state);

	if (error < 0 && error != -ENOSPC)
		log_warn("cannot write %s/state: %s", r->o->dir, strerror(-error));
}

static void recorder_enter(struct recorder *r, enum recorder_phase phase, const char *why)
{
	static const char *const words[] = {
		[PHASE_STARTING] = "starting",
		[PHASE_RECORDING] = "recording",
		[PHASE_WAITING] = "waiting",
		[PHASE_ENDING] = "ended",
	};

	r->phase = phase;
	r->phase_began_ns = clock_mono_ns();
	snprintf(r->state.what, sizeof(r->state.what), "%s", words[phase]);
	snprintf(r->state.why, sizeof(r->state.why), "%s", why);
	r->state.since_s = (uint64_t)time(NULL);
	recorder_write_state(r);
}

/* Reports READY=1 to systemd when the recorder records, and also when it waits to retry, because it
 * retries by itself. */
static void recorder_report_ready(struct recorder *r)
{
	struct err_text e;

	if (notify_ready(&r->notify, &e) < 0)
		log_warn("%s", e.text);
}

/* ---- the ring ---- */

/* Returns true if the file system is too full to record. */
static bool recorder_lacks_room(const struct recorder *r)
{
	struct statvfs st;

	return !r->o->in_kernel && statvfs(r->o->dir, &st) == 0 && trace_file_room_of(&st) == 0;
}

/* Removes old parts. The one that is being written may grow to its whole size. */
static void recorder_prune(const struct recorder *r)
{
	int64_t oldest =
		(int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)r->o->keep_ms * (int64_t)NS_PER_MS;
	struct recorder_parts parts = {0};

	if (recorder_parts_read(r->o->dir, &parts) == 0)
		recorder_parts_prune(r->o->dir, &parts,
				     r->o->max_bytes - recorder_options_part_bytes(r->o), oldest);
	recorder_parts_deinit(&parts);
}

static int next_session_number(const char *dir, uint32_t *ret)
{
	struct recorder_parts parts = {0};
	int r = recorder_parts_read(dir, &parts);

	if (r == 0)
		*ret = parts.n ? parts.of[parts.n - 1].session + 1 : 1;
	recorder_parts_deinit(&parts);
	return r;
}

/* ---- the end of a session ---- */

/* Schedules the next start. Nothing of the session is freed here: this may be one of its
 * callbacks. */
static void recorder_wait(struct recorder *r, uint32_t ms, const char *why)
{
	bool same = r->phase == PHASE_WAITING && !strcmp(r->state.why, why);

	event_del(r->tick);
	event_timer_ms(r->pause, ms);
	if (!same)
		log_warn("%s; the parts recorded so far are kept; retrying in %u s", why,
			 ms / 1000);
	recorder_enter(r, PHASE_WAITING, why);
	recorder_report_ready(r);
}

static void recorder_on_failure(struct recorder *r, const char *why)
{
	uint64_t good_ms =
		r->phase == PHASE_RECORDING ? (clock_mono_ns() - r->phase_began_ns) / NS_PER_MS : 0;

	if (r->phase == PHASE_WAITING)
		return;
	if (r->phase == PHASE_ENDING) {
		event_base_loopbreak(r->loop);
		return;
	}
	r->pause_ms = good_ms >= GOOD_AFTER_MS || !r->pause_ms
			      ? FIRST_PAUSE_MS
			      : MIN(r->pause_ms * 2, LAST_PAUSE_MS);
	if (recorder_lacks_room(r)) {
		recorder_wait(r, FULL_PAUSE_MS, IS_FULL);
		return;
	}
	r->state.restarts++;
	recorder_wait(r, r->pause_ms, why);
}

/* ---- triggers ---- */

static void recorder_on_saved(void *ctx)
{
	struct recorder *r = ctx;
	struct recorder_saver_counts counts = recorder_saver_counts(r->saver);

	r->state.snapshots = counts.saved;
	r->state.snapshots_failed = counts.failed;
	r->state.snapshots_skipped = counts.skipped;
	recorder_write_state(r);
}

static void recorder_on_trigger(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	struct recorder *r = ctx;
	const char *name = hit->trigger_name ? hit->trigger_name : "";
	const char *spec = recorder_triggers_spec(&r->o->triggers, name);
	char reason[256];

	snprintf(reason, sizeof(reason), "%s of %.100s", spec ? spec : "sonda trigger",
		 hit->producer_name ? hit->producer_name : "a producer");
	recorder_saver_handle_trigger(r->saver, name, reason);
}

static void recorder_on_user_signal(evutil_socket_t fd, short what, void *ctx)
{
	recorder_saver_handle_trigger(((struct recorder *)ctx)->saver, "signal", "SIGUSR1");
}

static bool recorder_handle_alert(void *ctx, const struct alert *a)
{
	return recorder_saver_handle_alert(((struct recorder *)ctx)->saver, a);
}

static void recorder_on_alert_done(void *ctx, const struct alert *a, bool saved)
{
	recorder_alerts_done(((struct recorder *)ctx)->alerts, a, saved);
}

/* Computes how many seconds the ring holds at the rate at which its parts grew, and how many a
 * snapshot covers. */
static void recorder_measure_ring(void *ctx, uint64_t *ret_holds_s, uint64_t *ret_before_s)
{
	struct recorder *r = ctx;
	struct recorder_parts parts = {0};
	uint64_t keep_s = r->o->keep_ms / 1000, took_s = 0, per_s = 0;

	if (recorder_parts_read(r->o->dir, &parts) == 0 && parts.n > 1) {
		took_s = (uint64_t)(parts.of[parts.n - 1].end_ns - parts.of[0].end_ns) / NS_PER_S;
		per_s = took_s ? (parts.bytes - parts.of[0].bytes) / took_s : 0;
	}
	*ret_holds_s = per_s ? MIN(keep_s, r->o->max_bytes / per_s) : keep_s;
	*ret_before_s = r->o->before_ms / 1000;
	recorder_parts_deinit(&parts);
}

static void recorder_on_listener_end(void *ctx, int error, const char *why)
{
	struct recorder *r = ctx;

	if (r->phase != PHASE_STARTING && r->phase != PHASE_RECORDING)
		return;
	event_timer_ms(r->listen, LISTEN_AGAIN_MS);
	if (error)
		log_warn("triggers cannot save snapshots at the moment: %s", why);
}

/* ---- a session ---- */

static void recorder_on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	(void)ctx;
	(void)at_end;
	(void)state;
}

static void recorder_on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	(void)ctx;
	(void)at_end;
	(void)stats;
}

static int recorder_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

static const struct record_session_ops listener_ops = {
	.on_state = recorder_on_state,
	.on_clone_trigger = recorder_on_trigger,
	.on_stats = recorder_on_stats,
	.on_packet = recorder_on_packet,
	.on_end = recorder_on_listener_end,
};

/* Begins to wait for triggers. */
static void recorder_listen(evutil_socket_t fd, short what, void *ctx)
{
	struct recorder *r = ctx;
	struct err_text e;

	record_session_free(TAKE_PTR(r->listener));
	if (record_session_start(r->loop, r->state.consumer, r->awaited, &listener_ops, r, &e,
				 &r->listener))
		recorder_on_listener_end(r, -EIO, e.text);
}

/* Called when the session exists. The tick begins when its data sources have started, at the latest
 * after START_PATIENCE_MS. */
static void recorder_on_recording(void *ctx)
{
	event_timer_ms(((struct recorder *)ctx)->tick, START_PATIENCE_MS);
}

static void recorder_on_started(void *ctx)
{
	struct recorder *r = ctx;

	log_info("recording %s into %s", r->state.words, r->o->dir);
	recorder_enter(r, PHASE_RECORDING, "");
	recorder_report_ready(r);
	if (r->on_write)
		event_del(r->tick);
	else
		event_timer_ms(r->tick, TICK_MS);
}

static void recorder_on_end(void *ctx, int error, const char *why)
{
	struct recorder *r = ctx;

	recorder_on_failure(r, r->cause.text[0] ? r->cause.text
			       : error		? why
						: "the session has ended");
}

static const struct record_session_ops session_ops = {
	.on_state = recorder_on_state,
	.on_recording = recorder_on_recording,
	.on_started = recorder_on_started,
	.on_stats = recorder_on_stats,
	.on_packet = recorder_on_packet,
	.on_end = recorder_on_end,
};

static void recorder_on_daemons_ready(void *ctx)
{
	struct recorder *r = ctx;
	struct err_text e;

	snprintf(r->state.consumer, sizeof(r->state.consumer), "%s",
		 private_daemons_address(r->daemons));
	snprintf(r->state.producer, sizeof(r->state.producer), "%s",
		 private_daemons_producer_address(r->daemons));
	if (record_session_start(r->loop, r->state.consumer, r->config, &session_ops, r, &e,
				 &r->session))
		recorder_on_failure(r, e.text);
	else
		recorder_listen(-1, 0, r);
}

static void recorder_on_daemons_failed(void *ctx, const char *why)
{
	recorder_on_failure(ctx, why);
}

/* Called when the producer has ended. Stops the session in the normal way, so that the last part
 * has an end; on_end follows. */
static void recorder_on_producer_ended(void *ctx, const char *why)
{
	struct recorder *r = ctx;

	err_set(&r->cause, 0, "%s", why);
	if (r->session)
		record_session_stop(r->session);
	else
		recorder_on_failure(r, why);
}

static void recorder_on_line(void *ctx, const char *line)
{
	(void)ctx;
	log_warn("%s", line);
}

static const struct private_daemons_ops daemon_ops = {
	.on_ready = recorder_on_daemons_ready,
	.on_failed = recorder_on_daemons_failed,
	.on_producer_ended = recorder_on_producer_ended,
	.on_line = recorder_on_line,
};

static void recorder_end_session(struct recorder *r)
{
	event_del(r->listen);
	record_session_free(TAKE_PTR(r->listener));
	record_session_free(TAKE_PTR(r->session));
	private_daemons_free(TAKE_PTR(r->daemons));
	r->state.consumer[0] = r->state.producer[0] = r->cause.text[0] = '\0';
}

static int recorder_begin_session(struct recorder *r, struct err_text *e)
{
	char series[PATH_MAX];
	uint32_t number;
	int error = next_session_number(r->o->dir, &number);

	if (error == 0)
		error = recorder_part_series(r->o->dir, number, r->state.boot, series);
	if (error < 0)
		return err_set(e, error, "cannot use the directory %.300s: %s", r->o->dir,
			       strerror(-error));
	free(r->config->output_path);
	r->config->output_path = strdup(series);
	if (!r->config->output_path)
		return err_set(e, -ENOMEM, "out of memory");
	return private_daemons_start(r->loop, series, &daemon_ops, r, e, &r->daemons);
}

static void recorder_begin(struct recorder *r)
{
	struct err_text e;

	recorder_end_session(r);
	recorder_prune(r);
	if (recorder_lacks_room(r)) {
		recorder_wait(r, FULL_PAUSE_MS, IS_FULL);
		return;
	}
	recorder_enter(r, PHASE_STARTING, "");
	if (recorder_begin_session(r, &e) < 0)
		recorder_on_failure(r, e.text);
}

static void recorder_on_pause_over(evutil_socket_t fd, short what, void *ctx)
{
	recorder_begin(ctx);
}

static void recorder_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct recorder *r = ctx;

	if (r->phase == PHASE_STARTING) {
		log_warn("some data sources have not started");
		recorder_on_started(r);
	}
	recorder_prune(r);
	if (!r->on_write)
		event_timer_ms(r->tick, TICK_MS);
	if (r->phase != PHASE_RECORDING || !recorder_lacks_room(r))
		return;
	log_warn("the file system of %s is nearly full: the recording stops", r->o->dir);
	record_session_stop(r->session);
}

static bool is_of_part(const struct inotify_event *e)
{
	return e->len && str_starts(e->name, "part-");
}

/* Called when a file was written in the directory: a part by the service, or another file. */
static void recorder_on_dir_changed(evutil_socket_t fd, short what, void *ctx)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct recorder *r = ctx;
	bool part = false;
	ssize_t n = read(fd, events, sizeof(events));

	for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
		const struct inotify_event *e = (const void *)(events + at);

		part |= is_of_part(e);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	if (part && r->phase == PHASE_RECORDING && !evtimer_pending(r->tick, NULL))
		event_timer_ms(r->tick, TICK_MS);
}

/* ---- start and end ---- */

static void recorder_on_signal(void *ctx, int number, bool by_terminal)
{
	struct recorder *r = ctx;
	bool records = r->phase == PHASE_RECORDING;

	(void)by_terminal;
	if (r->phase == PHASE_ENDING || !records) {
		event_base_loopbreak(r->loop);
		return;
	}
	recorder_enter(r, PHASE_ENDING,
		       number == SIGINT ? "stopped by SIGINT" : "stopped by SIGTERM");
	record_session_stop(r->session);
}

static int recorder_make_events(struct recorder *r)
{
	const struct recorder_saver_setup saver = {
		.loop = r->loop = event_base_new(),
		.dir = r->o->dir,
		.last_s = r->o->before_ms / 1000,
		.pause_ms = r->o->pause_ms,
		.max_files = r->o->max_snapshots,
		.max_bytes = r->o->max_bytes,
		.on_done = recorder_on_saved,
		.on_alert_done = recorder_on_alert_done,
		.ctx = r,
	};

	if (!r->loop)
		return -ENOMEM;
	r->tick = evtimer_new(r->loop, recorder_on_tick, r);
	r->pause = evtimer_new(r->loop, recorder_on_pause_over, r);
	r->listen = evtimer_new(r->loop, recorder_listen, r);
	r->user_signal = evsignal_new(r->loop, SIGUSR1, recorder_on_user_signal, r);
	r->saver = recorder_saver_new(&saver);
	r->awaited = recorder_triggers_config(&r->o->triggers);
	if (!r->tick || !r->pause || !r->listen || !r->user_signal || !r->saver || !r->awaited ||
	    event_add(r->user_signal, NULL))
		return -ENOMEM;
	return termination_signals_watch(r->loop, END_SIGNALS_SAME_MS, recorder_on_signal, r,
					 &r->signals);
}

static int recorder_watch_dir(struct recorder *r, struct err_text *e)
{
	r->dir_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (r->dir_watch < 0 ||
	    inotify_add_watch(r->dir_watch, r->o->dir, IN_CREATE | IN_MODIFY) < 0)
		return err_set(e, -errno, "cannot watch the directory %.300s: %s", r->o->dir,
			       strerror(errno));
	r->on_write =
		event_new(r->loop, r->dir_watch, EV_READ | EV_PERSIST, recorder_on_dir_changed, r);
	if (!r->on_write || event_add(r->on_write, NULL))
		return err_set(e, -ENOMEM, "out of memory");
	return 0;
}

/* Logs it if the last recorder kept events in rings of the kernel, and a reboot has lost them. */
static void recorder_warn_if_reboot_lost_rings(const struct recorder *r)
{
	struct recorder_state last;

	if (recorder_state_read(r->o->dir, &last) < 0 || !strcmp(last.what, "ended") ||
	    !last.kernel_bytes || !last.boot[0] || !strcmp(last.boot, r->state.boot))
		return;
	recorder_state_explain_death(&last);
	log_warn("the previous recorder did not exit cleanly: %s; with --crash, the last events "
		 "before a crash survive",
		 last.why);
}

static int recorder_prepare(struct recorder *r, struct err_text *e)
{
	int error = recorder_config_build(r->o, &r->config, e);

	if (error == 0)
		error = recorder_dir_lock(r->o->dir, &r->lock, e);
	if (error == 0)
		recorder_warn_if_reboot_lost_rings(r);
	if (error == 0 && r->o->crash)
		recorder_crash_start(r->o->dir, r->state.crash, sizeof(r->state.crash));
	if (error == 0)
		error = doctor_check_before_start(config_requests_only_ftrace(r->config), e);
	if (error == 0 && recorder_make_events(r) < 0)
		error = err_set(e, -ENOMEM, "out of memory");
	if (error == 0 && r->o->in_kernel)
		error = recorder_watch_dir(r, e);
	else if (error == 0)
		recorder_kernel_remove(r->o->dir);
	if (error == 0 && r->o->alerts) {
		const struct recorder_alerts_setup setup = {.loop = r->loop,
							    .address = r->o->alerts,
							    .take = recorder_handle_alert,
							    .ring = recorder_measure_ring,
							    .ctx = r};

		error = recorder_alerts_new(&setup, &r->alerts, e);
	}
	return error;
}

static void recorder_clean_up(struct recorder *r)
{
	char why[sizeof(r->state.why)];

	snprintf(why, sizeof(why), "%s", r->state.why[0] ? r->state.why : "stopped");
	if (r->listen)
		recorder_end_session(r);
	recorder_alerts_free(r->alerts);
	recorder_saver_free(r->saver);
	if (r->lock >= 0 && r->o->in_kernel)
		recorder_kernel_remove(r->o->dir);
	if (r->lock >= 0)
		recorder_enter(r, PHASE_ENDING, why);
	termination_signals_free(r->signals);
	event_freep(&r->tick);
	event_freep(&r->pause);
	event_freep(&r->listen);
	event_freep(&r->user_signal);
	event_freep(&r->on_write);
	closep(&r->dir_watch);
	event_base_freep(&r->loop);
	if (r->config)
		pb__trace_config__free_unpacked(r->config, NULL);
	if (r->awaited)
		pb__trace_config__free_unpacked(r->awaited, NULL);
	notify_close(&r->notify);
	closep(&r->lock);
}

static void put_words(const struct recorder_options *o, char *buf, size_t size)
{
	struct strbuf text = {0};

	strbuf_puts(&text, o->n_words ? "" : recorder_options_default_word(o));
	for (size_t i = 0; i < o->n_words; i++)
		strbuf_printf(&text, "%s%s", i ? " " : "", o->words[i]);
	snprintf(buf, size, "%s", text.s ? text.s : "");
	strbuf_deinit(&text);
}

int recorder_run(const struct recorder_options *o, struct err_text *e)
{
	struct recorder r = {
		.o = o,
		.lock = -1,
		.dir_watch = -1,
		.state =
			{
				.pid = (uint64_t)getpid(),
				.max_bytes = o->max_bytes,
				.kernel_bytes = o->kernel_bytes,
				.keep_s = o->keep_ms / 1000,
			},
	};
	struct err_text why;
	int error;

	put_words(o, r.state.words, sizeof(r.state.words));
	recorder_boot_read(r.state.boot);
	if (notify_open(&r.notify, "SONDA_RECORDER_NOTIFY_FD", &why) < 0)
		log_warn("%s", why.text);
	unsetenv("NOTIFY_SOCKET"); /* our daemons are not the unit's */
	error = recorder_prepare(&r, e);
	if (error == 0) {
		recorder_begin(&r);
		event_base_dispatch(r.loop);
	}
	recorder_clean_up(&r);
	return error;
}
