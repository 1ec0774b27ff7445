// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/tracefs/setting_file.h"

/* Undoes a change in a folder where the file reads `now`; gives what it reads then. */
static const char *undone(void **state, const char *file, const char *was, const char *is,
			  const char *now)
{
	struct setting_change c;

	fake_text(*state, file, now);
	assert_int_equal(setting_change_init(&c, file, was), 0);
	c.new_value = is ? strdup(is) : NULL;
	assert_int_equal(setting_change_undo(&c, *state), 0);
	setting_change_deinit(&c);
	return fake_read(*state, file);
}

#define FIXTURE_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

FIXTURE_TEST(test_put_back)
{
	assert_string_equal(undone(state, "tracing_on", "0\n", "1\n", "1\n"), "0");
	assert_string_equal(
		undone(state, "trace_clock", "[local] boot\n", "local [boot]\n", "local [boot]\n"),
		"local");
	/* We were killed before we knew how it reads. */
	assert_string_equal(undone(state, "tracing_on", "0\n", NULL, "1\n"), "0");
	/* Sizes are rounded by the kernel; the text is the kernel's. */
	assert_string_equal(
		undone(state, "buffer_size_kb", "7 (expanded: 1408)\n", "8195\n", "8195\n"),
		"1408");
}

FIXTURE_TEST(test_others_have_changed_it_since)
{
	assert_string_equal(
		undone(state, "current_tracer", "nop\n", "function_graph\n", "function\n"),
		"function\n");
	assert_string_equal(undone(state, "buffer_size_kb", "7\n", "8195\n", "100\n"), "100\n");
}

FIXTURE_TEST(test_it_is_as_it_was)
{
	assert_string_equal(undone(state, "tracing_on", "0\n", "1\n", "0\n"), "0\n");
	assert_string_equal(undone(state, "tracing_on", "0\n", NULL, "0\n"), "0\n");
}

/* Threads that end leave it, so it reads otherwise than it was written. */
FIXTURE_TEST(test_a_list_goes_back_however_it_reads)
{
	assert_string_equal(undone(state, "set_event_pid", "", "1\n2\n", "2\n"), "");
	assert_string_equal(undone(state, "set_event_pid", "7\n", "1\n2\n", "2\n"), "7\n");
}

/* Which is not as it was: no thread is traced then, where it was all of them. It is written. */
FIXTURE_TEST(test_a_list_whose_threads_have_ended_goes_back)
{
	assert_string_equal(undone(state, "set_ftrace_pid", "no pid\n", "1\n", "no pid\n"), "");
}

FIXTURE_TEST(test_a_trigger_is_taken_away)
{
	assert_string_equal(undone(state, "events/a/b/trigger", "", "stacktrace", ""),
			    "!stacktrace");
}

FIXTURE_TEST(test_what_is_not_there)
{
	struct setting_change c;

	assert_int_equal(setting_change_init(&c, "nope/tracing_on", "0\n"), 0);
	assert_int_equal(setting_change_undo(&c, *state), 0);
	setting_change_deinit(&c);

	/* Sizes that differ from CPU to CPU have each their own file. */
	fake_text(*state, "buffer_size_kb", "1408\n");
	assert_int_equal(setting_change_init(&c, "buffer_size_kb", "X\n"), 0);
	assert_int_equal(setting_change_undo(&c, *state), 0);
	assert_string_equal(fake_read(*state, "buffer_size_kb"), "1408\n");
	setting_change_deinit(&c);
}
