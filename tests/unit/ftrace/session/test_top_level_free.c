// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/session/top_level.c"

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	fake_text(*state, "t/tracing_on", "1\n");
	fake_text(*state, "t/current_tracer", "nop\n");
	fake_text(*state, "t/set_event", "");
	fake_text(*state, "t/trace_pipe", "");
	fake_text(*state, "t/per_cpu/cpu0/stats", "entries: 0\noverrun: 9\n");
	fake_text(*state, "t/per_cpu/cpu1/stats", "entries: 7\noverrun: 9\n");
	fake_text(*state, "p/123/comm", "someone\n");
	fake_mkdirs(temp_dir_path(state, 2, "p/123/fd/x"));
	return 0;
}

static void assert_free(void **state)
{
	assert_int_equal(
		top_level_is_free(temp_dir_path(state, 0, "t"), temp_dir_path(state, 1, "p"), NULL),
		0);
}

static void assert_used(void **state, const char *why)
{
	struct err_text e;

	assert_int_equal(
		top_level_is_free(temp_dir_path(state, 0, "t"), temp_dir_path(state, 1, "p"), &e),
		-EBUSY);
	if (!strstr(e.text, why))
		fail_msg("%s", e.text);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, temp_dir_teardown)

FIXTURE_TEST(test_nobody)
{
	assert_free(state);
	/* Older or stranger kernels. */
	unlink(temp_dir_path(state, 2, "t/current_tracer"));
	unlink(temp_dir_path(state, 2, "t/set_event"));
	assert_free(state);
}

FIXTURE_TEST(test_a_tracer)
{
	fake_text(*state, "t/current_tracer", "function_graph\n");
	assert_used(state, "current_tracer is function_graph");
}

FIXTURE_TEST(test_an_event)
{
	fake_text(*state, "t/set_event", "sched:sched_switch\nirq:x\n");
	assert_used(state, "sched:sched_switch is on there");
}

FIXTURE_TEST(test_a_reader)
{
	assert_int_equal(symlink(temp_dir_path(state, 0, "t/trace_pipe"),
				 temp_dir_path(state, 1, "p/123/fd/3")),
			 0);
	assert_used(state, "someone (process 123) reads its rings");
}

FIXTURE_TEST(test_a_stopped_recording)
{
	fake_text(*state, "t/tracing_on", "0\n");
	assert_used(state, "a stopped recording of 7 records");
	fake_text(*state, "t/per_cpu/cpu1/stats", "entries: 0\n");
	assert_free(state);
}
