/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	private_daemons --> record_session -- packet by packet --+--> trace_file --> FILE
 *	(if no service runs)    |                                |
 *	                        +-- stats, state --> result <----+--> trace_scan
 *	command_child <---------+-- all started
 *	        +--- ended ---> stop
 *	                        +-- triggers --> snapshots --> FILE.0, FILE.1 ...
 *
 * The loop ends when the session or the private service ended, or the user sent a last signal.
 */

#include "cli/record/recording.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/buffer_stats.h"
#include "analyze/trace_scan.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "cli/doctor/doctor.h"
#include "cli/record/private_daemons.h"
#include "cli/record/progress.h"
#include "cli/record/record_session.h"
#include "cli/record/record_threads.h"
#include "cli/record/recording_setup.h"
#include "cli/record/snapshots.h"
#include "cli/record/stream_watch.h"
#include "cli/report/config_sources.h"
#include "cli/report/missing_events.h"
#include "cli/report/recording_sources.h"
#include "cli/report/refusals.h"
#include "cli/terminal/console.h"
#include "cli/terminal/signals.h"
#include "cli/trace/service_help.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"

#define TICK_MS 1000 /* between two progress lines */
#define START_TIMEOUT_S 30 /* for all data sources, before a command is executed */
#define COMMAND_PATIENCE_S 1 /* for the command to handle the user's signal */
#define EARLY_WAIT_MS 50
#define EARLY_WAITS 40
#define EARLY_LOOKS 30 /* a busy machine takes long to begin */
#define EARLY_LOOK_BYTES                                                                           \
	(16u << 20) /* sonda-probes writes the statistics before the first events */

/* Reports, during a streaming recording, what its producer of linux.ftrace could not record. The
 * first statistics of the producer list it. So a user is informed at once of a filter or a probe
 * that the kernel refuses, and of a typing error if this process cannot read the kernel's list of
 * events. sonda-probes commits these statistics before the first event; Perfetto's producer commits
 * them with the first flush. */
struct early_errors {
	unsigned looks;
	bool done;
	enum refused_options refused; /* of filters and probes of the command line */
	/* While they are awaited: */
	struct event *timer; /* owned */
	unsigned waits;
	const struct recording_setup *setup; /* borrowed, as read and ctx */
	const struct trace_scan *read;
	void (*on_end)(void *ctx);
	void *ctx;
};

struct recording {
	const struct recording_setup *setup; /* borrowed from the caller */
	struct recording_result *result; /* borrowed from the caller */
	struct event_base *loop;
	struct termination_signals *signals;
	struct event *tick;
	struct event *command_timer; /* until all sources have started; then after a signal */
	struct private_daemons *daemons; /* NULL: a service was running */
	struct record_session_ops session_ops;
	struct record_session *session;
	struct snapshots *snapshots; /* NULL: the config has none */
	unsigned interrupts;
	bool command_ran;
	bool signal_passed; /* a signal was forwarded to the command */
	bool ended; /* error and why are final */
	int error;
	struct err_text why;
	int refused; /* the producers cannot record as requested; refusal has the message */
	struct err_text refusal;
	uint64_t started_ns; /* monotonic; 0: not started */
	uint64_t stopped_ns;
	struct recording_progress progress;
	struct stream_watch watch;
	struct early_errors early;
};

/* Returns the time since all data sources had started, or since tracing started if some have
 * not. */
static uint64_t recorded_time_ms(const struct recording *r)
{
	return (clock_mono_ns() - r->started_ns) / NS_PER_MS - r->result->set_up_ms;
}

/* ---- what the kernel refused ---- */

static bool has_ring_start(const struct ftrace_scan *f)
{
	for (size_t i = 0; i < f->n_rings; i++)
		if (f->rings[i].has_start)
			return true;
	return false;
}

/* Returns true if the kernel may refuse what the config requests for events that exist. */
static bool may_kernel_refuse_config(const Pb__TraceConfig *config)
{
	for (size_t i = 0; i < config->n_data_sources; i++) {
		const Pb__FtraceConfig *f = config_source_ftrace(config->data_sources[i]);

		if (f && (f->n_event_filters || f->n_event_triggers || f->n_kprobe_events ||
			  f->n_uprobe_events || f->enable_function_graph))
			return true;
	}
	return false;
}

