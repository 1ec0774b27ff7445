// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "ftrace/options/pid_filter.h"
#include "unit/ftrace/setups.h"

static int setup_folder(void **state)
{
	static const char *const files[] = {"set_event_pid", "set_ftrace_pid", "options/event-fork",
					    "options/function-fork"};
	char name[64];

	if (temp_dir_setup(state))
		return -1;
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(name, sizeof(name), "instances/x/%s", files[i]);
		fake_text(*state, name, "0");
	}
	fake_text(*state, "instances/x/available_tracers", "blk function_graph function nop\n");
	fake_text(*state, "proc/sys/kernel/pid_max", "1000\n");
	fake_text(*state, "proc/5/comm", "x");
	fake_text(*state, "proc/999/comm", "x");
	return 0;
}

static int set(void **state, const char *config)
{
	setup_begin(*state, config);
	return pid_filter_set(&setup, temp_dir_path(state, 0, "proc"));
}

#define WITH_FOLDER(name) TEST_WITH(name, setup_folder, setup_teardown)

WITH_FOLDER(test_the_list)
{
	assert_int_equal(set(state, "tids_to_trace: [5, 999]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "5 999 ");
	assert_string_equal(fake_written(*state, "set_ftrace_pid"), "0");
	assert_string_equal(fake_written(*state, "options/event-fork"), "0");
	assert_int_equal(n_failed(), 0);
}

WITH_FOLDER(test_nobody_is_named)
{
	assert_int_equal(set(state, ""), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "0");
	assert_int_equal(n_failed(), 0);
	assert_int_equal(set(state, "follow_children: true"), 0);
	assert_string_equal(fake_written(*state, "options/event-fork"), "0");
	assert_string_equal(errors.failed[0],
			    "option:follow_children (there are no tids_to_trace)");
}

WITH_FOLDER(test_children_and_functions)
{
	assert_int_equal(set(state, "tids_to_trace: 5 follow_children: true"), 0);
	assert_string_equal(fake_written(*state, "options/event-fork"), "1");
	assert_string_equal(fake_written(*state, "options/function-fork"), "0");
	assert_int_equal(
		set(state, "tids_to_trace: 5 follow_children: true enable_function_graph: true"),
		0);
	assert_string_equal(fake_written(*state, "set_ftrace_pid"), "5 ");
	assert_string_equal(fake_written(*state, "options/function-fork"), "1");
	assert_int_equal(n_failed(), 0);

	unlink(temp_dir_path(state, 0, "instances/x/options/event-fork"));
	assert_int_equal(set(state, "tids_to_trace: 5 follow_children: true"), 0);
	assert_string_equal(errors.failed[0],
			    "option:follow_children (the kernel does not have it)");
}

/* What cannot be traced at all needs no threads; the rest records. */
WITH_FOLDER(test_a_kernel_without_functions)
{
	fake_text(*state, "instances/x/available_tracers", "blk function nop\n");
	unlink(temp_dir_path(state, 0, "instances/x/set_ftrace_pid"));
	assert_int_equal(
		set(state, "tids_to_trace: 5 follow_children: true enable_function_graph: true"),
		0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "5 ");
	assert_string_equal(fake_written(*state, "options/function-fork"), "0");
	assert_int_equal(n_failed(), 0);
}

WITH_FOLDER(test_numbers_that_are_no_threads)
{
	assert_int_equal(set(state, "tids_to_trace: [0, 5, 1000, 4294967295]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "5 ");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0],
			    "option:tids_to_trace (0 is no thread: they are 1 to 999 here)");
	assert_string_equal(errors.failed[1],
			    "option:tids_to_trace (1000 is no thread: they are 1 to 999 here)");

	assert_int_equal(set(state, "tids_to_trace: [0, 1000]"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "nothing is recorded"));
}

WITH_FOLDER(test_threads_that_are_not_there)
{
	char config[1024] = "tids_to_trace: [5";
	size_t at = strlen(config);

	assert_int_equal(set(state, "tids_to_trace: [6, 5]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "6 5 ");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "option:tids_to_trace (6: no such thread when the "
					      "recording was set up)");

	/* Nobody wants to read a thousand lines of it. */
	for (unsigned i = 100; i < 200; i++)
		at += (size_t)snprintf(config + at, sizeof(config) - at, ", %u", i);
	snprintf(config + at, sizeof(config) - at, "]");
	assert_int_equal(set(state, config), 0);
	assert_int_equal(n_failed(), 21);
	assert_string_equal(errors.failed[20], "option:tids_to_trace (80 more: no such thread "
					       "when the recording was set up)");
}

static void add_thread(void **state, unsigned pid, unsigned tid)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%u/task/%u/comm", pid, tid);
	fake_text(*state, path, "x");
	snprintf(path, sizeof(path), "proc/%u/comm", tid);
	fake_text(*state, path, "x");
}

/* The process itself stands first, so that the list is never empty, which would mean everybody. */
WITH_FOLDER(test_all_threads_of_a_process)
{
	add_thread(state, 20, 20);
	add_thread(state, 20, 21);
	add_thread(state, 20, 300);
	add_thread(state, 40, 40);
	assert_int_equal(set(state, "pids_to_trace: [20, 40]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "20 40 21 300 ");
	assert_string_equal(fake_written(*state, "options/event-fork"), "1");
	assert_string_equal(fake_written(*state, "set_ftrace_pid"), "0");
	assert_int_equal(n_failed(), 0);

	assert_int_equal(set(state, "pids_to_trace: 20 enable_function_graph: true"), 0);
	assert_string_equal(fake_written(*state, "set_ftrace_pid"), "20 21 300 ");
	assert_string_equal(fake_written(*state, "options/function-fork"), "1");
	assert_int_equal(pid_filter_set_functions(&setup), 0);
}

/* That they are not there now is nothing to tell: those that the process has are found. */
WITH_FOLDER(test_threads_that_a_process_had)
{
	add_thread(state, 20, 20);
	add_thread(state, 20, 21);
	assert_int_equal(set(state, "tids_to_trace: [20, 19, 5] pids_to_trace: 20"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "20 19 5 20 21 ");
	assert_int_equal(n_failed(), 0);
	/* One that has ended since it was listed. */
	unlink(temp_dir_path(state, 0, "proc/21/comm"));
	rmdir(temp_dir_path(state, 0, "proc/21"));
	assert_int_equal(set(state, "pids_to_trace: 20"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "20 ");
}

WITH_FOLDER(test_processes_that_are_not_there)
{
	add_thread(state, 20, 20);
	assert_int_equal(set(state, "pids_to_trace: [0, 20, 30, 1000]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "20 30 ");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(errors.failed[0],
			    "option:pids_to_trace (0 is no process: they are 1 to 999 here)");
	assert_string_equal(
		errors.failed[1],
		"option:pids_to_trace (30: no such process when the recording was set up)");
	assert_int_equal(set(state, "pids_to_trace: 0"), -EINVAL);
	assert_string_equal(errors.fatal,
			    "nothing is recorded: none of pids_to_trace can be a process");
}

/* A kernel that forgets what it is told, as if there were new threads again and again. */
WITH_FOLDER(test_threads_that_come_without_end)
{
	add_thread(state, 20, 20);
	unlink(temp_dir_path(state, 0, "instances/x/set_event_pid"));
	assert_int_equal(symlink("/dev/null", temp_dir_path(state, 0, "instances/x/set_event_pid")),
			 0);
	assert_int_equal(set(state, "pids_to_trace: 20"), 0);
	assert_int_equal(n_failed(), 1);
	assert_non_null(strstr(errors.failed[0], "option:pids_to_trace (set_event_pid: threads"));
}

WITH_FOLDER(test_who_is_wanted)
{
	assert_int_equal(set(state, ""), 0);
	assert_false(pid_filter_wanted(setup.config) || pid_filter_follows_children(setup.config));
	assert_int_equal(set(state, "follow_children: true"), 0);
	assert_false(pid_filter_wanted(setup.config) || pid_filter_follows_children(setup.config));
	assert_int_equal(set(state, "tids_to_trace: 5"), 0);
	assert_true(pid_filter_wanted(setup.config) && !pid_filter_follows_children(setup.config));
	assert_int_equal(set(state, "tids_to_trace: 5 follow_children: true"), 0);
	assert_true(pid_filter_wanted(setup.config) && pid_filter_follows_children(setup.config));
	assert_int_equal(set(state, "pids_to_trace: 5"), 0);
	assert_true(pid_filter_wanted(setup.config) && pid_filter_follows_children(setup.config));
}

WITH_FOLDER(test_a_machine_that_does_not_say_its_limit)
{
	fake_text(*state, "proc/sys/kernel/pid_max", "what\n");
	assert_int_equal(set(state, "tids_to_trace: [5, 4194303, 4194304]"), 0);
	assert_string_equal(fake_written(*state, "set_event_pid"), "5 4194303 ");
	assert_int_equal(n_failed(), 2);
}

/* More than goes into one write; each number is whole. */
WITH_FOLDER(test_thousands)
{
	static char config[8 * 30000], want[8 * 30000], got[8 * 30000];
	size_t at = (size_t)snprintf(config, sizeof(config), "tids_to_trace: [1"), w = 2, n;
	FILE *f;

	fake_text(*state, "proc/sys/kernel/pid_max", "4194304\n");
	memcpy(want, "1 ", 3);
	for (unsigned i = 2; i < 30000; i++) {
		at += (size_t)snprintf(config + at, sizeof(config) - at, ",%u", i);
		w += (size_t)snprintf(want + w, sizeof(want) - w, "%u ", i);
	}
	snprintf(config + at, sizeof(config) - at, "]");
	assert_int_equal(set(state, config), 0);
	f = fopen(temp_dir_path(state, 0, "instances/x/set_event_pid"), "r");
	n = fread(got, 1, sizeof(got), f);
	fclose(f);
	assert_int_equal(n, w);
	assert_memory_equal(got, want, w);
}

WITH_FOLDER(test_a_kernel_that_does_not_take_them)
{
	fake_refusal(*state, "set_event_pid");
	assert_int_equal(set(state, "tids_to_trace: 5"), -EISDIR);
	assert_non_null(strstr(errors.fatal, "nothing is recorded"));
	rmdir(temp_dir_path(state, 0, "instances/x/set_event_pid"));
	assert_int_equal(set(state, "tids_to_trace: 5"), -ENOENT);
	assert_non_null(errors.fatal);

	fake_text(*state, "instances/x/set_event_pid", "");
	fake_refusal(*state, "set_ftrace_pid");
	assert_int_equal(set(state, "tids_to_trace: 5 enable_function_graph: true"), -EISDIR);
	assert_non_null(strstr(errors.fatal, "set_ftrace_pid"));
}
