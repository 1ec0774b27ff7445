/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto: the steps of one run, with one synchronous consumer.
 *
 *	options --> config --> output --> (background) --> connect --> enable --> end --> save
 *	                                              \--> attach --> (stop) --> end --> save
 *	                                              \--> clone -------------------> save
 *
 * With CLONE_SNAPSHOT each trigger clones the session during the wait for its end.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/perfetto/perfetto_options.h"
#include "cli/perfetto/perfetto_save.h"
#include "cli/terminal/verb.h"
#include "cli/trace/activate_triggers.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "common/tracing_service_state.pb-c.h"

#define DETAILS_WIDTH 40
#define NOT_THERE 2 /* exit code: no such detached session */

enum perfetto_started {
	PERFETTO_STARTED = 0, /* all data sources */
	PERFETTO_FAILED = 1,
	PERFETTO_TIMEOUT = 2, /* after 30 s */
};

#define PERFETTO_START_TIMEOUT_MS 30000

struct perfetto {
	struct perfetto_options o;
	Pb__TraceConfig *config; /* owned; NULL: none is needed */
	struct trace_file *file; /* owned; NULL: this process writes no output */
	struct session_client *client; /* owned */
	int notify_fd;
	char path[PATH_MAX]; /* of the output, absolute, or "-" */
	unsigned n_snapshots;
};

static int perfetto_fail(const char *why)
{
	perfetto_log("%s", why);
	return 1;
}

/* ---- the output ---- */

/* Opens the output of -o. Makes its path absolute, because a process in the background works in
 * "/". Returns -1 or the exit code. */
static int perfetto_open_output(struct perfetto *p)
{
	const char *out = p->o.out;
	struct err_text e = {""};
	char cwd[PATH_MAX], *path = p->path;

	snprintf(path, sizeof(p->path), "%s", out);
	if (strcmp(out, "-") != 0 && *out != '/' && getcwd(cwd, sizeof(cwd)) &&
	    fs_join(path, sizeof(p->path), cwd, out))
		return perfetto_fail("Failed to open the output: its path is too long");
	if (p->o.no_clobber && access(path, F_OK) == 0) {
		perfetto_log("Error: Output file '%s' already exists, refusing to overwrite due to "
			     "'--no-clobber'.",
			     out);
		return 1;
	}
	if (trace_file_open(path, &e, &p->file) == 0)
		return -1;
	perfetto_log("Failed to open %s. (%s)", out, e.text);
	return 1;
}

static bool config_has_output_path(const Pb__TraceConfig *c)
{
	return c && c->output_path && *c->output_path;
}

/* Checks the combination of config and output, in Perfetto's order. Returns -1 or the exit code. */
static int check_output(const struct perfetto *p)
{
	const struct perfetto_options *o = &p->o;

	if (config_has_output_path(p->config) && o->out)
		return perfetto_fail(
			"Can't pass --out or --upload if output_path is set in the trace config");
	if (config_has_output_path(p->config) && fs_exists(p->config->output_path)) {
		perfetto_log(
			"The output_path must not exist, the service cannot overwrite existing "
			"files for security reasons. Remove %s or use a different path.",
			p->config->output_path);
		return 1;
	}
	if (!o->out && !config_has_output_path(p->config))
		return perfetto_fail("Either --out or --upload is required");
	if (o->detach && !(p->config && p->config->write_into_file))
		return perfetto_fail(
			"TraceConfig's write_into_file must be true when using --detach");
	return -1;
}

/* ---- --background, --background-wait and --notify-fd ---- */

/* Returns the byte that the child has written, or else PERFETTO_TIMEOUT or PERFETTO_FAILED. */
static int await_child(int fd)
{
	/* The child waits for the start with a shorter limit. */
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t byte;
	int r;

	do
		r = poll(&p, 1, PERFETTO_START_TIMEOUT_MS + 5000);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return PERFETTO_TIMEOUT;
	return read(fd, &byte, 1) == 1 ? byte : PERFETTO_FAILED;
}

static void detach_from_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (chdir("/")) {
		/* No error: the child keeps its working directory. */
	}
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

