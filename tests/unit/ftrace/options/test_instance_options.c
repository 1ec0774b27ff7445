// SPDX-License-Identifier: Apache-2.0
/* The order of the steps: each is tested by itself. */
#include <sys/syscall.h>

#include "unit/test.h"
#include "ftrace/options/instance_options.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;

static int teardown(void **state)
{
	event_selection_deinit(&events);
	return setup_teardown(state);
}

#define WITH_FOLDER(name) TEST_WITH(name, temp_dir_setup, teardown)

WITH_FOLDER(test_the_instance)
{
	fake_text(*state, "instances/x/options/overwrite", "0\n");
	fake_text(*state, "instances/x/options/stacktrace", "1\n");
	fake_text(*state, "instances/x/tracing_cpumask", "f");
	fake_text(*state, "instances/x/set_event_pid", "");
	fake_text(*state, "proc/5/comm", "x");
	/* What was taken over is put back before the config counts. */
	setup_begin(*state, "tracefs_options { name: 'stacktrace' state: STATE_ENABLED } "
			    "tracing_cpumask: '2' tids_to_trace: 5");
	assert_int_equal(instance_options_set(&setup, temp_dir_path(state, 0, "proc")), 0);
	assert_string_equal(fake_written(*state, "options/overwrite"), "1");
	assert_string_equal(fake_written(*state, "options/stacktrace"), "1");
	assert_string_equal(fake_written(*state, "tracing_cpumask"), "2");
	assert_string_equal(fake_written(*state, "set_event_pid"), "5 ");
	assert_int_equal(n_failed(), 0);
}

WITH_FOLDER(test_others_than_were_asked_for)
{
	setup_begin(*state, "tracing_cpumask: 'x' tids_to_trace: 5");
	assert_int_equal(instance_options_set(&setup, "/proc"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "tracing_cpumask"));
	fake_text(*state, "instances/x/tracing_cpumask", "f");
	setup_begin(*state, "tracing_cpumask: '1' tids_to_trace: 0");
	assert_int_equal(instance_options_set(&setup, "/proc"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "tids_to_trace"));
}

/* Filters are for what other options imply, too, and stacks are of all that. */
WITH_FOLDER(test_the_events)
{
	char want[64];

	fake_event(*state, "raw_syscalls/sys_enter");
	fake_event(*state, "raw_syscalls/sys_exit");
	fake_event(*state, "irq/softirq_entry");
	setup_begin(*state, "syscall_events: 'read' atrace_categories: 'irq' "
			    "event_filters { event: 'raw_syscalls/*' filter: 'a' } "
			    "event_filters { event: 'irq/*' filter: 'b' } "
			    "event_triggers { event: 'irq/*' action: ACTION_STACKTRACE }");
	assert_int_equal(instance_options_restrict_events(&events, &setup), 0);
	snprintf(want, sizeof(want), "(id == %u) && (a)", SYS_read);
	assert_string_equal(event_selection_find(&events, "raw_syscalls", "sys_enter")->filter,
			    want);
	assert_string_equal(event_selection_find(&events, "irq", "softirq_entry")->filter, "b");
	assert_non_null(event_selection_find(&events, "ftrace", "kernel_stack"));
	assert_null(event_selection_find(&events, "ftrace", "kernel_stack")->filter);
	assert_int_equal(n_failed(), 0);
}
