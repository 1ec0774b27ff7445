// SPDX-License-Identifier: Apache-2.0
/*
 * The verb as a person calls it, in a child process, against a service in this one: exit codes, what
 * is said, and which files remain.
 */
#include <event2/event.h>
#include <sys/resource.h>

#include "unit/test.h"
#include "analyze/trace_scan.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/verb.h"
#include "unit/cli/fake_session.h"
#include "wire/pb_dec.h"

static char dir[64]; /* where the child works */
static struct event_base *loop;
static struct fake_session service;
static struct pb_mem slices;
static pid_t child;
static int status;
static rlim_t file_limit; /* of the child; 0 none */
/* Signals for the child, each once the service was called so. Two of a kind might become one. */
static struct {
	const char *after;
	int number;
	bool repeats; /* again and again: what comes shortly after another is the same wish */
} signals[2];
static struct strbuf said; /* by the child, on stderr */

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

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-record-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	loop = event_base_new();
	memset(&service, 0, sizeof(service));
	fake_session_open(&service, loop);
	load_packets();
	service.slices = slices.buf;
	service.slices_len = pb_mem_len(&slices);
	service.end_when_started = true;
	service.writes_file = true;
	file_limit = 0;
	memset(signals, 0, sizeof(signals));
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	fake_port_close(&service.port);
	event_base_free(loop);
	pb_mem_deinit(&slices);
	strbuf_deinit(&said);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- the child ---- */

static void run_child(const char *line)
{
	static char buf[512], *argv[32];
	int argc = 0, fd;

	if (chdir(dir))
		_exit(99);
	fd = open("said", O_CREAT | O_WRONLY, 0600);
	dup2(fd, STDERR_FILENO);
	fd = open("stdout", O_CREAT | O_WRONLY, 0600);
	dup2(fd, STDOUT_FILENO);
	if (file_limit)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){file_limit, file_limit});
	setenv("PERFETTO_CONSUMER_SOCK_NAME", service.port.address, 1);
	unsetenv("SUDO_UID");
	log_init("sonda");
	snprintf(buf, sizeof(buf), "record %s", line);
	for (char *p = strtok(buf, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	argv[argc] = NULL;
	_exit(cmd_record(argc, argv));
}

static void look_at_child(evutil_socket_t fd, short what, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].after && strstr(service.port.calls, signals[i].after)) {
			kill(child, signals[i].number);
			if (!signals[i].repeats)
				signals[i].after = NULL;
		}
	if (waitpid(child, &status, WNOHANG) == child)
		event_base_loopbreak(loop);
}

static void read_said(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/said", dir);
	strbuf_clear(&said);
	fs_read_file(path, 1 << 20, &said);
	if (!said.s)
		strbuf_puts(&said, "");
	unlink(path);
}

