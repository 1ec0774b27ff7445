// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/instance_options.c"
#include "unit/ftrace/setups.h"

static void option(const char *name, const char *text)
{
	fake_put(text, "instances/x/options/%s", name);
}

static const char *value(const char *name)
{
	char file[128];

	snprintf(file, sizeof(file), "options/%s", name);
	return fake_written(file);
}

static void set(const char *config)
{
	setup_begin(config);
	tracefs_options_set(&setup);
}

SETUP_TEST(test_switches)
{
	option("sym-offset", "0\n");
	option("irq-info", "1\n");
	set("tracefs_options { name: 'sym-offset' state: STATE_ENABLED }"
	    "tracefs_options { name: 'irq-info' state: STATE_DISABLED }");
	assert_string_equal(value("sym-offset"), "1");
	assert_string_equal(value("irq-info"), "0");
	assert_int_equal(n_failed(), 0);
}

SETUP_TEST(test_what_is_so_already_is_not_written)
{
	option("overwrite", "1\n");
	set("tracefs_options { name: 'overwrite' state: STATE_ENABLED }");
	assert_string_equal(value("overwrite"), "1\n");
	assert_int_equal(n_failed(), 0);
}

SETUP_TEST(test_names)
{
	static const char *const bad[] = {"", "../x", "a/b", "a b", "a.b", "a\\n", "\\303\\244"};
	char config[256];

	option("sym-offset", "0\n");
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(config, sizeof(config),
			 "tracefs_options { name: '%s' state: STATE_ENABLED }", bad[i]);
		set(config);
		assert_int_equal(n_failed(), 1);
		assert_non_null(strstr(errors.failed[0], "not the name of an option"));
	}
	set("tracefs_options { name: 'sym_ofset' state: STATE_ENABLED }"
	    "tracefs_options { name: 'xyz' state: STATE_ENABLED }");
	assert_string_equal(errors.failed[0], "option:tracefs_options (sym_ofset: no such option; "
					      "did you mean sym-offset?)");
	assert_string_equal(errors.failed[1], "option:tracefs_options (xyz: no such option)");
	assert_string_equal(value("sym-offset"), "0\n");
}

SETUP_TEST(test_what_is_no_switch)
{
	option("sym-offset", "0\n");
	option("odd", "maybe\n");
	option("empty", "");
	set("tracefs_options { name: 'odd' state: STATE_ENABLED }"
	    "tracefs_options { name: 'empty' state: STATE_ENABLED }"
	    "tracefs_options { name: 'sym-offset' }");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(value("odd"), "maybe\n");
	assert_non_null(strstr(errors.failed[2], "neither STATE_ENABLED nor STATE_DISABLED"));
}

SETUP_TEST(test_what_is_everybodys)
{
	option("trace_printk_dest", "0\n");
	option("record-tgid", "0\n");
	fake_text("options/record-cmd", "1\n");
	set("tracefs_options { name: 'trace_printk_dest' state: STATE_ENABLED }"
	    "tracefs_options { name: 'record-tgid' state: STATE_ENABLED }"
	    "tracefs_options { name: 'record-cmd' state: STATE_DISABLED }");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(value("trace_printk_dest"), "0\n");
	assert_string_equal(value("record-tgid"), "0\n");
	assert_string_equal(fake_read("options/record-cmd"), "1\n");
	assert_non_null(strstr(errors.failed[2], "at the top level only"));
}

SETUP_TEST(test_what_cannot_be_read)
{
	option("folder/x", "");
	set("tracefs_options { name: 'folder' state: STATE_ENABLED }");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "option:tracefs_options (folder: Is a directory)");
}

SETUP_TEST(test_somebody_elses_switches_are_not_ours)
{
	setup_begin("");
	option("overwrite", "0\n");
	option("stacktrace", "1\n");
	option("userstacktrace", "0\n");
	option("sym-offset", "1\n"); /* says how `trace` reads */
	tracefs_options_reset(&instance);
	assert_string_equal(value("overwrite"), "1");
	assert_string_equal(value("stacktrace"), "0");
	assert_string_equal(value("userstacktrace"), "0\n");
	assert_string_equal(value("sym-offset"), "1\n");
	assert_string_equal(value("markers"), "");
}

SETUP_TEST(test_stacks_are_events_of_the_session)
{
	struct event_selection events = {0};

	setup_begin("tracefs_options { name: 'stacktrace' state: STATE_DISABLED }"
		    "tracefs_options { name: 'userstacktrace' state: STATE_ENABLED }"
		    "tracefs_options { name: 'sym-offset' state: STATE_ENABLED }");
	assert_int_equal(tracefs_options_imply(&events, &setup), 0);
	assert_int_equal(events.n, 1);
	assert_true(event_selection_has(&events, "ftrace", "user_stack"));
	setup_begin("tracefs_options { name: 'stacktrace' state: STATE_ENABLED }");
	assert_int_equal(tracefs_options_imply(&events, &setup), 0);
	assert_true(event_selection_has(&events, "ftrace", "kernel_stack"));
	event_selection_deinit(&events);
}
