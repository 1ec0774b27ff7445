/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/config_sources.h"
#include "cli/report/missing_events.h"
#include "unit/cli/kernel_events.h"
#include "unit/proto_text.h"
#include "unit/test.h"

static Pb__TraceConfig *config_of(const char *text)
{
	return (Pb__TraceConfig *)proto_parse(&pb__trace_config__descriptor, text);
}

static void check_events(const char *text, const struct ftrace_scan *ftrace,
			 const struct tracefs_events *of_kernel, size_t n, const char *expected)
{
	Pb__TraceConfig *config = config_of(text);
	struct strbuf lines = {0};

	assert_int_equal(missing_events_write(config, ftrace, of_kernel, &lines), n);
	assert_string_equal(lines.s ? lines.s : "", expected);
	strbuf_deinit(&lines);
	pb__trace_config__free_unpacked(config, NULL);
}

#define FTRACE(list)                                                                               \
	"data_sources { config { name: 'linux.ftrace' ftrace_config { ftrace_events: [" list       \
	"] } } }"

TEST(test_nothing_is_missing)
{
	struct ftrace_scan none = {0};

	check_events(FTRACE("'sched/sched_switch', 'irq/*', 'task_rename', 'ftrace/print'"), &none,
		     &events, 0, "");
	check_events("", &none, &events, 0, "");
	/* Without the kernel's list only the producer's word counts. */
	check_events(FTRACE("'sched/nosuch'"), &none, NULL, 0, "");
	/* Another source's ftrace_config, or none, is nothing. */
	check_events("data_sources { config { name: 'x' ftrace_config { ftrace_events: 'a/b' } } }"
		     "data_sources { config { name: 'linux.ftrace' } } data_sources { }",
		     &none, &events, 0, "");
}

#define FILES(source)                                                                              \
	"data_sources { config { name: '" source                                                   \
	"' process_stats_config { resolve_process_fds: true } } }"

TEST(test_files_of_processes_are_not_recorded)
{
	static const char says[] = "resolve_process_fds of linux.process_stats has no effect: "
				   "sonda-probes does not record open files\n";

	check_events(FILES("linux.process_stats"), NULL, NULL, 1, says);
	check_events(FILES("linux.process_stats") FTRACE("'sched/sched_switch'"), NULL, NULL, 1,
		     says);
	check_events(FILES("other.source"), NULL, NULL, 0, "");
	check_events("data_sources { config { name: 'linux.process_stats' process_stats_config { "
		     "resolve_process_fds: false } } } "
		     "data_sources { config { name: 'linux.process_stats' } }",
		     NULL, NULL, 0, "");
}

TEST(test_the_kernels_list_knows)
{
	check_events(FTRACE("'sched/sched_swich', 'sched/sched_switch', 'softirq_entr', 'zzz/*', "
			    "'quite/different'"),
		     NULL, &events, 4,
		     "event 'sched/sched_swich' does not exist; did you mean sched/sched_switch?\n"
		     "event 'softirq_entr' does not exist; did you mean irq/softirq_entry?\n"
		     "no event matches 'zzz/*'\n"
		     "event 'quite/different' does not exist\n");
}

TEST(test_the_producers_word_counts_once)
{
	struct ftrace_scan scan = {0};

	name_list_add(&scan.unknown, (const uint8_t *)"sched/sched_swich", 17);
	name_list_add(&scan.unknown, (const uint8_t *)"a/b", 3);
	name_list_add(&scan.failed, (const uint8_t *)"c/d (busy)", 10);
	name_list_add(&scan.failed, (const uint8_t *)"option:x (not built)", 20);
	name_list_add(&scan.problems, (const uint8_t *)"in use by another", 17);
	check_events(FTRACE("'sched/sched_swich'"), &scan, &events, 5,
		     "event 'sched/sched_swich' does not exist; did you mean sched/sched_switch?\n"
		     "event 'a/b' does not exist\n"
		     "event c/d could not be recorded: busy\n"
		     "ftrace option x: not built\n"
		     "ftrace: in use by another\n");
	scan.unknown_more = 7;
	scan.failed_more = 1234;
	scan.problems.n = 0;
	check_events("", &scan, NULL, 6,
		     "event 'sched/sched_swich' does not exist; did you mean sched/sched_switch?\n"
		     "event 'a/b' does not exist\n"
		     "and 7 more events that do not exist\n"
		     "event c/d could not be recorded: busy\n"
		     "ftrace option x: not built\n"
		     "and 1234 more that could not be recorded\n");
	scan.unknown_more = scan.failed_more = 0;
	scan.problems.n = 1;
	/* Without the kernel's list: out of the events that have a message. */
	name_list_deinit(&scan.failed);
	name_list_deinit(&scan.problems);
	check_events("", &scan, NULL, 2,
		     "event 'sched/sched_swich' does not exist; did you mean sched/sched_switch?\n"
		     "event 'a/b' does not exist\n");
	ftrace_scan_deinit(&scan);
}

