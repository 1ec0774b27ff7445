/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb as a user calls it, in a child process, against a service in this one: exit codes,
 * messages, and the files that remain.
 */
#include "analyze/trace_scan.h"
#include "base/core/clock.h"
#include "cli/terminal/verb.h"
#include "unit/cli/verb_child.h"

static struct pb_mem slices;
/* Signals for the child, each once the service was called so. Two of a kind might become one. */
static struct {
	const char *after;
	int number;
	bool repeats; /* again and again: what comes shortly after another is the same wish */
} signals[2];

/* A recorded trace as the service's answer. */
static void load_packets(void)
{
	struct strbuf b = {0};
	struct pb_field f;
	struct pb_dec d;

	assert_int_equal(fs_read_file("tests/data/traces/ring_losses.pftrace", 1 << 20, &b), 0);
	assert_int_equal(pb_mem_init(&slices), 0);
	pb_dec_init(&d, b.s, b.len);
	while (pb_dec_next(&d, &f)) {
		pb_enc_open(&slices.enc, PB_READ_BUFFERS_RESPONSE_SLICES);
		pb_enc_bytes(&slices.enc, PB_READ_BUFFERS_RESPONSE_SLICE_DATA, f.data, f.len);
		pb_enc_bool(&slices.enc, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET,
			    true);
		pb_enc_close(&slices.enc);
	}
	strbuf_deinit(&b);
}

static void send_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].after && strstr(service.port.calls, signals[i].after)) {
			kill(child, signals[i].number);
			if (!signals[i].repeats)
				signals[i].after = NULL;
		}
}

static int setup(void **state)
{
	if (verb_setup(state))
		return -1;
	load_packets();
	service.slices = slices.buf;
	service.slices_len = pb_mem_len(&slices);
	service.end_when_started = true;
	service.writes_file = true;
	memset(signals, 0, sizeof(signals));
	while_it_runs = send_signals;
	return 0;
}

static int teardown(void **state)
{
	pb_mem_deinit(&slices);
	return verb_teardown(state);
}

/* Runs `sonda record LINE` to its end and gives the exit code. */
static int record(const char *line)
{
	char with_verb[1024];

	snprintf(with_verb, sizeof(with_verb), "record %s", line);
	return verb_run(cmd_record, with_verb);
}

#define SOURCE "data_sources { config { name: 'linux.sys_stats' } } "

static void write_config(const char *text)
{
	verb_write_file("c.cfg", text, strlen(text));
}

/* ---- what remains ---- */

static int list_name(void *ctx, const char *name, unsigned char d_type)
{
	char *list = ctx;

	if (strcmp(name, "out") && strcmp(name, "err") && strcmp(name, "c.cfg"))
		sprintf(list + strlen(list), "%s ", name);
	return 0;
}

static void check_files(const char *expected)
{
	char list[1024] = "";

	assert_int_equal(fs_each(dir, list_name, list), 0);
	assert_string_equal(list, expected);
}

static uint64_t packets_of(const struct strbuf *trace)
{
	struct trace_scan scan = {0};
	uint64_t packets;

	assert_int_equal(trace_scan_file(&scan, (uint8_t *)trace->s, trace->len), 0);
	packets = scan.packets;
	trace_scan_deinit(&scan);
	return packets;
}

static uint64_t packets_in(const char *name)
{
	struct strbuf b = {0};
	uint64_t packets;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fs_read_file(path, 1 << 20, &b), 0);
	packets = packets_of(&b);
	strbuf_deinit(&b);
	return packets;
}

/* Runs `sonda record LINE`: its exit code, the files that it leaves (NULL: not checked), and the
 * words of its messages up to NULL. */
static void expect(const char *line, int code, const char *files, ...) __attribute__((sentinel));
static void expect(const char *line, int code, const char *files, ...)
{
	const char *words;
	va_list args;

	assert_int_equal(record(line), code);
	if (files)
		check_files(files);
	va_start(args, files);
	while ((words = va_arg(args, const char *)))
		assert_true(says(words));
	va_end(args);
}

