/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "base/text/str.h"
#include "config/limits.h"
#include "unit/service/rig.h"
#include "service/ipc/limits.h"
#include "service/session/session_config.h"
#include "service/ipc/config_limits.h"

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

#define assert_refused(config, error, word)                                                        \
	do {                                                                                       \
		assert_int_equal(check(config), error);                                            \
		if (!strstr(e.text, word))                                                         \
			fail_msg("\"%s\" does not name %s", e.text, word);                         \
	} while (0)

#define assert_fine(config)                                                                        \
	do {                                                                                       \
		if (check(config) != 0)                                                            \
			fail_msg("refused: %s", e.text);                                           \
	} while (0)

TEST(usual_configs_are_fine)
{
	assert_fine("");
	assert_fine("buffers { size_kb: 64 }");
	assert_fine("buffers { size_kb: 1 fill_policy: DISCARD } buffers { size_kb: 4194303 }"
		    "data_sources { config { name: 'a' target_buffer: 1 } }");
}

TEST(regex_filters_are_counted_over_all_sources)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	for (unsigned i = 0; i < MAX_REGEX_FILTERS; i++)
		strbuf_printf(&text, "data_sources { producer_name_regex_filter: 'a' } ");
	assert_fine(text.s);
	strbuf_printf(&text, "data_sources { producer_name_regex_filter: 'a' } ");
	assert_refused(text.s, -EINVAL, "65 of producer_name_regex_filter; the limit is 64");
}

TEST(what_the_command_line_always_sends_is_fine)
{
	assert_fine("buffers { size_kb: 64 } duration_ms: 1000 enable_extra_guardrails: false "
		    "statsd_metadata {} trace_uuid_msb: -5 trace_uuid_lsb: 7 "
		    "statsd_logging: STATSD_LOGGING_DISABLED");
}

TEST(what_others_act_on_is_fine)
{
	assert_fine("activate_triggers: 'x' notify_traceur: true allow_user_build_tracing: true "
		    "incident_report_config { destination_package: 'p' } "
		    "android_report_config { skip_report: true } "
		    "cmd_trace_start_delay { min_delay_ms: 1 max_delay_ms: 2 } "
		    "trace_attributes { attribute { key: 'a' string_value: 'b' } } "
		    "bugreport_score: 5 bugreport_filename: 'a-B_9.pb' trace_all_machines: true");
}

TEST(file_fields_without_a_file_are_fine)
{
	assert_fine("max_file_size_bytes: 1000000 file_write_period_ms: 500 "
		    "write_flush_mode: WRITE_FLUSH_ENABLED fflush_post_write: FFLUSH_ENABLED");
}