/* Reports what the kernel refused. Returns true if the first statistics of the producer were read,
 * which is the end of the search. */
static bool report_refused(const struct recording_setup *setup, const struct trace_scan *scan)
{
	struct ftrace_scan f = scan->ftrace; /* borrows its lists */
	struct strbuf lines = {0};
	bool any;

	if (setup->events) /* unknown names were reported before the start */
		f.unknown = (struct name_list){0};
	any = f.unknown.n || f.failed.n || f.problems.n;
	if (any)
		missing_events_write(setup->config, &f, NULL, &lines);
	if (lines.s)
		console_print_lines(setup->console, lines.s);
	strbuf_deinit(&lines);
	return any || has_ring_start(&scan->ftrace);
}

/* Call it about once a second. Prints once what was rejected according to the first statistics.
 * Looks for these in read, the scan of the packets that this process has read, or in the file if
 * the service writes it; gives up after some looks. */
static void early_errors_report(struct early_errors *e, const struct recording_setup *setup,
				const struct trace_scan *read)
{
	struct trace_scan begin = {0};

	if (e->done || !config_requests_ftrace(setup->config) ||
	    (setup->events && !may_kernel_refuse_config(setup->config)))
		return;
	if (setup->passes_file) {
		trace_readback_peek(trace_file_fd(setup->file), EARLY_LOOK_BYTES, &begin);
		read = &begin;
	}
	/* On a busy machine the first packets arrive late. */
	e->looks += !e->timer && read->packets != 0;
	e->done = report_refused(setup, read) || e->looks >= EARLY_LOOKS;
	if (setup->from_words)
		e->refused = refused_options(setup->config, &read->ftrace);
	trace_scan_deinit(&begin);
}

static void early_errors_on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct early_errors *e = ctx;

	early_errors_report(e, e->setup, e->read);
	if (!e->done && ++e->waits < EARLY_WAITS)
		return;
	event_freep(&e->timer);
	e->on_end(e->ctx);
}

/* If the kernel may refuse a filter or a probe of the command line, looks often until the first
 * statistics are there, or for two seconds: some producers write them at the end. Then it calls
 * on_end, and the command may run. Returns false if nothing is awaited. */
static bool early_errors_await(struct early_errors *e, struct event_base *loop,
			       const struct recording_setup *setup, const struct trace_scan *read,
			       void (*on_end)(void *ctx), void *ctx)
{
	if (e->done || !setup->from_words || !setup->streams || setup->detach ||
	    !may_kernel_refuse_config(setup->config))
		return false;
	e->setup = setup;
	e->read = read;
	e->on_end = on_end;
	e->ctx = ctx;
	e->timer = event_new(loop, -1, EV_PERSIST, early_errors_on_timer, e);
	return e->timer && event_timer_ms(e->timer, EARLY_WAIT_MS) == 0;
}

/* ---- the end ---- */

static void recording_finish(struct recording *r, int error, const char *why)
{
	if (r->ended)
		return;
	r->ended = true;
	if (r->started_ns && !r->stopped_ns) {
		r->result->elapsed_ms = recorded_time_ms(r);
		r->result->flush_failed = true;
	}
	r->error = error;
	err_set(&r->why, 0, "%s", why);
	event_base_loopbreak(r->loop);
}

/* Lets the command handle the first signal. The terminal sends its signals to the command itself;
 * others are forwarded. Returns false if the signal is for us. */
static bool forward_signal_to_command(struct recording *r, int number, bool by_terminal)
{
	const struct command_child *command = r->setup->command;

	if (r->signal_passed || !command || !command_child_is_running(command) ||
	    record_session_is_stopping(r->session))
		return false;
	r->signal_passed = true;
	if (!by_terminal)
		command_child_signal(command, number);
	event_timer_ms(r->command_timer, COMMAND_PATIENCE_S * 1000);
	return true;
}

