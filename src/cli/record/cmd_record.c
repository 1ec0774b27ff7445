/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda record: connects its parts:
 *
 *	record_options --> record_config --> recording --> trace_file --> FILE
 *	      |                                ^ |
 *	      +--> command_child --------------+ +--> report/summary --> stderr, exit code
 */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "analyze/name_list.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/doctor/doctor.h"
#include "cli/host/host_agent.h"
#include "cli/host/record_hosts.h"
#include "cli/record/command_child.h"
#include "cli/record/record_config.h"
#include "cli/record/record_end.h"
#include "cli/record/record_options.h"
#include "cli/record/record_subject.h"
#include "cli/record/record_threads.h"
#include "cli/record/recording.h"
#include "cli/record/snapshots.h"
#include "cli/report/missing_events.h"
#include "cli/terminal/console.h"
#include "cli/terminal/help.h"
#include "cli/terminal/programs.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_input.h"
#include "cli/trace/trace_readback.h"
#include "config/limits.h"
#include "config/text.h"
#include "config/text_field.h"
#include "config/trace_config.h"
#include "config/trace_config.pb-c.h"

#define CONFIG_FILE_MAX (1u << 20) /* bytes of -c; a frame takes 128 KiB serialized */
#define OWN_FIELDS 20000 /* the first number of fields that Perfetto does not have */

static int record_print_error(struct record_command *c, int error, const struct err_text *e)
{
	console_error(&c->console, "%s", error == -ENOMEM ? "out of memory" : e->text);
	return error == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* Checks that the service runs on this machine if the recording is limited to some processes, and
 * that this machine has the CPUs of -C. Returns 0, -EREMOTE or -ENXIO, and sets e. */
static int check_pids_and_cpus(struct record_command *c, struct err_text *e)
{
	const struct record_options *o = &c->options;
	bool by_thread = o->pids.n ||
			 (c->child && !o->all && !o->config && !record_options_name_a_subject(o));

	if (by_thread && !c->is_local)
		return err_set(e, -EREMOTE, "%s requires a tracing service on the same machine",
			       o->pids.n ? "-p" : "COMMAND");
	return o->has_cpus && c->is_local ? cpu_list_check(&o->cpus, "/sys", e) : 0;
}

/* Refuses the name of a program among the events: "sonda record sched sleep 5" lacks the "--". */
static int check_for_program_names(struct record_command *c, struct err_text *e)
{
	const struct arg_list *words = &c->options.words;
	char path[PATH_MAX];

	for (size_t i = 0; i < words->n && c->events.n && !c->child; i++) {
		const char *word = words->args[i];

		if (!strpbrk(word, "*?[!,:") &&
		    !event_pattern_is_known(word, &c->events, c->presets) &&
		    !program_find(word, path, sizeof(path)))
			return err_set(e, -EINVAL,
				       "'%.80s' is a program, not an event; put a command after --",
				       word);
	}
	return 0;
}

/* Restricts the config to the threads of the requested processes. */
static int record_set_threads(struct record_command *c, struct err_text *e)
{
	const struct record_options *o = &c->options;
	uint32_t tid = c->child ? (uint32_t)command_child_pid(c->child) : 0;

	if (o->pids.n)
		return record_threads_restrict_to_pids(c->config, &o->pids, e);
	if (record_options_name_a_subject(o)) {
		int r = c->is_local ? record_subject_check(o, e) : 0;

		return r ? r : record_subject_set(c->config, o, tid);
	}
	/* A config selects its processes itself. */
	return c->child && !o->all && !o->config ? record_threads_restrict(c->config, &tid, 1) : 0;
}

#define EVENTS_LISTED 20 /* number of missing events that are listed */

/* Prints the first EVENTS_LISTED lines, and the number of the others. */
static void print_first_lines(struct record_command *c, struct strbuf *lines)
{
	size_t n = 0;

	for (const char *p = lines->s, *end; p && *p; p = end + 1, n++) {
		end = strchr(p, '\n');
		if (n < EVENTS_LISTED)
			console_error(&c->console, "%.*s", (int)(end - p), p);
	}
	if (n > EVENTS_LISTED)
		console_error(&c->console, "and %zu more", n - EVENTS_LISTED);
}

/* Refuses a recording that cannot record any event. Returns an exit code. */
static int check_events(struct record_command *c)
{
	struct strbuf lines = {0};

	if (c->config->n_data_sources == 0) {
		console_error(&c->console, "%s has no data_sources: nothing to record",
			      c->options.config);
		return EXIT_USAGE;
	}
	if (!c->events.n || !missing_events_write_if_all_missing(c->config, &c->events, &lines))
		return EXIT_GOOD;
	print_first_lines(c, &lines);
	console_error(&c->console, "nothing to record: none of the named events exists");
	strbuf_deinit(&lines);
	return c->options.config ? EXIT_FAILED : EXIT_USAGE;
}

/* Adds the command line to the config of -c, or makes a config from it. Returns an exit code. */
static int build_config_from_words(struct record_command *c)
{
	struct err_text e;
	int error = check_pids_and_cpus(c, &e);

	if (!error)
		error = record_presets_check(&c->options, c->presets, &e);
	if (!error)
		error = check_for_program_names(c, &e);
	if (!error)
		error = record_config_build(&c->options, c->events.n ? &c->events : NULL,
					    c->presets, &e, &c->idle, &c->config);
	if (!error)
		error = record_set_threads(c, &e);
	return error ? record_print_error(c, error, &e) : EXIT_GOOD;
}

/* ---- the config of -c ---- */

/* Returns the first field that requests an action of the consumer that sonda record does not
 * support, or NULL. */
static const char *find_refused_field(const Pb__TraceConfig *c)
{
	if (c->n_activate_triggers)
		return "activate_triggers";
	if (c->incident_report_config)
		return "incident_report_config";
	if (c->android_report_config)
		return "android_report_config";
	return NULL;
}

/* Appends a hint: the sample config of the same name, else the directory of the samples. */
static void suggest_sample(const char *path, struct strbuf *errors)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX], sample[PATH_MAX];

	if (program_find_shared("configs", directory))
		strbuf_puts(errors, "; see configs/ for examples");
	else if (!fs_join(sample, sizeof(sample), directory, slash ? slash + 1 : path) &&
		 fs_exists(sample))
		strbuf_printf(errors, "; did you mean %s?", sample);
	else
		strbuf_printf(errors, "; see %s for examples", directory);
}

