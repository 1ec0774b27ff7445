// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/event_filters.h"
#include "unit/ftrace/setups.h"

static struct event_selection events;

SETUP
{
	fake_root_new();
	fake_event("sched/sched_switch");
	fake_event("sched/sched_waking");
	fake_event("irq/softirq");
	fake_event("ftrace/print");
	unlink(fake_path("instances/x/events/ftrace/print/filter"));
}

TEARDOWN
{
	event_selection_deinit(&events);
	setup_remove();
}

/* All the events but softirq are selected. */
static int apply(const char *config)
{
	char *requests[] = {"sched/*", "print"};

	event_selection_deinit(&events);
	setup_begin(config);
	assert_int_equal(event_select(fake_root, requests, 2, &events, &errors), 0);
	return event_filters_apply(&events, &setup);
}

static const char *filter_of(const char *name)
{
	const struct event_name *e = event_selection_find(&events, "sched", name);
	char file[128];

	if (!e)
		return "dropped";
	snprintf(file, sizeof(file), "events/sched/%s/filter", name);
	if (e->filter)
		assert_string_equal(fake_written(file), e->filter);
	return e->filter ? e->filter : "none";
}

FIXTURE_TEST(test_one_event)
{
	assert_int_equal(apply("event_filters { event: 'sched/sched_switch' "
			       "filter: ' prev_pid == 1\n' }"),
			 0);
	assert_string_equal(filter_of("sched_switch"), "prev_pid == 1");
	assert_string_equal(filter_of("sched_waking"), "none");
	assert_int_equal(n_failed(), 0);
	assert_null(errors.unknown);
}

FIXTURE_TEST(test_all_that_a_request_means)
{
	assert_int_equal(apply("event_filters { event: 'sched:*' filter: 'a' }"), 0);
	assert_string_equal(filter_of("sched_switch"), "a");
	assert_string_equal(filter_of("sched_waking"), "a");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_several_must_all_pass)
{
	assert_int_equal(apply("event_filters { event: 'sched/*' filter: 'a || b' }"
			       "event_filters { event: 'sched_waking' filter: 'c' }"
			       "event_filters { event: '*waking' filter: 'd' }"),
			 0);
	assert_string_equal(filter_of("sched_switch"), "a || b");
	assert_string_equal(filter_of("sched_waking"), "((a || b) && (c)) && (d)");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_a_refused_one_costs_its_event_alone)
{
	fake_refusal("events/sched/sched_switch/filter");
	assert_int_equal(apply("event_filters { event: 'sched/*' filter: 'a' }"), 0);
	assert_string_equal(filter_of("sched_switch"), "dropped");
	assert_string_equal(filter_of("sched_waking"), "a");
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0],
			    "sched/sched_switch (filter refused: Is a directory: a)");
	assert_int_equal(events.n, 2);
}

FIXTURE_TEST(test_an_event_without_the_file)
{
	assert_int_equal(apply("event_filters { event: 'print' filter: 'a' }"), 0);
	assert_null(event_selection_find(&events, "ftrace", "print"));
	assert_int_equal(n_failed(), 1);
	assert_string_equal(errors.failed[0], "ftrace/print (filter refused: the kernel cannot "
					      "filter this event)");
}

FIXTURE_TEST(test_an_empty_filter_is_none_at_all)
{
	static const char *const configs[] = {
		"event_filters { event: 'sched_switch' filter: '' }",
		"event_filters { event: 'sched_switch' filter: ' ' }",
		"event_filters { event: 'sched_switch' }",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(configs); i++) {
		assert_int_equal(apply(configs[i]), 0);
		assert_string_equal(filter_of("sched_switch"), "dropped");
		assert_string_equal(errors.failed[0],
				    "sched/sched_switch (filter refused: it is empty)");
	}
	/* The kernel's own word for all. */
	assert_int_equal(apply("event_filters { event: 'sched_switch' filter: '0' }"), 0);
	assert_string_equal(filter_of("sched_switch"), "none");
	assert_int_equal(n_failed(), 0);
}

FIXTURE_TEST(test_filters_for_nothing_are_told)
{
	assert_int_equal(apply("event_filters { event: 'irq/softirq' filter: 'a' }"
			       "event_filters { event: 'sched/nope' filter: 'b' }"
			       "event_filters { event: '' filter: 'c' }"
			       "event_filters { filter: 'd' }"
			       "event_filters { }"),
			 0);
	assert_int_equal(tracefs_list_size(errors.unknown), 1);
	assert_string_equal(errors.unknown[0], "sched/nope");
	assert_int_equal(n_failed(), 4);
	assert_string_equal(errors.failed[0],
			    "option:event_filters (irq/softirq: the event is not recorded)");
	assert_string_equal(errors.failed[1], "option:event_filters (no event is named for c)");
	assert_int_equal(events.n, 3);
}

FIXTURE_TEST(test_more_than_can_be_had)
{
	static char config[64 * (EVENT_FILTERS_MAX + 1)];
	size_t at = 0;

	for (unsigned i = 0; i < EVENT_FILTERS_MAX; i++)
		at += (size_t)snprintf(config + at, sizeof(config) - at,
				       "event_filters { event: 'sched_switch' filter: '0' }");
	assert_int_equal(apply(config), 0);
	snprintf(config + at, sizeof(config) - at,
		 "event_filters { event: 'sched_switch' filter: '0' }");
	assert_int_equal(apply(config), -E2BIG);
	assert_non_null(strstr(errors.fatal, "1025 event_filters, the limit is 1024"));
}
