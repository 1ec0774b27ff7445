/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/doctor/doctor.h"
#include "cli/record/command_child.h"
#include "cli/record/recording.h"
#include "cli/record/snapshots.h"
#include "cli/report/config_sources.h"
#include "cli/report/record_facts.h"
#include "cli/report/refusals.h"
#include "cli/report/summary.h"
#include "cli/terminal/console.h"
#include "cli/terminal/verb.h"
#include "cli/trace/service_help.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"

#define LARGE_PACKET (1ull << 20) /* few packets are larger */

/* ---- why this machine did not record it ---- */

/*
 *	what the recording lacks            check of sonda doctor
 *	an option of ftrace, an event   ->  options, symbols
 *	all events of ftrace            ->  rights
 *	eBPF counters                   ->  bpf, btf
 *	samples of call stacks          ->  stacks
 *	a file of /proc                 ->  options, files
 *	a data source of the config     ->  journal, files, container
 *	what was refused                ->  selinux, apparmor
 *	memory for rings and buffers    ->  memory
 *
 * The sentence is printed if the check finds something wrong now.
 */

struct evidence {
	const struct record_facts *facts;
	const char *lines; /* record_put_missing() */
};

static bool evidence_has(const struct evidence *e, const char *part)
{
	return strstr(e->lines, part);
}

static bool is_anything_missing(const struct evidence *e)
{
	return *e->lines;
}

static bool is_tracefs_missing(const struct evidence *e)
{
	return evidence_has(e, "no tracefs");
}

static bool are_symbols_missing(const struct evidence *e)
{
	return evidence_has(e, "symbolize_ksyms");
}

static bool are_samples_missing(const struct evidence *e)
{
	return evidence_has(e, "linux.perf: perf_event_open");
}

static bool is_bpf_refused(const struct evidence *e)
{
	return e->facts->scan->sources.uncounted.n &&
	       (evidence_has(e, "CAP_BPF") || evidence_has(e, "bpf(2)"));
}

static bool is_btf_missing(const struct evidence *e)
{
	return e->facts->scan->sources.uncounted.n && evidence_has(e, "no BTF");
}

static bool is_permission_missing(const struct evidence *e)
{
	return evidence_has(e, "Permission denied") || evidence_has(e, "not permitted");
}

/* Returns true if something other than perf_event_open(2), which opens no file, was refused. */
static bool lacks_files(const struct evidence *e)
{
	const char *end;

	for (const char *line = e->lines; *line; line = end + (*end == '\n')) {
		const char *refused = strstr(line, "Permission denied"),
			   *perf = strstr(line, "perf_event_open");

		end = strchrnul(line, '\n');
		if (refused && refused < end && !(perf && perf < end))
			return true;
	}
	return evidence_has(e, "not permitted");
}

static bool is_memory_error_text(const char *text)
{
	return strstr(text, "Cannot allocate memory") || strstr(text, "out of memory") ||
	       strstr(text, "bytes of buffers");
}

static bool is_memory_missing(const struct evidence *e)
{
	return is_memory_error_text(e->lines) || evidence_has(e, "buffer_size_kb");
}

static bool requests_journal(const struct evidence *e)
{
	return config_requests_source(e->facts->config, "linux.systemd_journald");
}

static bool requests_kernel_events(const struct evidence *e)
{
	return config_requests_ftrace(e->facts->config);
}

static const struct {
	const char *check;
	bool (*concerns)(const struct evidence *e);
} obstacles[] = {
	{"rights", is_tracefs_missing},
	{"options", is_anything_missing},
	{"bpf", is_bpf_refused},
	{"btf", is_btf_missing},
	{"symbols", are_symbols_missing},
	{"files", lacks_files},
	{"journal", requests_journal},
	{"container", requests_kernel_events},
	{"stacks", are_samples_missing},
	{"selinux", is_permission_missing},
	{"apparmor", is_permission_missing},
	{"memory", is_memory_missing},
};

/* Finds the next reason why data is missing from the recording, in the words of sonda doctor. It
 * is about the service that recorded: our own, or the one on the socket. *i: where in obstacles[]
 * the search begins; set to the index after the reason. Returns false if there are no more
 * reasons. */
static bool find_obstacle(const struct record_command *c, const struct record_facts *f, size_t *i,
			  struct err_text *why)
{
	struct strbuf lines = {0};
	struct evidence e = {.facts = f};
	bool found = false;

