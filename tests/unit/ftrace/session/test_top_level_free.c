// SPDX-License-Identifier: Apache-2.0
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/session/top_level.c"

SETUP
{
	fake_root_new();
	fake_text("t/tracing_on", "1\n");
	fake_text("t/current_tracer", "nop\n");
	fake_text("t/set_event", "");
	fake_text("t/trace_pipe", "");
	fake_text("t/per_cpu/cpu0/stats", "entries: 0\noverrun: 9\n");
	fake_text("t/per_cpu/cpu1/stats", "entries: 7\noverrun: 9\n");
	fake_text("p/123/comm", "someone\n");
	fake_mkdirs(fake_path("p/123/fd/x"));
}

static void assert_free(void)
{
	assert_int_equal(top_level_is_free(fake_path("t"), fake_path("p"), NULL), 0);
}

static void assert_used(const char *why)
{
	struct err_text e;

	assert_int_equal(top_level_is_free(fake_path("t"), fake_path("p"), &e), -EBUSY);
	if (!strstr(e.text, why))
		fail_msg("%s", e.text);
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(test_nobody)
{
	assert_free();
	/* Older or stranger kernels. */
	unlink(fake_path("t/current_tracer"));
	unlink(fake_path("t/set_event"));
	assert_free();
}

FIXTURE_TEST(test_a_tracer)
{
	fake_text("t/current_tracer", "function_graph\n");
	assert_used("current_tracer is function_graph");
}

FIXTURE_TEST(test_an_event)
{
	fake_text("t/set_event", "sched:sched_switch\nirq:x\n");
	assert_used("sched:sched_switch is on there");
}

FIXTURE_TEST(test_a_reader)
{
	assert_int_equal(symlink(fake_path("t/trace_pipe"), fake_path("p/123/fd/3")), 0);
	assert_used("someone (process 123) reads its rings");
}

FIXTURE_TEST(test_a_stopped_recording)
{
	fake_text("t/tracing_on", "0\n");
	assert_used("a stopped recording of 7 records");
	fake_text("t/per_cpu/cpu1/stats", "entries: 0\n");
	assert_free();
}
