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
	/* What else is there: files, and a directory that is no event. */
	fake_text("events/header_page", "x");
	fake_text("events/sched/enable", "0");
	fake_text("events/sched/not_an_event/enable", "0");
}

static struct setup_errors errors;

/* Requests up to NULL; gives "group/name group/name ..." in memory of its own. */
static const char *select_all(char *const *requests)
{
	static char text[4096];
	struct event_selection s = {0};
	size_t n = 0, at = 0;

	while (requests[n])
		n++;
	setup_errors_deinit(&errors);
	assert_int_equal(event_select(fake_root, (char **)requests, n, &s, &errors), 0);
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

FIXTURE_TEST(requests_select_events_by_name_and_pattern)
{
	static const struct {
		char *requests[5];
		const char *want;
	} rows[] = {
		{{NULL}, ""},
		{{"sched/sched_switch", "ftrace:print"}, "ftrace/print sched/sched_switch"},
		/* Each once and in order. */
		{{"sched/sched_waking", "sched_switch", "sched/*", "sched:sched_switch"},
		 "sched/sched_process_exec sched/sched_switch sched/sched_wakeup "
		 "sched/sched_waking"},
		{{"irq/*"}, "irq/irq_handler irq/softirq"},
		{{"sched/sched_wak*"}, "sched/sched_wakeup sched/sched_waking"},
		{{"*/s*a*e"}, "one/same two/same"},
		{{"*irq*"}, "irq/irq_handler irq/softirq"},
		/* Bare names are looked for in every group. */
		{{"same", "print"}, "ftrace/print one/same two/same"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *have = select_all(rows[i].requests);

		if (strcmp(have, rows[i].want) != 0)
			fail_msg("%s: %s", rows[i].want, have);
		assert_null(errors.unknown);
	}
}

FIXTURE_TEST(unknown_events_are_reported)
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
		assert_string_equal(select_all((char *[]){"irq/softirq", bad[i], NULL}),
				    "irq/softirq");
		assert_int_equal(tracefs_list_size(errors.unknown), 1);
		assert_string_equal(errors.unknown[0], bad[i]);
	}
	setup_errors_deinit(&errors);
}

TEST(what_a_request_means)
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

FIXTURE_TEST(a_selection_grows_and_shrinks)
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

	event_selection_remove(&s, event_selection_find(&s, "irq", "softirq"));
	assert_null(event_selection_find(&s, "irq", "softirq"));
	assert_int_equal(s.n, 3);
	while (s.n)
		event_selection_remove(&s, &s.events[s.n - 1]);
	assert_null(event_selection_find(&s, "ftrace", "kernel_stack"));
	event_selection_deinit(&s);
}

FIXTURE_TEST(events_that_sessions_have_made)
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
	assert_string_equal(select_all((char *[]){"*/*read", NULL}), "");
	assert_string_equal(select_all((char *[]){"read", NULL}), "");
	assert_string_equal(select_all((char *[]){"sonda_1_2_3/read", NULL}), "");
	assert_string_equal(select_all((char *[]){"synthetic/*", NULL}), "");
	assert_string_equal(select_all((char *[]){"perfetto_kprobes/read", NULL}),
			    "perfetto_kprobes/read");
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

FIXTURE_TEST(more_requests_than_count)
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
			       "option:ftrace_events (only the first 8192 of 8193 entries"));
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}

/* Those cost the most; what is asked for by its group counts all the same. */
FIXTURE_TEST(more_requests_for_all_groups_than_count)
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
	assert_non_null(strstr(errors.failed[0], "of 1026 entries without a group are used)"));
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}

TEST(no_tracefs)
{
	struct event_selection s = {0};
	char *requests[] = {"sched/*", "sched_switch"};

	assert_int_equal(event_select("/nowhere", requests, 2, &s, &errors), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(tracefs_list_size(errors.unknown), 2);
	setup_errors_deinit(&errors);
	event_selection_deinit(&s);
}