static void check_all(const char *text, const char *expected)
{
	Pb__TraceConfig *config = config_of(text);
	struct strbuf lines = {0};

	assert_int_equal(missing_events_write_if_all_missing(config, &events, &lines),
			 *expected != '\0');
	assert_string_equal(lines.s ? lines.s : "", expected);
	strbuf_deinit(&lines);
	pb__trace_config__free_unpacked(config, NULL);
}

#define NAMES "data_sources { config { name: 'linux.process_stats' } } "

/* Nothing would be recorded. */
TEST(test_every_event_is_missing)
{
	static const char says[] = "event 'shced' does not exist; did you mean sched?\n";

	check_all(FTRACE("'shced', 'help'") NAMES,
		  "event 'shced' does not exist; did you mean sched?\n"
		  "event 'help' does not exist; see 'sonda help record'\n");
	check_all(FTRACE("'shced'") FTRACE("'shced'"), says);
	check_all(FTRACE("'perf/cycles', 'instructions'"),
		  "event 'perf/cycles' does not exist; call stacks at 99 Hz: --cpu-stacks; "
		  "perf counters: a config with linux.perf\n"
		  "event 'instructions' does not exist; call stacks at 99 Hz: --cpu-stacks; "
		  "perf counters: a config with linux.perf\n");
	/* There is something to record. */
	check_all(FTRACE("'shced', 'sched_switch'"), "");
	check_all(FTRACE("'shced'") FTRACE("'irq/*'"), "");
	check_all(FTRACE("'shced'") " data_sources { config { name: 'linux.sys_stats' } }", "");
	check_all(FTRACE("'shced'") " data_sources { config { name: 'linux.process_stats' "
				    "process_stats_config { proc_stats_poll_ms: 100 } } }",
		  "");
	check_all(FTRACE(""), "");
	check_all(NAMES, "");
	/* Another machine's kernel may have it. */
	check_all(FTRACE("'shced'") " trace_all_machines: true", "");
	/* Events of its own. */
	check_all("data_sources { config { name: 'linux.ftrace' ftrace_config { ftrace_events: "
		  "'shced' enable_function_graph: true } } }",
		  "");
}

/* ---- what could not be recorded ---- */

/* entries ends with NULL. */
static void check_failed(const char *const *entries, const char *expected)
{
	struct ftrace_scan scan = {0};
	struct strbuf lines = {0};
	Pb__TraceConfig *config = config_of("");

	for (; *entries; entries++)
		name_list_add_text(&scan.failed, (const uint8_t *)*entries, strlen(*entries));
	missing_events_write(config, &scan, NULL, &lines);
	assert_string_equal(lines.s, expected);
	strbuf_deinit(&lines);
	ftrace_scan_deinit(&scan);
	pb__trace_config__free_unpacked(config, NULL);
}

#define CHECK(expected, ...) check_failed((const char *const[]){__VA_ARGS__, NULL}, expected)

