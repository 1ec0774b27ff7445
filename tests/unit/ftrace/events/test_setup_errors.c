// SPDX-License-Identifier: Apache-2.0
#include <tracefs.h>

#include "unit/test.h"
#include "ftrace/events/ftrace_config.h"

TEST(test_lists)
{
	struct setup_errors r = {0};

	setup_error_unknown_event(&r, "sched/nope");
	setup_error_add(&r, "option:%s (%d)", "x", 5);
	setup_error_add(&r, "another");
	setup_error_fatal(&r, "first %d", 1);
	setup_error_fatal(&r, "second");
	setup_error_notice(&r, "100% of it");
	setup_error_notice(&r, "and again");
	assert_int_equal(tracefs_list_size(r.unknown), 1);
	assert_string_equal(r.unknown[0], "sched/nope");
	assert_int_equal(tracefs_list_size(r.failed), 2);
	assert_string_equal(r.failed[0], "option:x (5)");
	assert_string_equal(r.fatal, "first 1");
	assert_string_equal(r.notice, "100% of it");
	setup_errors_deinit(&r);
	assert_null(r.unknown);
	setup_errors_deinit(&r);
}

/* What is past the limit is counted. */
TEST(test_limits)
{
	static char longest[5000];
	struct setup_errors r = {0};

	memset(longest, 'x', sizeof(longest) - 1);
	for (unsigned i = 0; i < SETUP_ERRORS_MAX + 50; i++)
		setup_error_add(&r, "%s", longest);
	assert_int_equal(tracefs_list_size(r.failed), SETUP_ERRORS_MAX);
	assert_in_range(strlen(r.failed[0]), 400, 600);
	assert_int_equal(r.failed_more, 50);
	assert_int_equal(r.unknown_more, 0);
	setup_error_add_once(&r, "%s", longest); /* which is in the list */
	setup_error_add_once(&r, "another");
	setup_error_add_count(&r, 7);
	assert_int_equal(r.failed_more, 58);
	for (unsigned i = 0; i < SETUP_ERRORS_MAX + 3; i++)
		setup_error_unknown_event(&r, "a/b");
	assert_int_equal(tracefs_list_size(r.unknown), SETUP_ERRORS_MAX);
	assert_int_equal(r.unknown_more, 3);
	setup_errors_deinit(&r);
	assert_int_equal(r.failed_more, 0);
}
