// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_tracefs.h"
#include "ftrace/event_select.h"

static int setup(void **state)
{
	static const char *const events[] = {
		"sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup",
		"irq/irq_handler",    "irq/softirq",	    "ftrace/print",
		"one/same",	      "two/same",	    "sched/sched_process_exec",
	};
	char name[128];

	if (temp_dir_setup(state))
		return -1;
	for (unsigned i = 0; i < sizeof(events) / sizeof(*events); i++) {
		snprintf(name, sizeof(name), "events/%s/format", events[i]);
		fake_text(*state, name, "x");
	}
	/* What else is there: files, and a folder that is no event. */
	fake_text(*state, "events/header_page", "x");
	fake_text(*state, "events/sched/enable", "0");
	fake_text(*state, "events/sched/not_an_event/enable", "0");
	return 0;
}

static struct reports reports;

/* Requests up to NULL; gives "group/name group/name ..." in memory of its own. */
static const char *select_all(void **state, ...)
{
	static char text[4096];
	struct event_selection s;
	char *requests[64];
	size_t n = 0, at = 0;
	va_list ap;

	va_start(ap, state);
	while ((requests[n] = va_arg(ap, char *)))
		n++;
	va_end(ap);
	reports_deinit(&reports);
	assert_int_equal(event_select(*state, requests, n, &s, &reports), 0);
	text[0] = '\0';
	for (size_t i = 0; i < s.n; i++) {
		assert_true(event_selection_has(&s, s.events[i].group, s.events[i].name));
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s/%s", i ? " " : "",
				       s.events[i].group, s.events[i].name);
	}
	assert_false(event_selection_has(&s, "sched", "nope"));
	event_selection_deinit(&s);
	return text;
}

static void test_one_by_one(void **state)
{
	assert_string_equal(select_all(state, "sched/sched_switch", "ftrace:print", NULL),
			    "ftrace/print sched/sched_switch");
	assert_null(reports.unknown);
	assert_string_equal(select_all(state, NULL), "");
}

static void test_each_once_and_in_order(void **state)
{
	assert_string_equal(select_all(state, "sched/sched_waking", "sched_switch", "sched/*",
				       "sched:sched_switch", NULL),
			    "sched/sched_process_exec sched/sched_switch sched/sched_wakeup "
			    "sched/sched_waking");
	assert_null(reports.unknown);
}

static void test_patterns(void **state)
{
	assert_string_equal(select_all(state, "irq/*", NULL), "irq/irq_handler irq/softirq");
	assert_string_equal(select_all(state, "sched/sched_wak*", NULL),
			    "sched/sched_wakeup sched/sched_waking");
	assert_string_equal(select_all(state, "*/s*a*e", NULL), "one/same two/same");
	assert_string_equal(select_all(state, "*irq*", NULL), "irq/irq_handler irq/softirq");
	assert_null(reports.unknown);
}

static void test_bare_names_in_every_group(void **state)
{
	assert_string_equal(select_all(state, "same", "print", NULL),
			    "ftrace/print one/same two/same");
}

static void test_unknown_ones_are_told(void **state)
{
	static char *const bad[] = {
		"sched/nope",
		"nope/sched_switch",
		"nope",
		"nope*",
		"nope/*",
		"sched/not_an_event",
		"",
		"/",
		"sched/",
		"/sched_switch",
		"sched/sched/x",
		"../events/sched",
		"sched/..",
		"sched/../irq",
		"..",
		"a b",
		"sched/x\n",
		"\x80",
		"sched//sched_switch",
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_string_equal(select_all(state, "irq/softirq", bad[i], NULL), "irq/softirq");
		assert_int_equal(tracefs_list_size(reports.unknown), 1);
		assert_string_equal(reports.unknown[0], bad[i]);
	}
	reports_deinit(&reports);
}

static void test_more_requests_than_count(void **state)
{
	static char *requests[EVENT_SELECT_MAX_REQUESTS + 1];
	struct event_selection s;

	for (unsigned i = 0; i < EVENT_SELECT_MAX_REQUESTS; i++)
		requests[i] = "*/*";
	requests[EVENT_SELECT_MAX_REQUESTS] = "nope";
	assert_int_equal(
		event_select(*state, requests, EVENT_SELECT_MAX_REQUESTS + 1, &s, &reports), 0);
	assert_int_equal(s.n, 9);
	assert_null(reports.unknown);
	assert_int_equal(tracefs_list_size(reports.failed), 1);
	assert_non_null(strstr(reports.failed[0], "option:ftrace_events"));
	reports_deinit(&reports);
	event_selection_deinit(&s);
}

static void test_no_tracefs(void **state)
{
	struct event_selection s;
	char *requests[] = {"sched/*", "sched_switch"};

	(void)state;
	assert_int_equal(event_select("/nowhere", requests, 2, &s, &reports), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(tracefs_list_size(reports.unknown), 2);
	reports_deinit(&reports);
	event_selection_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_by_one, setup, temp_dir_teardown),
		cmocka_unit_test_setup_teardown(test_each_once_and_in_order, setup,
						temp_dir_teardown),
		cmocka_unit_test_setup_teardown(test_patterns, setup, temp_dir_teardown),
		cmocka_unit_test_setup_teardown(test_bare_names_in_every_group, setup,
						temp_dir_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_ones_are_told, setup,
						temp_dir_teardown),
		cmocka_unit_test_setup_teardown(test_more_requests_than_count, setup,
						temp_dir_teardown),
		cmocka_unit_test(test_no_tracefs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
