/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/process/proc_files.h"

static int root;

SETUP
{
	proc_new();
	root = open(proc_root, O_RDONLY | O_DIRECTORY);
	assert_true(root >= 0);
}

TEARDOWN
{
	close(root);
	proc_remove_all();
}

FIXTURE_TEST(only_numbers_are_tasks)
{
	static const char *const others[] = {"self",	   "1a",	  "-5", "0",
					     "4294967296", "99999999999", "fs", "+7"};
	struct pid_list l = {0};
	unsigned n = 0;
	int32_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		proc_put("", 0, "%s/status", others[i]);
	proc_put("", 0, "12"); /* a file, not a folder */
	proc_put("", 0, "13/status");
	proc_put("", 0, "2147483647/status");
	assert_int_equal(pid_list_open(&l, root, 0), 0);
	for (; pid_list_next(&l, &pid); n++)
		assert_true(pid == 13 || pid == INT32_MAX);
	assert_int_equal(n, 2);
	pid_list_close(&l);
	assert_false(pid_list_is_open(&l));
	pid_list_close(&l);
}

FIXTURE_TEST(a_list_longer_than_the_buffer)
{
	struct pid_list l = {0};
	unsigned n = 0;
	uint64_t sum = 0;
	int32_t pid;

	for (int i = 1; i <= 3000; i++)
		proc_put("", 0, "%d/status", i);
	assert_int_equal(pid_list_open(&l, root, 0), 0);
	for (; pid_list_next(&l, &pid); n++)
		sum += (uint64_t)pid;
	pid_list_close(&l);
	assert_int_equal(n, 3000);
	assert_int_equal(sum, 3000 * 3001 / 2);
}

FIXTURE_TEST(a_process_exits_while_its_threads_are_listed)
{
	struct pid_list l = {0};
	int32_t tid;

	assert_int_equal(pid_list_open(&l, root, 70), -ENOENT);
	proc_put_task((struct proc_task){.pid = 70, .name = "x"});
	assert_int_equal(pid_list_open(&l, root, 70), 0);
	assert_int_equal(l.pid, 70);
	proc_remove("70");
	assert_false(pid_list_next(&l, &tid));
	assert_false(pid_list_next(&l, &tid));
	pid_list_close(&l);
}

static void *wait_for_the_end(void *arg)
{
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

/* Of a list of so many threads, those that are not the leader; how many different ones. */
static unsigned others(int root_fd, uint32_t expected)
{
	struct pid_list l = {0};
	int32_t seen[64], tid;
	unsigned n = 0;

	assert_int_equal(pid_list_open(&l, root_fd, getpid()), 0);
	pid_list_expect(&l, expected);
	while (pid_list_next(&l, &tid)) {
		unsigned i = 0;

		while (i < n && seen[i] != tid)
			i++;
		if (i == n && tid != getpid() && n < 64)
			seen[n++] = tid;
	}
	pid_list_close(&l);
	return n;
}

FIXTURE_TEST(a_list_of_so_many)
{
	proc_put("", 0, "%d/task/%d/comm", getpid(), getpid());
	proc_put("", 0, "%d/task/101/comm", getpid());
	proc_put("", 0, "%d/task/102/comm", getpid());
	/* Whatever its positions mean in another file system. */
	assert_int_equal(others(root, 3), 2);
	assert_int_equal(others(root, 7), 2);
	assert_int_equal(others(root, 0), 2);
}

TEST(our_own_threads)
{
	struct pid_list l = {0};
	pthread_barrier_t barrier;
	pthread_t thread;
	bool found = false;
	unsigned n = 0;
	int32_t tid;
	int real = open("/proc", O_RDONLY | O_DIRECTORY);

	if (real < 0)
		skip();
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_the_end, &barrier), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(pid_list_open(&l, real, getpid()), 0);
	for (; pid_list_next(&l, &tid); n++)
		found |= tid == getpid();
	assert_true(found);
	assert_true(n >= 2); /* a sanitizer may have one of its own */
	pid_list_close(&l);
	assert_int_equal(others(real, n), n - 1);
	/* One that has ended since, or a kernel that counts in another way: nobody is missed. */
	assert_true(others(real, n + 1) >= n - 1);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	close(real);
}