static int refuse_trace(const char *path, struct strbuf *errors)
{
	strbuf_clear(errors);
	strbuf_printf(errors, "%s is a trace, not a trace config; to read it: sonda report ", path);
	strbuf_put_word(errors, path);
	strbuf_putc(errors, '\n');
	return -EINVAL;
}

/* Reads the config of -c from fd, or, if that is -1, from the file at path. Returns 0, -EINVAL if
 * it is not a trace config or uses a field that sonda record does not support, or -errno of
 * reading. Messages for the user are appended to errors, one per line. */
static int config_file_read(int fd, const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret)
{
	struct strbuf text = {0};
	Pb__TraceConfig *config;
	const char *field;
	int r;

	if (fd >= 0)
		r = fs_read_fd(fd, CONFIG_FILE_MAX, &text);
	else
		r = fs_read_file(path, CONFIG_FILE_MAX, &text);
	if (r == -EFBIG && trace_input_is_trace(path)) {
		strbuf_deinit(&text);
		return refuse_trace(path, errors);
	}
	if (r) {
		strbuf_printf(errors, "cannot read the config %s: %s", path,
			      r == -EFBIG ? "too large for a trace config" : strerror(-r));
		suggest_sample(path, errors);
		strbuf_putc(errors, '\n');
		strbuf_deinit(&text);
		return r;
	}
	r = trace_config_load(path, text.s ? text.s : "", text.len,
			      is_text ? TRACE_CONFIG_TEXT : TRACE_CONFIG_DETECT, errors, &config);
	strbuf_deinit(&text);
	if (r && !is_text && trace_input_is_trace(path))
		return refuse_trace(path, errors);
	if (r)
		return r;
	field = find_refused_field(config);
	if (field) {
		strbuf_printf(errors, "%s: %s is not supported by sonda record\n", path, field);
		pb__trace_config__free_unpacked(config, NULL);
		return -EINVAL;
	}
	*ret = config;
	return 0;
}

static int read_config_from_file(struct record_command *c)
{
	int fd = c->host ? c->host->config : strcmp(c->options.config, "-") ? -1 : STDIN_FILENO;
	struct strbuf errors = {0};
	int error = config_file_read(fd, c->options.config, c->options.config_is_text, &errors,
				     &c->config);

	if (error && errors.s && strchr(errors.s, '\n') == errors.s + errors.len - 1)
		console_error(&c->console, "%.*s", (int)errors.len - 1, errors.s);
	else if (error && errors.s)
		console_error_block(&c->console, errors.s);
	else if (error)
		console_error(&c->console, "out of memory");
	strbuf_deinit(&errors);
	return !error ? EXIT_GOOD : error == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
}