/* A signal to stop once the service was called so, while tracing would go on. */
static void interrupt(const char *after)
{
	service.end_when_started = false;
	signals[0].after = after;
	signals[0].number = SIGINT;
}

/* And further ones, to abort, while the final flush hangs. */
static void interrupt_twice(const char *after)
{
	interrupt(after);
	service.silent = "Flush";
	signals[1].after = "Flush";
	signals[1].number = SIGTERM;
	signals[1].repeats = true;
}

/* ---- good ---- */

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_a_recording_is_saved_and_summed_up)
{
	expect("-o x.pftrace sched/sched_switch", 0, "x.pftrace ", NULL);
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_true(says("Recorded 0.68 s (events cover 0.002 s)"));
	assert_true(says("323 events, 89 processes"));
	assert_true(says("lost     kernel rings: 24,275 events"));
	assert_true(says("missing  no producer provides the data source 'linux.ftrace'"));
}

FIXTURE_TEST(test_quiet_says_nothing)
{
	expect("-q -o x.pftrace sched", 0, "x.pftrace ", NULL);
	assert_string_equal(err.s, "");
}

FIXTURE_TEST(test_strict_reports_losses_by_its_exit_code)
{
	expect("--strict -q -o x.pftrace sched", 3, "x.pftrace ", NULL);
}

FIXTURE_TEST(test_without_a_name_it_makes_one)
{
	char list[1024] = "";

	expect("-q sched", 0, NULL, NULL);
	assert_int_equal(fs_each(dir, list_name, list), 0);
	assert_true(str_glob("trace-*-????????T*-*.pftrace ", list));
}

FIXTURE_TEST(test_standard_output)
{
	expect("-o - sched", 0, "", NULL);
	assert_int_equal(packets_of(&out), 26);
	assert_true(says("to standard output"));
}

FIXTURE_TEST(test_one_signal_stops_and_saves)
{
	interrupt("GetTraceStats"); /* asked for once tracing has begun */
	expect("-o x.pftrace sched", 0, "x.pftrace ", NULL);
	assert_non_null(strstr(service.port.calls, "Flush DisableTracing GetTraceStats "));
	service.port.calls[0] = '\0';
	signals[0].after = "GetTraceStats";
	expect("-b 1mb -o x.pftrace sched", 0, "x.pftrace ", NULL);
	assert_non_null(strstr(service.port.calls, "Flush DisableTracing ReadBuffers "));
}

FIXTURE_TEST(test_a_config_file)
{
	write_config(SOURCE "buffers { size_kb: 64 }");
	expect("-c c.cfg -o x.pftrace", 0, "x.pftrace ", NULL);
}

/* The start is delayed by a random time between both. */
FIXTURE_TEST(test_a_delayed_start)
{
	uint64_t begin = clock_mono_ns();

	write_config(SOURCE "cmd_trace_start_delay { min_delay_ms: 200 max_delay_ms: 202 }");
	expect("-c c.cfg -o x.pftrace", 0, "x.pftrace ",
	       "waiting 0.2 s before the start (cmd_trace_start_delay)", NULL);
	assert_true(clock_mono_ns() - begin >= 200 * NS_PER_MS);
}

/* ---- not good ---- */

FIXTURE_TEST(test_a_refused_config_leaves_no_file)
{
	service.end_at_once = true;
	service.enable_error = "Invalid buffer sizes";
	expect("-o x.pftrace sched", 1, "",
	       "sonda: the tracing service aborted the session: Invalid buffer sizes\n", NULL);
}

/* For example, because of the exclusive_prio of another session. */
FIXTURE_TEST(test_a_session_that_the_service_ends_is_saved)
{
	service.enable_error = "another session had priority";
	expect("-o x.pftrace sched/sched_switch", 1, "x.pftrace ",
	       "the tracing service aborted the session: another session had priority",
	       "323 events, 89 processes", NULL);
	assert_int_equal(packets_in("x.pftrace"), 26);
}

FIXTURE_TEST(test_a_service_that_dies_leaves_no_file)
{
	static const char *const at[] = {"QueryServiceState", "EnableTracing", "ReadBuffers"};

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		service.leave = at[i];
		expect("-b 1mb -o x.pftrace sched", 1, NULL, NULL);
		check_files("");
		assert_true(says("the tracing service disconnected"));
	}
}

