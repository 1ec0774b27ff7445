// SPDX-License-Identifier: Apache-2.0
/*
 * sonda record: puts the parts together, each of which does one thing.
 *
 *	record_options --> record_config --> recording --> trace_file --> FILE
 *	      |                                ^ |
 *	      +--> command_child --------------+ +--> record_summary --> stderr, exit code
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "cli/terminal/console.h"
#include "cli/report/missing_data.h"
#include "cli/trace/trace_file.h"
#include "cli/record/daemon_process.h"
#include "cli/record/command_child.h"
#include "cli/terminal/signals.h"
#include "cli/record/record_config.h"
#include "cli/report/data_losses.h"
#include "cli/record/record_options.h"
#include "cli/report/summary.h"
#include "cli/record/recording.h"
#include "cli/record/snapshots.h"
#include "cli/record/start_delay.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_readback.h"

#define LARGE_PACKET (1ull << 20) /* few are larger */

struct command {
	struct record_options options;
	struct console console;
	struct command_child *child; /* NULL: there is no command */
	Pb__TraceConfig *config;
	struct event_requests idle; /* words that take nothing away */
	struct tracefs_events events; /* of the kernel; n is 0 where we may not look */
	bool is_local; /* the service runs on this machine */
	struct output_name output; /* for the person */
	bool passes_file; /* the service writes into ours, not into one of its own */
	bool streams; /* the trace goes into the file while it is recorded */
	uint64_t max_bytes; /* of that file; 0: no limit */
	uint64_t written; /* bytes that it wrote */
	bool unread; /* and this process cannot read them */
	struct err_text end; /* why it ended, for the summary */
	const char *snapshots; /* path of those that triggers make; NULL: there is one trace */
	struct trace_file *file;
	struct recording_result result;
};

/* ---- before ---- */