TEST(test_failed_events_and_options)
{
	CHECK("event a/b could not be recorded: Device or resource busy\n",
	      "a/b (Device or resource busy)");
	CHECK("event a/b could not be recorded\n", "a/b");
	CHECK("ftrace option x: not built\nftrace option y\n", "option:x (not built)", "option:y");
	/* Brackets that are none around a reason. */
	CHECK("event a/b (c) d could not be recorded\n", "a/b (c) d");
	CHECK("event a/b could not be recorded: c (d)\n", "a/b (c (d))");
	CHECK("event  could not be recorded:  \n"
	      "event ( could not be recorded\n",
	      " ( )", "(");
}

TEST(test_events_of_one_reason_share_a_line)
{
	CHECK("events a/b, a/d could not be recorded: busy\n"
	      "event a/c could not be recorded: gone\n"
	      "ftrace option x: busy\n"
	      "ftrace option y: busy\n",
	      "a/b (busy)", "a/c (gone)", "option:x (busy)", "a/d (busy)", "option:y (busy)");
	CHECK("events a/1, a/2, a/3 and 1 other could not be recorded: busy\n", "a/1 (busy)",
	      "a/2 (busy)", "a/3 (busy)", "a/4 (busy)");
	CHECK("events a/1, a/2, a/3 and 2 others could not be recorded: busy\n", "a/1 (busy)",
	      "a/2 (busy)", "a/3 (busy)", "a/4 (busy)", "a/5 (busy)");
}

/* Its event is recorded. */
TEST(test_a_trigger_that_is_refused)
{
	CHECK("trigger on event a/b was refused: no\n", "a/b (trigger refused: no)");
	CHECK("trigger on events a/b, a/c was refused: Field not found\n"
	      "  x == 1\n"
	      "  ^\n"
	      "event a/d could not be recorded: trigger refused: \n",
	      "a/b (trigger refused: Field not found at character 1: ^x == 1)",
	      "a/c (trigger refused: Field not found at character 1: ^x == 1)",
	      "a/d (trigger refused: )");
}

TEST(test_the_place_of_a_mistake)
{
	CHECK("event a/b could not be recorded: filter refused: Field not found\n"
	      "  prev_pid == 1 && x == 5\n"
	      "                   ^\n",
	      "a/b (filter refused: Field not found at character 18: prev_pid == 1 && ^x == 5)");
	CHECK("event a/b could not be recorded: no\n"
	      "  x == (1)\n"
	      "  ^\n",
	      "a/b (no at character 1: ^x == (1))");
	CHECK("ftrace option kprobe_events: no\n"
	      "  p:x y\n"
	      "       ^\n",
	      "option:kprobe_events (no at character 6: p:x y^)");
	/* A '^' of the text's own before it; blanks as wide as the letters are. */
	CHECK("event a/b could not be recorded: no\n"
	      "  c ~ \"^\xc3\xa4\" && x\n"
	      "              ^\n",
	      "a/b (no at character 14: c ~ \"^\xc3\xa4\" && ^x)");
	/* Cut on both sides. */
	CHECK("event a/b could not be recorded: no\n"
	      "  ...aaa bbb...\n"
	      "         ^\n",
	      "a/b (no at character 150: ...aaa ^bbb...)");
}

TEST(test_reasons_without_a_place_are_not_changed)
{
	static const char *const reasons[] = {
		"no at character : x^",	  "no at character 0: x^",
		"no at character 7: x",	  "no at character 99999999999999999999999: x",
		"at character 1: ^x",	  "no at character 1:",
		"no at character 1",	  "no at character 1^",
		"no at character -5: xy",
	};
	char entry[128], expected[128];

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		snprintf(entry, sizeof(entry), "a/b (%s)", reasons[i]);
		snprintf(expected, sizeof(expected), "event a/b could not be recorded: %s\n",
			 reasons[i]);
		CHECK(expected, entry);
	}
}

/* ---- data sources ---- */

/* Which sources of a config are missing at a service, or NULL, and which it leaves out; at most one
 * of each. */