/* Killed in the middle of a write, as a fourth part of all packets of the kind are. */
FIXTURE_TEST(test_what_a_service_that_dies_has_written_is_saved_up_to_the_last_whole_packet)
{
	service.leave = "Flush";
	service.leaves_part = true;
	interrupt("GetTraceStats");
	expect("-o x.pftrace sched", 1, "x.pftrace ", NULL);
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_true(says("the tracing service disconnected"));
	assert_true(says("323 events"));
}

/* ---- a trace that is written while it is recorded ---- */

FIXTURE_TEST(test_two_signals_throw_it_away)
{
	interrupt_twice("GetTraceStats");
	expect("-o x.pftrace sched", 1, "", "aborted: nothing was saved", NULL);
}

FIXTURE_TEST(test_an_output_that_is_too_slow_is_reported)
{
	service.bytes_waiting = 20 << 20;
	expect("-o x.pftrace sched", 0, NULL, NULL);
	assert_true(says("the output is not accepting data: 20 MiB waiting") ||
		    says("the output is too slow: 20 MiB waiting"));
}

/* What has no size is read while it records. */
FIXTURE_TEST(test_a_pipe_gets_the_trace_while_it_is_recorded)
{
	interrupt("ReadBuffers ReadBuffers");
	service.slices_once = true;
	expect("-o - sched", 0, NULL, NULL);
	assert_int_equal(packets_of(&out), 26);
}

FIXTURE_TEST(test_an_older_file_survives_a_failure)
{
	expect("-q -o x.pftrace sched", 0, NULL, NULL);
	service.enable_error = "no";
	expect("-q -o x.pftrace sched", 1, "x.pftrace ", NULL);
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_string_equal(err.s, "sonda: the tracing service aborted the session: no\n");
}

FIXTURE_TEST(test_a_full_disk_keeps_whole_packets)
{
	file_limit = 10000;
	expect("-b 1mb -o x.pftrace sched", 1, "x.pftrace ", NULL);
	assert_true(packets_in("x.pftrace") > 0 && packets_in("x.pftrace") < 26);
	assert_true(says("cannot write all of"));
	assert_true(says("File too large"));
}

FIXTURE_TEST(test_a_full_device)
{
	expect("-o /dev/full sched", 1, "", "No space left on device", NULL);
}

FIXTURE_TEST(test_an_empty_trace_is_no_success)
{
	service.slices = (const uint8_t *)"";
	service.slices_len = 0;
	expect("-o x.pftrace sched", 1, "", "the trace is empty", NULL);
	write_config(SOURCE "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1 }");
	expect("-c c.cfg -o x.pftrace", 1, NULL, "no trigger was activated", NULL);
}

/* ---- snapshots ---- */

#define SNAPSHOTS                                                                                  \
	SOURCE "buffers { size_kb: 64 } trigger_config { trigger_mode: CLONE_SNAPSHOT "            \
	       "trigger_timeout_ms: 1 triggers { name: 'late' } }"

FIXTURE_TEST(test_a_recorder_without_a_trigger_saves_nothing)
{
	write_config(SNAPSHOTS);
	expect("-c c.cfg -o x.pftrace", 1, "",
	       "recording; a snapshot is saved on trigger 'late'; Ctrl-C ends it",
	       "no snapshot was saved: no trigger was activated", NULL);
}

FIXTURE_TEST(test_a_recorder_that_cannot_be)
{
	static const struct {
		const char *line, *says;
		int code;
	} rows[] = {
		{"-c c.cfg -o -", "give a name with -o", 2},
		{"-c c.cfg -o /dev/null", "is not a regular file; give another name with -o", 2},
		{"-c c.cfg -o /nonexistent/x", "cannot write /nonexistent/x", 1},
		{"-c c.cfg --detach flight", "no process would save the snapshots", 2},
	};

	write_config(SNAPSHOTS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(record(rows[i].line), rows[i].code);
		assert_true(says(rows[i].says));
	}
	write_config(SOURCE
		     "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 1 }");
	expect("-c c.cfg -o x", 2, NULL, "CLONE_SNAPSHOT requires triggers", NULL);
	/* Nothing was begun. */
	assert_null(strstr(service.port.calls, "EnableTracing"));
	check_files("");
}

