/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/events/event_select.h"
#include "unit/ftrace/fake_tracefs.h"

SETUP
{
	static const char *const events[] = {
		"sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup",
		"irq/irq_handler",    "irq/softirq",	    "ftrace/print",
		"one/same",	      "two/same",	    "sched/sched_process_exec",
	};

	fake_root_new();
	for (unsigned i = 0; i < ARRAY_SIZE(events); i++)
		fake_put("x", "events/%s/format", events[i]);
	/* What else is there: files, and a folder that is no event. */
	fake_text("events/header_page", "x");
	fake_text("events/sched/enable", "0");
	fake_text("events/sched/not_an_event/enable", "0");
}

static struct setup_errors errors;

/* Requests up to NULL; gives "group/name group/name ..." in memory of its own. */
static const char *select_all(char *first, ...)
{
	static char text[4096];
	struct event_selection s = {0};
	char *requests[64];
	size_t n = 0, at = 0;
	va_list ap;

	va_start(ap, first);
	for (char *r = first; r; r = va_arg(ap, char *))
		requests[n++] = r;
	va_end(ap);
	setup_errors_deinit(&errors);
	assert_int_equal(event_select(fake_root, requests, n, &s, &errors), 0);
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

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(test_one_by_one)
{
	assert_string_equal(select_all("sched/sched_switch", "ftrace:print", NULL),
			    "ftrace/print sched/sched_switch");
	assert_null(errors.unknown);
	assert_string_equal(select_all(NULL), "");
}

FIXTURE_TEST(test_each_once_and_in_order)
{
	assert_string_equal(select_all("sched/sched_waking", "sched_switch", "sched/*",
				       "sched:sched_switch", NULL),
			    "sched/sched_process_exec sched/sched_switch sched/sched_wakeup "
			    "sched/sched_waking");
	assert_null(errors.unknown);
}

FIXTURE_TEST(test_patterns)
{
	assert_string_equal(select_all("irq/*", NULL), "irq/irq_handler irq/softirq");
	assert_string_equal(select_all("sched/sched_wak*", NULL),
			    "sched/sched_wakeup sched/sched_waking");
	assert_string_equal(select_all("*/s*a*e", NULL), "one/same two/same");
	assert_string_equal(select_all("*irq*", NULL), "irq/irq_handler irq/softirq");
	assert_null(errors.unknown);
}

FIXTURE_TEST(test_bare_names_in_every_group)
{
	assert_string_equal(select_all("same", "print", NULL), "ftrace/print one/same two/same");
}

FIXTURE_TEST(test_unknown_ones_are_told)
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

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_string_equal(select_all("irq/softirq", bad[i], NULL), "irq/softirq");
		assert_int_equal(tracefs_list_size(errors.unknown), 1);
		assert_string_equal(errors.unknown[0], bad[i]);
	}
	setup_errors_deinit(&errors);
}

