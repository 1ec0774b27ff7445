/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/process/process_counters.c"
#include "unit/procfs/sleeper.h"

/* It takes a few looks until it is asleep; the limit is for where it never is. */
#define LOOKS_MAX 1000000

static struct sleeper sleeper;
static struct proc_files files;
static struct memory_check memory_check;

static int setup(void **state)
{
	memory_check = MEMORY_CHECK_NONE;
	return sleeper_start(&sleeper) == 0 ? proc_files_init(&files, "/proc") : -1;
}

static int teardown(void **state)
{
	memory_check_deinit(&memory_check);
	proc_files_deinit(&files);
	sleeper_end(&sleeper);
	return 0;
}

static void until_quiet(void)
{
	for (unsigned i = 0; i < LOOKS_MAX; i++)
		if (memory_is_unchanged(&memory_check, &files, sleeper.pid))
			return;
	fail();
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(a_sleeping_process_is_unchanged_and_a_running_one_is_not)
{
	if (!files.own_numbers)
		skip();
	assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
	until_quiet();
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(sleeper_ask(&sleeper), 0);
		assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
		until_quiet();
	}
}

/* For what the two signs do not show. */
FIXTURE_TEST(now_and_then_it_is_not)
{
	unsigned n = 0;

	if (!files.own_numbers)
		skip();
	until_quiet();
	/* On a busy machine it may still be on its way to its sleep. */
	for (unsigned tries = 0; tries < 100 && n != 4; tries++) {
		n = 0;
		for (unsigned i = 0; i < 4 * MEMORY_CHECK_TIMES; i++)
			n += !memory_is_unchanged(&memory_check, &files, sleeper.pid);
	}
	assert_int_equal(n, 4);
}

static void put_statm(const char *text)
{
	proc_put(text, strlen(text), "%d/statm", sleeper.pid);
}

/* Its pages are counted in a folder of ours, its CPU time is the real one. */
FIXTURE_TEST(pages_that_others_take)
{
	static const char longer[] =
		"12345678901 12345678901 12345678901 12345678901 0 12345678901 0\n";

	if (!files.own_numbers)
		skip();
	proc_files_deinit(&files);
	proc_new();
	assert_int_equal(proc_files_init(&files, proc_root), 0);
	files.own_numbers = true;
	put_statm("600 300 200 1 0 90 0\n");
	until_quiet();
	put_statm("600 299 200 1 0 90 0\n");
	assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
	until_quiet();
	put_statm(longer);
	for (unsigned i = 0; i < 3; i++)
		assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
	put_statm("");
	for (unsigned i = 0; i < 3; i++)
		assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
	proc_remove_all();
}

/* In a folder of other processes, such as those of a container. */
FIXTURE_TEST(numbers_that_are_not_ours)
{
	files.own_numbers = false;
	for (unsigned i = 0; i < 100; i++)
		assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
}

FIXTURE_TEST(more_threads_than_are_worth_it)
{
	if (!files.own_numbers)
		skip();
	until_quiet();
	memory_check.threads = 10000;
	assert_false(memory_is_unchanged(&memory_check, &files, sleeper.pid));
}

FIXTURE_TEST(one_that_is_gone)
{
	struct sleeper gone = {0};

	if (!files.own_numbers)
		skip();
	assert_int_equal(sleeper_start(&gone), 0);
	(void)memory_is_unchanged(&memory_check, &files, gone.pid);
	(void)memory_is_unchanged(&memory_check, &files, gone.pid);
	sleeper_end(&gone);
	for (unsigned i = 0; i < 3; i++)
		assert_false(memory_is_unchanged(&memory_check, &files, gone.pid));
}