/* Runs `sonda record LINE` to its end and gives the exit code. */
static int record(const char *line)
{
	static const struct timeval often = {0, 10000};
	struct event *tick = event_new(loop, -1, EV_PERSIST, look_at_child, NULL);

	fflush(stdout);
	child = fork();
	if (child == 0)
		run_child(line);
	event_add(tick, &often);
	event_base_dispatch(loop);
	event_free(tick);
	read_said();
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool says(const char *words)
{
	if (!strstr(said.s, words))
		print_message("said: %s", said.s);
	return strstr(said.s, words) != NULL;
}

static void write_file(const char *name, const char *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

#define SOURCE "data_sources { config { name: 'linux.sys_stats' } } "

static void write_config(const char *text)
{
	write_file("c.cfg", text, strlen(text));
}

/* ---- what remains ---- */

static int list_name(void *ctx, const char *name, unsigned char d_type)
{
	char *list = ctx;

	if (strcmp(name, "stdout") && strcmp(name, "c.cfg"))
		sprintf(list + strlen(list), "%s ", name);
	return 0;
}

static void check_files(const char *expected)
{
	char list[1024] = "";

	assert_int_equal(fs_each(dir, list_name, list), 0);
	assert_string_equal(list, expected);
}

static uint64_t packets_in(const char *name)
{
	struct trace_scan scan = {0};
	struct strbuf b = {0};
	uint64_t packets;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(fs_read_file(path, 1 << 20, &b), 0);
	assert_int_equal(trace_scan_file(&scan, (uint8_t *)b.s, b.len), 0);
	packets = scan.packets;
	trace_scan_deinit(&scan);
	strbuf_deinit(&b);
	return packets;
}

/* ---- good ---- */

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_a_recording_is_saved_and_summed_up)
{
	assert_int_equal(record("-o x.pftrace sched/sched_switch"), 0);
	check_files("x.pftrace ");
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_true(says("Recorded 0.73 s"));
	assert_true(says("323 events, 89 processes"));
	assert_true(says("lost     kernel rings: 24,275 events"));
	assert_true(says("missing  no producer provides the data source 'linux.ftrace'"));
}

FIXTURE_TEST(test_quiet_says_nothing)
{
	assert_int_equal(record("-q -o x.pftrace sched"), 0);
	check_files("x.pftrace ");
	assert_string_equal(said.s, "");
}

FIXTURE_TEST(test_strict_tells_losses_by_its_exit_code)
{
	assert_int_equal(record("--strict -q -o x.pftrace sched"), 3);
	check_files("x.pftrace ");
}

FIXTURE_TEST(test_without_a_name_it_makes_one)
{
	char list[1024] = "";

	assert_int_equal(record("-q sched"), 0);
	assert_int_equal(fs_each(dir, list_name, list), 0);
	assert_true(str_glob("trace-*-????????T*-*.pftrace ", list));
}

FIXTURE_TEST(test_standard_output)
{
	assert_int_equal(record("-o - sched"), 0);
	check_files("");
	assert_int_equal(packets_in("stdout"), 26);
	assert_true(says("to standard output"));
}

FIXTURE_TEST(test_one_signal_stops_and_saves)
{
	service.end_when_started = false;
	signals[0].after = "GetTraceStats"; /* asked for once tracing has begun */
	signals[0].number = SIGINT;
	assert_int_equal(record("-o x.pftrace sched"), 0);
	check_files("x.pftrace ");
	assert_non_null(strstr(service.port.calls, "Flush DisableTracing GetTraceStats "));
	service.port.calls[0] = '\0';
	signals[0].after = "GetTraceStats";
	assert_int_equal(record("-b 1mb -o x.pftrace sched"), 0);
	check_files("x.pftrace ");
	assert_non_null(strstr(service.port.calls, "Flush DisableTracing ReadBuffers "));
}

FIXTURE_TEST(test_a_config_file)
{
	write_config(SOURCE "buffers { size_kb: 64 }");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 0);
	check_files("x.pftrace ");
}

/* ---- not good ---- */

FIXTURE_TEST(test_two_signals_throw_it_away)
{
	service.end_when_started = false;
	service.silent = "Flush";
	signals[0].after = "GetTraceStats";
	signals[0].number = SIGINT;
	signals[1].after = "Flush";
	signals[1].number = SIGTERM;
	signals[1].repeats = true;
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("aborted"));
}

FIXTURE_TEST(test_a_refused_config_leaves_no_file)
{
	service.end_at_once = true;
	service.enable_error = "Invalid buffer sizes";
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("sonda: the tracing service says: Invalid buffer sizes\n"));
}

/* exclusive_prio of somebody else, say. */
FIXTURE_TEST(test_a_session_that_the_service_ends_is_saved)
{
	service.enable_error = "somebody had priority";
	assert_int_equal(record("-o x.pftrace sched/sched_switch"), 1);
	assert_true(says("the tracing service says: somebody had priority"));
	assert_true(says("323 events, 89 processes"));
	check_files("x.pftrace ");
	assert_int_equal(packets_in("x.pftrace"), 26);
}

FIXTURE_TEST(test_a_service_that_dies_leaves_no_file)
{
	static const char *const at[] = {"QueryServiceState", "EnableTracing", "ReadBuffers"};

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		service.leave = at[i];
		assert_int_equal(record("-b 1mb -o x.pftrace sched"), 1);
		check_files("");
		assert_true(says("the tracing service disconnected"));
	}
}

