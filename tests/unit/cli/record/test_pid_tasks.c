// SPDX-License-Identifier: Apache-2.0
/* A folder stands in for /proc; the real one once. */
#include <pthread.h>

#include "unit/test.h"
#include "unit/temp_dir.h"
#include "cli/record/option_values.h"

static void make(void **state, const char *name)
{
	assert_int_equal(mkdir(temp_dir_path(state, 0, name), 0700), 0);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(test_every_thread_of_every_process)
{
	uint32_t pids[] = {10, 7};
	struct pid_list l = {.pids = pids, .n = 2};
	struct err_text e;
	uint32_t *tids;
	size_t n;

	make(state, "10");
	make(state, "10/task");
	make(state, "10/task/10");
	make(state, "10/task/11");
	make(state, "10/task/no number");
	make(state, "7");
	make(state, "7/task");
	make(state, "7/task/7");
	make(state, "8");
	assert_int_equal(pid_tasks_list(*state, &l, &tids, &n, &e), 0);
	assert_int_equal(n, 3);
	qsort(tids, n, sizeof(*tids), by_number);
	assert_int_equal(tids[0], 7);
	assert_int_equal(tids[1], 10);
	assert_int_equal(tids[2], 11);
	free(tids);
}

IN_DIR(test_one_that_is_not_there)
{
	uint32_t pids[] = {7, 8};
	struct pid_list l = {.pids = pids, .n = 2};
	struct err_text e;
	uint32_t *tids = NULL;
	size_t n;

	make(state, "7");
	make(state, "7/task");
	make(state, "7/task/7");
	assert_int_equal(pid_tasks_list(*state, &l, &tids, &n, &e), -ESRCH);
	assert_string_equal(e.text, "-p: there is no process 8");
	/* It ended while it was looked at. */
	make(state, "8");
	make(state, "8/task");
	assert_int_equal(pid_tasks_list(*state, &l, &tids, &n, &e), -ESRCH);
	assert_null(tids);
}

static void *wait_to_be_cancelled(void *ctx)
{
	pause();
	return ctx;
}

TEST(test_this_process)
{
	uint32_t pids[] = {(uint32_t)getpid()};
	struct pid_list l = {.pids = pids, .n = 1};
	struct err_text e;
	pthread_t thread;
	uint32_t *tids;
	size_t n;

	assert_int_equal(pthread_create(&thread, NULL, wait_to_be_cancelled, NULL), 0);
	assert_int_equal(pid_tasks_list("/proc", &l, &tids, &n, &e), 0);
	assert_true(n >= 2); /* a sanitizer may have one of its own */
	free(tids);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}