/* Stores the reason why the recording ends, unless one is already stored. */
static void set_end_reason_once(struct recording *r, const char *why)
{
	if (!r->result->end.text[0])
		err_set(&r->result->end, 0, "%s", why);
}

static bool recording_has_begun(const struct recording *r)
{
	return r->session && (!r->setup->command || r->command_ran);
}

static void recording_on_signal(void *ctx, int number, bool by_terminal)
{
	struct recording *r = ctx;

	if (forward_signal_to_command(r, number, by_terminal))
		return;
	if (++r->interrupts > 1 || !recording_has_begun(r) || r->setup->detach) {
		recording_finish(r, -EINTR,
				 r->result->snapshots.saved ? "aborted: unsaved data is discarded"
							    : "aborted: nothing was saved");
		return;
	}
	set_end_reason_once(r, number == SIGINT	  ? "stopped by SIGINT (Ctrl-C)"
			       : number == SIGHUP ? "stopped by SIGHUP (the terminal was closed)"
						  : "stopped by SIGTERM");
	if (r->stopped_ns)
		console_print(r->setup->console,
			      "saving the trace; press Ctrl-C again to discard it");
	record_session_stop(r->session);
}

/* ---- progress ---- */

/* Returns true if progress may be shown. The terminal belongs to the command, if there is one. */
static bool shows_progress(const struct recording *r)
{
	return console_shows_progress(r->setup->console) && !r->setup->command;
}

static void recording_on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct recording *r = ctx;

	if (!record_session_is_recording(r->session))
		return;
	if (shows_progress(r))
		recording_progress_show(&r->progress, recorded_time_ms(r), r->setup->console);
	record_session_request_stats(r->session);
}

static void start_ticks(struct recording *r)
{
	if (r->setup->detach || (!shows_progress(r) && !r->setup->streams))
		return;
	if (shows_progress(r) && !r->setup->config->duration_ms &&
	    !r->setup->config->trigger_config)
		console_print(r->setup->console, "recording; Ctrl-C stops and saves");
	r->progress.duration_ms = r->setup->config->duration_ms;
	r->tick = event_new(r->loop, -1, EV_PERSIST, recording_on_tick, r);
	if (!r->tick)
		return;
	event_timer_ms(r->tick, TICK_MS);
	recording_on_tick(-1, 0, r);
}

/* ---- the command ---- */

static void on_command_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct recording *r = ctx;

	if (r->setup->detach)
		record_session_detach(r->session, r->setup->detach);
	else if (!r->command_ran)
		recording_finish(
			r, -ETIMEDOUT,
			"the tracing service did not start all data sources within 30 s: the "
			"command was not run");
	else if (!record_session_is_stopping(r->session))
		console_print(
			r->setup->console,
			"waiting for the command to end; press Ctrl-C again to stop and save");
}

/* Gives the file its name: the service has accepted the config and writes. From here on the file
 * outlives this process. */
static void name_passed_file(struct recording *r)
{
	struct err_text e;

	if (r->setup->passes_file && trace_file_assign_name(r->setup->file, &e))
		recording_finish(r, -EIO, e.text);
}

/* Ends the recording if a filter or probe of the command line was refused: it was a mistake. */
static void end_if_refused(struct recording *r)
{
	struct err_text e;

	if (!r->early.refused || r->ended)
		return;
	r->result->refused = r->early.refused;
	err_set(&e, 0, "nothing was recorded: %s", refused_options_text(r->early.refused));
	recording_finish(r, -EINVAL, e.text);
}

static void run_command(struct recording *r)
{
	struct err_text e;
	int error;

	event_del(r->command_timer);
	error = command_child_run(r->setup->command,
				  r->daemons ? private_daemons_producer_address(r->daemons) : NULL,
				  &e);
	if (error)
		recording_finish(r, error, e.text);
	r->command_ran = !error;
}

static void on_early_end(void *ctx)
{
	struct recording *r = ctx;

	end_if_refused(r);
	if (r->setup->command && !r->ended && !record_session_is_stopping(r->session))
		run_command(r);
}

