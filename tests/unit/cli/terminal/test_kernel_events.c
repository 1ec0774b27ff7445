/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/cli/kernel_events.h"
#include "unit/test.h"

TEST(test_lines_become_names)
{
	assert_int_equal(events.n, 10);
	assert_string_equal(events.names[0], "sched/sched_switch");
	assert_string_equal(events.names[9], "msr/write_msr"); /* no line end behind it */
	assert_string_equal(events.root, tracefs);
}

/* Another session must not enable it: the session that made it could not remove it then. */
TEST(test_what_a_session_has_made_is_not_there)
{
	for (size_t i = 0; i < events.n; i++)
		assert_null(strstr(events.names[i], "probe_of_a_session"));
	assert_false(tracefs_events_has(&events, "probe_of_a_session"));
	assert_false(tracefs_events_has(&events, "sonda_*/*"));
}

TEST(test_the_first_place_that_can_be_read)
{
	const char *const roots[] = {"/nonexistent", tracefs, NULL};
	const char *const nowhere[] = {"/nonexistent", NULL};

	assert_ptr_equal(tracefs_events_root(roots), roots[1]);
	assert_null(tracefs_events_root(nowhere));
}

TEST(test_a_dir_without_the_list)
{
	struct tracefs_events t = {.n = 7};

	assert_int_equal(tracefs_events_load("/nonexistent", &t), -ENOENT);
	assert_int_equal(t.n, 7); /* untouched */
}

TEST(test_has)
{
	static const char *const there[] = {"sched/sched_switch",
					    "sched_switch",
					    "sched/*",
					    "irq/*",
					    "ftrace/print",
					    "print",
					    "sched:sched_switch",
					    "sched/sched_*",
					    "*switch",
					    "sched:*",
					    "*/sched_s?itch",
					    "ftrace/*",
					    "ftrace/pr?nt"};
	static const char *const not_there[] = {"sched/sched_swich",
						"irq/sched_switch",
						"nosuch/*",
						"sched",
						"sched/",
						"sched/nope_*",
						"../available_events",
						"ftrace/../../x",
						"",
						"nope:sched_switch",
						"sched:nope*",
						"nope*",
						"ftrace/sched*",
						":"};

	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (!tracefs_events_has(&events, there[i]))
			fail_msg("%s should be there", there[i]);
	for (size_t i = 0; i < sizeof(not_there) / sizeof(not_there[0]); i++)
		if (tracefs_events_has(&events, not_there[i]))
			fail_msg("%s should not be there", not_there[i]);
}

/* Only a whole name is looked up without the list. */
TEST(test_an_event_is_found_without_the_list)
{
	static const char *const no_name[] = {
		"print",  "ftrace/*", "ftrace/pr?nt",		"ftrace:print", "ftrace/",
		"/print", "",	      "../events/ftrace/print", "..//print",	"ftrace/nope"};

	assert_true(tracefs_event_exists(tracefs, "ftrace/print"));
	for (size_t i = 0; i < sizeof(no_name) / sizeof(no_name[0]); i++)
		if (tracefs_event_exists(tracefs, no_name[i]))
			fail_msg("%s", no_name[i]);
}

static void check_nearest(const struct tracefs_events *t, const char *word, const char *expected)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest = tracefs_events_nearest(t, word, buf);

	if (!expected)
		assert_null(nearest);
	else
		assert_string_equal(nearest ? nearest : "(none)", expected);
}

TEST(test_the_nearest_of_this_kernel)
{
	check_nearest(&events, "sched/sched_swich", "sched/sched_switch");
	check_nearest(&events, "sched_wakign", "sched/sched_waking");
	check_nearest(&events, "shced/sched_switch", "sched/sched_switch");
	/* The right name in the wrong group, though other names of that group are near. */
	check_nearest(&events, "irq/sched_switch", "sched/sched_switch");
	check_nearest(&events, "blk/block_rq_issue", "block/block_rq_issue");
	check_nearest(&events, "completely/different", NULL);
	check_nearest(&events, "", NULL);
}

TEST(test_the_nearest_known_without_a_kernel)
{
	check_nearest(NULL, "sched/sched_swich", "sched/sched_switch");
	check_nearest(NULL, "softirq_entri", "irq/softirq_entry");
	check_nearest(NULL, "completely/different", NULL);
}

TEST_GROUP(kernel_events_setup, kernel_events_teardown)
