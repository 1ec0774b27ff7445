// SPDX-License-Identifier: Apache-2.0
/* What can be told with plain files; the kernel's part is in tests/root/test_ftrace.sh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_tracefs.h"

static void test_a_folder_that_is_no_tracefs(void **state)
{
	struct instance i;
	struct err_text e;
	char want[300];

	assert_int_equal(instance_make(&i, *state, 5, &e), -ENOENT);
	assert_false(instance_is_made(&i));
	assert_non_null(strstr(e.text, *state));
	assert_int_equal(instance_remove(&i), 0);

	/* mkdir works, but no files appear: nothing is left of it. */
	fake_text(*state, "instances/other/x", "");
	assert_int_equal(instance_make(&i, *state, 5, &e), -ENOENT);
	assert_non_null(strstr(e.text, "tracing_on"));
	snprintf(want, sizeof(want), "%s/instances/sonda-%d-5", (char *)*state, (int)getpid());
	assert_int_equal(access(want, F_OK), -1);
}

static void test_paths_too_long(void **state)
{
	char root[5000];
	struct instance i;
	struct err_text e;

	(void)state;
	memset(root, 'x', sizeof(root) - 1);
	root[0] = '/';
	root[sizeof(root) - 1] = '\0';
	assert_int_equal(instance_make(&i, root, 5, &e), -ENAMETOOLONG);
}

static void test_files(void **state)
{
	struct instance i;
	char *text;
	int fd;

	fake_text(*state, "instances/x/tracing_on", "1\n");
	i = fake_instance(*state);
	assert_int_equal(instance_write(&i, "tracing_on", "0"), 0);
	assert_string_equal(fake_read(*state, "instances/x/tracing_on"), "0");
	assert_int_equal(instance_write(&i, "nope", "0"), -ENOENT);
	text = instance_read(&i, "tracing_on");
	assert_string_equal(text, "0");
	free(text);
	assert_null(instance_read(&i, "nope"));
	fd = instance_open(&i, "tracing_on", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(instance_open(&i, "nope", O_RDONLY), -ENOENT);
	fake_instance_free(&i);
}

static void test_ring_size(void **state)
{
	struct instance i;
	uint32_t kb = 77;

	fake_text(*state, "instances/x/tracing_on", "");
	i = fake_instance(*state);
	assert_int_equal(instance_set_buffer_kb(&i, 4096, &kb), -ENOENT);
	assert_int_equal(kb, 77);
	assert_int_equal(instance_buffer_kb(&i), 0);
	fake_text(*state, "instances/x/buffer_size_kb", "");
	assert_int_equal(instance_set_buffer_kb(&i, 4096, &kb), 0);
	assert_int_equal(kb, 4096);
	assert_int_equal(instance_buffer_kb(&i), 4096);
	fake_text(*state, "instances/x/buffer_size_kb", "7 (expanded: 1408)\n");
	assert_int_equal(instance_buffer_kb(&i), 7);
	fake_instance_free(&i);
}

static void test_clock_that_is_on(void **state)
{
	static const struct {
		const char *text;
		enum ftrace_clock clock;
	} clocks[] = {
		{"local global [boot] mono\n", FTRACE_CLOCK_BOOT},
		{"local [global] boot\n", FTRACE_CLOCK_GLOBAL},
		{"[local] global\n", FTRACE_CLOCK_LOCAL},
		{"local [mono_raw]\n", FTRACE_CLOCK_MONO_RAW},
		{"local [x86-tsc]\n", FTRACE_CLOCK_UNKNOWN},
		{"", FTRACE_CLOCK_UNKNOWN},
	};
	struct instance i;

	for (unsigned n = 0; n < sizeof(clocks) / sizeof(*clocks); n++) {
		fake_text(*state, "instances/x/trace_clock", clocks[n].text);
		i = fake_instance(*state);
		assert_int_equal(instance_clock(&i), clocks[n].clock);
		fake_instance_free(&i);
	}
}

static void test_which_clock_is_wanted(void **state)
{
	struct instance i;

	fake_text(*state, "instances/x/trace_clock", "");
	i = fake_instance(*state);
	instance_set_clock(&i, false);
	assert_string_equal(fake_read(*state, "instances/x/trace_clock"), "boot");
	instance_set_clock(&i, true);
	assert_string_equal(fake_read(*state, "instances/x/trace_clock"), "mono_raw");
	fake_instance_free(&i);
}

static void test_events_are_switched_on(void **state)
{
	struct instance i;

	fake_text(*state, "instances/x/events/sched/sched_switch/enable", "0");
	fake_text(*state, "instances/x/options/other", "0");
	i = fake_instance(*state);
	assert_int_equal(instance_enable_event(&i, "sched", "sched_switch"), 0);
	assert_string_equal(fake_read(*state, "instances/x/events/sched/sched_switch/enable"), "1");
	/* The other way, for a kernel that refuses the first; then none. */
	assert_true(instance_enable_event(&i, "sched", "nope") < 0);
	fake_text(*state, "instances/x/set_event", "");
	assert_int_equal(instance_enable_event(&i, "sched", "nope"), 0);
	assert_string_equal(fake_read(*state, "instances/x/set_event"), "sched:nope");

	assert_int_equal(instance_copy_markers(&i), -EOPNOTSUPP);
	fake_text(*state, "instances/x/options/copy_trace_marker", "0");
	assert_int_equal(instance_copy_markers(&i), 0);
	fake_instance_free(&i);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_a_folder_that_is_no_tracefs),
		cmocka_unit_test(test_paths_too_long),
		WITH_FOLDER(test_files),
		WITH_FOLDER(test_ring_size),
		WITH_FOLDER(test_clock_that_is_on),
		WITH_FOLDER(test_which_clock_is_wanted),
		WITH_FOLDER(test_events_are_switched_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
