/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/event_counts.h"
#include "unit/test.h"

static void describe(struct event_counts *c, uint32_t field, const char *group)
{
	struct pb_field f = {.id = 1, .data = (const uint8_t *)group, .len = strlen(group)};

	event_counts_set_group(c, field, &f);
}

static void check_groups(const struct event_counts *c, const char *expected)
{
	char text[4096] = "";
	struct group_count *groups;
	size_t i, n;

	assert_int_equal(event_counts_by_group(c, &groups, &n), 0);
	for (i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s=%llu ", groups[i].group,
			(unsigned long long)groups[i].count);
	free(groups);
	assert_string_equal(text, expected);
}

TEST(test_nothing_counted)
{
	struct event_counts c = {0};

	check_groups(&c, "");
	event_counts_deinit(&c);
}

TEST(test_known_events_sum_up_by_group_largest_first)
{
	struct event_counts c = {0};

	event_counts_add(&c, 24, 5); /* irq/softirq_entry */
	event_counts_add(&c, 4, 100); /* sched/sched_switch */
	event_counts_add(&c, 20, 30); /* sched/sched_waking */
	event_counts_add(&c, 4, 1);
	assert_int_equal(c.total, 136);
	check_groups(&c, "sched=131 irq=5 ");
	event_counts_deinit(&c);
}

/* The descriptor may come after the events it describes, and may come again. */
TEST(test_events_without_a_message_are_described_by_descriptors)
{
	struct event_counts c = {0};

	event_counts_add(&c, 65536, 2);
	event_counts_add(&c, 65537, 1);
	describe(&c, 65536, "ms\x1br");
	describe(&c, 65536, "ms\x1br");
	describe(&c, 65540, "csd"); /* never occurs */
	event_counts_add(&c, 65536, 3);
	check_groups(&c, "ms?r=5 =1 ");
	event_counts_deinit(&c);
}

TEST(test_a_descriptor_cannot_move_a_known_event)
{
	struct event_counts c = {0};

	describe(&c, 4, "evil");
	event_counts_add(&c, 4, 1);
	event_counts_add(&c, 6, 1); /* in the table's range, without an event */
	check_groups(&c, "=1 sched=1 ");
	event_counts_deinit(&c);
}

TEST(test_kinds_past_the_limit_are_counted_without_a_group)
{
	struct event_counts c = {0};

	for (uint32_t i = 0; i < EVENT_COUNTS_MAX_GENERIC + 7; i++)
		event_counts_add(&c, 100000 + i, 2);
	assert_int_equal(c.unnamed, 14);
	assert_int_equal(c.total, 2 * (EVENT_COUNTS_MAX_GENERIC + 7));
	event_counts_deinit(&c);
}

TEST(test_groups_past_the_limit_are_summed_without_a_name)
{
	struct event_counts c = {0};
	struct group_count *groups;
	uint64_t sum = 0;
	char name[32];
	size_t i, n;

	for (i = 0; i < EVENT_COUNTS_MAX_GROUPS + 20; i++) {
		event_counts_add(&c, 100000 + (uint32_t)i, 1);
		snprintf(name, sizeof(name), "g%zu", i);
		describe(&c, 100000 + (uint32_t)i, name);
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

static void check_name(uint32_t field, const char *group, const char *name)
{
	const struct event_name *e = event_name_of(field);

	assert_non_null(e);
	assert_string_equal(e->group, group);
	assert_string_equal(e->name, name);
}

TEST(test_fields_have_the_kernels_names)
{
	check_name(3, "ftrace", "print");
	check_name(4, "sched", "sched_switch");
	check_name(20, "sched", "sched_waking");
	check_name(235, "task", "task_newtask");
	check_name(24, "irq", "softirq_entry");
}

/* mali_gpu_power_state is the field, gpu_power_state the event; panel_write_generic is both. */
TEST(test_groups_that_prefix_their_fields)
{
	check_name(348, "dpu", "tracing_mark_write");
	check_name(470, "mali", "mali_KCPU_CQS_SET");
	check_name(548, "mali", "gpu_power_state");
	check_name(490, "panel", "panel_write_generic");
	check_name(542, "kprobes", "kprobe_event");
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