	record_put_missing(f, &lines);
	e.lines = lines.s ? lines.s : "";
	while (c->is_local && !found && *i < ARRAY_SIZE(obstacles)) {
		found = obstacles[*i].concerns(&e) &&
			doctor_explain(obstacles[*i].check, c->result.started_daemons,
				       c->options.socket, e.lines, why);
		++*i;
	}
	strbuf_deinit(&lines);
	return found;
}

static void print_obstacles(struct record_command *c, const struct record_facts *f, size_t first)
{
	struct err_text why;

	while (find_obstacle(c, f, &first, &why))
		console_error(&c->console, "%s", why.text);
}

/* ---- the summary ---- */

bool record_command_has_path(const struct record_command *c)
{
	return c->config->write_into_file && c->config->output_path && *c->config->output_path;
}

/* Returns true if the file has reached its size limit. */
static bool is_at_limit(const struct record_command *c)
{
	const struct recording_result *r = &c->result;
	const char *reason = r->has_stats ? r->stats.end_reason : r->scan.stats.end_reason;

	if (!c->streams || !c->max_bytes || !r->ended_by_itself)
		return false;
	if (!c->passes_file)
		return trace_file_bytes(c->file) >= c->max_bytes;
	if (*reason)
		return str_starts(reason, "max_file_size_bytes"); /* sondad's words */
	return c->written + LARGE_PACKET >= c->max_bytes;
}

/* Returns true if the file has reached its size limit, and this limit was the free space of the
 * file system. */
static bool is_without_room(const struct record_command *c)
{
	return is_at_limit(c) && c->max_bytes != c->options.max_bytes;
}

#define DURATION_REACHED "duration reached" /* sondad has the same words */

/* Returns the reason that this process knows, else the service's, else the expected end of the
 * config; NULL: unknown. */
static const char *end_reason(struct record_command *c, const struct record_facts *f)
{
	const struct service_stats *s = record_find_stats(f);

	if (c->end.text[0])
		return c->end.text;
	if (c->result.end.text[0])
		return c->result.end.text;
	if (is_without_room(c))
		return "the file system was nearly full";
	if (s && *s->end_reason)
		return s->end_reason;
	if (!c->config->duration_ms || c->config->trigger_config)
		return NULL;
	return record_tracing_seconds(f) >= record_requested_seconds(c->config) ? DURATION_REACHED
										: NULL;
}

/* Returns the reason, with the value of -t if that caused the end; then it is in text. reason NULL
 * (unknown): returns NULL. */
static const char *explain_end(const struct record_command *c, const char *reason,
			       struct strbuf *text)
{
	uint32_t ms = c->options.duration_ms;

	if (!reason || !ms || strcmp(reason, DURATION_REACHED) != 0)
		return reason;
	if (ms % 1000)
		strbuf_printf(text, "%s (-t %ums)", reason, ms);
	else
		strbuf_printf(text, "%s (-t %us)", reason, ms / 1000);
	return text->s ? text->s : reason;
}

static struct record_facts collect_facts(const struct record_command *c, bool file_is_cut)
{
	const struct recording_result *result = &c->result;

	return (struct record_facts){
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
		.first_file = c->first_file,
		.file_bytes = c->written ? c->written
			      : c->file	 ? trace_file_bytes(c->file)
					 : 0,
		.snapshots = c->snapshots ? &result->snapshots : NULL,
		.set_up_ms = result->set_up_ms,
		.elapsed_ms = result->elapsed_ms,
		.private_cpu_ns = result->daemons_cpu_ns,
		.has_priority = geteuid() == 0 && !c->config->priority_boost,
		.cpus = c->is_local ? (unsigned)sysconf(_SC_NPROCESSORS_ONLN) : 0,
	};
}

