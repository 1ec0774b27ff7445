// SPDX-License-Identifier: Apache-2.0
#include "unit/fixture.h"
#include "ftrace/options/pid_filter.h"
#include "unit/ftrace/setups.h"

SETUP
{
	static const char *const files[] = {"set_event_pid", "set_ftrace_pid", "options/event-fork",
					    "options/function-fork"};

	fake_root_new();
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		fake_put("0", "instances/x/%s", files[i]);
	fake_text("instances/x/available_tracers", "blk function_graph function nop\n");
	fake_text("proc/sys/kernel/pid_max", "1000\n");
	fake_text("proc/5/comm", "x");
	fake_text("proc/999/comm", "x");
}

static int set(const char *config)
{
	setup_begin(config);
	return pid_filter_set(&setup, fake_path("proc"));
}

TEARDOWN
{
	setup_remove();
}

FIXTURE_TEST(test_the_list)
{
	assert_int_equal(set("tids_to_trace: [5, 999]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "5 999 ");
	assert_string_equal(fake_written("set_ftrace_pid"), "0");
	assert_string_equal(fake_written("options/event-fork"), "0");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_nobody_is_named)
{
	assert_int_equal(set(""), 0);
	assert_string_equal(fake_written("set_event_pid"), "0");
	assert_int_equal(n_failed(), 0);
	assert_int_equal(set("follow_children: true"), 0);
	assert_string_equal(fake_written("options/event-fork"), "0");
	assert_string_equal(errors.failed[0],
			    "option:follow_children (there are no tids_to_trace)");
}

FIXTURE_TEST(test_children_and_functions)
{
	assert_int_equal(set("tids_to_trace: 5 follow_children: true"), 0);
	assert_string_equal(fake_written("options/event-fork"), "1");
	assert_string_equal(fake_written("options/function-fork"), "0");
	assert_int_equal(set("tids_to_trace: 5 follow_children: true enable_function_graph: true"),
			 0);
	assert_string_equal(fake_written("set_ftrace_pid"), "5 ");
	assert_string_equal(fake_written("options/function-fork"), "1");
	assert_int_equal(n_failed(), 0);

	unlink(fake_path("instances/x/options/event-fork"));
	assert_int_equal(set("tids_to_trace: 5 follow_children: true"), 0);
	assert_string_equal(errors.failed[0],
			    "option:follow_children (the kernel does not have it)");
}

/* What cannot be traced at all needs no threads; the rest records. */
FIXTURE_TEST(test_a_kernel_without_functions)
{
	fake_text("instances/x/available_tracers", "blk function nop\n");
	unlink(fake_path("instances/x/set_ftrace_pid"));
	assert_int_equal(set("tids_to_trace: 5 follow_children: true enable_function_graph: true"),
			 0);
	assert_string_equal(fake_written("set_event_pid"), "5 ");
	assert_string_equal(fake_written("options/function-fork"), "0");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_numbers_that_are_no_threads)
{
	assert_int_equal(set("tids_to_trace: [0, 5, 1000, 4294967295]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "5 ");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0],
			    "option:tids_to_trace (0 is no thread: they are 1 to 999 here)");
	assert_string_equal(errors.failed[1],
			    "option:tids_to_trace (1000 is no thread: they are 1 to 999 here)");

	assert_int_equal(set("tids_to_trace: [0, 1000]"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "nothing is recorded"));
}

FIXTURE_TEST(test_threads_that_are_not_there)
{
	char config[1024] = "tids_to_trace: [5";
	size_t at = strlen(config);

	assert_int_equal(set("tids_to_trace: [6, 5]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "6 5 ");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "option:tids_to_trace (6: no such thread when the "
					      "recording was set up)");

	/* Nobody wants to read a thousand lines of it. */
	for (unsigned i = 100; i < 200; i++)
		at += (size_t)snprintf(config + at, sizeof(config) - at, ", %u", i);
	snprintf(config + at, sizeof(config) - at, "]");
	assert_int_equal(set(config), 0);
	assert_int_equal(n_failed(), 21);
	assert_string_equal(errors.failed[20], "option:tids_to_trace (80 more: no such thread "
					       "when the recording was set up)");
}

static void add_thread(unsigned pid, unsigned tid)
{
	fake_put("x", "proc/%u/task/%u/comm", pid, tid);
	fake_put("x", "proc/%u/comm", tid);
}

/* The process itself stands first, so that the list is never empty, which would mean everybody. */
FIXTURE_TEST(test_all_threads_of_a_process)
{
	add_thread(20, 20);
	add_thread(20, 21);
	add_thread(20, 300);
	add_thread(40, 40);
	assert_int_equal(set("pids_to_trace: [20, 40]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "20 40 21 300 ");
	assert_string_equal(fake_written("options/event-fork"), "1");
	assert_string_equal(fake_written("set_ftrace_pid"), "0");
	assert_int_equal(n_failed(), 0);

	assert_int_equal(set("pids_to_trace: 20 enable_function_graph: true"), 0);
	assert_string_equal(fake_written("set_ftrace_pid"), "20 21 300 ");
	assert_string_equal(fake_written("options/function-fork"), "1");
	assert_int_equal(pid_filter_set_functions(&setup), 0);
}

/* That they are not there now is nothing to tell: those that the process has are found. */
FIXTURE_TEST(test_threads_that_a_process_had)
{
	add_thread(20, 20);
	add_thread(20, 21);
	assert_int_equal(set("tids_to_trace: [20, 19, 5] pids_to_trace: 20"), 0);
	assert_string_equal(fake_written("set_event_pid"), "20 19 5 20 21 ");
	assert_int_equal(n_failed(), 0);
	/* One that has ended since it was listed. */
	unlink(fake_path("proc/21/comm"));
	rmdir(fake_path("proc/21"));
	assert_int_equal(set("pids_to_trace: 20"), 0);
	assert_string_equal(fake_written("set_event_pid"), "20 ");
}

FIXTURE_TEST(test_processes_that_are_not_there)
{
	add_thread(20, 20);
	assert_int_equal(set("pids_to_trace: [0, 20, 30, 1000]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "20 30 ");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0],
			    "option:pids_to_trace (0 is no process: they are 1 to 999 here)");
	assert_string_equal(
		errors.failed[1],
		"option:pids_to_trace (30: no such process when the recording was set up)");
	assert_int_equal(set("pids_to_trace: 0"), -EINVAL);
	assert_string_equal(errors.fatal,
			    "nothing is recorded: none of pids_to_trace can be a process");
}

/* A kernel that forgets what it is told, as if there were new threads again and again. */
FIXTURE_TEST(test_threads_that_come_without_end)
{
	add_thread(20, 20);
	unlink(fake_path("instances/x/set_event_pid"));
	assert_int_equal(symlink("/dev/null", fake_path("instances/x/set_event_pid")), 0);
	assert_int_equal(set("pids_to_trace: 20"), 0);
	assert_int_equal(n_failed(), 1);
	assert_non_null(strstr(errors.failed[0], "option:pids_to_trace (set_event_pid: threads"));
}

FIXTURE_TEST(test_who_is_wanted)
{
	assert_int_equal(set(""), 0);
	assert_false(pid_filter_wanted(setup.config) || pid_filter_follows_children(setup.config));
	assert_int_equal(set("follow_children: true"), 0);
	assert_false(pid_filter_wanted(setup.config) || pid_filter_follows_children(setup.config));
	assert_int_equal(set("tids_to_trace: 5"), 0);
	assert_true(pid_filter_wanted(setup.config) && !pid_filter_follows_children(setup.config));
	assert_int_equal(set("tids_to_trace: 5 follow_children: true"), 0);
	assert_true(pid_filter_wanted(setup.config) && pid_filter_follows_children(setup.config));
	assert_int_equal(set("pids_to_trace: 5"), 0);
	assert_true(pid_filter_wanted(setup.config) && pid_filter_follows_children(setup.config));
}

FIXTURE_TEST(test_a_machine_that_does_not_say_its_limit)
{
	fake_text("proc/sys/kernel/pid_max", "what\n");
	assert_int_equal(set("tids_to_trace: [5, 4194303, 4194304]"), 0);
	assert_string_equal(fake_written("set_event_pid"), "5 4194303 ");
	assert_int_equal(n_failed(), 2);
}

/* More than goes into one write; each number is whole. */
FIXTURE_TEST(test_thousands)
{
	static char config[8 * 30000], want[8 * 30000], got[8 * 30000];
	size_t at = (size_t)snprintf(config, sizeof(config), "tids_to_trace: [1"), w = 2, n;
	FILE *f;

	fake_text("proc/sys/kernel/pid_max", "4194304\n");
	memcpy(want, "1 ", 3);
	for (unsigned i = 2; i < 30000; i++) {
		at += (size_t)snprintf(config + at, sizeof(config) - at, ",%u", i);
		w += (size_t)snprintf(want + w, sizeof(want) - w, "%u ", i);
	}
	snprintf(config + at, sizeof(config) - at, "]");
	assert_int_equal(set(config), 0);
	f = fopen(fake_path("instances/x/set_event_pid"), "r");
	n = fread(got, 1, sizeof(got), f);
	fclose(f);
	assert_int_equal(n, w);
	assert_memory_equal(got, want, w);
}

FIXTURE_TEST(test_a_kernel_that_does_not_take_them)
{
	fake_refusal("set_event_pid");
	assert_int_equal(set("tids_to_trace: 5"), -EISDIR);
	assert_non_null(strstr(errors.fatal, "nothing is recorded"));
	rmdir(fake_path("instances/x/set_event_pid"));
	assert_int_equal(set("tids_to_trace: 5"), -ENOENT);
	assert_non_null(errors.fatal);

	fake_text("instances/x/set_event_pid", "");
	fake_refusal("set_ftrace_pid");
	assert_int_equal(set("tids_to_trace: 5 enable_function_graph: true"), -EISDIR);
	assert_non_null(strstr(errors.fatal, "set_ftrace_pid"));
}