TEST(test_what_a_request_means)
{
	static const struct {
		const char *request;
		bool means;
	} cases[] = {
		{"sched/sched_switch", true},
		{"sched:sched_switch", true},
		{"sched_switch", true},
		{"sched_*", true},
		{"sched/*", true},
		{"*/*_switch", true},
		{"*", true},
		{"irq/*", false},
		{"sched_waking", false},
		{"sched/", false},
		{"", false},
		{"/sched_switch", false},
		{"sched/sched/*", false},
		{"../*", false},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(event_request_matches(cases[i].request, "sched", "sched_switch"),
				 cases[i].means);
}

FIXTURE_TEST(test_a_selection_grows_and_shrinks)
{
	char *requests[] = {"irq/*", "sched/sched_switch"};
	struct event_selection s = {0};

	assert_int_equal(event_select(fake_root, requests, 2, &s, &errors), 0);
	event_selection_find(&s, "irq", "softirq")->filter = strdup("vec == 1");
	for (unsigned i = 0; i < 2; i++) /* each once */
		assert_int_equal(event_selection_add(&s, "ftrace", "kernel_stack"), 0);
	assert_int_equal(s.n, 4);
	assert_string_equal(s.events[0].name, "kernel_stack");
	assert_int_equal(s.events[0].id, EVENT_NO_ID);
	assert_string_equal(event_selection_find(&s, "irq", "softirq")->filter, "vec == 1");

	event_selection_drop(&s, event_selection_find(&s, "irq", "softirq"));
	assert_null(event_selection_find(&s, "irq", "softirq"));
	assert_int_equal(s.n, 3);
	while (s.n)
		event_selection_drop(&s, &s.events[s.n - 1]);
	assert_null(event_selection_find(&s, "ftrace", "kernel_stack"));
	event_selection_deinit(&s);
}

FIXTURE_TEST(test_events_that_sessions_have_made)
{
	static const struct event_representation repr = {"mine", "read", EVENT_AS_FIELDS};
	char *requests[] = {"mine/read", "m*/*", "irq/softirq", "mine/other"};
	struct event_selection s = {0};
	const struct event_name *e;

	fake_text("events/sonda_1_2_3/read/format", "x");
	fake_text("events/synthetic/sonda_1_2_4_rss/format", "x");
	fake_text("events/perfetto_kprobes/read/format", "x");
	fake_text("events/perfetto_kretprobes/read/format", "x");
	/* Of another session, or of another tracer's for itself. */
	assert_string_equal(select_all("*/*read", NULL), "");
	assert_string_equal(select_all("read", NULL), "");
	assert_string_equal(select_all("sonda_1_2_3/read", NULL), "");
	assert_string_equal(select_all("synthetic/*", NULL), "");
	assert_string_equal(select_all("perfetto_kprobes/read", NULL), "perfetto_kprobes/read");
	setup_errors_deinit(&errors);

	/* Our own is there without a request, and matches requests by its name in the trace. */
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(event_selection_add_as(&s, "sonda_1_2_3", "read", &repr), 0);
	assert_int_equal(event_select(fake_root, requests, 4, &s, &errors), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(tracefs_list_size(errors.unknown), 1);
	assert_string_equal(errors.unknown[0], "mine/other");
	e = event_selection_find(&s, "sonda_1_2_3", "read");
	assert_ptr_equal(e->repr, &repr);
	assert_string_equal(event_name_group(e), "mine");
	assert_string_equal(event_name_name(e), "read");
	assert_true(event_matches_request("mine/*", e));
	assert_false(event_matches_request("sonda_1_2_3/read", e));
	e = event_selection_find(&s, "irq", "softirq");
	assert_string_equal(event_name_group(e), "irq");
	assert_true(event_matches_request("softirq", e));
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}

FIXTURE_TEST(test_more_requests_than_count)
{
	static char *requests[EVENT_SELECT_MAX_REQUESTS + 1];
	struct event_selection s = {0};

	for (unsigned i = 0; i < EVENT_SELECT_MAX_REQUESTS; i++)
		requests[i] = "sched:sched_switch";
	requests[EVENT_SELECT_MAX_REQUESTS] = "nope";
	assert_int_equal(
		event_select(fake_root, requests, EVENT_SELECT_MAX_REQUESTS + 1, &s, &errors), 0);
	assert_int_equal(s.n, 1);
	assert_null(errors.unknown);
	assert_int_equal(tracefs_list_size(errors.failed), 1);
	assert_non_null(strstr(errors.failed[0],
			       "option:ftrace_events (the config has 8193 entries, only the"));
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}

/* Those cost the most; what is asked for by its group counts all the same. */
FIXTURE_TEST(test_more_requests_for_all_groups_than_count)
{
	static char *requests[EVENT_SELECT_MAX_SEARCHES + 3];
	static const char *const searches[] = {"*/*", "sched_switch", "s*:*", "*switch"};
	struct event_selection s = {0};

	for (unsigned i = 0; i < EVENT_SELECT_MAX_SEARCHES; i++)
		requests[i] = (char *)searches[i % 4];
	requests[EVENT_SELECT_MAX_SEARCHES] = "nope";
	requests[EVENT_SELECT_MAX_SEARCHES + 1] = "*/nope";
	requests[EVENT_SELECT_MAX_SEARCHES + 2] = "sched/nope*";
	assert_int_equal(
		event_select(fake_root, requests, EVENT_SELECT_MAX_SEARCHES + 3, &s, &errors), 0);
	assert_int_equal(s.n, 9);
	assert_int_equal(tracefs_list_size(errors.unknown), 1);
	assert_string_equal(errors.unknown[0], "sched/nope*");
	assert_int_equal(tracefs_list_size(errors.failed), 1);
	assert_non_null(
		strstr(errors.failed[0], "(1026 entries search all groups, only the first"));
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}

TEST(test_no_tracefs)
{
	struct event_selection s = {0};
	char *requests[] = {"sched/*", "sched_switch"};

	assert_int_equal(event_select("/nowhere", requests, 2, &s, &errors), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(tracefs_list_size(errors.unknown), 2);
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}