static void on_all_started(void *ctx)
{
	struct recording *r = ctx;

	r->result->all_started = true;
	r->result->set_up_ms = recorded_time_ms(r);
	name_passed_file(r);
	if (r->setup->detach)
		record_session_detach(r->session, r->setup->detach);
	if (!early_errors_await(&r->early, r->loop, r->setup, &r->result->scan, on_early_end, r) &&
	    r->setup->command)
		run_command(r);
}

static void on_command_end(void *ctx)
{
	struct recording *r = ctx;

	event_del(r->command_timer);
	if (r->command_ran)
		set_end_reason_once(r, RECORDING_COMMAND_ENDED);
	if (r->command_ran)
		record_session_stop(r->session);
	else
		recording_finish(r, -ECHILD, "the command was killed before it ran");
}

static int watch_command(struct recording *r)
{
	if (!r->setup->command && !r->setup->detach)
		return 0;
	r->command_timer = evtimer_new(r->loop, on_command_timer, r);
	if (!r->command_timer)
		return -ENOMEM;
	if (!r->setup->command)
		return 0;
	if (config_requests_source(r->setup->config, "linux.perf") ||
	    config_requests_source(r->setup->config, "linux.waits"))
		command_child_map_files(r->setup->command);
	return command_child_watch(r->setup->command, r->loop, on_command_end, r);
}

/* ---- the session ---- */

static void recording_on_state(void *ctx, bool at_end, const Pb__TracingServiceState *state)
{
	struct recording *r = ctx;

	if (at_end) {
		recording_sources_end(&r->result->sources, r->setup->config, state);
		return;
	}
	recording_progress_update_state(&r->progress, state);
	r->refused =
		recording_sources_begin(&r->result->sources, r->setup->config, state, &r->refusal);
}

/* Fails if the recording is known to be empty, before the command is executed. */
static int check_for_command(const struct recording *r, struct err_text *why)
{
	struct err_text e;

	if (!r->setup->command || !r->setup->needs_ftrace)
		return 0;
	if (!name_list_has(&r->result->sources.missing, "linux.ftrace"))
		return 0;
	if (!r->daemons || !doctor_check_before_start(true, &e))
		service_explain_no_ftrace(&e);
	return err_set(why, -ENOENT, "the command was not run: %s", e.text);
}

static int prepare_recording(void *ctx, struct err_text *why)
{
	struct recording *r = ctx;
	const struct pid_list *pids = r->setup->pids;
	int error = 0;

	if (r->refused)
		return err_set(why, r->refused, "%s", r->refusal.text);
	/* The threads are listed as late as possible: some producers do not follow new threads. */
	if (pids && pids->n)
		error = record_threads_restrict_to_pids(r->setup->config, pids, why);
	return error ? error : check_for_command(r, why);
}

static void on_recording(void *ctx)
{
	struct recording *r = ctx;
	struct strbuf lines = {0};

	r->started_ns = clock_mono_ns();
	/* Warn now, when the user can still correct the command line. */
	recording_sources_warn(&r->result->sources, r->setup->config, r->setup->events,
			       r->setup->command, &lines);
	if (lines.s)
		console_print_lines(r->setup->console, lines.s);
	strbuf_deinit(&lines);
	start_ticks(r);
	if (r->command_timer)
		event_timer_ms(r->command_timer, START_TIMEOUT_S * 1000);
}

static void recording_on_stats(void *ctx, bool at_end, const Pb__TraceStats *stats)
{
	struct recording *r = ctx;
	struct recording_result *result = r->result;
	struct strbuf note = {0};

	if (at_end) {
		service_stats_from_message(stats, &result->stats);
		result->has_stats = true;
		return;
	}
	name_passed_file(r);
	if (!result->has_before) {
		if (!r->setup->detach) /* the service accepted the config */
			recording_progress_print_triggers(r->setup->config, r->setup->console);
		service_stats_from_message(stats, &result->before);
		result->has_before = true;
	}
	recording_progress_update_stats(&r->progress, r->setup->tracefs_root, stats);
	if (recording_progress_put_warning(&r->progress, r->setup, stats, recorded_time_ms(r),
					   &note))
		console_print(r->setup->console, "%s", note.s ? note.s : "");
	strbuf_deinit(&note);
	if (!r->setup->streams)
		return;
	stream_watch_check(&r->watch, stats, r->setup->config, r->setup->console);
	early_errors_report(&r->early, r->setup, &result->scan);
	end_if_refused(r);
}

