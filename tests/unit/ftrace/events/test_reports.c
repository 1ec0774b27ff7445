// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include <tracefs.h>

#include "unit/test.h"
#include "ftrace/events/ftrace_config.h"

TEST(test_lists)
{
	struct reports r = {0};

	report_unknown(&r, "sched/nope");
	report_failed(&r, "option:%s (%d)", "x", 5);
	report_failed(&r, "another");
	report_problem(&r, "first %d", 1);
	report_problem(&r, "second");
	report_notice(&r, "100% of it");
	report_notice(&r, "and again");
	assert_int_equal(tracefs_list_size(r.unknown), 1);
	assert_string_equal(r.unknown[0], "sched/nope");
	assert_int_equal(tracefs_list_size(r.failed), 2);
	assert_string_equal(r.failed[0], "option:x (5)");
	assert_string_equal(r.problem, "first 1");
	assert_string_equal(r.notice, "100% of it");
	reports_deinit(&r);
	assert_null(r.unknown);
	reports_deinit(&r);
}

/* What is past the limit is counted. */
TEST(test_limits)
{
	static char longest[5000];
	struct reports r = {0};

	memset(longest, 'x', sizeof(longest) - 1);
	for (unsigned i = 0; i < REPORTS_MAX + 50; i++)
		report_failed(&r, "%s", longest);
	assert_int_equal(tracefs_list_size(r.failed), REPORTS_MAX);
	assert_in_range(strlen(r.failed[0]), 400, 600);
	assert_int_equal(r.failed_more, 50);
	assert_int_equal(r.unknown_more, 0);
	report_failed_once(&r, "%s", longest); /* which is in the list */
	report_failed_once(&r, "another");
	report_failed_more(&r, 7);
	assert_int_equal(r.failed_more, 58);
	for (unsigned i = 0; i < REPORTS_MAX + 3; i++)
		report_unknown(&r, "a/b");
	assert_int_equal(tracefs_list_size(r.unknown), REPORTS_MAX);
	assert_int_equal(r.unknown_more, 3);
	reports_deinit(&r);
	assert_int_equal(r.failed_more, 0);
}