static void check_sources(const char *source, const char *state, const char *missing_one,
			  const char *left_out_one)
{
	ProtobufCMessage *service = proto_parse(&pb__tracing_service_state__descriptor, state);
	struct name_list missing = {0}, left_out = {0};
	Pb__TraceConfig *config = config_of(source);

	config_sources_list_missing(config, (Pb__TracingServiceState *)service, &missing,
				    &left_out);
	assert_int_equal(missing.n, missing_one != NULL);
	if (missing_one)
		assert_string_equal(missing.names[0], missing_one);
	assert_int_equal(left_out.n, left_out_one != NULL);
	if (left_out_one)
		assert_string_equal(left_out.names[0], left_out_one);
	name_list_deinit(&missing);
	name_list_deinit(&left_out);
	pb__trace_config__free_unpacked(config, NULL);
	protobuf_c_message_free_unpacked(service, NULL);
}

TEST(test_sources_that_no_producer_registered)
{
	check_sources("data_sources { config { name: 'linux.ftrace' } }"
		      "data_sources { config { name: 'linux.perf' } }"
		      "data_sources { config { name: 'linux.perf' } }"
		      "data_sources { config { } } data_sources { }",
		      "data_sources { } data_sources { ds_descriptor { } }"
		      "data_sources { ds_descriptor { name: 'linux.ftrace' } }",
		      "linux.perf", NULL);
}

/* Two producers of "src": prod.a on this machine, prod.b on the machine "far". */
static void check_left_out(const char *source, const char *expected)
{
	check_sources(source,
		      "producers { id: 1 name: 'prod.a' }"
		      "producers { id: 2 name: 'prod.b' machine_id: 77 machine_name: 'far' }"
		      "data_sources { producer_id: 1 ds_descriptor { name: 'src' } }"
		      "data_sources { producer_id: 2 ds_descriptor { name: 'src' } }",
		      NULL, *expected ? expected : NULL);
}

#define SOURCE(filters) "data_sources { config { name: 'src' } " filters " }"
#define LEFT_OUT "data source 'src' is not recorded: none of its producers match "

TEST(test_sources_that_filters_leave_out)
{
	check_left_out(SOURCE(""), "");
	check_left_out(SOURCE("producer_name_filter: 'prod.a'"), "");
	check_left_out(SOURCE("producer_name_filter: 'no.such'"),
		       LEFT_OUT "producer_name_filter \"no.such\"");
	check_left_out(SOURCE("producer_name_filter: ['no.such', 'either']"
			      "producer_name_regex_filter: 'b.*'"),
		       LEFT_OUT "producer_name_filter \"no.such\", ... "
				"producer_name_regex_filter \"b.*\"");
	check_left_out(SOURCE("producer_name_filter: 'no.such'"
			      "producer_name_regex_filter: 'prod\\\\.a'"),
		       "");
	/* The other producer is elsewhere, and has to be asked for. */
	check_left_out(SOURCE("producer_name_filter: 'prod.b'"),
		       LEFT_OUT "producer_name_filter \"prod.b\"");
	check_left_out(SOURCE("producer_name_filter: 'prod.b'") " trace_all_machines: true", "");
	check_left_out(SOURCE("machine_name_filter: 'far'"), "");
	check_left_out(SOURCE("machine_name_filter: 'moon'"),
		       LEFT_OUT "machine_name_filter \"moon\"");
	/* One of two sources of the same name. */
	check_left_out(SOURCE("") SOURCE("producer_name_filter: 'no.such'"),
		       LEFT_OUT "producer_name_filter \"no.such\"");
}

TEST(test_who_asks_for_ftrace)
{
	static const struct {
		const char *config;
		bool asks, asks_only;
	} rows[] = {
		{FTRACE("'a/b'"), true, true},
		{FTRACE("'a/b'") " data_sources { config { name: 'x' } }", true, false},
		/* Without an ftrace_config it asks for nothing of it. */
		{"data_sources { config { name: 'linux.ftrace' } }", false, false},
		{"data_sources { config { } } data_sources { }", false, false},
		{"", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Pb__TraceConfig *config = config_of(rows[i].config);

		assert_int_equal(config_requests_ftrace(config), rows[i].asks);
		assert_int_equal(config_requests_only_ftrace(config), rows[i].asks_only);
		pb__trace_config__free_unpacked(config, NULL);
	}
}

TEST_GROUP(kernel_events_setup, kernel_events_teardown)
