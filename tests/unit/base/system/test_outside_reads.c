/* SPDX-License-Identifier: Apache-2.0 */
/* The child is stopped by a signal: as one that waits for a lock of another process. */

#include <sched.h>

#include "base/system/outside_reads.h"
#include "base/system/priority_boost.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static char text[OUTSIDE_READ_MAX];

static int setup(void **state)
{
	return temp_dir_setup(state) || (!outside_reads_pid() && outside_reads_start());
}

static void put_file(const char *path, const char *content, size_t times)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	while (times--)
		fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static void stop_child(void)
{
	int status;

	assert_int_equal(kill(outside_reads_pid(), SIGSTOP), 0);
	assert_int_equal(waitpid(outside_reads_pid(), &status, WUNTRACED), outside_reads_pid());
}

/* Until the child has given the answer that its caller did not wait for. */
static ssize_t read_when_it_is_free(const char *path)
{
	ssize_t n;

	do
		n = outside_read(path, text, sizeof(text), OUTSIDE_READ_LONG_MS);
	while (n == -EAGAIN);
	return n;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, temp_dir_teardown)

FIXTURE_TEST(a_read_that_hangs_delays_no_other)
{
	const char *first = temp_dir_path(state, 0, "first"),
		   *second = temp_dir_path(state, 1, "second");

	put_file(first, "first", 1);
	put_file(second, "second", 1);
	stop_child();
	assert_int_equal(outside_read(first, text, sizeof(text), OUTSIDE_READ_SHORT_MS), -EAGAIN);
	assert_int_equal(outside_read(second, text, sizeof(text), OUTSIDE_READ_LONG_MS), -EAGAIN);
	assert_int_equal(kill(outside_reads_pid(), SIGCONT), 0);
	/* The answer is that of this request, not of the one before. */
	assert_int_equal(read_when_it_is_free(second), 6);
	assert_memory_equal(text, "second", 6);
}

FIXTURE_TEST(a_long_file_comes_whole_up_to_the_limit)
{
	const char *path = temp_dir_path(state, 0, "long");

	put_file(path, "01234567", 2000);
	assert_int_equal(read_when_it_is_free(path), 16000);
	assert_memory_equal(text + 15992, "01234567", 8);
	assert_int_equal(outside_read(path, text, 100, OUTSIDE_READ_LONG_MS), 100);
	put_file(path, "01234567", OUTSIDE_READ_MAX / 4);
	assert_int_equal(read_when_it_is_free(path), OUTSIDE_READ_MAX);
}

FIXTURE_TEST(the_child_runs_as_urgently_as_its_parent)
{
	const char *path = temp_dir_path(state, 0, "file");
	struct priority_boost_state here = {0};

	if (priority_boost_apply(&here, (struct priority_boost){PRIORITY_BOOST_BUDGETED, 0}) < 0 ||
	    sched_getscheduler(0) != SCHED_FIFO)
		skip();
	assert_int_equal(
		priority_boost_apply(&here, (struct priority_boost){PRIORITY_BOOST_NONE, 0}), 0);
	put_file(path, "x", 1);
	outside_reads_boost((struct priority_boost){PRIORITY_BOOST_BUDGETED, 0});
	assert_int_equal(read_when_it_is_free(path), 1);
	assert_int_equal(sched_getscheduler(outside_reads_pid()), SCHED_FIFO);
	outside_reads_boost((struct priority_boost){PRIORITY_BOOST_NONE, 0});
	assert_int_equal(read_when_it_is_free(path), 1);
	assert_int_equal(sched_getscheduler(outside_reads_pid()), SCHED_OTHER);
}

BEFORE_TESTS
{
	priority_boost_init();
}
