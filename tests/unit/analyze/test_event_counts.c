// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/event_counts.c"

static void describe(struct event_counts *c, uint32_t field, const char *group, const char *name)
{
	event_counts_describe(c, field, (const uint8_t *)group, strlen(group),
			      (const uint8_t *)name, strlen(name));
}

/* "group/name=count " of all events, into text. */
static void print_event(void *ctx, const char *group, const char *name, uint64_t count)
{
	char *text = ctx;

	sprintf(text + strlen(text), "%s/%s=%llu ", group, name, (unsigned long long)count);
}

static void check_events(const struct event_counts *c, const char *expected)
{
	char text[4096] = "";

	event_counts_each(c, print_event, text);
	assert_string_equal(text, expected);
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

	check_events(&c, "");
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
	check_events(&c, "sched/sched_switch=101 sched/sched_waking=30 irq/softirq_entry=5 ");
	check_groups(&c, "sched=131 irq=5 ");
	event_counts_deinit(&c);
}

/* The descriptor may come after the events it names, and may come again. */
TEST(test_events_without_a_message_are_named_by_descriptors)
{
	struct event_counts c = {0};

	event_counts_add(&c, 65536, 2);
	event_counts_add(&c, 65537, 1);
	describe(&c, 65536, "msr", "write_msr");
	describe(&c, 65536, "msr", "write_msr");
	describe(&c, 65540, "csd", "csd_function_entry"); /* never occurs */
	event_counts_add(&c, 65536, 3);
	check_events(&c, "msr/write_msr=5 /#65537=1 ");
	check_groups(&c, "msr=5 =1 ");
	event_counts_deinit(&c);
}

TEST(test_a_descriptor_cannot_rename_a_known_event)
{
	struct event_counts c = {0};

	describe(&c, 4, "evil", "event");
	event_counts_add(&c, 4, 1);
	event_counts_add(&c, 6, 1); /* in the table's range, without an event */
	check_events(&c, "sched/sched_switch=1 /#6=1 ");
	event_counts_deinit(&c);
}

TEST(test_old_generic_events_count_by_name)
{
	struct event_counts c = {0};

	event_counts_add_named(&c, (const uint8_t *)"foo_bar", 7);
	event_counts_add_named(&c, (const uint8_t *)"foo", 3);
	event_counts_add_named(&c, (const uint8_t *)"foo_bar", 7);
	event_counts_add_named(&c, (const uint8_t *)"x\x1b[31m", 6);
	assert_int_equal(c.total, 4);
	check_events(&c, "/foo_bar=2 /foo=1 /x?[31m=1 ");
	check_groups(&c, "=4 ");
	event_counts_deinit(&c);
}

TEST(test_kinds_past_the_limit_are_counted_without_a_name)
{
	struct event_counts c = {0};
	uint32_t i;

	for (i = 0; i < EVENT_COUNTS_MAX_GENERIC + 7; i++)
		event_counts_add(&c, 100000 + i, 2);
	event_counts_add_named(&c, (const uint8_t *)"foo", 3);
	assert_int_equal(c.n_generic, EVENT_COUNTS_MAX_GENERIC);
	assert_int_equal(c.unnamed, 15);
	assert_int_equal(c.total, 2 * (EVENT_COUNTS_MAX_GENERIC + 7) + 1);
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
		describe(&c, 100000 + (uint32_t)i, name, "e");
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
