// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include "ftrace/options/event_filters.c"
#include "unit/ftrace/setups.h"

#define ENTER "events/raw_syscalls/sys_enter/filter"
#define EXIT "events/raw_syscalls/sys_exit/filter"

static struct event_selection events;

SETUP
{
	fake_root_new();
	fake_event("raw_syscalls/sys_enter");
	fake_event("raw_syscalls/sys_exit");
}

TEARDOWN
{
	event_selection_deinit(&events);
	setup_remove();
}

static void apply_config(const char *config)
{
	event_selection_deinit(&events);
	setup_begin(config);
	assert_int_equal(event_select(fake_root, setup_config->ftrace_events,
				      setup_config->n_ftrace_events, &events, &errors),
			 0);
	assert_int_equal(syscall_events_apply(&events, &setup), 0);
}

static void assert_filter(const uint32_t *numbers, size_t n, const char *want)
{
	char *filter = syscall_filter(numbers, n);

	assert_string_equal(filter, want);
	free(filter);
}

TEST(test_runs)
{
	static const uint32_t numbers[] = {0, 2, 3, 5, 6, 7, 9, 100, 101, 102, 103};

	assert_filter(numbers, 1, "id == 0");
	assert_filter(numbers, 2, "id == 0 || id == 2");
	assert_filter(numbers, 3, "id == 0 || id == 2 || id == 3");
	assert_filter(numbers, 11,
		      "id == 0 || id == 2 || id == 3 || (id >= 5 && id <= 7) || id == 9 || "
		      "(id >= 100 && id <= 103)");
}

/* Whichever calls of an architecture they are. */
TEST(test_every_list_passes_the_kernels_limit)
{
	static uint32_t numbers[512];

	for (unsigned stride = 1; stride <= 4; stride++)
		for (unsigned run = 1; run <= 4; run++) {
			char *filter;
			size_t n = 0;

			for (uint32_t nr = 0; nr < 470; nr++)
				if (nr % (stride + run) < run)
					numbers[n++] = nr;
			filter = syscall_filter(numbers, n);
			assert_in_range(strlen(filter), 1, 4095);
			free(filter);
		}
}

FIXTURE_TEST(test_both_events_are_implied)
{
	char want[64];

	apply_config("syscall_events: 'sys_read' syscall_events: 'read'");
	snprintf(want, sizeof(want), "id == %u", SYS_read);
	assert_string_equal(fake_written(ENTER), want);
	assert_string_equal(fake_written(EXIT), want);
	assert_int_equal(events.n, 2);
	assert_string_equal(events.events[0].filter, want);
	assert_int_equal(n_failed(), 0);
	apply_config("syscall_events: 'read' ftrace_events: 'raw_syscalls/*'");
	assert_int_equal(events.n, 2);
}

FIXTURE_TEST(test_without_names_nothing_is_filtered)
{
	apply_config("ftrace_events: 'raw_syscalls/*'");
	assert_string_equal(fake_written(ENTER), "");
	assert_int_equal(events.n, 2);
	apply_config("");
	assert_int_equal(events.n, 0);
}

FIXTURE_TEST(test_unknown_names)
{
	char want[64];

	apply_config("syscall_events: 'sys_wriet' syscall_events: 'write' "
		     "syscall_events: 'nonsense'");
	snprintf(want, sizeof(want), "id == %u", SYS_write);
	assert_string_equal(fake_written(ENTER), want);
	assert_int_equal(n_failed(), 2);
	assert_string_equal(errors.failed[0], "option:syscall_events (sys_wriet: no such system "
					      "call; did you mean sys_write?)");
	assert_string_equal(errors.failed[1],
			    "option:syscall_events (nonsense: no such system call)");
}

/* Recording all calls is no answer to "record this one". */
FIXTURE_TEST(test_only_unknown_names)
{
	apply_config("syscall_events: 'nonsense'");
	assert_int_equal(events.n, 0);
	assert_int_equal(n_failed(), 1);
	apply_config("syscall_events: 'nonsense' ftrace_events: 'raw_syscalls/sys_enter'");
	assert_int_equal(events.n, 0);
	assert_int_equal(n_failed(), 2);
	assert_string_equal(errors.failed[1],
			    "raw_syscalls/sys_enter (none of syscall_events is a system call)");
}

FIXTURE_TEST(test_a_kernel_that_does_not_filter_them)
{
	fake_refusal(ENTER);
	apply_config("syscall_events: 'read'");
	assert_int_equal(events.n, 1);
	assert_string_equal(events.events[0].name, "sys_exit");
	assert_non_null(strstr(errors.failed[0], "raw_syscalls/sys_enter (filter refused"));
}
