// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "analyze/ftrace_scan.h"

TEST(test_each_has_words_of_its_own)
{
	for (uint64_t i = 0; i < FTRACE_STATUSES; i++) {
		assert_non_null(ftrace_status_words(i));
		for (uint64_t k = 0; k < i; k++)
			assert_string_not_equal(ftrace_status_words(i), ftrace_status_words(k));
	}
	assert_string_equal(ftrace_status_words(15), "an event longer than its page");
}

TEST(test_numbers_of_a_later_version)
{
	assert_non_null(strstr(ftrace_status_words(FTRACE_STATUSES), "does not know"));
	assert_ptr_equal(ftrace_status_words(UINT64_MAX), ftrace_status_words(FTRACE_STATUSES));
}