/* Killed in the middle of a write, as a fourth part of all packets of the kind are. */
FIXTURE_TEST(test_what_a_service_that_dies_has_written_is_saved_up_to_the_last_whole_packet)
{
	service.end_when_started = false;
	service.leave = "Flush";
	service.leaves_part = true;
	signals[0].after = "GetTraceStats";
	signals[0].number = SIGINT;
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("x.pftrace ");
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_true(says("the tracing service disconnected"));
	assert_true(says("323 events"));
}

/* ---- a trace that is written while it is recorded ---- */

FIXTURE_TEST(test_what_is_thrown_away_has_no_file)
{
	service.end_when_started = false;
	service.silent = "Flush";
	signals[0].after = "GetTraceStats";
	signals[0].number = SIGINT;
	signals[1].after = "Flush";
	signals[1].number = SIGTERM;
	signals[1].repeats = true;
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("aborted: nothing was saved"));
}

FIXTURE_TEST(test_an_output_that_is_too_slow_is_told)
{
	service.bytes_waiting = 20 << 20;
	assert_int_equal(record("-o x.pftrace sched"), 0);
	assert_true(says("the output accepts no data: 20 MiB wait") ||
		    says("the output accepts data too slowly: 20 MiB wait"));
}

/* What has no size is read while it records. */
FIXTURE_TEST(test_a_pipe_gets_the_trace_while_it_is_recorded)
{
	service.end_when_started = false;
	signals[0].after = "ReadBuffers ReadBuffers";
	signals[0].number = SIGINT;
	service.slices_once = true;
	assert_int_equal(record("-o - sched"), 0);
	assert_int_equal(packets_in("stdout"), 26);
}

FIXTURE_TEST(test_an_older_file_survives_a_failure)
{
	assert_int_equal(record("-q -o x.pftrace sched"), 0);
	service.enable_error = "no";
	assert_int_equal(record("-q -o x.pftrace sched"), 1);
	check_files("x.pftrace ");
	assert_int_equal(packets_in("x.pftrace"), 26);
	assert_string_equal(said.s, "sonda: the tracing service says: no\n");
}

FIXTURE_TEST(test_a_full_disk_keeps_whole_packets)
{
	file_limit = 10000;
	assert_int_equal(record("-b 1mb -o x.pftrace sched"), 1);
	check_files("x.pftrace ");
	assert_true(packets_in("x.pftrace") > 0 && packets_in("x.pftrace") < 26);
	assert_true(says("cannot write all of"));
	assert_true(says("File too large"));
}

FIXTURE_TEST(test_a_full_device)
{
	assert_int_equal(record("-o /dev/full sched"), 1);
	assert_true(says("No space left on device"));
	check_files("");
}

FIXTURE_TEST(test_an_empty_trace_is_no_success)
{
	service.slices = (const uint8_t *)"";
	service.slices_len = 0;
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("the trace is empty"));
	write_config(SOURCE "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1 }");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 1);
	assert_true(says("no trigger was activated"));
}

/* The producer could not use ftrace, and the trace says so. */
/* ---- snapshots ---- */

#define SNAPSHOTS                                                                                  \
	SOURCE "buffers { size_kb: 64 } trigger_config { trigger_mode: CLONE_SNAPSHOT "            \
	       "trigger_timeout_ms: 1 triggers { name: 'late' } }"

FIXTURE_TEST(test_a_recorder_without_a_trigger_saves_nothing)
{
	write_config(SNAPSHOTS);
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 1);
	assert_true(says("recording; a snapshot is saved at trigger 'late'; Ctrl-C ends it"));
	assert_true(says("there is no snapshot: no trigger was activated"));
	check_files("");
}

