/* SPDX-License-Identifier: Apache-2.0 */
/* Configs and states of the service, both as text. */

#include "cli/report/recording_sources.h"
#include "unit/proto_text.h"
#include "unit/test.h"

static struct recording_sources sources;
static struct err_text why;

static int teardown(void **state)
{
	recording_sources_deinit(&sources);
	return 0;
}

#define CONFIG                                                                                     \
	"data_sources { config { name: 'linux.ftrace' ftrace_config { ftrace_events: 'a/b' } } }"  \
	"data_sources { config { name: 'linux.a' } } data_sources { config { name: 'linux.b' } }"  \
	"data_sources { config { name: 'linux.c' } producer_name_filter: 'x' }"
#define SOURCE(name, id) "data_sources { ds_descriptor { name: '" name "' } producer_id: " #id " } "

static int begin(const char *config_text, const char *state_text)
{
	Pb__TraceConfig *config = (void *)proto_parse(&pb__trace_config__descriptor, config_text);
	Pb__TracingServiceState *state =
		(void *)proto_parse(&pb__tracing_service_state__descriptor, state_text);
	int r;

	recording_sources_deinit(&sources);
	sources = (struct recording_sources){0};
	why.text[0] = '\0';
	r = recording_sources_begin(&sources, config, state, &why);
	pb__trace_config__free_unpacked(config, NULL);
	pb__tracing_service_state__free_unpacked(state, NULL);
	return r;
}

