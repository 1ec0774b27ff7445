/* SPDX-License-Identifier: Apache-2.0 */
/* A recording with a command of its own: when it runs, when it ends, who gets the signals. */

#include "base/system/fs.h"
#include "unit/cli/recording_child.h"
#include "unit/test.h"

/* For sh, in the directory of the test. */
static void use_command(const char *script)
{
	static char text[512], *argv[] = {(char *)"sh", (char *)"-c", text, NULL};

	snprintf(text, sizeof(text), "cd %s; %s", dir, script);
	its_command = argv;
}

static bool is_there(const char *name)
{
	return fs_exists(in_dir(name));
}

static bool wait_for(const char *name)
{
	for (int i = 0; i < 1000 && !is_there(name); i++)
		run_a_moment();
	return is_there(name);
}

/* The process whose number is in a file of the directory. */
static pid_t read_pid(const char *name)
{
	struct strbuf b = {0};
	pid_t pid;

	assert_int_equal(fs_read_file(in_dir(name), 32, &b), 0);
	pid = atoi(b.s);
	strbuf_deinit(&b);
	assert_true(pid > 1);
	return pid;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_the_recording_lasts_as_long_as_the_command)
{
	use_command("echo $$ >pid; exit 3");
	start(true);
	assert_int_equal(finish(), 0);
	assert_true(read_pid("pid") > 1);
	/* Nothing but the command's own is on its terminal meanwhile. */
	assert_string_equal(printed, "sonda: 2 packets\r\nsonda: 'sh' exited with code 3\r\n");
	assert_non_null(strstr(service.port.calls, "Flush DisableTracing ReadBuffers"));
}

FIXTURE_TEST(test_it_runs_once_all_have_started)
{
	service.never_started = true;
	use_command(": >ran");
	start(false);
	for (int i = 0; i < 1000 && !service.observe_id; i++)
		run_a_moment();
	for (int i = 0; i < 5; i++)
		run_a_moment();
	assert_false(is_there("ran"));
	service.never_started = false;
	fake_report_started(&service, service.observe_id);
	assert_int_equal(finish(), 0);
	assert_true(is_there("ran"));
}

FIXTURE_TEST(test_a_recording_that_does_not_begin_runs_nothing)
{
	use_command(": >ran");
	service.end_at_once = true;
	service.enable_error = "too much";
	start(false);
	assert_int_equal(finish(), 1);
	assert_string_equal(printed, "sonda: the tracing service aborted the session: too much\n"
				     "sonda: 'sh' did not run\n");
	assert_false(is_there("ran"));
}

FIXTURE_TEST(test_without_ftrace_it_does_not_run)
{
	use_config("data_sources { config { name: 'linux.ftrace' } }");
	use_command(": >ran");
	needs_ftrace = true;
	start(false);
	assert_int_equal(finish(), 1);
	assert_non_null(strstr(printed, "no connected producer provides linux.ftrace"));
	assert_false(is_there("ran"));
	assert_string_equal(service.port.calls, "QueryServiceState ");
	/* A config may have other sources than that. */
	printed[0] = '\0';
	ended = false;
	needs_ftrace = false;
	start(false);
	assert_int_equal(finish(), 0);
	assert_true(is_there("ran"));
}

FIXTURE_TEST(test_a_producer_that_would_record_too_much)
{
	use_config("data_sources { config { name: 'linux.ftrace' ftrace_config { event_filters { } "
		   "} } }");
	service.has_ftrace = true;
	service.probes_pid = 12;
	use_command(": >ran");
	start(false);
	assert_int_equal(finish(), 1);
	assert_non_null(strstr(printed, "event_filters (--filter) needs sonda-probes"));
	assert_false(is_there("ran"));
	assert_string_equal(service.port.calls, "QueryServiceState ");
	printed[0] = '\0';
	ended = false;
	service.knows_own_fields = true;
	start(false);
	assert_int_equal(finish(), 0);
	assert_true(is_there("ran"));
}

FIXTURE_TEST(test_a_command_that_does_not_exist)
{
	static char *nowhere[] = {(char *)"/nonexistent/program", NULL};

	its_command = nowhere;
	start(false);
	assert_int_equal(finish(), 1);
	assert_string_equal(printed, "sonda: cannot run '/nonexistent/program': No such file or "
				     "directory\n"
				     "sonda: '/nonexistent/program' did not run\n");
}

