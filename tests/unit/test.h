/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A unit test is one C file that includes this header, and with it what most tests need of libc.
 * Its tests register themselves and run in the order of the file:
 *
 *	TEST(empty_text_is_no_number)
 *	{
 *		assert_int_equal(...);
 *	}
 *
 * build/tests/unit/.../test_X [PATTERN] runs them, or those whose names match ("*" and "?").
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef stop /* a macro of cmocka 2; data sources have a function of that name */

#include "base/core/mem.h"

#define TESTS_MAX 256

static struct CMUnitTest all_tests[TESTS_MAX];
static size_t n_all_tests;
static CMFixtureFunction group_setup, group_teardown;

static __attribute__((unused)) void test_register(const char *name, CMUnitTestFunction fn,
						  CMFixtureFunction setup,
						  CMFixtureFunction teardown)
{
	if (n_all_tests == TESTS_MAX)
		__builtin_trap();
	all_tests[n_all_tests++] = (struct CMUnitTest){name, fn, setup, teardown, NULL};
}

/* The constructors of one file run in the order of the file. */
#define TEST_REGISTER(name, setup, teardown)                                                       \
	static __attribute__((constructor)) void register_##name(void)                             \
	{                                                                                          \
		test_register(#name, name, setup, teardown);                                       \
	}

/* A test with cmocka's `state`, which setup may set and teardown frees; each may be NULL. */
#define TEST_WITH(name, setup, teardown)                                                           \
	static void name(void **state);                                                            \
	TEST_REGISTER(name, setup, teardown)                                                       \
	static void name(__attribute__((unused)) void **state)

/* A test without them. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test that gets what setup has set as a pointer of its own type: TEST_STATE(name, setup,
 * teardown, struct rig *r). */
#define TEST_STATE(name, setup, teardown, declaration)                                             \
	static void name##_test(declaration);                                                      \
	static void name(void **state)                                                             \
	{                                                                                          \
		name##_test(*state);                                                               \
	}                                                                                          \
	TEST_REGISTER(name, setup, teardown)                                                       \
	static void name##_test(__attribute__((unused)) declaration)

/* Functions around all tests of the file; each may be NULL. */
#define TEST_GROUP(setup, teardown)                                                                \
	static __attribute__((constructor)) void register_group(void)                              \
	{                                                                                          \
		group_setup = setup;                                                               \
		group_teardown = teardown;                                                         \
	}

/* A block that runs before main(): BEFORE_TESTS { signal(SIGPIPE, SIG_IGN); } */
#define BEFORE_TESTS static __attribute__((constructor)) void before_tests(void)

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests("tests", all_tests, n_all_tests, group_setup,
				       group_teardown);
}
