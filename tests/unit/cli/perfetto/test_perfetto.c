/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto as a script calls it: the config that the service gets, the exit code, and the tables of
 * --query. Both programs together are in tests/interop/test_perfetto_cli.sh.
 */
#include "cli/terminal/verb.h"
#include "unit/cli/verb_child.h"

static Pb__TraceConfig *config; /* of the last session */

static void on_call(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		    size_t len)
{
	Pb__EnableTracingRequest *m;

	if (!strcmp(method, "EnableTracing")) {
		m = pb__enable_tracing_request__unpack(NULL, len, args);
		pb__trace_config__free_unpacked(config, NULL);
		config = TAKE_PTR(m->trace_config);
		pb__enable_tracing_request__free_unpacked(m, NULL);
	}
	if (!strcmp(method, "QueryServiceState"))
		fake_reply_text(
			p, id, false, &pb__query_service_state_response__descriptor,
			"service_state { data_sources { ds_descriptor { name: 'track_event' "
			"track_event_descriptor {"
			"  available_categories { name: 'http.requests.in' }"
			"  available_categories { name: 'alpha' }"
			"  available_categories { name: 'database_transactions' } } } } }");
	else
		fake_session_call(p, method, id, args, len);
}

static int setup(void **state)
{
	int r = verb_setup(state);

	service.port.on_call = on_call;
	service.end_at_once = service.writes_file = true;
	return r;
}

static int teardown(void **state)
{
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	return verb_teardown(state);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

static int perfetto(const char *line)
{
	char with_name[1024];

	snprintf(with_name, sizeof(with_name), "perfetto %s", line);
	return verb_run(perfetto_main, with_name);
}

/* Checks the config of a line, without what every config gets: a random uuid, and statsd. */
static void check_config(const char *line, const char *expected)
{
	assert_int_equal(perfetto(line), 0);
	assert_true(config->trace_uuid_msb || config->trace_uuid_lsb);
	config->has_trace_uuid_msb = config->has_trace_uuid_lsb = false;
	config->has_statsd_logging = false;
	protobuf_c_message_free_unpacked(&TAKE_PTR(config->statsd_metadata)->base, NULL);
	assert_proto(&config->base, expected);
}

#define NAMES                                                                                      \
	" data_sources { config { name: 'linux.process_stats' target_buffer: 0 } }"                \
	" data_sources { config { name: 'linux.system_info' target_buffer: 0 } }"
#define FTRACE(what)                                                                               \
	" data_sources { config { name: 'linux.ftrace' ftrace_config { symbolize_ksyms: "          \
	"true " what " } } }"
#define FRAME(ms, kb, file)                                                                        \
	"duration_ms: " ms " buffers { size_kb: " kb " } flush_period_ms: 30000 "                  \
	"max_file_size_bytes: " file

FIXTURE_TEST(the_config_of_the_light_flags)
{
	static const struct {
		const char *line, *config;
	} rows[] = {
		{"-o x sched",
		 FRAME("10000", "32768", "0") FTRACE("atrace_categories: 'sched'") NAMES},
		{"-t 2m -b 1g -o x sched/sched_switch sched a/b",
		 FRAME("120000", "1048576", "0")
			 FTRACE("ftrace_events: 'sched/sched_switch' ftrace_events: 'a/b' "
				"atrace_categories: 'sched'") NAMES},
		{"-s 3mb -t 5ms -o x disk",
		 FRAME("5", "32768",
		       "3145728") " write_into_file: true" FTRACE("atrace_categories: 'disk'") NAMES
		 " data_sources { config { name: 'linux.sys_stats' "
		 "sys_stats_config { diskstat_period_ms: 1000 } } }"},
		/* Quotes do not leave their string. */
		{"-t 1s -a x\"y\\ -o x",
		 FRAME("1000", "32768", "0") FTRACE("atrace_apps: 'x\"y\\\\'") NAMES},
		{"-t 1s -o x --add-note k=v=\"w --add-attribute b=2 sched",
		 FRAME("1000", "32768", "0") FTRACE("atrace_categories: 'sched'") NAMES
		 " trace_attributes { attribute { key: 'k' string_value: 'v=\"w' }"
		 " attribute { key: 'b' string_value: '2' } }"},
		/* An empty config is none. */
		{"-c /dev/null -t 100ms -o x", FRAME("100", "32768", "0") NAMES},
		{"-c /dev/null --txt -o x sched",
		 FRAME("10000", "32768", "0") FTRACE("atrace_categories: 'sched'") NAMES},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_config(rows[i].line, rows[i].config);
}

FIXTURE_TEST(conflicts_end_with_1_before_a_connection)
{
	static const char *const lines[] = {
		"--query -d",
		"--long",
		"--attach a --detach b",
		"--detach b -d",
		"--stop",
		"--clone 1 --clone-by-name b",
		"--clone-for-bugreport",
		"--save-for-bugreport -t 1s",
		"--query -t 1s",
		"-c :test -t 1s",
		"--query -c :test",
		"--txt --txt-lossy -o x sched",
		"-t 10 -o x sched",
		"-b 10MB -o x sched",
		"-o x",
		"-c /dev/null -o x",
		"--upload",
		"--add-note =v",
		"-c /nonexistent -o x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (perfetto(lines[i]) != 1)
			fail_msg("%s", lines[i]);
	assert_int_equal(perfetto("--version"), 0);
	assert_int_equal(perfetto("--reset-guardrails"), 0);
	assert_string_equal(service.port.calls, "");
}

FIXTURE_TEST(categories_of_a_data_source_are_cut_without_long)
{
	assert_int_equal(perfetto("--query"), 0);
	assert_non_null(strstr(out.s, " http.requests.in,alpha,database_transact... (use --long "
				      "to expand)\n"));
	assert_int_equal(perfetto("--query --long"), 0);
	assert_non_null(strstr(out.s, " http.requests.in,alpha,database_transactions\n"));
}