/* Prints the summary of a recording that has a trace. Returns the exit code of sonda record. */
static int print_summary(struct record_command *c, bool file_is_cut)
{
	struct record_facts facts = collect_facts(c, file_is_cut);
	struct strbuf command_end = {0}, end = {0};
	struct record_verdict verdict;
	struct err_text refused;
	struct strbuf text = {0};
	int command = c->options.exit_code ? command_child_exit_code(c->child) : 0;
	int printed = EXIT_GOOD;

	if (c->child)
		command_child_describe(c->child, &command_end);
	facts.command_end = command_end.s;
	facts.end = end_reason(c, &facts);
	if (!c->options.json)
		facts.end = explain_end(c, facts.end, &end);
	if (!c->options.json && facts.end && !strcmp(facts.end, RECORDING_COMMAND_ENDED))
		facts.end = TAKE_PTR(facts.command_end);
	if (c->options.json)
		record_summary_write_json(&facts, &text, &verdict);
	else if (c->host && c->host->is_one_of_several)
		record_summary_write(&facts, &text, &verdict);
	else
		record_summary_with_next_step(&facts, &text, &verdict);
	if (c->options.json)
		printed = verb_print(&text);
	else if (text.s)
		console_print_block(&c->console, text.s);
	if (!c->options.json)
		print_obstacles(c, &facts, 0);
	strbuf_deinit(&text);
	strbuf_deinit(&end);
	strbuf_deinit(&command_end);
	if (verdict.refused && record_command_needs_ftrace(c)) {
		console_error(&c->console,
			      "nothing was recorded: all requested events were refused");
		return EXIT_FAILED;
	}
	if (refusals_find_sources(&facts, false, &refused)) {
		console_error(&c->console, "not everything was recorded: %s", refused.text);
		return EXIT_FAILED;
	}
	if (c->result.is_cut_short)
		return EXIT_FAILED;
	if (command > 0 || printed != EXIT_GOOD)
		return command > 0 ? command : printed;
	return c->options.strict && (verdict.lost || verdict.missing) ? EXIT_LOSSY : EXIT_GOOD;
}

bool record_command_needs_ftrace(const struct record_command *c)
{
	if (c->options.config)
		return config_requests_only_ftrace(c->config);
	for (size_t i = 0; i < c->config->n_data_sources; i++)
		if (!config_source_ftrace(c->config->data_sources[i]) &&
		    !config_source_only_names_processes(c->config->data_sources[i]->config))
			return false;
	return true;
}

bool record_command_needs_capabilities(const struct record_command *c)
{
	if (c->options.config || !config_requests_ftrace(c->config))
		return false;
	for (size_t i = 0; i < c->config->n_data_sources; i++) {
		const Pb__TraceConfig__DataSource *source = c->config->data_sources[i];
		const char *name = source->config ? source->config->name : NULL;

		if (!config_source_ftrace(source) &&
		    !config_source_only_names_processes(source->config) &&
		    !(name &&
		      (!strcmp(name, "linux.waits") || !strcmp(name, "linux.ebpf_counters"))))
			return false;
	}
	return true;
}

static int report_empty_trace(struct record_command *c)
{
	console_error(&c->console, "the trace is empty: %s",
		      c->config->trigger_config ? "no trigger was activated"
						: "the service returned no packets");
	return EXIT_FAILED;
}

/* Returns true if there are no ftrace events although they were requested, and sets why. Returns
 * false if the trace has counters of the rings: then the summary has a remark only. */
static bool are_ftrace_events_missing(const struct record_command *c, struct err_text *why)
{
	const struct ftrace_scan *s = &c->result.scan.ftrace;

	if (!record_command_needs_ftrace(c) || s->counts.total || ftrace_scan_has_rings(s))
		return false;
	if (s->problems.n) {
		err_set(why, 0, "%s", s->problems.names[0]);
		return true;
	}
	if (!name_list_has(&c->result.sources.missing, "linux.ftrace"))
		return false;
	/* If this process started the service, the machine is the cause. */
	if (!c->result.started_daemons || !doctor_check_before_start(true, why))
		service_explain_no_ftrace(why);
	return true;
}

static int fail_without_events(struct record_command *c, const char *why)
{
	struct strbuf end = {0};

	console_error(&c->console, "%s%s",
		      str_starts(why, "nothing is recorded") ? "" : "nothing was recorded: ", why);
	if (c->child) {
		command_child_describe(c->child, &end);
		console_print(&c->console, "%s anyway", end.s ? end.s : "the command ran");
	}
	strbuf_deinit(&end);
	return EXIT_FAILED;
}

static int record_end_remove_file(struct record_command *c, int code)
{
	if (c->streams)
		trace_file_remove(c->file);
	if (c->host)
		*c->host->discarded = true;
	return code;
}

