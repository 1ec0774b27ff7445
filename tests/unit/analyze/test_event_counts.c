/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/event_counts.h"
#include "unit/fixture.h"

static struct event_counts c;

SETUP
{
	c = (struct event_counts){0};
}

TEARDOWN
{
	event_counts_deinit(&c);
}

static void describe(uint32_t field, const char *group)
{
	struct pb_field f = {.id = 1, .data = (const uint8_t *)group, .len = strlen(group)};

	event_counts_set_group(&c, field, &f);
}

/* "GROUP=COUNT " of each group. */
static void check_groups(const char *expected)
{
	char text[4096] = "";
	struct group_count *groups;
	size_t n;

	assert_int_equal(event_counts_by_group(&c, &groups, &n), 0);
	for (size_t i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s=%llu ", groups[i].group,
			(unsigned long long)groups[i].count);
	free(groups);
	assert_string_equal(text, expected);
}

FIXTURE_TEST(known_events_sum_up_by_group_largest_first)
{
	check_groups("");
	event_counts_add(&c, 24, 5); /* irq/softirq_entry */
	event_counts_add(&c, 4, 100); /* sched/sched_switch */
	event_counts_add(&c, 20, 30); /* sched/sched_waking */
	event_counts_add(&c, 4, 1);
	assert_int_equal(c.total, 136);
	check_groups("sched=131 irq=5 ");
	event_counts_deinit(&c);
}

/* The descriptor may come after the events it describes, and may come again. */
FIXTURE_TEST(events_without_a_message_are_described_by_descriptors)
{
	event_counts_add(&c, 65536, 2);
	event_counts_add(&c, 65537, 1);
	describe(65536, "ms\x1br");
	describe(65536, "ms\x1br");
	describe(65540, "csd"); /* never occurs */
	event_counts_add(&c, 65536, 3);
	check_groups("ms?r=5 =1 ");
}

FIXTURE_TEST(a_descriptor_cannot_move_a_known_event)
{
	describe(4, "evil");
	event_counts_add(&c, 4, 1);
	event_counts_add(&c, 6, 1); /* in the table's range, without an event */
	check_groups("=1 sched=1 ");
}

FIXTURE_TEST(kinds_past_the_limit_are_counted_without_a_group)
{
	for (uint32_t i = 0; i < EVENT_COUNTS_MAX_GENERIC + 7; i++)
		event_counts_add(&c, 100000 + i, 2);
	assert_int_equal(c.unnamed, 14);
	assert_int_equal(c.total, 2 * (EVENT_COUNTS_MAX_GENERIC + 7));
}

FIXTURE_TEST(groups_past_the_limit_are_summed_without_a_name)
{
	struct group_count *groups;
	uint64_t sum = 0;
	char name[32];
	size_t i, n;

	for (i = 0; i < EVENT_COUNTS_MAX_GROUPS + 20; i++) {
		event_counts_add(&c, 100000 + (uint32_t)i, 1);
		snprintf(name, sizeof(name), "g%zu", i);
		describe(100000 + (uint32_t)i, name);
	}
	assert_int_equal(event_counts_by_group(&c, &groups, &n), 0);
	assert_int_equal(n, EVENT_COUNTS_MAX_GROUPS + 1);
	assert_string_equal(groups[0].group, "");
	assert_int_equal(groups[0].count, 20);
	for (i = 0; i < n; i++)
		sum += groups[i].count;
	assert_int_equal(sum, c.total);
	free(groups);
	event_counts_deinit(&c);
}

TEST(events_have_the_kernels_groups_and_names)
{
	static const struct {
		uint32_t field;
		const char *event;
	} rows[] = {
		{3, "ftrace/print"},
		{4, "sched/sched_switch"},
		{20, "sched/sched_waking"},
		{235, "task/task_newtask"},
		{24, "irq/softirq_entry"},
		/* Groups that prefix their fields: gpu_power_state is mali_gpu_power_state here. */
		{348, "dpu/tracing_mark_write"},
		{470, "mali/mali_KCPU_CQS_SET"},
		{548, "mali/gpu_power_state"},
		{490, "panel/panel_write_generic"},
		{542, "probes/kprobe_event"},
	};
	/* timestamp, common_flags, and generic, whose name is in the event. */
	static const uint32_t none[] = {0, 1, 5, 327, 618, UINT32_MAX};
	uint32_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct event_name *e = event_message_name(rows[i].field);
		char text[128];

		assert_non_null(e);
		snprintf(text, sizeof(text), "%s/%s", e->group, e->name);
		assert_string_equal(text, rows[i].event);
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_null(event_message_name(none[i]));
	for (uint32_t i = 0; i < event_names_end(); i++)
		n += event_message_name(i) != NULL;
	assert_int_equal(n, 595);
	assert_int_equal(event_names_end(), 618);
}