static int report(struct command *c, int error, const struct err_text *e)
{
	console_error(&c->console, "%s", error == -ENOMEM ? "no memory" : e->text);
	return error == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* The first of the processes and CPUs that are not there: numbers of this machine, all of them. */
static int check_numbers(struct command *c, struct err_text *e)
{
	const struct record_options *o = &c->options;
	bool by_thread = o->pids.n || (c->child && !o->all);

	if (by_thread && !c->is_local)
		return err_set(e, -EREMOTE,
			       "%s: the tracing service is on another machine than the process",
			       o->pids.n ? "-p" : "COMMAND");
	return o->has_cpus && c->is_local ? cpu_list_check(&o->cpus, "/sys", e) : 0;
}

/* "sonda record sched sleep 5", as one says it to other tools. */
static int check_dashes(struct command *c, struct err_text *e)
{
	const struct arg_list *words = &c->options.words;
	char path[PATH_MAX];

	for (size_t i = 0; i < words->n && c->events.n && !c->child; i++) {
		const char *word = words->args[i];

		if (!strpbrk(word, "*?[!,:") && !event_word_is_known(word, &c->events) &&
		    !path_program(word, path, sizeof(path)))
			return err_set(e, -EINVAL,
				       "'%.80s' is a program, not an event; a command stands "
				       "behind --",
				       word);
	}
	return 0;
}

/* Whose events. */
static int set_threads(struct command *c, struct err_text *e)
{
	const struct record_options *o = &c->options;
	uint32_t tid = c->child ? (uint32_t)command_child_pid(c->child) : 0;

	if (o->pids.n)
		return record_config_set_pids(c->config, &o->pids, e);
	return c->child && !o->all ? record_config_set_tids(c->config, &tid, 1) : 0;
}

#define EVENTS_NAMED 20 /* of those that do not exist */

/* The first lines, and the number of the others. */
static void tell_first(struct command *c, struct strbuf *lines)
{
	struct strbuf text = {0};
	size_t n = 0, named = 0;

	for (const char *p = lines->s; p && *p; p = strchr(p, '\n') + 1)
		if (n++ == EVENTS_NAMED)
			named = (size_t)(p - lines->s);
	strbuf_add(&text, lines->s, named ? named : lines->len);
	if (named)
		strbuf_printf(&text, "and %zu more\n", n - EVENTS_NAMED);
	if (text.s)
		console_error_block(&c->console, text.s);
	strbuf_deinit(&text);
}

/* A recording in which there can be no event would run on for nothing. */
static int check_events(struct command *c)
{
	struct strbuf lines = {0};

	if (c->config->n_data_sources == 0) {
		console_error(&c->console, "%s: no data_sources: nothing would be recorded",
			      c->options.config);
		return EXIT_FAILED;
	}
	if (!c->events.n || !missing_all_events(c->config, &c->events, &lines))
		return EXIT_GOOD;
	tell_first(c, &lines);
	console_error(&c->console, "nothing would be recorded: this kernel has none of the events");
	strbuf_deinit(&lines);
	return c->options.config ? EXIT_FAILED : EXIT_USAGE;
}

static int config_from_words(struct command *c)
{
	struct err_text e;
	int error = check_numbers(c, &e);

	if (!error)
		error = check_dashes(c, &e);
	if (!error)
		error = record_config_from_words(&c->options, c->events.n ? &c->events : NULL, &e,
						 &c->idle, &c->config);
	if (!error)
		error = set_threads(c, &e);
	return error ? report(c, error, &e) : EXIT_GOOD;
}

static int config_from_file(struct command *c)
{
	struct strbuf errors = {0};
	int error = record_config_file_read(c->options.config, c->options.config_is_text, &errors,
					    &c->config);

	if (error && errors.s)
		console_error_block(&c->console, errors.s);
	else if (error)
		console_error(&c->console, "no memory");
	strbuf_deinit(&errors);
	return error ? EXIT_FAILED : EXIT_GOOD;
}

static int name_snapshots(struct command *c, struct err_text *e)
{
	int r = c->options.output ? 0 : output_name("trace", &c->output, e);

	if (c->config->trigger_config->n_triggers == 0)
		return err_set(e, -EINVAL,
			       "CLONE_SNAPSHOT without triggers: there would be no snapshot; name "
			       "some in trigger_config");
	c->snapshots = c->options.output ? c->options.output : c->output.text;
	return r ? r : snapshots_check_path(c->snapshots, e);
}

/* The service makes the file, as the config says. */
static bool service_has_path(const struct command *c)
{
	return c->config->write_into_file && c->config->output_path && *c->config->output_path;
}

/* The service writes a file of this machine itself, which copies least. What goes elsewhere, or comes
 * from another machine, is read from the service. */
static int stream_output(struct command *c, struct err_text *e)
{
	bool is_file = trace_file_is_regular(c->file);
	uint64_t room = is_file ? trace_file_room(c->file) : UINT64_MAX;
	uint64_t max = c->options.max_bytes;

	if (room == 0)
		return err_set(e, -ENOSPC, "cannot write %s: its file system is nearly full",
			       c->output.text);
	c->streams = true;
	c->max_bytes = max && max < room ? max : room < UINT64_MAX ? room : 0;
	if (is_file && c->is_local)
		record_config_stream(c->config, c->max_bytes);
	return 0;
}

static int open_output(struct command *c, struct err_text *e)
{
	int r;

	if (triggers_take_snapshots(c->config))
		return name_snapshots(c, e);
	if (service_has_path(c)) {
		if (c->options.output)
			console_say(&c->console,
				    "-o is not used: output_path of the config says where the "
				    "service writes the trace");
		return 0;
	}
	r = output_open(c->options.output, "trace", &c->output, &c->file, e);
	if (!r && record_options_stream(&c->options))
		r = stream_output(c, e);
	c->passes_file = c->config->write_into_file;
	return r;
}

static int delay_start(struct command *c)
{
	struct err_text e;
	uint32_t ms;

	if (start_delay_choose(c->config, &ms, &e) < 0) {
		console_error(&c->console, "%s", e.text);
		return EXIT_USAGE;
	}
	if (ms > 0)
		console_say(&c->console, "the config delays the start: %.1f s this time", ms / 1e3);
	start_delay_wait(ms);
	return EXIT_GOOD;
}

static const char *no_detach(const struct command *c)
{
	if (triggers_take_snapshots(c->config))
		return "with CLONE_SNAPSHOT: nobody is there to save the snapshots; run it without "
		       "--detach in the background, or without triggers and call sonda snapshot";
	if (c->config->write_into_file)
		return NULL;
	if (c->config->duration_ms)
		return "with a time: nobody is there to take the trace when it is over; let the "
		       "service write it (write_into_file in the config)";
	if (c->options.output)
		return "with -o: sonda stop writes the trace, and takes -o";
	return NULL;
}

/* Somebody else ends it, who must find it. */
static int prepare_detach(struct command *c, struct err_text *e)
{
	if (no_detach(c))
		return err_set(e, -EINVAL, "--detach %s", no_detach(c));
	if (!c->config->unique_session_name)
		c->config->unique_session_name = strdup(c->options.detach);
	return c->config->write_into_file ? open_output(c, e) : 0;
}

/* Where the trace goes. */
static int prepare_output(struct command *c)
{
	struct err_text e;
	int r = c->options.detach ? prepare_detach(c, &e) : open_output(c, &e);

	if (r == 0)
		return EXIT_GOOD;
	console_error(&c->console, "%s", e.text);
	return r == -ENOTTY || r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static int prepare(struct command *c)
{
	const char *address = c->options.socket ? c->options.socket : sock_default_consumer();
	enum sock_family family = sock_family_of(address);
	const char *root = tracefs_events_root(tracefs_roots);
	struct err_text e;
	int code;

	/* It inherits what is open. */
	if (c->options.command && command_child_fork(c->options.command, &e, &c->child)) {
		console_error(&c->console, "%s", e.text);
		return EXIT_FAILED;
	}
	c->is_local = family == SOCK_FAMILY_UNIX_PATH || family == SOCK_FAMILY_UNIX_ABSTRACT;
	if (c->is_local && root)
		tracefs_events_load(root, &c->events);
	code = c->options.config ? config_from_file(c) : config_from_words(c);
	if (!code)
		code = check_events(c);
	if (!code)
		code = delay_start(c);
	return code ? code : prepare_output(c);
}

/* ---- after ---- */

/* Our own reason, else the service's, else what the config lets expect. */
static const char *end_reason(struct command *c, const struct record_facts *f)
{
	const struct service_stats *s = record_stats(f);

	if (c->end.text[0])
		return c->end.text;
	if (c->result.end.text[0])
		return c->result.end.text;
	if (s && *s->end_reason)
		return s->end_reason;
	if (!c->config->duration_ms || c->config->trigger_config)
		return NULL;
	return record_seconds(f) * 1e3 >= c->config->duration_ms ? "its time is over" : NULL;
}

static int write_summary(struct command *c, bool file_is_cut)
{
	const struct recording_result *result = &c->result;
	struct strbuf command_end = {0};
	struct record_facts facts = {
		.config = c->config,
		.scan = c->snapshots ? &result->snapshots.newest : &result->scan,
		.stats = result->has_stats ? &result->stats : NULL,
		.before = result->has_before ? &result->before : NULL,
		.events = c->events.n ? &c->events : NULL,
		.sources = &result->sources.missing,
		.left_out = &result->sources.left_out,
		.skipped = &result->sources.skipped,
		.idle = &c->idle,
		.offered = &result->sources.offered,
		.gone = &result->sources.gone,
		.from_words = !c->options.config,
		.not_started = !result->all_started,
		.flush_failed = result->flush_failed,
		.file_is_cut = file_is_cut,
		.unread = c->unread,
		.output = c->output.text,
		.file_bytes = c->written ? c->written
			      : c->file	 ? trace_file_bytes(c->file)
					 : 0,
		.snapshots = c->snapshots ? &result->snapshots : NULL,
		.elapsed_ms = result->elapsed_ms,
		.cpus = c->is_local ? (unsigned)sysconf(_SC_NPROCESSORS_ONLN) : 0,
	};
	struct record_verdict verdict;
	struct strbuf text = {0};
	int command = c->options.exit_code ? command_child_exit_code(c->child) : 0;

	if (c->child)
		command_child_describe(c->child, &command_end);
	facts.command_end = command_end.s;
	facts.end = end_reason(c, &facts);
	if (c->options.json)
		record_summary_json(&facts, &text, &verdict);
	else
		record_summary_write(&facts, &text, &verdict);
	if (text.s && c->options.json)
		fs_write_all(STDOUT_FILENO, text.s, text.len);
	else if (text.s)
		console_block(&c->console, text.s);
	strbuf_deinit(&text);
	strbuf_deinit(&command_end);
	if (command > 0)
		return command;
	return c->options.strict && (verdict.lost || verdict.missing) ? EXIT_LOSSY : EXIT_GOOD;
}

/* What the other sources of the shorthand record is there to name what ftrace records. */
static bool needs_ftrace(const struct command *c)
{
	return !c->options.config || asks_for_ftrace_only(c->config);
}

static int explain_nothing(struct command *c)
{
	console_error(&c->console, "the trace is empty: %s",
		      c->config->trigger_config ? "no trigger came"
						: "the service gave no packets");
	return EXIT_FAILED;
}

/* Why there are no events although they are what it is about; NULL when there are some. A producer
 * that has rings has no more than a remark. */
static const char *no_ftrace(const struct command *c)
{
	const struct ftrace_scan *s = &c->result.scan.ftrace;

	if (!needs_ftrace(c) || s->counts.total || ftrace_scan_has_rings(s))
		return NULL;
	if (s->problems.n)
		return s->problems.names[0];
	if (name_list_has(&c->result.sources.missing, "linux.ftrace"))
		return "nobody provides the data source linux.ftrace: is sonda-probes running?";
	return NULL;
}

static int fail_without_events(struct command *c, const char *why)
{
	struct strbuf end = {0};

	console_error(&c->console, "%s%s",
		      str_starts(why, "nothing is recorded") ? "" : "nothing was recorded: ", why);
	if (c->child) {
		command_child_describe(c->child, &end);
		console_say(&c->console, "%s all the same", end.s ? end.s : "the command ran");
	}
	strbuf_deinit(&end);
	return EXIT_FAILED;
}

/* The file that the service made, if this process may look at it. */
static int open_written(const struct command *c)
{
	return c->is_local && !c->config->rotate
		       ? open(c->config->output_path, O_RDONLY | O_CLOEXEC)
		       : -1;
}

/* What the service wrote: one file, or those of a rotation that are left. */
static int scan_written(struct command *c, int fd)
{
	size_t files;

	if (c->is_local && c->config->rotate)
		return written_trace_scan_files(c->config, &c->result.scan, &c->written, &files);
	return fd < 0 ? -EBADF : written_trace_scan(fd, &c->result.scan, &c->written);
}

static int remove_file(struct command *c, int code)
{
	if (c->streams)
		trace_file_remove(c->file);
	return code;
}

/* The service was killed while it wrote: the last packet is not whole. */
static int cut_written(struct command *c)
{
	return c->passes_file ? trace_file_cut(c->file, c->written) : -EBADMSG;
}

/* The service has written the trace; what is in it is for the summary. error: of the recording, whose
 * sentence has been told. */
static int end_written(struct command *c, int error)
{
	_cleanup_(closep) int own = c->passes_file ? -1 : open_written(c);
	int fd = c->passes_file ? trace_file_fd(c->file) : own;
	struct err_text why;
	int r;

	if (!c->passes_file)
		written_trace_name(c->config, c->output.text, sizeof(c->output.text));
	r = scan_written(c, fd);
	if (r == -EBADMSG && error)
		r = cut_written(c);
	if (r == 0 && c->streams && c->result.scan.packets == 0)
		return remove_file(c, error ? EXIT_FAILED : explain_nothing(c));
	if (r == 0 && c->streams && !error && no_ftrace(c))
		return remove_file(c, fail_without_events(c, no_ftrace(c)));
	if (c->passes_file && trace_file_save(c->file, &why)) {
		console_error(&c->console, "%s", why.text);
		return EXIT_FAILED;
	}
	if (r == 0 && c->result.scan.packets == 0)
		return error ? EXIT_FAILED : explain_nothing(c);
	if (r == 0)
		return write_summary(c, false);
	if (r == -EBADMSG) {
		console_error(&c->console, "%s ends within a packet: there may have been no room",
			      c->output.text);
		write_summary(c, true);
		return EXIT_FAILED;
	}
	c->unread = true;
	return write_summary(c, false);
}

/* error: of the recording, whose sentence has been told. */
static int end_snapshots(struct command *c, int error)
{
	const struct snapshot_log *log = &c->result.snapshots;
	int code;

	if (!log->saved && !log->failed) {
		if (!error)
			console_error(&c->console, "there is no snapshot: no trigger came, or its "
						   "stop_delay_ms was not over");
		return EXIT_FAILED;
	}
	code = write_summary(c, false);
	if (!log->saved)
		console_error(&c->console, "no snapshot could be saved");
	return error || !log->saved ? EXIT_FAILED : code;
}

static int tell_detached(struct command *c)
{
	if (!c->result.all_started)
		console_say(&c->console, "not all data sources have started yet");
	if (service_has_path(c))
		written_trace_name(c->config, c->output.text, sizeof(c->output.text));
	if (c->config->write_into_file)
		console_say(&c->console, "the service writes the trace into %s", c->output.text);
	console_say(&c->console, "recording goes on: sonda snapshot %s, sonda stop %s",
		    c->config->unique_session_name, c->options.detach);
	return EXIT_GOOD;
}

/* error: of the recording, whose sentence has been told. */
static int save(struct command *c, int error)
{
	bool is_cut = c->result.write_error != 0;
	struct err_text why;

	if (!is_cut && !c->result.scan.packets)
		return remove_file(c, error ? EXIT_FAILED : explain_nothing(c));
	if (!is_cut && !error && no_ftrace(c))
		return remove_file(c, fail_without_events(c, no_ftrace(c)));
	if (trace_file_save(c->file, &why)) {
		console_error(&c->console, "%s", why.text);
		write_summary(c, true);
		return EXIT_FAILED;
	}
	return write_summary(c, false);
}

/* Its sentence has been told. */
static int fail(struct command *c)
{
	if (c->passes_file && trace_file_is_named(c->file))
		console_say(&c->console, "what was written until then is in %s", c->output.text);
	return EXIT_FAILED;
}

/* Is there something worth looking at, although it has failed? */
static bool is_kept(const struct command *c, int error)
{
	if (c->result.write_error || error == -ECONNABORTED)
		return true;
	return c->file && trace_file_is_named(c->file) && error != -EINTR;
}

/* Was the next packet one too many for the file? */
static bool is_at_limit(const struct command *c)
{
	uint64_t bytes;

	if (!c->streams || !c->max_bytes || !c->result.ended_by_itself)
		return false;
	bytes = c->passes_file ? c->written : trace_file_bytes(c->file);
	return bytes + LARGE_PACKET >= c->max_bytes;
}

/* The recording is good as far as it goes, but it went no further than its file may. */
static int tell_limit(struct command *c, int code)
{
	if (!is_at_limit(c))
		return code;
	if (c->max_bytes == c->options.max_bytes) {
		console_say(&c->console, "stopped: the file has reached --max-size");
		return code;
	}
	console_error(&c->console,
		      "stopped before the file system of %s was full; all until then is there",
		      c->output.text);
	return EXIT_FAILED;
}

static int run(struct command *c)
{
	const struct recording_setup setup = {
		.config = c->config,
		.pids = &c->options.pids,
		.command = c->child,
		.socket = c->options.socket,
		.detach = c->options.detach,
		.events = c->events.n ? &c->events : NULL,
		.same_signal_ms = END_SIGNALS_SAME_MS,
		.needs_ftrace = needs_ftrace(c),
		.file = c->file,
		.passes_file = c->passes_file,
		.streams = c->streams,
		.max_bytes = c->passes_file ? 0 : c->max_bytes,
		.snapshots = c->snapshots,
		.console = &c->console,
	};
	struct err_text why;
	int error, code;

	error = recording_run(&setup, &c->result, &why);
	if (error == -ECONNABORTED)
		c->end = why;
	if (error && !c->result.write_error)
		console_error(&c->console, "%s", why.text);
	if (c->snapshots)
		return end_snapshots(c, error);
	if (error == -EINTR && c->streams)
		return remove_file(c, EXIT_FAILED);
	if (error && !is_kept(c, error))
		return fail(c);
	if (!error && c->options.detach)
		return tell_detached(c);
	code = c->config->write_into_file ? end_written(c, error) : save(c, error);
	return error ? EXIT_FAILED : tell_limit(c, code);
}

static void clean_up(struct command *c)
{
	trace_file_free(c->file);
	command_child_free(c->child);
	event_requests_deinit(&c->idle);
	record_options_deinit(&c->options);
	recording_result_deinit(&c->result);
	tracefs_events_deinit(&c->events);
	if (c->config)
		pb__trace_config__free_unpacked(c->config, NULL);
}

int cmd_record(int argc, char **argv)
{
	struct command c = {0};
	struct err_text e;
	int code;

	code = record_options_parse(argc, argv, &c.options, &e);
	if (code) {
		console_init(&c.console, false);
		console_error(&c.console, "record: %s", code == -ENOMEM ? "no memory" : e.text);
		console_error(&c.console, "sonda help record lists what can be said");
		return EXIT_USAGE;
	}
	if (c.options.help) {
		fputs(record_usage, stdout);
		return EXIT_GOOD;
	}
	console_init(&c.console, c.options.quiet);
	code = prepare(&c);
	if (!code)
		code = run(&c);
	clean_up(&c);
	return code;
}
