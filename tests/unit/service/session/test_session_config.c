/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/str.h"
#include "config/limits.h"
#include "service/ipc/limits.h"
#include "service/session/name_regex.h"
#include "service/session/session_config.h"
#include "unit/service/rig.h"
#include "unit/test.h"

static struct err_text e;

static int check(const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	int r;

	e.text[0] = '\0';
	r = session_config_check(c, &e);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static void assert_fine(const char *config)
{
	if (check(config) != 0)
		fail_msg("%.200s is refused: %s", config, e.text);
}

static void assert_refused(const char *config, int error, const char *word)
{
	int r = check(config);

	if (r != error || !strstr(e.text, word))
		fail_msg("%.200s: %d, \"%s\" does not name %s", config, r, e.text, word);
}

#define BUFFER "buffers { size_kb: 4 } "
#define SOURCE(fields) "data_sources { config { name: 'ds' " fields " } } "
#define TRIGGERS(mode, fields)                                                                     \
	"trigger_config { trigger_timeout_ms: 1 trigger_mode: " mode " " fields " }"
#define GUARDRAILS "enable_extra_guardrails: true "
#define BOOST(fields) "priority_boost { " fields " }"

TEST(valid_configs_are_accepted)
{
	static const char *const good[] = {
		"",
		"buffers { size_kb: 1 fill_policy: DISCARD } buffers { size_kb: 4194303 } " SOURCE(
			"target_buffer: 1"),
		/* there is one kind of buffer */
		"buffers { size_kb: 4 experimental_mode: TRACE_BUFFER_V2 }",
		/* as the command line sends it */
		"buffers { size_kb: 64 } duration_ms: 1000 enable_extra_guardrails: false "
		"statsd_metadata {} trace_uuid_msb: -5 trace_uuid_lsb: 7 "
		"statsd_logging: STATSD_LOGGING_DISABLED",
		/* fields for other programs than the service */
		"activate_triggers: 'x' notify_traceur: true allow_user_build_tracing: true "
		"incident_report_config { destination_package: 'p' } "
		"android_report_config { skip_report: true } "
		"cmd_trace_start_delay { min_delay_ms: 1 max_delay_ms: 2 } "
		"trace_attributes { attribute { key: 'a' string_value: 'b' } } "
		"bugreport_score: 5 bugreport_filename: 'a-B_9.pb' trace_all_machines: true",
		/* fields of a file, without one */
		"max_file_size_bytes: 1000000 file_write_period_ms: 500 "
		"write_flush_mode: WRITE_FLUSH_ENABLED fflush_post_write: FFLUSH_ENABLED",
		/* the defaults */
		"lockdown_mode: LOCKDOWN_UNCHANGED write_into_file: false output_path: '' "
		"compression_type: COMPRESSION_TYPE_UNSPECIFIED exclusive_prio: 0 "
		"buffers { size_kb: 4 transfer_on_clone: false clear_before_clone: false } "
		"builtin_data_sources { enable_concurrent_session_events: false }",
		"duration_ms: 604800000",
		GUARDRAILS "duration_ms: 86400000",
		"bugreport_filename: ''",
		GUARDRAILS "buffers { size_kb: 65536 } buffers { size_kb: 65536 }",
		GUARDRAILS "buffers { size_kb: 131076 } "
			   "guardrail_overrides { max_tracing_buffer_size_kb: 131076 }",
		/* an override raises the limit, it does not lower it */
		GUARDRAILS "buffers { size_kb: 131072 } "
			   "guardrail_overrides { max_tracing_buffer_size_kb: 4 }",
		"buffers { size_kb: 200001 } deferred_start: true",
		BUFFER BUFFER "buffers { size_kb: 4 name: '' } buffers { size_kb: 4 name: '' } "
			      "buffers { size_kb: 4 name: 'a' }",
		"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 604800000 }",
		TRIGGERS("START_TRACING", "triggers { name: 'a' producer_name_regex: 'x.*' } "
					  "triggers { name: 'b' }"),
		BOOST("policy: POLICY_SCHED_OTHER"),
		BOOST("policy: POLICY_SCHED_OTHER priority: 20"),
		BOOST("policy: POLICY_SCHED_FIFO priority: 1"),
		BOOST("policy: POLICY_SCHED_FIFO priority: 99"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_fine(good[i]);
}

TEST(invalid_configs_are_refused_with_the_reason)
{
	static const struct {
		const char *config, *word;
	} bad[] = {
		{"duration_ms: 604800001", "duration_ms"},
		{GUARDRAILS "duration_ms: 86400001", "enable_extra_guardrails"},
		{"bugreport_filename: 'a/b'", "bugreport_filename"},
		{"bugreport_filename: 'a b'", "bugreport_filename"},
		{"bugreport_filename: '\\303\\244'", "bugreport_filename"},
		{GUARDRAILS "deferred_start: true", "deferred_start"},
		{GUARDRAILS "buffers { size_kb: 6 }", "6"},
		{GUARDRAILS "buffers { size_kb: 131072 } " BUFFER, "131076"},
		{"buffers {}", "size_kb"},
		{BUFFER "buffers { size_kb: 0 }", "buffer 1"},
		{"buffers { size_kb: 4194304 }", "4194304"},
		{"buffers { size_kb: 4 name: 'dup' } " BUFFER "buffers { size_kb: 4 name: 'dup' }",
		 "dup"},
		{SOURCE(""), "ds"},
		{BUFFER SOURCE("target_buffer: 1"), "no buffer 1"},
		{BUFFER SOURCE("target_buffer: 4294967295"), "4294967295"},
		{"buffers { size_kb: 4 name: 'a' } " SOURCE("target_buffer_name: 'b'"), "\"b\""},
		{BUFFER "buffers { size_kb: 4 name: 'a' } " BUFFER SOURCE(
			 "target_buffer: 2 target_buffer_name: 'a'"),
		 "target_buffer 2"},
		{BUFFER "data_sources { config { name: 'a' } producer_name_regex_filter: '(' }",
		 "producer_name_regex_filter"},
		/* triggers */
		{"trigger_config { trigger_mode: START_TRACING }", "trigger_timeout_ms is 0"},
		{"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 604800001 }",
		 "trigger_timeout_ms is 604800001"},
		{GUARDRAILS
		 "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 86400001 }",
		 "1 to 86400000"},
		{"duration_ms: 5 " TRIGGERS("START_TRACING", ""), "duration_ms"},
		{TRIGGERS("START_TRACING", "use_clone_snapshot_if_available: true"),
		 "use_clone_snapshot_if_available"},
		{TRIGGERS("START_TRACING", "triggers { name: 'a' } triggers { name: 'a' }"),
		 "\"a\""},
		{TRIGGERS("START_TRACING", "triggers { name: 'a' producer_name_regex: '(' }"),
		 "producer_name_regex"},
		{"write_into_file: true " TRIGGERS("CLONE_SNAPSHOT", ""), "write_into_file"},
		/* priority_boost */
		{BOOST(""), "priority_boost"},
		{BOOST("priority: 3"), "priority_boost"},
		{BOOST("policy: POLICY_SCHED_OTHER priority: 21"), "priority_boost"},
		{BOOST("policy: POLICY_SCHED_FIFO"), "priority_boost"},
		{BOOST("policy: POLICY_SCHED_FIFO priority: 100"), "priority_boost"},
		/* the first of several reasons, in the order of Perfetto's service */
		{"duration_ms: 604800001 buffers {} bugreport_filename: '/'", "duration_ms"},
		{"buffers {} " SOURCE("target_buffer: 1"), "no buffer 1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i].config, -EINVAL, bad[i].word);
	assert_refused("duration_ms: 604800001 " BUFFER SOURCE("protovm_config {}"), -ENOTSUP,
		       "protovm_config");
}

/* So many repetitions are accepted, and one more is not. */
TEST(numbers_are_limited)
{
	static const struct {
		const char *begin, *item; /* item: may use its number */
		const char *end;
		unsigned most;
		const char *why;
	} lists[] = {
		{"", "buffers { size_kb: 4 } ", "", LIMIT_BUFFERS, "129"},
		{BUFFER, "data_sources {} ", "", MAX_CONFIG_SOURCES, "1025 data_sources"},
		{"", "data_sources { producer_name_regex_filter: 'a' } ", "", MAX_REGEX_FILTERS,
		 "65 entries in producer_name_regex_filter; the limit is 64"},
		{BUFFER, "session_semaphores { name: 'a%u' } ", "", MAX_SEMAPHORES,
		 "65 session_semaphores; the limit is 64"},
		{"trigger_config { trigger_timeout_ms: 1 trigger_mode: START_TRACING ",
		 "triggers { name: 'n%u' } ", "}", MAX_TRIGGERS, "the limit is"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (unsigned more = 0; more < 2; more++) {
			_cleanup_(strbuf_deinit) struct strbuf text = {0};

			strbuf_printf(&text, "%s", lists[i].begin);
			for (unsigned n = 0; n < lists[i].most + more; n++) {
				const char *number = strstr(lists[i].item, "%u");

				if (!number) {
					strbuf_printf(&text, "%s", lists[i].item);
					continue;
				}
				strbuf_printf(&text, "%.*s%u%s", (int)(number - lists[i].item),
					      lists[i].item, n, number + 2);
			}
			strbuf_printf(&text, "%s", lists[i].end);
			if (more)
				assert_refused(text.s, -EINVAL, lists[i].why);
			else
				assert_fine(text.s);
		}
}

TEST(lengths_are_limited)
{
	/* A command with the config of a data source is one frame. Its name takes 2 + 3 bytes, the
	 * head of the string 2 + 3, its target buffer 2. */
	const unsigned room = MAX_SOURCE_CONFIG_BYTES - 11;
	static char xs[MAX_SOURCE_CONFIG_BYTES + 1];
	const char *source = BUFFER "data_sources { config { name: 'big' legacy_config: '%.*s' } }";

	memset(xs, 'x', MAX_SOURCE_CONFIG_BYTES);
	for (unsigned more = 0; more < 2; more++) {
		_cleanup_(strbuf_deinit) struct strbuf name = {0}, config = {0};

		strbuf_printf(&name, "unique_session_name: '%.*s'", MAX_NAME_BYTES + (int)more, xs);
		strbuf_printf(&config, source, (int)(room - 10 + 20 * more), xs);
		if (more) {
			assert_refused(name.s, -EINVAL, "unique_session_name");
			assert_refused(config.s, -EINVAL, "data source \"big\"");
			assert_non_null(strstr(e.text, "the limit is 130048"));
		} else {
			assert_fine(name.s);
			assert_fine(config.s);
		}
	}
}

TEST(buffer_of_a_data_source_is_found)
{
	Pb__TraceConfig *c = peer_parse_config(
		BUFFER "buffers { size_kb: 4 name: 'two' }"
		       "data_sources { config { name: 'a' } }"
		       "data_sources { config { name: 'b' target_buffer: 1 } }"
		       "data_sources { config { name: 'c' target_buffer_name: 'two' } }"
		       "data_sources { config { name: 'd' target_buffer: 1 target_buffer_name: "
		       "'two' } }"
		       "data_sources { config { name: 'e' target_buffer_name: '' } }");
	static const uint32_t want[] = {0, 1, 1, 1, 0};
	uint32_t got;

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(
			session_config_target_buffer(c, c->data_sources[i]->config, &got, &e), 0);
		assert_int_equal(got, want[i]);
	}
	pb__trace_config__free_unpacked(c, NULL);
}

/* ---- triggers ---- */

TEST(trigger_mode_is_that_of_the_config)
{
	static const struct {
		const char *config;
		enum trigger_mode mode;
	} modes[] = {
		{"", TRIGGER_NONE},
		{"trigger_config {}", TRIGGER_NONE},
		{TRIGGERS("START_TRACING", ""), TRIGGER_START},
		{TRIGGERS("STOP_TRACING", ""), TRIGGER_STOP},
		{TRIGGERS("CLONE_SNAPSHOT", ""), TRIGGER_CLONE},
		{TRIGGERS("STOP_TRACING", "use_clone_snapshot_if_available: true"), TRIGGER_CLONE},
	};
	/* The text reader has no such values; the bytes of a peer may have. */
	static const int bad[] = {-1, 3, 5, 1000};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		Pb__TraceConfig *c = peer_parse_config(modes[i].config);

		assert_int_equal(session_config_check(c, &e), 0);
		assert_int_equal(session_config_trigger_mode(c), modes[i].mode);
		pb__trace_config__free_unpacked(c, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		Pb__TraceConfig *c = peer_parse_config(TRIGGERS("START_TRACING", ""));

		c->trigger_config->trigger_mode =
			(Pb__TraceConfig__TriggerConfig__TriggerMode)bad[i];
		assert_int_equal(session_config_check(c, &e), -EINVAL);
		assert_non_null(strstr(e.text, "trigger_mode"));
		pb__trace_config__free_unpacked(c, NULL);
	}
}

/* ---- producer filters ---- */

#define EXACT "producer_name_filter: 'a.b' producer_name_filter: 'c'"
#define REGEX "producer_name_regex_filter: '(foo|foobar)[0-9]*'"
#define ALL "trace_all_machines: true"
#define OTHER_MACHINE(name) name, true

TEST(producers_are_chosen_by_name_and_machine)
{
	static const struct {
		const char *filter, *config, *producer, *machine;
		bool is_remote, matches;
	} cases[] = {
		{"", "", "any", "penguin", false, true},
		{"", "", "", "penguin", false, true},
		{EXACT, "", "a.b", "penguin", false, true},
		{EXACT, "", "c", "penguin", false, true},
		{EXACT, "", "axb", "penguin", false, false},
		{EXACT, "", "a.bc", "penguin", false, false},
		{EXACT, "", "", "penguin", false, false},
		/* an expression matches the whole name */
		{REGEX, "", "foo", "penguin", false, true},
		{REGEX, "", "foobar12", "penguin", false, true},
		{REGEX, "", "xfoo", "penguin", false, false},
		{REGEX, "", "foo12x", "penguin", false, false},
		{REGEX, "", "", "penguin", false, false},
		{"producer_name_regex_filter: '.*'", "", "", "penguin", false, true},
		{"producer_name_regex_filter: 'a\\\\d+'", "", "a17", "penguin", false, true},
		{EXACT REGEX, "", "c", "penguin", false, true},
		{EXACT REGEX, "", "foo", "penguin", false, true},
		{EXACT REGEX, "", "three", "penguin", false, false},
		/* this machine is "host", and has a name */
		{"machine_name_filter: 'host'", "", "p", "penguin", false, true},
		{"machine_name_filter: 'penguin'", "", "p", "penguin", false, true},
		{"machine_name_filter: 'a' machine_name_filter: 'host'", "", "p", "penguin", false,
		 true},
		{"machine_name_filter: 'guest'", "", "p", "penguin", false, false},
		{"machine_name_filter: 'host' producer_name_filter: 'q'", "", "p", "penguin", false,
		 false},
		/* other machines must be requested, and none is "host" */
		{"", "", "p", OTHER_MACHINE("guest"), false},
		{"", ALL, "p", OTHER_MACHINE("guest"), true},
		{"", ALL, "p", OTHER_MACHINE(NULL), true},
		{"machine_name_filter: 'guest'", "", "p", OTHER_MACHINE("guest"), true},
		{"machine_name_filter: 'guest'", ALL, "p", OTHER_MACHINE("other"), false},
		{"machine_name_filter: 'guest'", ALL, "p", OTHER_MACHINE(NULL), false},
		{"producer_name_filter: 'q'", ALL, "p", OTHER_MACHINE("guest"), false},
		{"machine_name_filter: 'host'", ALL, "p", OTHER_MACHINE("host"), false},
		{"machine_name_filter: 'host'", ALL, "p", OTHER_MACHINE("guest"), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct source_of of = {cases[i].producer, cases[i].machine,
					     cases[i].is_remote};
		uint64_t budget = NAME_REGEX_STEPS;
		Pb__TraceConfig *c;
		char text[512];

		snprintf(text, sizeof(text), "data_sources { config { name: 'x' } %s } %s",
			 cases[i].filter, cases[i].config);
		c = peer_parse_config(text);
		assert_int_equal(session_config_check_filter(c->data_sources[0], &e), 0);
		if (session_config_filter_matches(c, c->data_sources[0], &of, &budget) !=
		    cases[i].matches)
			fail_msg("case %zu", i);
		pb__trace_config__free_unpacked(c, NULL);
	}
}

TEST(invalid_expressions_are_refused)
{
	static const char *const bad[] = {"(", "[a", "a{2,1}", "*", "(?=a)", "(a)\\\\1", "a\\\\"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char filter[128];

		snprintf(filter, sizeof(filter),
			 BUFFER "data_sources { producer_name_regex_filter: '%s' config { name: "
				"'x' } }",
			 bad[i]);
		assert_refused(filter, -EINVAL, "producer_name_regex_filter");
	}
}
