// SPDX-License-Identifier: Apache-2.0
/* The order of the steps: each is tested by itself. */
#include <sys/syscall.h>

#include "ftrace/options/instance_options.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;

TEARDOWN
{
	event_selection_deinit(&events);
	setup_remove();
}

SETUP
{
	fake_root_new();
}

FIXTURE_TEST(test_the_instance)
{
	fake_text("instances/x/options/overwrite", "0\n");
	fake_text("instances/x/options/stacktrace", "1\n");
	fake_text("instances/x/tracing_cpumask", "f");
	fake_text("instances/x/set_event_pid", "");
	fake_text("proc/5/comm", "x");
	/* What was taken over is put back before the config counts. */
	setup_begin("tracefs_options { name: 'stacktrace' state: STATE_ENABLED } "
		    "tracing_cpumask: '2' tids_to_trace: 5");
	assert_int_equal(instance_options_set(&setup, fake_path("proc")), 0);
	assert_string_equal(fake_written("options/overwrite"), "1");
	assert_string_equal(fake_written("options/stacktrace"), "1");
	assert_string_equal(fake_written("tracing_cpumask"), "2");
	assert_string_equal(fake_written("set_event_pid"), "5 ");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_others_than_were_asked_for)
{
	setup_begin("tracing_cpumask: 'x' tids_to_trace: 5");
	assert_int_equal(instance_options_set(&setup, "/proc"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "tracing_cpumask"));
	fake_text("instances/x/tracing_cpumask", "f");
	setup_begin("tracing_cpumask: '1' tids_to_trace: 0");
	assert_int_equal(instance_options_set(&setup, "/proc"), -EINVAL);
	assert_non_null(strstr(errors.fatal, "tids_to_trace"));
}

/* Filters are for what other options imply, too, and stacks are of all that. */
FIXTURE_TEST(test_the_events)
{
	char want[64];

	fake_event("raw_syscalls/sys_enter");
	fake_event("raw_syscalls/sys_exit");
	fake_event("irq/softirq_entry");
	setup_begin("syscall_events: 'read' atrace_categories: 'irq' "
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
