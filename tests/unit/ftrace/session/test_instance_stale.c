/* SPDX-License-Identifier: Apache-2.0 */
/* Empty directories, which rmdir takes as tracefs takes instances. */
#include <sys/file.h>

#include "unit/ftrace/fake_tracefs.h"

static void *make(const char *fmt, int pid)
{
	static char names[8][256];
	static unsigned at;
	char *path = names[at++ % 8], name[64];

	snprintf(name, sizeof(name), fmt, pid);
	snprintf(path, sizeof(names[0]), "%s/instances/%s", fake_root, name);
	fake_mkdirs(path);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

DIR_TEST(whose_process_is_gone)
{
	int dead = dead_pid();
	const char *one = make("sonda-%d-1", dead), *two = make("sonda-%d-1-2", dead);
	const char *ours = make("sonda-%d-3", getpid());
	const char *alive = make("sonda-%d-1", getppid());

	assert_int_equal(instance_remove_stale(fake_root), 3);
	assert_false(exists(one) || exists(two) || exists(ours));
	assert_true(exists(alive));
	assert_int_equal(instance_remove_stale(fake_root), 0);
}

/* A process of another pid namespace has a pid that no process has here. */
DIR_TEST(whose_directory_is_locked)
{
	const char *path = make("sonda-%d-1", dead_pid());
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(instance_remove_stale(fake_root), 0);
	assert_true(exists(path));
	close(fd);
	assert_int_equal(instance_remove_stale(fake_root), 1);
	assert_false(exists(path));
}

DIR_TEST(whose_process_lives)
{
	pid_t child = fork();
	const char *path;

	if (!child) {
		pause();
		_exit(0);
	}
	path = make("sonda-%d-1", child);
	assert_int_equal(instance_remove_stale(fake_root), 0);
	assert_true(exists(path));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(instance_remove_stale(fake_root), 1);
}

DIR_TEST(names_of_others_are_left_alone)
{
	static const char *const names[] = {"sonda",	   "sonda-",	  "sonda-%d",
					    "sonda-%d-",   "sonda-%d-x",  "sonda-%d-1x",
					    "sonda-%d-1-", "sonda-%d-1-x"};
	int dead = dead_pid();

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		make(names[i], dead);
	make("sonda--%d-1", dead);
	make("x-sonda-%d-1", dead);
	assert_int_equal(instance_remove_stale(fake_root), 0);
}

DIR_TEST(an_instance_with_a_live_process)
{
	int dead = dead_pid();
	const char *held = make("sonda-%d-1", dead);

	/* A directory with something in it is as busy as an instance that is open. */
	fake_put("", "instances/sonda-%d-1/file", dead);
	assert_int_equal(instance_remove_stale(fake_root), 0);
	assert_true(exists(held));
}

DIR_TEST(no_instances_at_all)
{
	assert_int_equal(instance_remove_stale(fake_root), -ENOENT);
	assert_int_equal(instance_remove_stale("/nowhere"), -ENOENT);
}