FIXTURE_TEST(test_a_recorder_that_cannot_be)
{
	static const struct {
		const char *line, *says;
		int code;
	} rows[] = {
		{"-c c.cfg -o -", "each is a file; give a name with -o", 2},
		{"-c c.cfg -o /dev/null", "is not a regular file: give another name with -o", 2},
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
	assert_int_equal(record("-c c.cfg -o x"), 2);
	assert_true(says("CLONE_SNAPSHOT needs triggers"));
	/* Nothing was begun. */
	assert_null(strstr(service.port.calls, "EnableTracing"));
	check_files("");
}

FIXTURE_TEST(test_a_trace_without_what_it_is_about_is_no_success)
{
	static const char why[] = "there is no tracefs that this process may use";
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
	assert_int_equal(record("-o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("sonda: nothing was recorded: there is no tracefs"));
	/* A config that asks for something else as well still has that. */
	write_config("data_sources { config { name: 'linux.ftrace' ftrace_config { } } } "
		     "data_sources { config { name: 'linux.process_stats' } }");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 0);
	check_files("x.pftrace ");
	assert_true(says("ftrace: there is no tracefs"));
}

FIXTURE_TEST(test_a_trace_that_the_service_writes_itself)
{
	char config[256], path[128];

	/* What it gives to read nevertheless is not the trace. */
	service.slices = NULL;
	write_config(SOURCE "write_into_file: true output_path: '/nonexistent/there.pftrace'");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 0);
	check_files("");
	assert_true(says("-o is ignored: the service writes the trace to output_path"));
	assert_true(says(": the service wrote the trace to /nonexistent/there.pftrace"));
	assert_true(says("lost     not known: the trace was not read here"));
	/* One that we can look at is summed up. */
	snprintf(path, sizeof(path), "%s/there.pftrace", dir);
	snprintf(config, sizeof(config), SOURCE "write_into_file: true output_path: '%s'", path);
	write_config(config);
	write_file("there.pftrace", "\x0a\x02\x08\x01\x0a\x02\x08\x02", 8);
	assert_int_equal(record("-c c.cfg"), 0);
	assert_true(says("2 packets, 8 B to /tmp/"));
	write_file("there.pftrace", "\x0a\x02\x08\x01\x0a\x02\x08", 7);
	assert_int_equal(record("-c c.cfg"), 1);
	assert_true(says("there.pftrace ends within a packet"));
	write_file("there.pftrace", "", 0);
	assert_int_equal(record("-c c.cfg"), 1);
	assert_true(says("the trace is empty: the service returned no packets"));
}

/* The service would write into it; this one does not. */
FIXTURE_TEST(test_a_file_that_is_passed_to_the_service)
{
	service.writes_file = false;
	write_config(SOURCE "write_into_file: true");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 1);
	assert_true(says("the trace is empty"));
	check_files("x.pftrace "); /* it had its name, and may be somebody's by now */
	service.enable_error = "refused";
	service.end_at_once = true;
	assert_int_equal(record("-c c.cfg -o y.pftrace"), 1);
	check_files("x.pftrace ");
	service.end_at_once = false;
	service.enable_error = NULL;
	service.leave = "FreeBuffers";
	service.end_when_started = false;
	service.silent = "Flush";
	service.port.calls[0] = '\0'; /* what is waited for is called by this one */
	signals[0].after = "ObserveEvents";
	signals[0].number = SIGINT;
	signals[1].after = "Flush";
	signals[1].number = SIGTERM;
	signals[1].repeats = true;
	assert_int_equal(record("-c c.cfg -o z.pftrace"), 1);
	assert_true(says("the data written until then is in z.pftrace"));
}

FIXTURE_TEST(test_detached_sessions)
{
	write_config(SOURCE "buffers { size_kb: 64 }");
	service.end_when_started = false;
	assert_int_equal(record("-c c.cfg --detach f -o x.pftrace"), 2);
	assert_true(says("sonda stop writes the trace; pass -o to it"));
	write_config(SOURCE "write_into_file: true");
	assert_int_equal(record("-c c.cfg --detach f -o x.pftrace"), 0);
	assert_true(says("the service writes the trace to x.pftrace"));
	check_files("x.pftrace ");
}