/* ---- the output, and the start ---- */

static int name_snapshots(struct record_command *c, struct err_text *e)
{
	int r;

	if (c->host)
		return err_set(e, -EINVAL, "CLONE_SNAPSHOT cannot be combined with --host");
	r = c->options.output ? 0 : trace_file_default_name("trace", NULL, &c->output, e);
	if (c->config->trigger_config->n_triggers == 0)
		return err_set(e, -EINVAL,
			       "CLONE_SNAPSHOT requires triggers; add some to trigger_config");
	c->snapshots = c->options.output ? c->options.output : c->output.text;
	return r ? r : snapshots_check_path(c->snapshots, e);
}

static int explain_no_room(const char *path, struct err_text *e)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	return doctor_check_disk_space(dir, e)
		       ? -ENOSPC
		       : err_set(e, -ENOSPC, "the file system of %s is nearly full", path);
}

/* Sets up streaming to the output. A service on this machine writes a regular file itself, which
 * saves copies. For other outputs, or a remote service, this process reads the trace and writes
 * it. */
static int set_up_streaming(struct record_command *c, struct err_text *e)
{
	bool is_file = trace_file_is_regular(c->file);
	uint64_t room = is_file ? trace_file_room(c->file) : UINT64_MAX;
	uint64_t max = c->options.max_bytes;

	if (room == 0)
		return explain_no_room(c->output.text, e);
	c->streams = true;
	c->max_bytes = max && max < room ? max : room < UINT64_MAX ? room : 0;
	if (is_file && c->is_local)
		record_config_enable_streaming(c->config, c->max_bytes);
	return 0;
}

static int record_open_output(struct record_command *c, struct err_text *e)
{
	char pipe[32];
	int r;

	if (config_triggers_take_snapshots(c->config))
		return name_snapshots(c, e);
	if (record_command_has_path(c)) {
		if (c->options.output)
			console_print(&c->console, "-o is ignored: the service writes the trace to "
						   "output_path of the config");
		return 0;
	}
	if (c->host) {
		snprintf(pipe, sizeof(pipe), "/proc/self/fd/%d", c->host->trace);
		snprintf(c->output.text, sizeof(c->output.text), "%s", c->host->name);
		r = trace_file_open(pipe, e, &c->file);
	} else {
		r = trace_file_open_output(c->options.output, "trace", &c->output, &c->file, e);
	}
	if (!r && record_options_want_streaming(&c->options))
		r = set_up_streaming(c, e);
	c->passes_file = c->config->write_into_file;
	return r;
}

/* Chooses the delay of TraceConfig.cmd_trace_start_delay, 0 without one. It is random, so that many
 * machines with the same config do not start together. Returns 0, or -EINVAL and sets e. */
static int start_delay_choose(const Pb__TraceConfig *config, uint32_t *ret_ms, struct err_text *e)
{
	const Pb__TraceConfig__CmdTraceStartDelay *d = config->cmd_trace_start_delay;
	uint64_t random = 0;

	*ret_ms = 0;
	if (!d)
		return 0;
	if (!d->has_min_delay_ms || !d->has_max_delay_ms)
		return err_set(e, -EINVAL,
			       "cmd_trace_start_delay needs min_delay_ms and max_delay_ms");
	if (d->min_delay_ms > d->max_delay_ms || d->max_delay_ms > LIMIT_DURATION_MS)
		return err_set(e, -EINVAL, "cmd_trace_start_delay: invalid range from %u to %u ms",
			       d->min_delay_ms, d->max_delay_ms);
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = clock_mono_ns();
	*ret_ms = d->min_delay_ms +
		  (uint32_t)(random % ((uint64_t)d->max_delay_ms - d->min_delay_ms + 1));
	return 0;
}