static bool is_one_line_with(const char *lines, const char *part)
{
	return strchr(lines, '\n') == lines + strlen(lines) - 1 && strstr(lines, part);
}

/* Ends a recording, and removes its file, if everything in it was refused, or an option of the
 * command line. Returns the exit code; 0 if neither is the case. */
static int end_refused_recording(struct record_command *c)
{
	const struct record_facts facts = collect_facts(c, false);
	enum refused_options options = c->options.config
					       ? OPTIONS_ACCEPTED
					       : refused_options(c->config, &c->result.scan.ftrace);
	struct err_text why;
	bool none = refusals_find_sources(&facts, true, &why);
	struct strbuf lines = {0};
	size_t next = 0; /* obstacle to print */

	if (c->result.refused)
		options = c->result.refused;
	if (!options && !none)
		return 0;
	if (!c->result.refused && !options && find_obstacle(c, &facts, &next, &why)) {
		fail_without_events(c, why.text);
	} else if (!c->result.refused) { /* otherwise these were printed already */
		record_put_missing(&facts, &lines);
		/* If there is only one reason, the error has it. */
		if (lines.s && (options || !is_one_line_with(lines.s, why.text)))
			console_print_lines(&c->console, lines.s);
		strbuf_deinit(&lines);
		fail_without_events(c, options ? refused_options_text(options) : why.text);
	}
	print_obstacles(c, &facts, next);
	return record_end_remove_file(c, options == OPTIONS_WRONG ? EXIT_USAGE : EXIT_FAILED);
}

/* Ends a recording whose trace the service has written; scans it for the summary. error: of the
 * recording; its message was already printed. Returns the exit code. */
static int end_written_recording(struct record_command *c, int error)
{
	_cleanup_(closep) int own = -1;
	struct err_text why;
	int fd = -1, r, code;

	/* The file is ours, one of the service that this process may read, or the remaining files
	 * of a rotation. */
	if (c->passes_file)
		fd = trace_file_fd(c->file);
	else if (c->is_local && !c->config->rotate)
		own = open(c->config->output_path, O_RDONLY | O_CLOEXEC);
	if (own >= 0)
		fd = own;
	if (c->is_local && c->config->rotate)
		r = trace_readback_scan_files(c->config, &c->result.scan, &c->written,
					      c->first_file);
	else
		r = fd < 0 ? -EBADF : trace_readback_scan(fd, &c->result.scan, &c->written);
	if (!c->passes_file)
		trace_readback_get_output_name(c->config, c->first_file, c->output.text,
					       sizeof(c->output.text));
	/* The service was killed while it wrote: keep what ends with a whole packet. */
	if (r == -EBADMSG && error && c->passes_file)
		r = trace_file_truncate(c->file, c->written);
	if (r == 0 && c->streams && c->result.scan.packets == 0)
		return record_end_remove_file(c, error ? EXIT_FAILED : report_empty_trace(c));
	if (r == 0 && c->streams && !error && are_ftrace_events_missing(c, &why))
		return record_end_remove_file(c, fail_without_events(c, why.text));
	code = r == 0 && c->streams && (!error || c->result.refused) ? end_refused_recording(c) : 0;
	if (code)
		return code;
	if (c->passes_file && trace_file_save(c->file, &why)) {
		console_error(&c->console, "%s", why.text);
		return EXIT_FAILED;
	}
	if (r == 0 && c->result.scan.packets == 0)
		return error ? EXIT_FAILED : report_empty_trace(c);
	if (r == 0)
		return print_summary(c, false);
	if (r == -EBADMSG) {
		console_error(&c->console,
			      "%s ends in the middle of a packet: the file system may be full",
			      c->output.text);
		print_summary(c, true);
		return EXIT_FAILED;
	}
	c->unread = true;
	return print_summary(c, false);
}

/* Ends a recording of snapshots. error: of the recording; its message was already printed. Returns
 * the exit code. */
static int end_snapshot_recording(struct record_command *c, int error)
{
	const struct snapshot_log *log = &c->result.snapshots;
	int code;

	if (!log->saved && !log->failed) {
		if (!error)
			console_error(&c->console,
				      "no snapshot was saved: no trigger was activated, or its "
				      "stop_delay_ms had not elapsed");
		return EXIT_FAILED;
	}
	code = print_summary(c, false);
	if (!log->saved)
		console_error(&c->console, "no snapshot could be saved");
	return error || !log->saved ? EXIT_FAILED : code;
}

