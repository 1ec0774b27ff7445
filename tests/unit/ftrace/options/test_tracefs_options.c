// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "ftrace/options/instance_options.c"
#include "unit/ftrace/setups.h"

static void option(void **state, const char *name, const char *text)
{
	char file[128];

	snprintf(file, sizeof(file), "instances/x/options/%s", name);
	fake_text(*state, file, text);
}

static const char *value(void **state, const char *name)
{
	char file[128];

	snprintf(file, sizeof(file), "options/%s", name);
	return fake_written(*state, file);
}

static void set(void **state, const char *config)
{
	setup_begin(*state, config);
	tracefs_options_set(&setup);
}

#define WITH_FOLDER(name) TEST_WITH(name, temp_dir_setup, setup_teardown)

WITH_FOLDER(test_switches)
{
	option(state, "sym-offset", "0\n");
	option(state, "irq-info", "1\n");
	set(state, "tracefs_options { name: 'sym-offset' state: STATE_ENABLED }"
		   "tracefs_options { name: 'irq-info' state: STATE_DISABLED }");
	assert_string_equal(value(state, "sym-offset"), "1");
	assert_string_equal(value(state, "irq-info"), "0");
	assert_int_equal(n_failed(), 0);
}

WITH_FOLDER(test_what_is_so_already_is_not_written)
{
	option(state, "overwrite", "1\n");
	set(state, "tracefs_options { name: 'overwrite' state: STATE_ENABLED }");
	assert_string_equal(value(state, "overwrite"), "1\n");
	assert_int_equal(n_failed(), 0);
}

WITH_FOLDER(test_names)
{
	static const char *const bad[] = {"", "../x", "a/b", "a b", "a.b", "a\\n", "\\303\\244"};
	char config[256];

	option(state, "sym-offset", "0\n");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(config, sizeof(config),
			 "tracefs_options { name: '%s' state: STATE_ENABLED }", bad[i]);
		set(state, config);
		assert_int_equal(n_failed(), 1);
		assert_non_null(strstr(errors.failed[0], "not the name of an option"));
	}
	set(state, "tracefs_options { name: 'sym_ofset' state: STATE_ENABLED }"
		   "tracefs_options { name: 'xyz' state: STATE_ENABLED }");
	assert_string_equal(errors.failed[0], "option:tracefs_options (sym_ofset: no such option; "
					      "did you mean sym-offset?)");
	assert_string_equal(errors.failed[1], "option:tracefs_options (xyz: no such option)");
	assert_string_equal(value(state, "sym-offset"), "0\n");
}

WITH_FOLDER(test_what_is_no_switch)
{
	option(state, "sym-offset", "0\n");
	option(state, "odd", "maybe\n");
	option(state, "empty", "");
	set(state, "tracefs_options { name: 'odd' state: STATE_ENABLED }"
		   "tracefs_options { name: 'empty' state: STATE_ENABLED }"
		   "tracefs_options { name: 'sym-offset' }");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(value(state, "odd"), "maybe\n");
	assert_non_null(strstr(errors.failed[2], "neither STATE_ENABLED nor STATE_DISABLED"));
}

WITH_FOLDER(test_what_is_everybodys)
{
	option(state, "trace_printk_dest", "0\n");
	option(state, "record-tgid", "0\n");
	fake_text(*state, "options/record-cmd", "1\n");
	set(state, "tracefs_options { name: 'trace_printk_dest' state: STATE_ENABLED }"
		   "tracefs_options { name: 'record-tgid' state: STATE_ENABLED }"
		   "tracefs_options { name: 'record-cmd' state: STATE_DISABLED }");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(value(state, "trace_printk_dest"), "0\n");
	assert_string_equal(value(state, "record-tgid"), "0\n");
	assert_string_equal(fake_read(*state, "options/record-cmd"), "1\n");
	assert_non_null(strstr(errors.failed[2], "at the top level only"));
}

WITH_FOLDER(test_what_cannot_be_read)
{
	option(state, "folder/x", "");
	set(state, "tracefs_options { name: 'folder' state: STATE_ENABLED }");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "option:tracefs_options (folder: Is a directory)");
}

WITH_FOLDER(test_somebody_elses_switches_are_not_ours)
{
	setup_begin(*state, "");
	option(state, "overwrite", "0\n");
	option(state, "stacktrace", "1\n");
	option(state, "userstacktrace", "0\n");
	option(state, "sym-offset", "1\n"); /* says how `trace` reads */
	tracefs_options_reset(&instance);
	assert_string_equal(value(state, "overwrite"), "1");
	assert_string_equal(value(state, "stacktrace"), "0");
	assert_string_equal(value(state, "userstacktrace"), "0\n");
	assert_string_equal(value(state, "sym-offset"), "1\n");
	assert_string_equal(value(state, "markers"), "");
}

WITH_FOLDER(test_stacks_are_events_of_the_session)
{
	struct event_selection events = {0};

	setup_begin(*state, "tracefs_options { name: 'stacktrace' state: STATE_DISABLED }"
			    "tracefs_options { name: 'userstacktrace' state: STATE_ENABLED }"
			    "tracefs_options { name: 'sym-offset' state: STATE_ENABLED }");
	assert_int_equal(tracefs_options_imply(&events, &setup), 0);
	assert_int_equal(events.n, 1);
	assert_true(event_selection_has(&events, "ftrace", "user_stack"));
	setup_begin(*state, "tracefs_options { name: 'stacktrace' state: STATE_ENABLED }");
	assert_int_equal(tracefs_options_imply(&events, &setup), 0);
	assert_true(event_selection_has(&events, "ftrace", "kernel_stack"));
	event_selection_deinit(&events);
}
