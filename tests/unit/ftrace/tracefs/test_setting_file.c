/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/tracefs/setting_file.h"
#include "unit/ftrace/fake_tracefs.h"

static void assert_text(const char *file, const char *read, const char *want)
{
	char *text = setting_text_to_write(file, read);

	if (want)
		assert_string_equal(text, want);
	else
		assert_null(text);
	free(text);
}

/* As kernels 6.1 to 6.18 print them. */
TEST(what_is_written_to_read_so_again)
{
	assert_text("tracing_on", "1\n", "1");
	assert_text("current_tracer", "function_graph\n", "function_graph");
	assert_text("max_graph_depth", "0\n", "0");
	assert_text("tracing_cpumask", "ffffffff,00000003\n", "ffffffff,00000003");
	assert_text("trace_clock", "[local] global counter boot\n", "local");
	assert_text("trace_clock", "local global x86-tsc [boot]\n", "boot");
	assert_text("trace_clock", "local [boot", NULL);
	assert_text("buffer_size_kb", "1411\n", "1411");
	assert_text("per_cpu/cpu0/buffer_size_kb", "7 (expanded: 1408)\n", "1408");
	assert_text("buffer_size_kb", "X\n", NULL);
	assert_text("buffer_subbuf_size_kb", "4\n", "4");
	assert_text("events/sched/sched_switch/enable", "0\n", "0");
	assert_text("events/sched/sched_switch/enable", "1*\n", "1");
	assert_text("events/sched/enable", "X\n", NULL);
	assert_text("events/enable", "?\n", NULL);
	assert_text("events/sched/sched_switch/filter", "none\n", "0");
	assert_text("events/sched/sched_switch/filter", "prev_pid == 1\n", "prev_pid == 1");
	assert_text("set_ftrace_filter", "#### all functions enabled ####\n", "");
	assert_text("set_ftrace_filter", "vfs_read\nvfs_write\n", "vfs_read\nvfs_write\n");
	assert_text("set_graph_function", "#### all functions enabled ####\n", "");
	assert_text("set_ftrace_pid", "no pid\n", "");
	assert_text("set_event_pid", "", "");
	assert_text("set_event_pid", "12\n13\n", "12\n13\n");
	assert_text("options/overwrite", "0\n", "0");
}

TEST(when_nothing_has_to_be_written)
{
	assert_true(setting_matches_write("tracing_on", "1\n", "1"));
	assert_false(setting_matches_write("tracing_on", "0\n", "1"));
	assert_true(setting_matches_write("trace_clock", "local [boot]\n", "boot"));
	assert_true(setting_matches_write("buffer_size_kb", "1408\n", "1408"));
	/* It reads so, but the ring does not have it yet. */
	assert_false(setting_matches_write("buffer_size_kb", "7 (expanded: 1408)\n", "1408"));
	assert_false(setting_matches_write("buffer_size_kb", "X\n", "1408"));

	assert_true(setting_equal("trace_clock", "local [boot]\n", "local [boot] tai\n"));
	assert_true(setting_equal("events/a/b/enable", "1\n", "1*\n"));
	assert_false(setting_equal("buffer_size_kb", "X\n", "1408\n"));
	assert_true(setting_equal("buffer_size_kb", "X\n", "X\n"));
}

TEST(kinds)
{
	assert_int_equal(setting_find_kind("events/a/b/trigger"), SETTING_COMMAND);
	assert_int_equal(setting_find_kind("/x/y/set_event_pid"), SETTING_LIST);
	assert_int_equal(setting_find_kind("set_event"), SETTING_VALUE);
	assert_true(setting_is_restricting("events/a/b/filter"));
	assert_true(setting_is_restricting("tracing_cpumask"));
	assert_true(setting_is_restricting("options/overwrite"));
	assert_false(setting_is_restricting("events/a/b/enable"));
	assert_false(setting_is_restricting("trace_clock"));
}

DIR_TEST(files)
{
	char *text;

	fake_text("tracing_on", "some longer text");
	assert_int_equal(setting_write(fake_path("tracing_on"), "1"), 0);
	text = setting_read(fake_path("tracing_on"));
	assert_string_equal(text, "1");
	free(text);

	/* A list is emptied, and begun anew. */
	fake_text("set_event_pid", "1 2 3");
	assert_int_equal(setting_write(fake_path("set_event_pid"), ""), 0);
	text = setting_read(fake_path("set_event_pid"));
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(setting_append(fake_path("set_event_pid"), "7\n"), 0);
	assert_int_equal(setting_append(fake_path("set_event_pid"), "8\n"), 0);
	assert_string_equal(fake_read("set_event_pid"), "7\n8\n");

	/* A trigger is added to others. */
	fake_text("trigger", "one\n");
	assert_int_equal(setting_write(fake_path("trigger"), "two"), 0);
	assert_string_equal(fake_read("trigger"), "one\ntwo");

	assert_null(setting_read(fake_path("nope")));
	assert_int_equal(setting_write(fake_path("nope"), "1"), -ENOENT);
	assert_int_equal(access(fake_path("nope"), F_OK), -1);
}
