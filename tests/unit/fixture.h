/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests that all begin and end in the same way:
 *
 *	SETUP
 *	{
 *		proc_new();
 *	}
 *
 *	TEARDOWN
 *	{
 *		proc_remove_all();
 *	}
 *
 *	FIXTURE_TEST(an_empty_dir_has_no_tasks)
 *	{
 *		assert_int_equal(...);
 *	}
 *
 * SETUP and TEARDOWN run around each FIXTURE_TEST, and fail it by an assertion.
 */
#include "unit/test.h"

#define FIXTURE_BLOCK(name)                                                                        \
	static void name##_block(void);                                                            \
	static int name(__attribute__((unused)) void **state)                                      \
	{                                                                                          \
		name##_block();                                                                    \
		return 0;                                                                          \
	}                                                                                          \
	static void name##_block(void)

#define SETUP FIXTURE_BLOCK(fixture_setup)
#define TEARDOWN FIXTURE_BLOCK(fixture_teardown)
#define FIXTURE_TEST(name) TEST_WITH(name, fixture_setup, fixture_teardown)