static void recording_on_stopped(void *ctx, int flush_error)
{
	struct recording *r = ctx;

	if (r->setup->detach) {
		recording_finish(r, -ECANCELED, "the session ended before it could be detached");
		return;
	}
	name_passed_file(r);
	r->result->ended_by_itself |= !record_session_is_stopping(r->session);
	r->stopped_ns = clock_mono_ns();
	r->result->elapsed_ms = recorded_time_ms(r);
	r->result->flush_failed = flush_error != 0;
	if (!r->setup->command)
		console_progress(r->setup->console, "  saving");
}

static int recording_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct recording *r = ctx;
	int error = trace_file_add_packet(r->setup->file, data, len);

	if (error)
		r->result->write_error = error;
	else
		trace_scan_packet(&r->result->scan, data, len);
	return error;
}

/* Writes out a streamed trace after each pass, gives its file the final name, and ends the
 * recording when the file has reached max_bytes. */
static int on_caught_up(void *ctx)
{
	struct recording *r = ctx;
	struct err_text e;
	int error = 0;

	if (r->setup->streams)
		error = r->result->write_error = trace_file_flush(r->setup->file);
	if (!error && r->setup->streams && trace_file_assign_name(r->setup->file, &e))
		recording_finish(r, -EIO, e.text);
	if (r->setup->max_bytes && trace_file_bytes(r->setup->file) >= r->setup->max_bytes &&
	    !record_session_is_stopping(r->session)) {
		r->result->ended_by_itself = true;
		record_session_stop(r->session);
	}
	return error;
}

/* Starts a snapshot, and holds the session until all are made: snapshots have their own deadlines,
 * but must end before the session does. */
static void on_clone_trigger(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	struct recording *r = ctx;

	if (snapshots_take(r->snapshots, hit))
		record_session_set_hold(r->session, true);
}

static void on_snapshots_idle(void *recording)
{
	record_session_set_hold(((struct recording *)recording)->session, false);
}

static void recording_on_end(void *ctx, int error, const char *why)
{
	recording_finish(ctx, error, why);
}

static const struct record_session_ops session_ops = {
	.on_state = recording_on_state,
	.before_recording = prepare_recording,
	.on_recording = on_recording,
	.on_started = on_all_started,
	.on_stats = recording_on_stats,
	.on_stopped = recording_on_stopped,
	.on_packet = recording_on_packet,
	.on_caught_up = on_caught_up,
	.on_end = recording_on_end,
};

/* ---- the service: a running one, or our own ---- */

static int start_snapshots(struct recording *r, const char *address)
{
	const struct snapshots_setup setup = {
		.loop = r->loop,
		.address = address,
		.path = r->setup->snapshots,
		.config = r->setup->config,
		.console = r->setup->console,
		.log = &r->result->snapshots,
		.on_idle = on_snapshots_idle,
		.ctx = r,
	};

	r->session_ops.on_clone_trigger = on_clone_trigger;
	r->snapshots = snapshots_new(&setup);
	return r->snapshots ? 0 : -ENOMEM;
}

static int start_session(struct recording *r, const char *socket, struct err_text *e)
{
	int error;

	r->session_ops = session_ops;
	snapshots_free(TAKE_PTR(r->snapshots)); /* created for the address without a listener */
	if (r->setup->snapshots && start_snapshots(r, socket ? socket : sock_default_consumer()))
		return err_set(e, -ENOMEM, "out of memory");
	error = record_session_start(r->loop, socket, r->setup->config, &r->session_ops, r, e,
				     &r->session);
	if (!error && r->setup->passes_file)
		record_session_pass_file(r->session, trace_file_fd(r->setup->file));
	else if (!error && r->setup->streams &&
		 record_session_read_continuously(r->session, r->loop))
		return err_set(e, -ENOMEM, "out of memory");
	if (!error && r->setup->file)
		trace_file_watch_stalls(r->setup->file, termination_signals_fd(r->signals),
					stream_watch_report_stall, r->setup->console);
	return error;
}