/* Waits for ms. A signal ends the process, as it does by default. */
static void start_delay_wait(uint32_t ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int delay_start(struct record_command *c)
{
	struct err_text e;
	uint32_t ms;

	if (start_delay_choose(c->config, &ms, &e) < 0) {
		console_error(&c->console, "%s", e.text);
		return EXIT_USAGE;
	}
	if (ms > 0)
		console_print(&c->console,
			      "waiting %.1f s before the start (cmd_trace_start_delay)", ms / 1e3);
	start_delay_wait(ms);
	return EXIT_GOOD;
}

static const char *detach_obstacle(const struct record_command *c)
{
	if (config_triggers_take_snapshots(c->config))
		return "cannot be combined with CLONE_SNAPSHOT: no process would save the "
		       "snapshots; run sonda record in the background without --detach, or remove "
		       "the triggers and call sonda snapshot";
	if (c->config->write_into_file)
		return NULL;
	if (c->config->duration_ms)
		return "cannot be combined with a duration: no process would read the trace at the "
		       "end; let the service write it (write_into_file in the config)";
	if (c->options.output)
		return "cannot be combined with -o: sonda stop writes the trace; pass -o to it";
	return NULL;
}

/* Prepares --detach: gives the session a name by which another process can find and end it. */
static int prepare_detach(struct record_command *c, struct err_text *e)
{
	if (detach_obstacle(c))
		return err_set(e, -EINVAL, "--detach %s", detach_obstacle(c));
	if (!c->config->unique_session_name)
		c->config->unique_session_name = strdup(c->options.detach);
	return c->config->write_into_file ? record_open_output(c, e) : 0;
}

/* Chooses the destination of the trace. Returns an exit code. */
static int prepare_output(struct record_command *c)
{
	struct err_text e;
	int r = c->options.detach ? prepare_detach(c, &e) : record_open_output(c, &e);

	if (r == 0)
		return EXIT_GOOD;
	console_error(&c->console, "%s", e.text);
	return r == -ENOTTY || r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* Returns true if the kernel has every event of the config. Then its list of events, which takes a
 * third of the CPU time of a short recording, is not needed. */
static bool kernel_has_all_events(const Pb__TraceConfig *config, const char *root)
{
	for (size_t i = 0; config && i < config->n_data_sources; i++) {
		const Pb__DataSourceConfig *d = config->data_sources[i]->config;
		const Pb__FtraceConfig *f = d ? d->ftrace_config : NULL;

		for (size_t k = 0; f && k < f->n_ftrace_events; k++)
			if (!tracefs_event_exists(root, f->ftrace_events[k]))
				return false;
	}
	return config;
}

static int record_prepare(struct record_command *c)
{
	const char *address = c->options.socket ? c->options.socket : sock_default_consumer();
	enum sock_family family = sock_family_of(address);
	const char *root = tracefs_events_root(tracefs_roots);
	struct err_text e;
	int code;

	c->presets = presets_new(NULL);
	if (!c->presets)
		return record_print_error(c, -ENOMEM, NULL);
	/* Fork now: the child inherits all open descriptors. */
	if (c->options.command && !c->options.show_config &&
	    command_child_fork(c->options.command, &e, &c->child)) {
		console_error(&c->console, "%s", e.text);
		return EXIT_FAILED;
	}
	c->is_local = family == SOCK_FAMILY_UNIX_PATH || family == SOCK_FAMILY_UNIX_ABSTRACT;
	c->tracefs_root = c->is_local ? root : NULL;
	code = c->options.config ? read_config_from_file(c) : EXIT_GOOD;
	if (!code && c->tracefs_root &&
	    (c->options.words.n || c->options.histograms.n ||
	     !kernel_has_all_events(c->config, root)))
		tracefs_events_load(root, &c->events);
	if (!code)
		code = build_config_from_words(c);
	if (!code)
		code = check_events(c);
	if (!code && c->options.show_config)
		return code;
	if (!code)
		code = delay_start(c);
	return code ? code : prepare_output(c);
}

/* ---- --show-config, or the recording ---- */

/* Adds the names of the set fields with numbers from OWN_FIELDS on, in a message and the messages
 * in it. */
static void find_own_fields(const ProtobufCMessage *m, struct name_list *ret)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		size_t n = text_field_count(m, f);

		if (n && f->id >= OWN_FIELDS)
			name_list_add(ret, (const uint8_t *)f->name, strlen(f->name));
		for (size_t k = 0; k < n && f->type == PROTOBUF_C_TYPE_MESSAGE; k++)
			find_own_fields(*(ProtobufCMessage *const *)text_field_get(m, f, k), ret);
	}
}

/* Appends comments: which fields Perfetto's programs do not support, and what the text leaves
 * out. */
