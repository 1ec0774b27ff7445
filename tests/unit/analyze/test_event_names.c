// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/event_counts.h"

static void check(uint32_t field, const char *group, const char *name)
{
	const struct event_name *e = event_name_of(field);

	assert_non_null(e);
	assert_string_equal(e->group, group);
	assert_string_equal(e->name, name);
}

TEST(test_fields_have_the_kernels_names)
{
	check(3, "ftrace", "print");
	check(4, "sched", "sched_switch");
	check(20, "sched", "sched_waking");
	check(235, "task", "task_newtask");
	check(24, "irq", "softirq_entry");
}

/* mali_gpu_power_state is the field, gpu_power_state the event; panel_write_generic is both. */
TEST(test_groups_that_prefix_their_fields)
{
	check(348, "dpu", "tracing_mark_write");
	check(470, "mali", "mali_KCPU_CQS_SET");
	check(548, "mali", "gpu_power_state");
	check(490, "panel", "panel_write_generic");
	check(542, "kprobes", "kprobe_event");
}

TEST(test_numbers_without_an_event)
{
	assert_null(event_name_of(0));
	assert_null(event_name_of(1)); /* timestamp */
	assert_null(event_name_of(5)); /* common_flags */
	assert_null(event_name_of(327)); /* generic: the name is in the event */
	assert_null(event_name_of(event_names_end()));
	assert_null(event_name_of(UINT32_MAX));
}

TEST(test_there_are_all_of_them)
{
	uint32_t i, n = 0;

	for (i = 0; i < event_names_end(); i++)
		n += event_name_of(i) != NULL;
	assert_int_equal(n, 595);
	assert_int_equal(event_names_end(), 618);
}