static void end(const char *config_text, const char *state_text)
{
	Pb__TraceConfig *config = (void *)proto_parse(&pb__trace_config__descriptor, config_text);
	Pb__TracingServiceState *state =
		(void *)proto_parse(&pb__tracing_service_state__descriptor, state_text);

	recording_sources_end(&sources, config, state);
	pb__trace_config__free_unpacked(config, NULL);
	pb__tracing_service_state__free_unpacked(state, NULL);
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(test_what_is_missing_at_both_ends_is_missing)
{
	assert_int_equal(begin(CONFIG, "producers { id: 1 name: 'p' pid: 7 } " SOURCE(
					       "linux.ftrace", 1) SOURCE("linux.c", 1)),
			 0);
	assert_int_equal(sources.missing.n, 2);
	assert_int_equal(sources.left_out.n, 1);
	assert_int_equal(sources.offered.n, 2);
	end(CONFIG, "producers { id: 2 name: 'p' pid: 8 } " SOURCE("linux.b", 2));
	assert_int_equal(sources.missing.n, 1);
	assert_string_equal(sources.missing.names[0], "linux.a");
	assert_int_equal(sources.left_out.n, 0);
	assert_int_equal(sources.gone.n, 1);
	assert_string_equal(sources.gone.names[0], "p (pid 7)");
}

/* The departure of 3 is reported though 5 replaces it; programs may come and go. */
FIXTURE_TEST(test_a_producer_that_leaves_is_reported)
{
	static const char config[] = "data_sources { config { name: 'linux.ftrace' } }"
				     "data_sources { config { name: 'track_event' } }";
	static const char before[] =
		"producers { id: 3 name: 'probes' pid: 300 } producers { id: 4 name: 'other' } "
		"producers { id: 9 name: 'app' pid: 900 }" SOURCE("linux.ftrace", 3)
			SOURCE("linux.perf", 4) SOURCE("track_event", 9) SOURCE("linux.ftrace", 77);

	assert_int_equal(begin(config, before), 0);
	end(config, before);
	assert_int_equal(sources.gone.n, 0);
	end(config, "producers { id: 5 name: 'probes' pid: 300 }");
	assert_int_equal(sources.gone.n, 1);
	assert_string_equal(sources.gone.names[0], "probes (pid 300)");
}

/* ---- fields that only sonda-probes knows ---- */

#define FTRACE(fields)                                                                             \
	"data_sources { config { name: 'linux.ftrace' ftrace_config { " fields " } } }"
#define OURS                                                                                       \
	"producers { id: 1 name: 'perfetto.traced_probes' pid: 11 } data_sources { producer_id: 1" \
	" ds_descriptor { name: 'linux.ftrace' ftrace_descriptor { knows_own_fields: true } } }"
#define THEIRS                                                                                     \
	"producers { id: 2 name: 'perfetto.traced_probes' pid: 12 sdk_version: 'Perfetto v56' }"   \
	" data_sources { producer_id: 2 ds_descriptor { name: 'linux.ftrace'"                      \
	" ftrace_descriptor { atrace_categories { name: 'x' } } } }"

FIXTURE_TEST(test_sonda_probes_knows_its_own_fields)
{
	assert_int_equal(begin(FTRACE("event_filters { event: 'a' } uprobe_events: 'p'"), OURS), 0);
	assert_int_equal(sources.skipped.n, 0);
}

FIXTURE_TEST(test_a_config_without_them_suits_each_producer)
{
	assert_int_equal(begin(FTRACE("ftrace_events: 'sched/*' ftrace_events: 'a/b' "
				      "tids_to_trace: 1 kprobe_events { probe: 'x' } "
				      "subbuf_size_kb: 0 follow_children: false"),
			       THEIRS),
			 0);
	assert_int_equal(sources.skipped.n, 0);
	assert_int_equal(
		begin("data_sources { config { name: 'other' } } data_sources { }", THEIRS), 0);
	assert_int_equal(begin(FTRACE("event_filters { }"), ""), 0);
}

FIXTURE_TEST(test_a_filter_that_is_skipped_would_record_too_much)
{
	assert_int_equal(begin(FTRACE("event_filters { event: 'a' }"), THEIRS), -EOPNOTSUPP);
	assert_string_equal(why.text, "event_filters (--filter) needs sonda-probes; here "
				      "linux.ftrace is provided by perfetto.traced_probes (pid 12, "
				      "Perfetto v56), which would record more than requested");
	assert_int_equal(begin(FTRACE("pids_to_trace: 5"), THEIRS), -EOPNOTSUPP);
	/* It knows these threads. */
	assert_int_equal(begin(FTRACE("pids_to_trace: 5 tids_to_trace: 5"), THEIRS), 0);
	assert_int_equal(sources.skipped.n, 0);
	/* Both are there, and both would get it. */
	assert_int_equal(begin(FTRACE("event_filters { event: 'a' }"), OURS " " THEIRS),
			 -EOPNOTSUPP);
}

FIXTURE_TEST(test_ignored_fields_are_named)
{
	static const struct {
		const char *config, *name;
	} cases[] = {
		{FTRACE("event_triggers { }"), "event_triggers (--trigger) needs"},
		{FTRACE("follow_children: true"), "follow_children (children of -p and COMMAND)"},
		{FTRACE("uprobe_events: 'p'"), "uprobe_events (--uprobe) needs"},
		{FTRACE("kprobe_events { definition: 'p' }"), "kprobe_events.definition (--kprobe"},
		{FTRACE("subbuf_size_kb: 8"), "subbuf_size_kb (--subbuf) needs"},
		{FTRACE("ftrace_events: '*irq*'"), "patterns in ftrace_events ('*irq*') needs"},
		{FTRACE("ftrace_events: 'a/b*'"), "patterns in ftrace_events"},
		{FTRACE("ftrace_events: 'a/?'"), "patterns in ftrace_events"},
		{FTRACE("ftrace_events: '*/*'"), "patterns in ftrace_events"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(begin(cases[i].config, THEIRS), 0);
		assert_int_equal(sources.skipped.n, 1);
		assert_non_null(strstr(sources.skipped.names[0], cases[i].name));
		assert_non_null(strstr(sources.skipped.names[0],
				       "it is ignored by perfetto.traced_probes "
				       "(pid 12, Perfetto v56)"));
	}
	assert_int_equal(begin(FTRACE("subbuf_size_kb: 8 follow_children: true"), THEIRS), 0);
	assert_int_equal(sources.skipped.n, 2);
}

/* A producer that the config's own filters leave out does no harm. */
FIXTURE_TEST(test_producers_that_do_not_get_the_config_do_not_count)
{
	assert_int_equal(
		begin("data_sources { producer_name_filter: 'other' config { name: 'linux.ftrace'"
		      " ftrace_config { event_filters { } } } }",
		      THEIRS),
		0);
	assert_int_equal(begin(FTRACE("event_filters { }"),
			       "producers { id: 2 name: 'x' machine_id: 9 } data_sources {"
			       " producer_id: 2 ds_descriptor { name: 'linux.ftrace' } }"),
			 0);
}

FIXTURE_TEST(test_states_with_holes)
{
	assert_int_equal(begin(FTRACE("event_filters { }"), "data_sources { }"), 0);
	assert_int_equal(begin(FTRACE("event_filters { }"),
			       "data_sources { producer_id: 5 ds_descriptor { name: 'linux.ftrace' "
			       "} }"),
			 0);
	assert_int_equal(begin(FTRACE("event_filters { }"),
			       "producers { id: 5 } data_sources { producer_id: 5 ds_descriptor { "
			       "name: 'linux.ftrace' } }"),
			 -EOPNOTSUPP);
}

/* ---- names that do not exist ---- */

#define ONLY(name) "data_sources { config { name: '" name "' } }"
#define PROBES "producers { id: 1 } " SOURCE("linux.ftrace", 1) SOURCE("my.own", 1)

/* A recording is refused only if no producer can ever offer its data sources: names of the kernel's
 * data sources that do not exist, or typing errors of such a name. */
FIXTURE_TEST(test_a_recording_of_sources_that_do_not_exist_is_refused)
{
	static const char *const refused[] = {ONLY("linx.ftrace"), ONLY("linux.nosuch"),
					      ONLY("linux.ftrac") ONLY("linux.process_stats")};
	static const char *const begun[] = {
		ONLY("linux.ftrace"),
		ONLY("my.other"),
		ONLY("linux.perf"),
		ONLY("linux.ftrac") ONLY("linux.ftrace"),
		ONLY("linux.process_stats"),
		ONLY("linux.nosuch") "trace_all_machines: true",
		"data_sources { machine_name_filter: 'x' config { name: 'linux.nosuch' } }"};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (begin(refused[i], PROBES) != -ENODEV)
			fail_msg("begins: %s", refused[i]);
	assert_non_null(strstr(why.text, "'linux.ftrac'; did you mean linux.ftrace?"));
	for (size_t i = 0; i < ARRAY_SIZE(begun); i++)
		if (begin(begun[i], PROBES) != 0)
			fail_msg("refused: %s", begun[i]);
	/* The daemon of the kernel's data sources may connect later. */
	assert_int_equal(begin(ONLY("linux.ftrac"), "producers { id: 1 } " SOURCE("my.own", 1)), 0);
}

static bool runs_command;

static const char *warnings(const char *config_text)
{
	static char text[8192];
	Pb__TraceConfig *config = (void *)proto_parse(&pb__trace_config__descriptor, config_text);
	const char *names[] = {"sched/sched_switch"};
	struct tracefs_events events = {.names = names, .n = 1, .root = (char *)"/nonexistent"};
	struct strbuf lines = {0};

	strbuf_puts(&lines, "before\n");
	recording_sources_warn(&sources, config, &events, runs_command, &lines);
	snprintf(text, sizeof(text), "%s", lines.s);
	strbuf_deinit(&lines);
	pb__trace_config__free_unpacked(config, NULL);
	return text;
}

FIXTURE_TEST(test_early_warnings)
{
	begin("data_sources { config { name: 'linux.a' } } data_sources { config {"
	      " name: 'linux.ftrace' ftrace_config { subbuf_size_kb: 8 } } }",
	      "producers { id: 1 name: 'p' } " SOURCE("linux.ftrace", 1));
	assert_string_equal(warnings("data_sources { config { name: 'linux.ftrace' ftrace_config {"
				     " ftrace_events: 'sched/sched_swich' } } }"),
			    "before\n"
			    "no producer provides the data source 'linux.a' yet\n"
			    "subbuf_size_kb (--subbuf) needs sonda-probes; it is ignored by p "
			    "(pid 0)\n"
			    "event 'sched/sched_swich' does not exist; did you mean "
			    "sched/sched_switch?\n");
}

FIXTURE_TEST(track_events_may_come_with_the_command_or_later)
{
	begin("data_sources { config { name: 'track_event' } } data_sources { config {"
	      " name: 'linux.ftrace' } }",
	      "producers { id: 1 name: 'p' } " SOURCE("linux.ftrace", 1));
	assert_string_equal(warnings(""), "before\nno running program provides track events; "
					  "programs that start later are recorded\n");
	runs_command = true;
	assert_string_equal(warnings(""), "before\n");
	runs_command = false;
}

FIXTURE_TEST(test_many_warnings_are_cut)
{
	struct strbuf config = {0};
	const char *text, *p;
	size_t lines = 0;

	strbuf_puts(&config, "data_sources { config { name: 'linux.ftrace' ftrace_config { ");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&config, "ftrace_events: 'no/such%d' ", i);
	strbuf_puts(&config, "} } }");
	text = warnings(config.s);
	for (p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 22);
	assert_non_null(strstr(text, "'no/such19' does not exist\nand others like these\n"));
	strbuf_deinit(&config);
	assert_string_equal(warnings("duration_ms: 1"), "before\n");
}