static void put_comments(const struct record_command *c, struct strbuf *out)
{
	struct name_list own = {0};

	find_own_fields(&c->config->base, &own);
	if (own.n) {
		strbuf_puts(out,
			    "# Fields that only sonda supports. perfetto --txt rejects them; with "
			    "--show-config=binary, perfetto skips them:\n#");
		for (size_t i = 0; i < own.n; i++)
			strbuf_printf(out, "%s %s", i ? "," : "", own.names[i]);
		strbuf_putc(out, '\n');
	}
	name_list_deinit(&own);
	if (c->options.command && !c->options.all && !c->options.config && !c->options.pids.n &&
	    !record_options_name_a_subject(&c->options))
		strbuf_puts(out, "# Not shown: tids_to_trace for the command, which sonda record "
				 "adds when it starts the command.\n");
}

/* --show-config: prints the config of the command line on standard output. */
static int record_show_config(struct record_command *c)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	struct strbuf out = {0};
	size_t len;
	int r = 0;

	if (record_options_want_streaming(&c->options))
		record_config_enable_streaming(c->config, c->options.max_bytes);
	if (c->options.show_binary) {
		r = record_config_pack(c->config, &bytes, &len);
		if (!r)
			strbuf_add(&out, bytes, len);
	} else {
		put_comments(c, &out);
		text_print(&c->config->base, &out);
	}
	if (!r)
		r = out.failed ? -ENOMEM : fs_write_all(STDOUT_FILENO, out.s, out.len);
	strbuf_deinit(&out);
	if (r)
		console_error(&c->console, "cannot write the config: %s", strerror(-r));
	return r ? EXIT_FAILED : EXIT_GOOD;
}

static int record_run(struct record_command *c)
{
	const struct recording_setup setup = {
		.config = c->config,
		.pids = &c->options.pids,
		.command = c->child,
		.socket = c->options.socket,
		.detach = c->options.detach,
		.events = c->events.n ? &c->events : NULL,
		.tracefs_root = c->tracefs_root,
		.same_signal_ms = END_SIGNALS_SAME_MS,
		.from_words = !c->options.config,
		.needs_ftrace = record_command_needs_ftrace(c),
		.needs_capabilities = record_command_needs_capabilities(c),
		.file = c->file,
		.passes_file = c->passes_file,
		.streams = c->streams,
		.max_bytes = c->passes_file ? 0 : c->max_bytes,
		.snapshots = c->snapshots,
		.console = &c->console,
	};
	struct err_text why = {""};
	int error = recording_run(&setup, &c->result, &why);

	return record_end(c, error, &why);
}

static void record_clean_up(struct record_command *c)
{
	trace_file_free(c->file);
	command_child_free(c->child);
	event_requests_deinit(&c->idle);
	presets_free(c->presets);
	record_options_deinit(&c->options);
	recording_result_deinit(&c->result);
	tracefs_events_deinit(&c->events);
	if (c->config)
		pb__trace_config__free_unpacked(c->config, NULL);
}

/* Handles --host: other machines record. */
static int record_on_hosts(struct record_command *c, int argc, char **argv)
{
	const struct record_hosts setup = {
		.argc = argc,
		.argv = argv,
		.hosts = c->options.hosts.args,
		.n = c->options.hosts.n,
		.output = c->options.output,
		.config = c->options.config,
		.has_command = c->options.command,
		.sudo = c->options.sudo,
		.console = &c->console,
	};

	return record_hosts_run(&setup);
}

/* Runs sonda record. host: the output of the agent's recording; NULL if sonda does not run as an
 * agent. */
static int record_main(int argc, char **argv, const struct host_output *host)
{
	struct record_command c = {.host = host};
	struct err_text e;
	int code;

	code = record_options_parse(argc, argv, &c.options, &e);
	if (code) {
		console_init(&c.console, false);
		console_error(&c.console, "record: %s", code == -ENOMEM ? "out of memory" : e.text);
		console_error(&c.console, "see sonda help record");
		return EXIT_USAGE;
	}
	if (c.options.help) {
		help_print(record_usage);
		return EXIT_GOOD;
	}
	console_init(&c.console, c.options.quiet);
	c.console.verbose = c.options.verbose;
	console_set_color(&c.console, c.options.color		? c.options.color
				      : host && host->has_color ? "always"
								: "auto");
	if (c.options.hosts.n && !host) {
		code = record_on_hosts(&c, argc, argv);
		record_clean_up(&c);
		return code;
	}
	code = record_prepare(&c);
	if (!code)
		code = c.options.show_config ? record_show_config(&c) : record_run(&c);
	record_clean_up(&c);
	return code;
}

int cmd_record(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--agent"))
		return host_agent_main(NULL, record_main);
	if (argc > 1 && str_starts(argv[1], "--agent="))
		return host_agent_main(argv[1] + strlen("--agent="), record_main);
	return record_main(argc, argv, NULL);
}