FIXTURE_TEST(test_a_process_that_is_gone)
{
	static uint32_t missing = 1u << 30;

	pids = (struct pid_list){.pids = &missing, .n = 1};
	start(false);
	assert_int_equal(finish(), 1);
	assert_string_equal(printed, "sonda: -p: no process has the ID 1073741824\n");
	assert_string_equal(service.port.calls, "QueryServiceState ");
}

/* What the command leaves behind in the background does not keep the recording. */
FIXTURE_TEST(test_a_command_that_becomes_a_daemon)
{
	use_command("sleep 100 >/dev/null 2>&1 & echo $! >pid");
	start(false);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(printed, "'sh' exited with code 0"));
	assert_int_equal(kill(read_pid("pid"), SIGKILL), 0);
}

FIXTURE_TEST(test_a_command_that_is_killed)
{
	use_command("echo $$ >p; mv p pid; exec sleep 100");
	start(false);
	assert_true(wait_for("pid"));
	kill(read_pid("pid"), SIGKILL);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(printed, "2 packets"));
	assert_non_null(strstr(printed, "'sh' was killed by signal 9 (Killed)"));
}

/* ---- signals ---- */

FIXTURE_TEST(test_the_first_signal_is_the_commands)
{
	use_command("trap ': >asked; exit 5' TERM; : >ready; while :; do sleep 0.02; done");
	start(false);
	assert_true(wait_for("ready"));
	kill(child, SIGTERM);
	assert_int_equal(finish(), 0);
	assert_true(is_there("asked"));
	assert_non_null(strstr(printed, "2 packets\nsonda: 'sh' exited with code 5"));
}

FIXTURE_TEST(test_the_second_one_stops_and_saves)
{
	use_command("trap ': >asked' INT; echo $$ >p; mv p pid; "
		    "while [ ! -e end ]; do sleep 0.02; done >/dev/null 2>&1");
	start(false);
	assert_true(wait_for("pid"));
	kill(child, SIGINT);
	assert_true(wait_for("asked"));
	assert_true(wait_until_printed(
		"waiting for the command to end; press Ctrl-C again to stop and save"));
	kill(child, SIGINT);
	assert_true(wait_until_printed("is still running (pid "));
	assert_non_null(strstr(printed, "2 packets"));
	assert_int_equal(kill(read_pid("pid"), 0), 0);
	kill(read_pid("pid"), SIGKILL);
	assert_int_equal(finish(), 0);
}

FIXTURE_TEST(test_the_third_one_throws_away)
{
	service.silent = "Flush";
	use_command("trap ': >asked' INT TERM; echo $$ >p; mv p pid; "
		    "while [ ! -e end ]; do sleep 0.02; done >/dev/null 2>&1");
	start(false);
	assert_true(wait_for("pid"));
	kill(child, SIGINT);
	assert_true(wait_for("asked"));
	kill(child, SIGINT);
	for (int i = 0; i < 1000 && !strstr(service.port.calls, "Flush"); i++)
		run_a_moment();
	kill(child, SIGTERM);
	assert_true(wait_until_printed("aborted: nothing was saved"));
	kill(read_pid("pid"), SIGKILL);
	assert_int_equal(finish(), 1);
}

FIXTURE_TEST(test_a_signal_before_it_runs_ends_both)
{
	service.never_started = true;
	use_command(": >ran");
	start(false);
	for (int i = 0; i < 1000 && !service.observe_id; i++)
		run_a_moment();
	kill(child, SIGINT);
	assert_int_equal(finish(), 1);
	assert_non_null(strstr(printed, "aborted: nothing was saved"));
	assert_false(is_there("ran"));
}

FIXTURE_TEST(test_the_time_may_be_over_first)
{
	use_command("echo $$ >p; mv p pid; exec sleep 100 >/dev/null 2>&1");
	start(false);
	assert_true(wait_for("pid"));
	fake_end_tracing(&service);
	assert_true(wait_until_printed("'sh' is still running (pid "));
	kill(read_pid("pid"), SIGKILL);
	assert_int_equal(finish(), 0);
}
