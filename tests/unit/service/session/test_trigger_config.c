/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "base/text/str.h"
#include "unit/service/rig.h"
#include "service/ipc/limits.h"
#include "service/session/session_config.h"
#include "service/session/session_config.h"

/* A wrong config is refused as a whole: the checks are called from there, in the protocol's
 * order. */
static void assert_refused(const char *text, const char *why)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	struct err_text e = {""};

	assert_int_equal(session_config_check(c, &e), -EINVAL);
	if (!strstr(e.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, e.text, why);
	pb__trace_config__free_unpacked(c, NULL);
}

static enum trigger_mode mode_of(const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	struct err_text e = {""};
	enum trigger_mode mode;

	if (session_config_check(c, &e) < 0)
		fail_msg("%s is refused: %s", text, e.text);
	mode = session_config_trigger_mode(c);
	pb__trace_config__free_unpacked(c, NULL);
	return mode;
}

#define CONFIG(mode) "trigger_config { trigger_timeout_ms: 1 trigger_mode: " mode " "

TEST(modes)
{
	assert_int_equal(mode_of(""), TRIGGER_NONE);
	assert_int_equal(mode_of("trigger_config {}"), TRIGGER_NONE);
	assert_int_equal(mode_of(CONFIG("START_TRACING") "}"), TRIGGER_START);
	assert_int_equal(mode_of(CONFIG("STOP_TRACING") "}"), TRIGGER_STOP);
	assert_int_equal(mode_of(CONFIG("CLONE_SNAPSHOT") "}"), TRIGGER_CLONE);
	assert_int_equal(mode_of(CONFIG("STOP_TRACING") "use_clone_snapshot_if_available: true }"),
			 TRIGGER_CLONE);
}

TEST(times_are_checked)
{
	assert_refused("trigger_config { trigger_mode: START_TRACING }", "trigger_timeout_ms is 0");
	assert_refused(
		"trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 604800001 }",
		"trigger_timeout_ms is 604800001");
	assert_refused("enable_extra_guardrails: true trigger_config { trigger_mode: STOP_TRACING "
		       "trigger_timeout_ms: 86400001 }",
		       "1 to 86400000");
	assert_refused("duration_ms: 5 " CONFIG("START_TRACING") "}", "duration_ms");
	assert_refused(CONFIG("START_TRACING") "use_clone_snapshot_if_available: true }",
		       "use_clone_snapshot_if_available");
	assert_int_equal(mode_of("trigger_config { trigger_mode: STOP_TRACING "
				 "trigger_timeout_ms: 604800000 }"),
			 TRIGGER_STOP);
}

/* The text reader knows no such values, a peer's bytes may. */
TEST(modes_that_are_none_are_refused)
{
	static const int bad[] = {-1, 3, 5, 1000};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		Pb__TraceConfig *c = peer_parse_config(CONFIG("START_TRACING") "}");

		c->trigger_config->trigger_mode =
			(Pb__TraceConfig__TriggerConfig__TriggerMode)bad[i];
		assert_int_equal(session_config_check(c, &e), -EINVAL);
		assert_non_null(strstr(e.text, "trigger_mode"));
		pb__trace_config__free_unpacked(c, NULL);
	}
}

TEST(triggers_are_checked)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	assert_refused(CONFIG("START_TRACING") "triggers { name: 'a' } triggers { name: 'a' } }",
		       "\"a\"");
	assert_refused(CONFIG("START_TRACING") "triggers { name: 'a' producer_name_regex: '(' } }",
		       "producer_name_regex");
	strbuf_printf(&text, CONFIG("START_TRACING"));
	for (unsigned i = 0; i <= MAX_TRIGGERS; i++)
		strbuf_printf(&text, "triggers { name: 'n%u' } ", i);
	strbuf_printf(&text, "}");
	assert_refused(text.s, "the limit is");
	assert_int_equal(
		mode_of(CONFIG("START_TRACING") "triggers { name: 'a' producer_name_regex: 'x.*' } "
						"triggers { name: 'b' } }"),
		TRIGGER_START);
}

TEST(found_by_name)
{
	Pb__TraceConfig *c = peer_parse_config(
		CONFIG("START_TRACING") "triggers { name: 'a' } triggers { name: 'b' } }");

	assert_ptr_equal(session_config_find_trigger(c, "b"), c->trigger_config->triggers[1]);
	assert_null(session_config_find_trigger(c, "c"));
	assert_null(session_config_find_trigger(c, ""));
	pb__trace_config__free_unpacked(c, NULL);
}