/*
 * Continues in a child with a session(7) of its own, with "/" as its directory and without the
 * terminal. The parent prints the child's pid and ends: at once, or, with wait, when the child has
 * called perfetto_report_start(), whose `how` is the exit code. In the child, returns the
 * descriptor to notify, or -1 without wait. In the parent, returns only if no child was created:
 * -errno - 1.
 *
 * With hold_signals, SIGINT and SIGTERM are blocked in the child: a program that reads the pid may
 * send a signal before the child handles it. termination_signals_watch() takes them.
 */
static int fork_to_background(bool wait, bool hold_signals)
{
	int pipe_fds[2] = {-1, -1};
	sigset_t ends, before;
	pid_t pid;

	if (wait && pipe2(pipe_fds, O_CLOEXEC))
		return -errno - 1;
	fflush(NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	pid = fork();
	if (pid || !hold_signals)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -errno - 1;
	if (pid == 0) {
		closep(&pipe_fds[0]);
		detach_from_terminal();
		return pipe_fds[1];
	}
	closep(&pipe_fds[1]);
	if (wait) {
		int code = await_child(pipe_fds[0]);

		if (code != PERFETTO_STARTED)
			fprintf(stderr, "Background process failed, WaitStatus=%d\n", code);
		printf("%d\n", (int)pid);
		exit(code);
	}
	printf("%d\n", (int)pid);
	exit(0);
}

/* Writes the byte to fd and closes it. No-op for -1. */
static void perfetto_report_start(int *fd, enum perfetto_started how)
{
	uint8_t byte = (uint8_t)how;

	if (*fd < 0)
		return;
	fs_write_all(*fd, &byte, 1);
	closep(fd);
}

/* ---- a new session ---- */

/* Reports the loss of the service, and returns the exit code. Perfetto does not distinguish a
 * service that is lost from one that refuses the session. A file keeps what the service wrote; an
 * empty one is removed. */
static int report_lost_service(const struct perfetto *p)
{
	if (p->file && trace_file_is_named(p->file) && trace_file_update_size(p->file) == 0 &&
	    trace_file_bytes(p->file) == 0)
		trace_file_remove(p->file);
	perfetto_print_service_error(
		"EnableTracing IPC request rejected. This is likely due to a loss "
		"of the traced connection");
	perfetto_log("Disconnected from the traced service");
	return 0;
}

/* Waits until the session has ended, and saves its trace. at_once: ends the session first. Returns
 * the exit code. */
static int perfetto_end_and_save(struct perfetto *p, const Pb__TraceConfig *config, bool at_once)
{
	struct session_end end;
	struct err_text e;
	int r;

	r = session_client_end(p->client, config, at_once, &end, &e);
	if (r == -EPIPE)
		return report_lost_service(p);
	if (r < 0)
		return perfetto_fail(e.text);
	if (end.by_signal)
		perfetto_log("SIGINT/SIGTERM received: disabling tracing.");
	if (end.flush_failed)
		perfetto_log("Final flush unsuccessful.");
	if (end.aborted.text[0])
		return perfetto_print_service_error(end.aborted.text);
	return config->write_into_file ? perfetto_save_written(p->file)
				       : perfetto_save(p->client, p->file, p->o.out);
}

/* Notifies the waiting process whether all data sources have started. */
static void notify_waiting_process(struct perfetto *p)
{
	struct err_text e;
	int r;

	if (p->notify_fd < 0)
		return;
	r = session_client_await_start(p->client, PERFETTO_START_TIMEOUT_MS, &e);
	perfetto_report_start(&p->notify_fd, r == 0	       ? PERFETTO_STARTED
					     : r == -ETIMEDOUT ? PERFETTO_TIMEOUT
							       : PERFETTO_FAILED);
}

static bool has_snapshots(const Pb__TraceConfig *c)
{
	const Pb__TraceConfig__TriggerConfig *t = c->trigger_config;

	return t &&
	       (t->trigger_mode == PB__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__CLONE_SNAPSHOT ||
		t->use_clone_snapshot_if_available);
}

static void on_clone_trigger(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	struct perfetto *p = ctx;

	perfetto_save_snapshot(hit, p->path, p->n_snapshots++);
}

/* Waits for the random time of cmd_trace_start_delay. */
static void wait_for_random_delay(const Pb__TraceConfig *c)
{
	const Pb__TraceConfig__CmdTraceStartDelay *d = c->cmd_trace_start_delay;
	uint32_t n = 0, ms;
	struct timespec t;

	if (!d || d->max_delay_ms < d->min_delay_ms)
		return;
	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = 0;
	ms = d->min_delay_ms + (uint32_t)(n % ((uint64_t)d->max_delay_ms - d->min_delay_ms + 1));
	t = (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&t, NULL);
}

/* Returns the longest duration of the session; 0: unlimited. */
static uint64_t longest_duration_ms(const Pb__TraceConfig *c)
{
	const Pb__TraceConfig__TriggerConfig *t = c->trigger_config;
	uint32_t stop_ms = 0;

	if (!t || !t->trigger_timeout_ms)
		return c->duration_ms;
	for (size_t i = 0; i < t->n_triggers; i++)
		if (t->triggers[i]->stop_delay_ms > stop_ms)
			stop_ms = t->triggers[i]->stop_delay_ms;
	return (uint64_t)t->trigger_timeout_ms + stop_ms;
}

static int run_session(struct perfetto *p)
{
	struct err_text e;
	uint64_t ms;
	int code, fd = p->config->write_into_file && p->file ? trace_file_fd(p->file) : -1;

	wait_for_random_delay(p->config);
	code = perfetto_connect(&p->client);
	if (code >= 0)
		return code;
	if (has_snapshots(p->config) &&
	    session_client_watch_clone_triggers(p->client, on_clone_trigger, p, &e) < 0)
		return perfetto_fail(e.text);
	if (p->notify_fd >= 0 && session_client_watch_start(p->client, &e) < 0)
		return perfetto_fail(e.text);
	if (session_client_enable(p->client, p->config, fd, &e) < 0)
		return perfetto_fail(e.text);
	ms = longest_duration_ms(p->config);
	if (ms)
		perfetto_log("Connected to the Perfetto traced service, TTL: %llus",
			     (unsigned long long)(ms + 999) / 1000);
	else
		perfetto_log("Connected to the Perfetto traced service, starting tracing");
	if (p->o.detach) {
		if (session_client_detach(p->client, p->o.detach, &e) < 0)
			return perfetto_fail(e.text);
		return p->file && trace_file_save(p->file, &e) ? perfetto_fail(e.text) : 0;
	}
	if (fd >= 0 && trace_file_assign_name(p->file, &e))
		return perfetto_fail(e.text);
	notify_waiting_process(p);
	return perfetto_end_and_save(p, p->config, false);
}

/* ---- existing sessions ---- */

static int run_attach(struct perfetto *p)
{
	const char *key = p->o.attach ? p->o.attach : p->o.is_detached;
	Pb__TraceConfig *config;
	struct err_text e;
	int code;

	if (p->o.out)
		return perfetto_fail("Can't pass an --out file (or --upload) with this option");
	code = perfetto_connect(&p->client);
	if (code >= 0)
		return code;
	if (session_client_attach(p->client, key, &config, &e) < 0) {
		if (p->o.attach)
			perfetto_log("Session re-attach failed. Check service logs for details");
		return NOT_THERE;
	}
	if (p->o.is_detached)
		code = session_client_detach(p->client, key, &e) < 0;
	else if (!config->write_into_file)
		code = perfetto_fail("The session has no file (write_into_file): use sonda attach");
	else
		code = perfetto_end_and_save(p, config, p->o.stop);
	pb__trace_config__free_unpacked(config, NULL);
	return code;
}

static int run_clone(struct perfetto *p)
{
	const struct consumer_clone_request request = {
		.name = p->o.clone_name,
		.session_id = p->o.clone_id,
		.skip_filter = p->o.clone_for_bugreport,
	};

	return perfetto_clone(&request, p->file, p->o.out);
}

/* ---- --query ---- */

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

static void put_producers(const Pb__TracingServiceState *s, struct strbuf *out)
{
	strbuf_puts(
		out,
		"\n\nPRODUCER PROCESSES CONNECTED:\n\n"
		"ID     PID      UID      FLAGS  NAME                                       SDK\n"
		"==     ===      ===      =====  ====                                       ===\n");
	for (size_t i = 0; i < s->n_producers; i++) {
		const Pb__TracingServiceState__Producer *p = s->producers[i];

		strbuf_printf(out, "%-6d %-8d %-8d %-6s %-42s %s\n", p->id, p->pid, p->uid,
			      p->frozen ? "F" : "", text_or_empty(p->name),
			      text_or_empty(p->sdk_version));
	}
}

static const char *producer_name(const Pb__TracingServiceState *s, int32_t id)
{
	for (size_t i = 0; i < s->n_producers; i++)
		if (s->producers[i]->id == id)
			return text_or_empty(s->producers[i]->name);
	return "";
}

/* Appends the categories of track events, cut unless all of them are wanted. */
static void put_details(const Pb__DataSourceDescriptor *d, bool whole, struct strbuf *out)
{
	const Pb__TrackEventDescriptor *t = d ? d->track_event_descriptor : NULL;
	_cleanup_(strbuf_deinit) struct strbuf all = {0};

	for (size_t i = 0; t && i < t->n_available_categories; i++)
		strbuf_printf(&all, "%s%s", i ? "," : "",
			      text_or_empty(t->available_categories[i]->name));
	if (all.len > DETAILS_WIDTH && !whole)
		strbuf_printf(out, "%.*s... (use --long to expand)", DETAILS_WIDTH, all.s);
	else if (all.s)
		strbuf_add(out, all.s, all.len);
}

static void put_sources(const Pb__TracingServiceState *s, bool whole, struct strbuf *out)
{
	strbuf_puts(
		out,
		"\n\nDATA SOURCES REGISTERED:\n\n"
		"NAME                                     PRODUCER                     DETAILS\n"
		"===                                      ========                     ========\n");
	for (size_t i = 0; i < s->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *d = s->data_sources[i];
		char producer[128];

		snprintf(producer, sizeof(producer), "%s (%d)", producer_name(s, d->producer_id),
			 d->producer_id);
		strbuf_printf(out, "%-40s %-28s ",
			      d->ds_descriptor ? text_or_empty(d->ds_descriptor->name) : "",
			      producer);
		put_details(d->ds_descriptor, whole, out);
		strbuf_putc(out, '\n');
	}
}

static void put_session(const Pb__TracingServiceState__TracingSession *s, struct strbuf *out)
{
	uint64_t seconds = (uint64_t)(s->start_realtime_ns / 1000000000) % 86400;
	unsigned kb = 0;

	for (size_t i = 0; i < s->n_buffer_size_kb; i++)
		kb += s->buffer_size_kb[i];
	strbuf_printf(out, "%-7" PRIu64 " %-7d %-10s (%zu) %-8u %-9u %-4u %02u:%02u:%02u %s\n",
		      s->id, s->consumer_uid, text_or_empty(s->state), s->n_buffer_size_kb, kb,
		      s->duration_ms / 1000, s->num_data_sources, (unsigned)(seconds / 3600),
		      (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
		      text_or_empty(s->unique_session_name));
}

/* Appends the state of a service as perfetto --query prints it: scripts cut its columns. whole:
 * with --long, lists of categories are not cut. */
static void perfetto_query_text(const Pb__TracingServiceState *s, bool whole, struct strbuf *out)
{
	strbuf_printf(out, "Not meant for machine consumption. Use --query-raw for scripts.\n\n");
	strbuf_printf(out, "Service: %s\nTracing sessions: %d (started: %d)\n",
		      text_or_empty(s->tracing_service_version), s->num_sessions,
		      s->num_sessions_started);
	put_producers(s, out);
	put_sources(s, whole, out);
	strbuf_puts(out, "\n\nTRACING SESSIONS:\n\n"
			 "ID      UID     STATE      BUF (#) KB   DUR (s)   #DS  STARTED  NAME\n"
			 "===     ===     =====      ==========   =======   ===  =======  ====\n");
	for (size_t i = 0; i < s->n_tracing_sessions; i++)
		put_session(s->tracing_sessions[i], out);
	if ((size_t)s->num_sessions > s->n_tracing_sessions && geteuid() != 0)
		strbuf_puts(out,
			    "\nNOTE: Some tracing sessions are not reported in the list above.\n"
			    "This is likely because they are owned by a different UID.\n"
			    "If you want to list all session, re-run with root privileges.\n");
	if (out->s)
		str_make_plain(out->s, out->len, "\n");
}

static int print_service_state(struct perfetto *p)
{
	Pb__TracingServiceState *state;
	struct strbuf out = {0};
	struct err_text e;
	int code = perfetto_connect(&p->client);

	if (code >= 0)
		return code;
	if (session_client_query(p->client, false, &state, &e) < 0)
		return perfetto_fail(e.text);
	if (p->o.query_raw) {
		size_t n = pb__tracing_service_state__get_packed_size(state);
		char *to = strbuf_reserve(&out, n);

		if (to)
			out.len += pb__tracing_service_state__pack(state, (uint8_t *)to);
	} else {
		perfetto_query_text(state, p->o.query_long, &out);
	}
	pb__tracing_service_state__free_unpacked(state, NULL);
	code = out.failed || fs_write_all(STDOUT_FILENO, out.s, out.len) < 0;
	strbuf_deinit(&out);
	return code;
}

static int activate_triggers_of_config(const Pb__TraceConfig *c)
{
	const char *socket = sock_default_producer();

	return activate_triggers(socket, c->activate_triggers, c->n_activate_triggers) == 0 ? 0 : 1;
}

/* ---- the run ---- */

static bool is_clone_request(const struct perfetto_options *o)
{
	return o->clone || o->clone_name;
}

static int go_to_background(struct perfetto *p)
{
	int fd;

	p->notify_fd = p->o.notify_fd;
	if (!p->o.background)
		return -1;
	/* A signal must end a clone, and the wait of cmd_trace_start_delay, at once. */
	fd = fork_to_background(p->o.background_wait,
				!is_clone_request(&p->o) && !p->config->cmd_trace_start_delay);
	if (fd < -1)
		return perfetto_fail(strerror(-(fd + 1)));
	if (fd >= 0)
		p->notify_fd = fd;
	return -1;
}

static int perfetto_prepare(struct perfetto *p)
{
	int code = -1;

	if (!is_clone_request(&p->o))
		code = perfetto_config_make(&p->o, &p->config);
	if (code < 0 && p->config && p->config->n_activate_triggers)
		return activate_triggers_of_config(p->config);
	if (code < 0 && p->config && p->config->cmd_trace_start_delay &&
	    (!p->config->cmd_trace_start_delay->has_min_delay_ms ||
	     !p->config->cmd_trace_start_delay->has_max_delay_ms))
		code = perfetto_fail("cmd_trace_start_delay field is only partially specified.");
	if (code < 0)
		code = check_output(p);
	if (code < 0 && p->o.out)
		code = perfetto_open_output(p);
	return code < 0 ? go_to_background(p) : code;
}

static int perfetto_run(struct perfetto *p)
{
	int code;

	if (p->o.query || p->o.query_raw)
		return print_service_state(p);
	if (p->o.attach || p->o.is_detached)
		return run_attach(p);
	if (p->o.save_for_bugreport)
		return perfetto_save_for_bugreport();
	if (p->o.save_all_for_bugreport)
		return perfetto_save_all_for_bugreport();
	code = perfetto_prepare(p);
	if (code >= 0)
		return code;
	return is_clone_request(&p->o) ? run_clone(p) : run_session(p);
}

int perfetto_main(int argc, char **argv)
{
	struct perfetto p = {.notify_fd = -1};
	int code;

	log_init("perfetto");
	code = perfetto_options_parse(argc, argv, &p.o);
	if (code < 0)
		code = perfetto_run(&p);
	perfetto_report_start(&p.notify_fd, PERFETTO_FAILED); /* unless already notified */
	session_client_free(p.client);
	trace_file_free(p.file);
	if (p.config)
		pb__trace_config__free_unpacked(p.config, NULL);
	perfetto_options_deinit(&p.o);
	return code;
}
