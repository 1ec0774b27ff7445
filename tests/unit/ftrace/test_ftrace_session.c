// SPDX-License-Identifier: Apache-2.0
/* Sessions that cannot be had say why. Those that can are in tests/root/test_ftrace.sh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_tracefs.h"
#include "fake_writer.h"
#include "ftrace/ftrace_session.h"

static struct ftrace_session s;
static struct writer *w;

static int setup(void **state)
{
	w = fake_writer_new(4096);
	return temp_dir_setup(state);
}

static int teardown(void **state)
{
	writer_free(w);
	return temp_dir_teardown(state);
}

static void open_session(const char *root)
{
	const struct ds_env env = {.sys_root = "/nowhere", .tracefs_root = root};

	assert_int_equal(ftrace_session_open(&s, &env, 1, NULL, w), 0);
}

static void test_no_tracefs(void **state)
{
	(void)state;
	open_session(NULL);
	assert_non_null(strstr(s.reports.problem, "mount"));
	assert_false(instance_is_made(&s.instance));
	assert_int_equal(s.readers.n, 0);
	ftrace_session_close(&s);
	assert_null(s.reports.problem);
}

static void test_a_folder_that_cannot_hold_instances(void **state)
{
	open_session(*state);
	assert_non_null(strstr(s.reports.problem, "No such file"));
	assert_false(instance_is_made(&s.instance));
	ftrace_session_close(&s);

	fake_text(*state, "instances/x", "");
	open_session(*state);
	assert_non_null(strstr(s.reports.problem, "tracing_on"));
	ftrace_session_close(&s);
	/* Nothing is left behind. */
	fake_text(*state, "instances/x", "");
	assert_int_equal(unlink(temp_dir_path(state, 0, "instances/x")), 0);
	assert_int_equal(rmdir(temp_dir_path(state, 0, "instances")), 0);
}

static void test_the_config_counts_even_then(void **state)
{
	const struct ds_env env = {.sys_root = "/nowhere"};
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;

	(void)state;
	config.drain_period_ms = 7;
	config.symbolize_ksyms = 1;
	assert_int_equal(ftrace_session_open(&s, &env, 1, &config, w), 0);
	assert_int_equal(s.settings.drain_period_ms, 7);
	assert_int_equal(tracefs_list_size(s.reports.failed), 1);
	ftrace_session_close(&s);
}

static void test_the_moment_on_another_clock(void **state)
{
	char path[300];

	fake_text(*state, "stats", "entries: 0\nnow ts:  1424.957748\nread events: 0\n");
	snprintf(path, sizeof(path), "%s/stats", (char *)*state);
	s = (struct ftrace_session){.clock = FTRACE_CLOCK_LOCAL, .clock_fd = open(path, O_RDONLY)};
	assert_int_equal(
		translator_new(&s.table, &(struct page_layout){.size = 4096}, w, &s.translator), 0);
	for (unsigned i = 0; i < 2; i++) { /* read anew each time */
		ftrace_session_sync_clock(&s);
		assert_int_equal(s.translator->sync.clock, FTRACE_CLOCK_LOCAL);
		assert_true(s.translator->sync.ftrace_ns == 1424957748000);
		assert_true(s.translator->sync.boot_ns > 0);
		s.translator->sync = (struct clock_sync){0};
	}
	fake_text(*state, "stats", "entries: 0\nnow ts: 12345\n"); /* counts something else */
	ftrace_session_sync_clock(&s);
	assert_int_equal(s.translator->sync.ftrace_ns, 0);

	s.clock = FTRACE_CLOCK_BOOT;
	s.translator->sync = (struct clock_sync){0};
	ftrace_session_sync_clock(&s);
	assert_int_equal(s.translator->sync.boot_ns, 0);
	ftrace_session_close(&s);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_no_tracefs),
		WITH_FOLDER(test_a_folder_that_cannot_hold_instances),
		WITH_FOLDER(test_the_config_counts_even_then),
		WITH_FOLDER(test_the_moment_on_another_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