/* The producer could not use ftrace, and the trace says so. */
FIXTURE_TEST(test_a_trace_without_what_it_is_about_is_no_success)
{
	static const char why[] = "this process cannot use tracefs";
	struct pb_enc *e = &slices.enc;

	pb_mem_reset(&slices);
	pb_enc_open(e, PB_READ_BUFFERS_RESPONSE_SLICES);
	pb_enc_open(e, PB_READ_BUFFERS_RESPONSE_SLICE_DATA);
	pb_enc_open(e, PB_TRACE_PACKET_FTRACE_STATS);
	pb_enc_str(e, PB_FTRACE_STATS_EXCLUSIVE_FEATURE_ERROR, why);
	pb_enc_close(e);
	pb_enc_close(e);
	pb_enc_bool(e, PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET, true);
	pb_enc_close(e);
	service.slices = slices.buf;
	service.slices_len = pb_mem_len(&slices);
	expect("-o x.pftrace sched", 1, "",
	       "sonda: nothing was recorded: this process cannot use tracefs", NULL);
	/* A config that asks for something else as well still has that, and fails. */
	write_config("data_sources { config { name: 'linux.ftrace' ftrace_config { } } } "
		     "data_sources { config { name: 'linux.process_stats' } }");
	expect("-c c.cfg -o x.pftrace", 1, "x.pftrace ", "ftrace: this process cannot use tracefs",
	       "sonda: not everything was recorded: this process cannot use tracefs", NULL);
}

FIXTURE_TEST(test_a_trace_that_the_service_writes_itself)
{
	char config[256], path[128];

	/* What it gives to read nevertheless is not the trace. */
	service.slices = NULL;
	write_config(SOURCE "write_into_file: true output_path: '/nonexistent/there.pftrace'");
	expect("-c c.cfg -o x.pftrace", 0, "",
	       "-o is ignored: the service writes the trace to output_path",
	       ": the service wrote the trace to /nonexistent/there.pftrace",
	       "lost     not known: the trace was not read here", NULL);
	/* One that we can look at is summed up. */
	snprintf(path, sizeof(path), "%s/there.pftrace", dir);
	snprintf(config, sizeof(config), SOURCE "write_into_file: true output_path: '%s'", path);
	write_config(config);
	verb_write_file("there.pftrace", "\x0a\x02\x08\x01\x0a\x02\x08\x02", 8);
	expect("-c c.cfg", 0, NULL, "2 packets, 8 B to /tmp/", NULL);
	verb_write_file("there.pftrace", "\x0a\x02\x08\x01\x0a\x02\x08", 7);
	expect("-c c.cfg", 1, NULL, "there.pftrace ends in the middle of a packet", NULL);
	verb_write_file("there.pftrace", "", 0);
	expect("-c c.cfg", 1, NULL, "the trace is empty: the service returned no packets", NULL);
}

/* The service would write into it; this one does not. */
FIXTURE_TEST(test_a_file_that_is_passed_to_the_service)
{
	service.writes_file = false;
	write_config(SOURCE "write_into_file: true");
	expect("-c c.cfg -o x.pftrace", 1, NULL, "the trace is empty", NULL);
	check_files("x.pftrace "); /* it had its name, and may be in use by now */
	service.enable_error = "refused";
	service.end_at_once = true;
	expect("-c c.cfg -o y.pftrace", 1, "x.pftrace ", NULL);
	service.end_at_once = false;
	service.enable_error = NULL;
	service.leave = "FreeBuffers";
	service.port.calls[0] = '\0'; /* what is waited for is called by this one */
	interrupt_twice("ObserveEvents");
	expect("-c c.cfg -o z.pftrace", 1, NULL, "the data recorded until then is in z.pftrace",
	       NULL);
}

