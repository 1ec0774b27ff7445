/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/prctl.h>

#include "procfs/process/taskstats.h"
#include "unit/test.h"

static void *end_at_once(void *tid)
{
	*(int32_t *)tid = gettid();
	return NULL;
}

TEST(ourselves)
{
	struct taskstats_socket t = {0};
	struct taskstats_name names[TASKSTATS_MAX];
	pthread_t thread;
	int32_t gone;

	if (taskstats_open(&t) < 0) {
		assert_false(t.open);
		skip();
	}
	assert_int_equal(pthread_create(&thread, NULL, end_at_once, &gone), 0);
	pthread_join(thread, NULL);
	prctl(PR_SET_NAME, "Tgid:\t1 \\ \n)");
	for (unsigned i = 0; i < TASKSTATS_MAX; i++)
		names[i].tid = i % 3 == 1 ? INT32_MAX : getpid();
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(taskstats_get_names(&t, names, TASKSTATS_MAX), 0);
		for (unsigned i = 0; i < TASKSTATS_MAX; i++) {
			assert_int_equal(names[i].tgid, i % 3 == 1 ? 0 : getpid());
			if (!names[i].tgid)
				continue;
			assert_int_equal(names[i].name.len, 12);
			assert_memory_equal(names[i].name.s, "Tgid:\t1 \\ \n)", 12);
		}
	}
	names[0].tid = gone;
	assert_int_equal(taskstats_get_names(&t, names, 1), 0);
	assert_int_equal(names[0].tgid, 0);
	taskstats_close(&t);
	taskstats_close(&t);
}

/* It is not tried again. */
TEST(a_socket_that_fails)
{
	struct taskstats_socket t = {.open = true, .fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
	struct taskstats_name name = {.tid = getpid(), .tgid = 5};

	assert_true(taskstats_get_names(&t, &name, 1) < 0);
	assert_false(t.open);
	assert_int_equal(name.tgid, 0);
}
