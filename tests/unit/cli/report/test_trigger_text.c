/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/cli/facts.h"
#include "unit/test.h"

TEST(what_is_waited_for)
{
	static const struct {
		const char *config, *text;
		bool takes_snapshots, ends_a_ring;
	} rows[] = {
		{"duration_ms: 1", NULL, false, false},
		{"trigger_config { triggers { name: 'a' } }", NULL, false, false},
		{"trigger_config { trigger_mode: CLONE_SNAPSHOT }", NULL, true, true},
		{"trigger_config { trigger_mode: START_TRACING triggers { name: 'a' } }",
		 "waiting for trigger 'a'; without it, nothing is saved", false, false},
		{"trigger_config { trigger_mode: STOP_TRACING triggers { name: 'a' } "
		 "triggers { name: 'b' } }",
		 "recording until trigger 'a' or 'b'; without it, nothing is saved", false, true},
		{"trigger_config { trigger_mode: CLONE_SNAPSHOT triggers { name: 'a' } "
		 "triggers { name: 'b' } triggers { name: 'c' } triggers { name: 'd' } "
		 "triggers { name: 'e' } }",
		 "recording; a snapshot is saved on trigger 'a', 'b', 'c', 'd' or 'e'; Ctrl-C ends "
		 "it",
		 true, true},
		{"trigger_config { trigger_mode: STOP_TRACING use_clone_snapshot_if_available: "
		 "true triggers { name: 'a' } triggers { name: 'b' } triggers { name: 'c' } "
		 "triggers { name: 'd' } triggers { } triggers { name: 'f' } }",
		 "recording; a snapshot is saved on trigger 'a', 'b', 'c', 'd' or one of 2 more; "
		 "Ctrl-C ends it",
		 true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf text = {0};
		struct facts x;

		facts_init(&x, rows[i].config);
		config_triggers_put_text(x.f.config, &text);
		if (rows[i].text)
			assert_string_equal(text.s, rows[i].text);
		else
			assert_null(text.s);
		assert_int_equal(config_triggers_take_snapshots(x.f.config),
				 rows[i].takes_snapshots);
		assert_int_equal(config_triggers_end_ring(x.f.config), rows[i].ends_a_ring);
		strbuf_deinit(&text);
		facts_deinit(&x);
	}
}