TEST(what_is_not_built_is_refused_by_name)
{
	static const struct {
		const char *text, *name;
	} fields[] = {
		{"buffers { size_kb: 4 } data_sources { config { name: 'a' protovm_config {} } }",
		 "protovm_config"},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_refused(fields[i].text, -ENOTSUP, fields[i].name);
}

TEST(same_fields_saying_nothing_are_fine)
{
	assert_fine("lockdown_mode: LOCKDOWN_UNCHANGED write_into_file: false output_path: '' "
		    "compression_type: COMPRESSION_TYPE_UNSPECIFIED exclusive_prio: 0 "
		    "buffers { size_kb: 4 transfer_on_clone: false clear_before_clone: false } "
		    "builtin_data_sources { enable_concurrent_session_events: false }");
}

TEST(duration_has_limits)
{
	assert_fine("duration_ms: 604800000");
	assert_refused("duration_ms: 604800001", -EINVAL, "duration_ms");
	assert_fine("enable_extra_guardrails: true duration_ms: 86400000");
	assert_refused("enable_extra_guardrails: true duration_ms: 86400001", -EINVAL,
		       "enable_extra_guardrails");
}

TEST(bugreport_filename_is_a_name)
{
	assert_fine("bugreport_filename: ''");
	assert_refused("bugreport_filename: 'a/b'", -EINVAL, "bugreport_filename");
	assert_refused("bugreport_filename: 'a b'", -EINVAL, "bugreport_filename");
	assert_refused("bugreport_filename: '\\303\\244'", -EINVAL, "bugreport_filename");
}

TEST(guardrails_hold)
{
	assert_refused("enable_extra_guardrails: true deferred_start: true", -EINVAL,
		       "deferred_start");
	assert_refused("enable_extra_guardrails: true buffers { size_kb: 6 }", -EINVAL, "6");
	assert_fine("enable_extra_guardrails: true buffers { size_kb: 65536 } "
		    "buffers { size_kb: 65536 }");
	assert_refused("enable_extra_guardrails: true buffers { size_kb: 131072 } "
		       "buffers { size_kb: 4 }",
		       -EINVAL, "131076");
	assert_fine("enable_extra_guardrails: true buffers { size_kb: 131076 } "
		    "guardrail_overrides { max_tracing_buffer_size_kb: 131076 }");
	/* An override raises the limit, it does not lower it. */
	assert_fine("enable_extra_guardrails: true buffers { size_kb: 131072 } "
		    "guardrail_overrides { max_tracing_buffer_size_kb: 4 }");
	assert_fine("buffers { size_kb: 200001 } deferred_start: true");
}

TEST(buffers_are_counted)
{
	char text[8192] = "";

	for (int i = 0; i < LIMIT_BUFFERS; i++)
		strcat(text, "buffers { size_kb: 4 }\n");
	assert_fine(text);
	strcat(text, "buffers { size_kb: 4 }\n");
	assert_refused(text, -EINVAL, "129");
}

TEST(buffer_sizes_have_limits)
{
	assert_refused("buffers {}", -EINVAL, "size_kb");
	assert_refused("buffers { size_kb: 4 } buffers { size_kb: 0 }", -EINVAL, "buffer 1");
	assert_refused("buffers { size_kb: 4194304 }", -EINVAL, "4194304");
}

TEST(buffer_names_are_unique)
{
	assert_fine("buffers { size_kb: 4 } buffers { size_kb: 4 } buffers { size_kb: 4 name: '' }"
		    "buffers { size_kb: 4 name: '' } buffers { size_kb: 4 name: 'a' }");
	assert_refused("buffers { size_kb: 4 name: 'dup' } buffers { size_kb: 4 }"
		       "buffers { size_kb: 4 name: 'dup' }",
		       -EINVAL, "dup");
}

TEST(data_sources_need_their_buffer)
{
	assert_refused("data_sources { config { name: 'ds' } }", -EINVAL, "ds");
	assert_refused("buffers { size_kb: 4 } data_sources { config { name: 'ds' "
		       "target_buffer: 1 } }",
		       -EINVAL, "no buffer 1");
	assert_refused("buffers { size_kb: 4 } data_sources { config { name: 'ds' "
		       "target_buffer: 4294967295 } }",
		       -EINVAL, "4294967295");
	assert_refused("buffers { size_kb: 4 name: 'a' } data_sources { config { name: 'ds' "
		       "target_buffer_name: 'b' } }",
		       -EINVAL, "\"b\"");
	assert_refused(
		"buffers { size_kb: 4 } buffers { size_kb: 4 name: 'a' } buffers { size_kb: 4 } "
		"data_sources { config { name: 'ds' target_buffer: 2 target_buffer_name: 'a' } }",
		-EINVAL, "target_buffer 2");
}

TEST(buffer_of_a_data_source_is_found)
{
	Pb__TraceConfig *c = peer_parse_config(
		"buffers { size_kb: 4 } buffers { size_kb: 4 name: 'two' }"
		"data_sources { config { name: 'a' } }"
		"data_sources { config { name: 'b' target_buffer: 1 } }"
		"data_sources { config { name: 'c' target_buffer_name: 'two' } }"
		"data_sources { config { name: 'd' target_buffer: 1 target_buffer_name: 'two' } }"
		"data_sources { config { name: 'e' target_buffer_name: '' } }");
	static const uint32_t want[] = {0, 1, 1, 1, 0};
	uint32_t got;

	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(
			session_config_target_buffer(c, c->data_sources[i]->config, &got, &e), 0);
		assert_int_equal(got, want[i]);
	}
	pb__trace_config__free_unpacked(c, NULL);
}

TEST(bad_expression_is_refused)
{
	assert_refused("buffers { size_kb: 4 } data_sources { config { name: 'a' } "
		       "producer_name_regex_filter: '(' }",
		       -EINVAL, "producer_name_regex_filter");
}