static int print_detached(struct record_command *c)
{
	if (!c->result.all_started)
		console_print(&c->console, "not all data sources have started yet");
	if (record_command_has_path(c))
		trace_readback_get_output_name(c->config, "", c->output.text,
					       sizeof(c->output.text));
	if (c->config->write_into_file)
		console_print(&c->console, "the service writes the trace to %s", c->output.text);
	console_print(&c->console,
		      "the recording continues; use sonda snapshot %s and sonda stop %s",
		      c->config->unique_session_name, c->options.detach);
	return EXIT_GOOD;
}

/* Saves the trace. error: of the recording; its message was already printed. Returns the exit
 * code. */
static int record_end_save(struct record_command *c, int error)
{
	bool is_cut = c->result.write_error != 0;
	struct err_text why;
	int code;

	if (!is_cut && !c->result.scan.packets)
		return record_end_remove_file(c, error ? EXIT_FAILED : report_empty_trace(c));
	if (!is_cut && !error && are_ftrace_events_missing(c, &why))
		return record_end_remove_file(c, fail_without_events(c, why.text));
	code = !is_cut && (!error || c->result.refused) ? end_refused_recording(c) : 0;
	if (code)
		return code;
	trace_readback_rescan(c->file, &c->result.scan);
	if (trace_file_save(c->file, &why)) {
		console_error(&c->console, "%s", why.text);
		print_summary(c, true);
		return EXIT_FAILED;
	}
	return print_summary(c, false);
}

/* Reports that the file reached its size limit. The recording is valid up to there. Returns code,
 * or EXIT_FAILED if the limit was the free space of the file system. */
static int report_limit(struct record_command *c, int code)
{
	if (!is_at_limit(c))
		return code;
	if (!is_without_room(c)) {
		console_print(&c->console, "stopped: the file has reached --max-size");
		return code;
	}
	console_error(&c->console,
		      "stopped because the file system of %s is nearly full; the data recorded "
		      "until then is saved",
		      c->output.text);
	return EXIT_FAILED;
}

/* Reports, also with -q, that the recording ended (for example by -t) before all data sources had
 * started, so the command was not run. Returns true in this case. */
static bool report_late_command(struct record_command *c, int error)
{
	if (error || !c->child || command_child_was_executed(c->child))
		return false;
	console_error(
		&c->console,
		"'%.80s' was not run: the recording ended before all data sources had started",
		c->options.command[0]);
	return true;
}

int record_end(struct record_command *c, int error, const struct err_text *why)
{
	bool is_late = report_late_command(c, error), not_run, is_kept;
	struct err_text sentence;
	int code;

	if (error && error != -EINTR && !c->result.write_error)
		c->end = *why;
	if (error && !c->result.write_error)
		console_error(&c->console, "%s", why->text);
	/* If memory ran out, doctor reports whether the machine is the reason. */
	if (error && c->is_local && is_memory_error_text(why->text) &&
	    doctor_explain("memory", c->result.started_daemons, c->options.socket, NULL, &sentence))
		console_error(&c->console, "%s", sentence.text);
	if (c->snapshots) {
		code = end_snapshot_recording(c, error);
		return is_late ? EXIT_FAILED : code;
	}
	/* Without the command that could not be executed the trace is useless. */
	not_run = error && error != -ECONNABORTED && c->child &&
		  !command_child_was_executed(c->child);
	if ((error == -EINTR || (not_run && !c->result.refused)) && c->streams)
		return record_end_remove_file(c, EXIT_FAILED);
	/* After any other failure the data is kept if it is in the file, except after an abort. */
	is_kept = c->result.write_error || error == -ECONNABORTED ||
		  (c->file && (c->host || trace_file_is_named(c->file)) && error != -EINTR);
	if (error && !c->result.refused && !is_kept) {
		if (c->passes_file && trace_file_is_named(c->file))
			console_print(&c->console, "the data recorded until then is in %s",
				      c->output.text);
		return EXIT_FAILED;
	}
	if (!error && c->options.detach)
		return print_detached(c);
	code = c->config->write_into_file ? end_written_recording(c, error)
					  : record_end_save(c, error);
	if (c->result.refused)
		return code;
	return error || is_late ? EXIT_FAILED : report_limit(c, code);
}