FIXTURE_TEST(test_where_no_file_can_be_written_nothing_is_recorded)
{
	assert_int_equal(record("-o /nonexistent/x.pftrace sched"), 1);
	assert_true(says("cannot write /nonexistent/x.pftrace: No such file or directory"));
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(test_a_named_service_must_be_there)
{
	assert_int_equal(record("--socket /nonexistent/c -o x.pftrace sched"), 1);
	check_files("");
	assert_true(says("no tracing service listens on /nonexistent/c"));
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
	assert_int_equal(record("-o x.pftrace sched -- sh -c echo${IFS}$$>pid"), 0);
	assert_true(says("  command  'sh' ended with exit code 0\n"));
	snprintf(path, sizeof(path), "%s/pid", dir);
	assert_int_equal(fs_read_file(path, 100, &b), 0);
	assert_int_equal(n_tids, 1);
	assert_int_equal(tids[0], atoi(b.s));
	assert_true(follows);
	strbuf_deinit(&b);
	unlink(path);
	check_files("x.pftrace ");
}

FIXTURE_TEST(test_everybody_while_a_command_runs)
{
	listen_to_config();
	assert_int_equal(record("-a -C 0 -o x.pftrace sched -- true"), 0);
	assert_int_equal(n_tids, 0);
	assert_false(follows);
	assert_string_equal(mask, "1");
}

FIXTURE_TEST(test_a_process_while_a_command_runs)
{
	char line[64];

	listen_to_config();
	snprintf(line, sizeof(line), "-p %d -o x.pftrace sched -- true", (int)getpid());
	assert_int_equal(record(line), 0);
	assert_true(n_tids >= 1);
	assert_int_equal(tids[0], getpid());
	assert_true(follows);
}

FIXTURE_TEST(test_a_config_with_a_command)
{
	service.end_when_started = false;
	write_config(SOURCE "buffers { size_kb: 64 }");
	assert_int_equal(record("-c c.cfg -o x.pftrace -- false"), 0);
	assert_true(says("'false' ended with exit code 1"));
	check_files("x.pftrace ");
}

FIXTURE_TEST(test_what_is_not_there_is_told_before_anything_begins)
{
	assert_int_equal(record("-o x.pftrace -p 1073741824 sched"), 1);
	assert_true(says("sonda: -p: there is no process 1073741824\n"));
	assert_int_equal(record("-o x.pftrace -C 8191 sched"), 1);
	assert_true(says("sonda: -C: this machine has no CPU 8191; it has "));
	assert_int_equal(record("--socket host:1 -o x.pftrace -p 1 sched"), 1);
	assert_true(says("-p: the process is not on the machine of the tracing service"));
	assert_int_equal(record("--socket host:1 -o x.pftrace sched -- true"), 1);
	assert_true(says("COMMAND: the process is not on the machine of the tracing service"));
	check_files("");
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(test_a_command_that_cannot_run_leaves_no_file)
{
	listen_to_config();
	assert_int_equal(record("-o x.pftrace sched -- /nonexistent/program"), 1);
	assert_true(says("cannot run '/nonexistent/program': No such file or directory"));
	check_files("");
}

/* Whatever is typed, the terminal gets letters. */
FIXTURE_TEST(test_names_with_control_characters)
{
	listen_to_config();
	assert_int_equal(record("-o x.pftrace a\033[2Jb"), 2);
	assert_int_equal(record("--no\033[2J"), 2);
	assert_int_equal(record("-o x.pftrace sched --filter \302\2331 --trigger \033x"), 2);
	assert_int_equal(record("-o /nonexistent/\033]0;x\007 sched"), 1);
	assert_int_equal(record("-o x.pftrace sched -- \033c"), 1);
	for (const char *p = said.s; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= ' ');
	assert_true(says("cannot run '?c'"));
	check_files("");
}

FIXTURE_TEST(test_usage)
{
	assert_int_equal(record(""), 2);
	assert_true(says("nothing to record"));
	assert_int_equal(record("-t 5x sched"), 2);
	assert_int_equal(record("-P nosuch"), 2);
	assert_true(says("there is no preset 'nosuch'"));
	assert_int_equal(record("-o x.pftrace sched !sched"), 2);
	assert_true(says("no event is left"));
	assert_int_equal(record("-o x.pftrace a/b/c"), 2);
	assert_true(says("'a/b/c' is not a valid event name"));
	check_files("");
	assert_string_equal(service.port.calls, "");
	assert_int_equal(record("--help"), 0);
	assert_string_equal(said.s, "");
}

FIXTURE_TEST(test_a_mistake_in_a_config)
{
	write_config("buffers { size_kb: 64 }\nbufers { }\n");
	assert_int_equal(record("-c c.cfg -o x.pftrace"), 2);
	assert_true(says("c.cfg:2:1: error:"));
	assert_int_equal(record("-c nosuch.cfg -o x.pftrace"), 2);
	assert_true(says("sonda: cannot read the config nosuch.cfg: No such file or directory"));
	check_files("");
	assert_string_equal(service.port.calls, "");
}