TEST(copies_for_producers_fit_a_frame)
{
	char *text = malloc(300000), *end;

	assert_non_null(text);
	end = text + sprintf(text, "buffers { size_kb: 4 } data_sources { config { name: 'big' "
				   "legacy_config: '");
	memset(end, 'x', 127 * 1024);
	strcpy(end + 127 * 1024, "' } }");
	assert_refused(text, -EINVAL, "big");
	strcpy(end + 126 * 1024, "' } }");
	assert_fine(text);
	free(text);
}

TEST(names_have_a_length)
{
	char text[1200] = "unique_session_name: '";
	size_t n = strlen(text);

	memset(text + n, 'x', 1024);
	strcpy(text + n + 1024, "'");
	assert_fine(text);
	strcpy(text + n + 1024, "x'");
	assert_refused(text, -EINVAL, "unique_session_name");
}

TEST(first_of_several_reasons_is_told)
{
	assert_refused("duration_ms: 604800001 buffers {} "
		       "data_sources { config { name: 'a' protovm_config {} } }",
		       -ENOTSUP, "protovm_config");
	assert_refused("duration_ms: 604800001 buffers {} bugreport_filename: '/'", -EINVAL,
		       "duration_ms");
	assert_refused("buffers {} data_sources { config { name: 'a' target_buffer: 1 } }", -EINVAL,
		       "no buffer 1");
}

TEST(data_sources_are_counted)
{
	char *text = malloc(64 + 20 * (MAX_CONFIG_SOURCES + 1)), *end = text;

	assert_non_null(text);
	end = stpcpy(end, "buffers { size_kb: 4 }");
	for (unsigned i = 0; i < MAX_CONFIG_SOURCES; i++)
		end = stpcpy(end, "data_sources {}");
	assert_fine(text);
	stpcpy(end, "data_sources {}");
	assert_refused(text, -EINVAL, "1025 data_sources");
	free(text);
}

TEST(semaphores_are_counted)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_printf(&text, "buffers { size_kb: 4 } ");
	for (unsigned i = 0; i < MAX_SEMAPHORES; i++)
		strbuf_printf(&text, "session_semaphores { name: 'a%u' } ", i);
	assert_fine(text.s);
	strbuf_printf(&text, "session_semaphores { name: 'one more' } ");
	assert_refused(text.s, -EINVAL, "65 of session_semaphores; the limit is 64");
}

/* The command that sets it up is one frame, and says it once. */
TEST(config_of_a_data_source_has_a_size)
{
	static char text[MAX_SOURCE_CONFIG_BYTES + 200];
	const char *begin = "buffers { size_kb: 4 } data_sources { config { name: 'big' "
			    "legacy_config: '";
	/* of the name 2 + 3 bytes, in front of the string 2 + 3, and its target buffer */
	size_t room = MAX_SOURCE_CONFIG_BYTES - 10;
	char *end = stpcpy(text, begin);

	memset(end, 'x', room - 10);
	strcpy(end + room - 10, "' } }");
	assert_fine(text);
	memset(end, 'x', room + 10);
	strcpy(end + room + 10, "' } }");
	assert_refused(text, -EINVAL, "data source \"big\"");
	assert_refused(text, -EINVAL, "the limit is 130048");
}

TEST(priority_boost_has_ranges)
{
	static const char *const bad[] = {
		"priority_boost {}",
		"priority_boost { priority: 3 }",
		"priority_boost { policy: POLICY_SCHED_OTHER priority: 21 }",
		"priority_boost { policy: POLICY_SCHED_FIFO }",
		"priority_boost { policy: POLICY_SCHED_FIFO priority: 100 }",
	};
	static const char *const good[] = {
		"",
		"priority_boost { policy: POLICY_SCHED_OTHER }",
		"priority_boost { policy: POLICY_SCHED_OTHER priority: 20 }",
		"priority_boost { policy: POLICY_SCHED_FIFO priority: 1 }",
		"priority_boost { policy: POLICY_SCHED_FIFO priority: 99 }",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_refused(bad[i], -EINVAL, "priority_boost");
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_fine(good[i]);
}
