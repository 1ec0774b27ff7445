// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/pid_filter.h"
#include "unit/ftrace/setups.h"

SETUP
{
	static const char *const files[] = {"set_event_pid", "set_ftrace_pid", "options/event-fork",
					    "options/function-fork"};

	fake_root_new();
	for (unsigned i = 0; i < ARRAY_SIZE(files); i++)
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

/* The config is accepted, and these are the lists of threads; fork: of events, then of
 * functions. */
static void expect_lists(const char *config, const char *events, const char *functions,
			 const char *fork, const char *file, int line)
{
	char got[8];

	_assert_int_equal(set(config), 0, file, line);
	_assert_string_equal(fake_written("set_event_pid"), events, file, line);
	_assert_string_equal(fake_written("set_ftrace_pid"), functions, file, line);
	got[0] = fake_written("options/event-fork")[0];
	got[1] = fake_written("options/function-fork")[0];
	got[2] = '\0';
	_assert_string_equal(got, fork, file, line);
}

#define assert_lists(config, events, functions, fork)                                              \
	expect_lists(config, events, functions, fork, __FILE__, __LINE__)

FIXTURE_TEST(test_the_list)
{
	assert_lists("tids_to_trace: [5, 999]", "5 999 ", "0", "00");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_nobody_is_named)
{
	assert_lists("", "0", "0", "00");
	assert_int_equal(n_failed(), 0);
	assert_lists("follow_children: true", "0", "0", "00");
	assert_string_equal(errors.failed[0],
			    "option:follow_children (there are no tids_to_trace)");
}

FIXTURE_TEST(test_children_and_functions)
{
	assert_lists("tids_to_trace: 5 follow_children: true", "5 ", "0", "10");
	assert_lists("tids_to_trace: 5 follow_children: true enable_function_graph: true", "5 ",
		     "5 ", "11");
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
	assert_lists("tids_to_trace: 5 follow_children: true enable_function_graph: true", "5 ", "",
		     "10");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_numbers_that_are_no_threads)
{
	assert_lists("tids_to_trace: [0, 5, 1000, 4294967295]", "5 ", "0", "00");
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

	assert_lists("tids_to_trace: [6, 5]", "6 5 ", "0", "00");
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
	assert_lists("pids_to_trace: [20, 40]", "20 40 21 300 ", "0", "10");
	assert_int_equal(n_failed(), 0);
	assert_lists("pids_to_trace: 20 enable_function_graph: true", "20 21 300 ", "20 21 300 ",
		     "11");
	assert_int_equal(pid_filter_set_functions(&setup), 0);
}

/* That they are not there now is nothing to tell: those that the process has are found. */
FIXTURE_TEST(test_threads_that_a_process_had)
{
	add_thread(20, 20);
	add_thread(20, 21);
	assert_lists("tids_to_trace: [20, 19, 5] pids_to_trace: 20", "20 19 5 20 21 ", "0", "10");
	assert_int_equal(n_failed(), 0);
	/* One that has ended since it was listed. */
	unlink(fake_path("proc/21/comm"));
	rmdir(fake_path("proc/21"));
	assert_lists("pids_to_trace: 20", "20 ", "0", "10");
}

FIXTURE_TEST(test_processes_that_are_not_there)
{
	add_thread(20, 20);
	assert_lists("pids_to_trace: [0, 20, 30, 1000]", "20 30 ", "0", "10");
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
	static const struct {
		const char *config;
		bool wanted, follows_children;
	} rows[] = {
		{"", false, false},
		{"follow_children: true", false, false},
		{"tids_to_trace: 5", true, false},
		{"tids_to_trace: 5 follow_children: true", true, true},
		{"pids_to_trace: 5", true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		setup_begin(rows[i].config);
		if (pid_filter_wanted(setup.config) != rows[i].wanted ||
		    pid_filter_follows_children(setup.config) != rows[i].follows_children)
			fail_msg("%s", rows[i].config);
	}
}

FIXTURE_TEST(test_a_machine_that_does_not_say_its_limit)
{
	fake_text("proc/sys/kernel/pid_max", "what\n");
	assert_lists("tids_to_trace: [5, 4194303, 4194304]", "5 4194303 ", "0", "00");
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
