// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/atrace_categories.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;

SETUP
{
	static const char *const there[] = {
		"sched/sched_switch",  "sched/sched_waking",   "sched/sched_wakeup",
		"cgroup/cgroup_mkdir", "cgroup/no_message_of", "task/task_newtask",
		"ftrace/print",	       "irq/softirq_entry",
	};

	fake_root_new();
	for (unsigned i = 0; i < ARRAY_SIZE(there); i++)
		fake_event(there[i]);
}

TEARDOWN
{
	event_selection_deinit(&events);
	setup_remove();
}

/* Gives "name name ..." of what is selected, in memory that the next call overwrites. */
static const char *apply(const char *config)
{
	static char text[1024];
	size_t at = 0;

	event_selection_deinit(&events);
	setup_begin(config);
	assert_int_equal(event_select(fake_root, setup_config->ftrace_events,
				      setup_config->n_ftrace_events, &events, &errors),
			 0);
	assert_int_equal(atrace_categories_apply(&events, &setup), 0);
	text[0] = '\0';
	for (size_t i = 0; i < events.n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
				       events.events[i].name);
	return text;
}

FIXTURE_TEST(test_the_kernels_part)
{
	assert_string_equal(apply("atrace_categories: 'sched'"),
			    "cgroup_mkdir print sched_switch sched_waking task_newtask");
	assert_string_equal(apply("atrace_categories: 'irq' atrace_categories: 'freq' "
				  "ftrace_events: 'sched_wakeup'"),
			    "print softirq_entry sched_wakeup");
	/* What the kernel lacks of a category is not missed, but for the rest of it. */
	assert_null(errors.unknown);
	assert_int_equal(n_failed(), 0);
	assert_non_null(strstr(errors.notice, "Android only"));
}

FIXTURE_TEST(test_without_the_kernels_part)
{
	assert_string_equal(apply("atrace_categories: 'sched' atrace_userspace_only: true"),
			    "print");
	assert_string_equal(apply("atrace_apps: '*'"), "print");
	assert_non_null(errors.notice);
	assert_string_equal(apply("atrace_categories_prefer_sdk: 'x'"), "print");
	assert_non_null(errors.notice);
}

FIXTURE_TEST(test_nothing_of_atrace)
{
	assert_string_equal(apply("atrace_userspace_only: true"), "");
	assert_null(errors.notice);
}

FIXTURE_TEST(test_names)
{
	assert_string_equal(apply("atrace_categories: 'shced' atrace_categories: 'view' "
				  "atrace_categories: '' atrace_categories: '%s%n'"),
			    "print");
	assert_int_equal(n_failed(), 3);
	assert_string_equal(
		errors.failed[0],
		"option:atrace_categories (shced: no such category; did you mean sched?)");
	assert_string_equal(errors.failed[1], "option:atrace_categories (: no such category)");
}