FIXTURE_TEST(test_detached_sessions)
{
	write_config(SOURCE "buffers { size_kb: 64 }");
	service.end_when_started = false;
	expect("-c c.cfg --detach f -o x.pftrace", 2, NULL,
	       "sonda stop writes the trace; pass -o to it", NULL);
	write_config(SOURCE "write_into_file: true");
	expect("-c c.cfg --detach f -o x.pftrace", 0, "x.pftrace ",
	       "the service writes the trace to x.pftrace", NULL);
}

FIXTURE_TEST(test_where_no_file_can_be_written_nothing_is_recorded)
{
	expect("-o /nonexistent/x.pftrace sched", 1, NULL,
	       "cannot write /nonexistent/x.pftrace: No such file or directory", NULL);
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(test_a_named_service_must_be_there)
{
	expect("--socket /nonexistent/c -o x.pftrace sched", 1, "",
	       "no tracing service listens on /nonexistent/c", NULL);
}

/* ---- whose events ---- */

/* Of the config that the service got. */
static uint32_t tids[4];
static size_t n_tids;
static bool follows;
static char mask[32];

static void note_config(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
			size_t len)
{
	Pb__EnableTracingRequest *m;
	Pb__FtraceConfig *f;

	if (!strcmp(method, "EnableTracing")) {
		m = pb__enable_tracing_request__unpack(NULL, len, args);
		f = m->trace_config->data_sources[0]->config->ftrace_config;
		n_tids = f->n_tids_to_trace;
		for (size_t i = 0; i < n_tids && i < ARRAY_SIZE(tids); i++)
			tids[i] = f->tids_to_trace[i];
		follows = f->follow_children;
		snprintf(mask, sizeof(mask), "%s", f->tracing_cpumask ? f->tracing_cpumask : "");
		pb__enable_tracing_request__free_unpacked(m, NULL);
	}
	fake_session_call(p, method, id, args, len);
}

static void listen_to_config(void)
{
	service.port.on_call = note_config;
	service.has_ftrace = service.knows_own_fields = true;
	service.end_when_started = false;
	n_tids = 0;
	follows = false;
}

FIXTURE_TEST(test_a_command_and_its_children)
{
	struct strbuf b = {0};
	char path[128];

	listen_to_config();
	expect("-o x.pftrace sched -- sh -c echo${IFS}$$>pid", 0, NULL,
	       "  ended    'sh' exited with code 0\n", NULL);
	snprintf(path, sizeof(path), "%s/pid", dir);
	assert_int_equal(fs_read_file(path, 100, &b), 0);
	assert_int_equal(n_tids, 1);
	assert_int_equal(tids[0], atoi(b.s));
	assert_true(follows);
	strbuf_deinit(&b);
	unlink(path);
	check_files("x.pftrace ");
}

FIXTURE_TEST(test_all_processes_while_a_command_runs)
{
	listen_to_config();
	expect("-a -C 0 -o x.pftrace sched -- true", 0, NULL, NULL);
	assert_int_equal(n_tids, 0);
	assert_false(follows);
	assert_string_equal(mask, "1");
}

FIXTURE_TEST(test_a_process_while_a_command_runs)
{
	char line[64];

	listen_to_config();
	snprintf(line, sizeof(line), "-p %d -o x.pftrace sched -- true", (int)getpid());
	expect(line, 0, NULL, NULL);
	assert_true(n_tids >= 1);
	assert_int_equal(tids[0], getpid());
	assert_true(follows);
}

FIXTURE_TEST(test_a_config_with_a_command)
{
	service.end_when_started = false;
	write_config(SOURCE "buffers { size_kb: 64 }");
	expect("-c c.cfg -o x.pftrace -- false", 0, "x.pftrace ", "'false' exited with code 1",
	       NULL);
}

FIXTURE_TEST(test_missing_processes_and_cpus_are_reported_before_the_start)
{
	expect("-o x.pftrace -p 1073741824 sched", 1, NULL,
	       "sonda: -p: no process has the ID 1073741824\n", NULL);
	expect("-o x.pftrace -C 8191 sched", 1, NULL,
	       "sonda: -C: this machine has no CPU 8191; it has ", NULL);
	expect("--socket host:1 -o x.pftrace -p 1 sched", 1, NULL,
	       "-p requires a tracing service on the same machine", NULL);
	expect("--socket host:1 -o x.pftrace sched -- true", 1, "",
	       "COMMAND requires a tracing service on the same machine", NULL);
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(test_a_command_that_cannot_run_leaves_no_file)
{
	listen_to_config();
	expect("-o x.pftrace sched -- /nonexistent/program", 1, "",
	       "cannot run '/nonexistent/program': No such file or directory", NULL);
}

/* Whatever is typed, the terminal gets letters. */
FIXTURE_TEST(test_names_with_control_characters)
{
	listen_to_config();
	expect("-o x.pftrace a\033[2Jb", 2, NULL, NULL);
	expect("--no\033[2J", 2, NULL, NULL);
	expect("-o x.pftrace sched --filter \302\2331 --trigger \033x", 2, NULL, NULL);
	expect("-o /nonexistent/\033]0;x\007 sched", 1, NULL, NULL);
	expect("-o x.pftrace sched -- \033c", 1, NULL, NULL);
	for (const char *p = err.s; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= ' ');
	assert_true(says("cannot run '?c'"));
	check_files("");
}

FIXTURE_TEST(test_usage)
{
	expect("", 2, NULL, "nothing to record", NULL);
	expect("-t 5x sched", 2, NULL, NULL);
	expect("-P nosuch", 2, NULL, "there is no preset 'nosuch'", NULL);
	expect("-o x.pftrace sched !sched", 2, NULL, "name at least one other event", NULL);
	expect("-o x.pftrace a/b/c", 2, "", "'a/b/c' is not a valid event name", NULL);
	assert_string_equal(service.port.calls, "");
	expect("--help", 0, NULL, NULL);
	assert_string_equal(err.s, "");
}

FIXTURE_TEST(test_a_config_that_is_refused)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{"buffers { size_kb: 64 }\nbufers { }\n", "c.cfg:2:1: error:"},
		{SOURCE "activate_triggers: 'x'", "c.cfg: activate_triggers is not supported"},
		{SOURCE "incident_report_config { }", "c.cfg: incident_report_config is not"},
		{SOURCE "android_report_config { }", "c.cfg: android_report_config is not"},
		{"buffers { size_kb: 64 }", "no data_sources: nothing to record"},
		{SOURCE "cmd_trace_start_delay { min_delay_ms: 5 }",
		 "cmd_trace_start_delay needs min_delay_ms and max_delay_ms"},
		{SOURCE "cmd_trace_start_delay { max_delay_ms: 5 }", "cmd_trace_start_delay needs"},
		{SOURCE "cmd_trace_start_delay { min_delay_ms: 6 max_delay_ms: 5 }",
		 "cmd_trace_start_delay: invalid range from 6 to 5 ms"},
		{SOURCE "cmd_trace_start_delay { min_delay_ms: 0 max_delay_ms: 4294967295 }",
		 "cmd_trace_start_delay: invalid range"},
	};
	static char big[(1 << 20) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_config(rows[i].text);
		expect("-c c.cfg -o x.pftrace", 2, "", rows[i].words, NULL);
	}
	memset(big, '\n', sizeof(big));
	verb_write_file("c.cfg", big, sizeof(big));
	expect("-c c.cfg", 2, "", "cannot read the config c.cfg: too large for a trace config",
	       NULL);
	expect("-c .", 2, "", "cannot read the config .: Is a directory", NULL);
	expect("-c nosuch.cfg -o x.pftrace", 2, "",
	       "sonda: cannot read the config nosuch.cfg: No such file or directory; see ", NULL);
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(test_a_config_is_text_or_binary)
{
	/* A field of a later version, which the service may know, is kept. */
	static const char binary[] = "\x0a\x02\x08\x40\x12\x05\x0a\x03\x0a\x01x\xc2\x3e\x03xyz";
	const size_t len = sizeof(binary) - 1;

	verb_write_file("c.cfg", binary, len);
	expect("-c c.cfg --show-config=binary", 0, NULL, NULL);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.s, binary, len);
	expect("-c c.cfg --show-config", 0, NULL, NULL);
	assert_true(str_starts(out.s, "buffers {\n  size_kb: 64\n}\ndata_sources {\n"));
}