static void on_daemons_ready(void *ctx)
{
	struct recording *r = ctx;
	struct err_text e;
	int error = start_session(r, private_daemons_address(r->daemons), &e);

	if (error)
		recording_finish(r, error, e.text);
}

static void on_daemons_failed(void *ctx, const char *why)
{
	recording_finish(ctx, -EPIPE, why);
}

/* Called when the private producer has ended early. Stops the recording in order: the service still
 * runs and has all committed data, which is worth saving. */
static void on_daemons_cut_short(void *ctx, const char *why)
{
	struct recording *r = ctx;

	set_end_reason_once(r, why);
	r->result->is_cut_short = true;
	console_error(r->setup->console, "%s: saving the data recorded until now", why);
	record_session_stop(r->session);
}

static void on_daemons_line(void *recording, const char *line)
{
	console_print_line(((struct recording *)recording)->setup->console, line);
}

static const struct private_daemons_ops daemon_ops = {
	.on_ready = on_daemons_ready,
	.on_failed = on_daemons_failed,
	.on_producer_ended = on_daemons_cut_short,
	.on_line = on_daemons_line,
};

/* Returns true if this user's own daemons could record nothing without the right to kernel
 * events. */
static bool needs_kernel_events(const struct recording_setup *setup)
{
	return setup->needs_ftrace ||
	       (setup->needs_capabilities && !doctor_daemons_have_capabilities());
}

static int connect_or_start(struct recording *r, struct err_text *e)
{
	int error = start_session(r, r->setup->socket, e);

	if ((error != -ENOENT && error != -ECONNREFUSED) || r->setup->socket || r->setup->detach)
		return error;
	error = doctor_check_before_start(needs_kernel_events(r->setup), e);
	if (error)
		return error;
	r->result->started_daemons = true;
	if (r->setup->console->verbose)
		console_print(r->setup->console,
			      "no tracing service runs on %s; starting a private one",
			      sock_default_consumer());
	return private_daemons_start(
		r->loop, r->setup->config->write_into_file ? r->setup->config->output_path : NULL,
		&daemon_ops, r, e, &r->daemons);
}

/* Replaces the error of a broken connection by the end of a private daemon, if one has ended. */
static void explain_by_daemons(struct recording *r)
{
	struct err_text why;

	if (r->error == -EPIPE && r->daemons && private_daemons_await_failure(r->daemons, &why))
		r->why = why;
}

/* ---- start and clean-up ---- */

static int recording_run_loop(struct recording *r, struct err_text *why)
{
	int error;

	r->loop = event_base_new();
	if (!r->loop ||
	    termination_signals_watch(r->loop, r->setup->same_signal_ms, recording_on_signal, r,
				      &r->signals) ||
	    watch_command(r))
		return err_set(why, -ENOMEM, "out of memory");
	error = connect_or_start(r, why);
	if (error)
		return error;
	event_base_dispatch(r->loop);
	explain_by_daemons(r);
	*why = r->why;
	return r->error;
}

static void recording_clean_up(struct recording *r)
{
	console_clear_progress(r->setup->console);
	snapshots_free(r->snapshots);
	record_session_free(r->session);
	r->result->daemons_cpu_ns = private_daemons_free(r->daemons);
	termination_signals_free(r->signals);
	if (r->setup->command)
		command_child_unwatch(r->setup->command);
	event_freep(&r->command_timer);
	event_freep(&r->early.timer);
	event_freep(&r->tick);
	event_base_freep(&r->loop);
	recording_progress_deinit(&r->progress);
}

int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why)
{
	struct recording r = {.setup = setup, .result = ret};
	int error = recording_run_loop(&r, why);

	recording_clean_up(&r);
	return error;
}

void recording_result_deinit(struct recording_result *r)
{
	trace_scan_deinit(&r->scan);
	recording_sources_deinit(&r->sources);
	snapshot_log_deinit(&r->snapshots);
}
