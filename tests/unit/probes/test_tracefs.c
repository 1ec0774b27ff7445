/* SPDX-License-Identifier: Apache-2.0 */

#include "probes/tracefs.h"
#include "unit/test.h"

/* Two directories that stand in for the dirs of tracefs. */
static char root[] = "/tmp/sonda-tracefs-XXXXXX";
static char first[64], second[64];
static const char *const dirs[] = {first, second, NULL};

static void make(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static int setup(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root) || chmod(root, 0755) != 0)
		return -1;
	snprintf(first, sizeof(first), "%s/tracing", root);
	snprintf(second, sizeof(second), "%s/debug", root);
	return 0;
}

static int teardown(void **state)
{
	char path[128];

	for (unsigned i = 0; dirs[i]; i++) {
		chmod(dirs[i], 0755);
		snprintf(path, sizeof(path), "%s/instances", dirs[i]);
		rmdir(path);
		rmdir(dirs[i]);
	}
	return rmdir(root);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(the_first_that_can_be_used)
{
	const char *dir = NULL;
	struct err_text e;

	make(root, "debug");
	make(second, "instances");
	assert_int_equal(tracefs_find(dirs, &e, &dir), 0);
	assert_ptr_equal(dir, second);
	make(root, "tracing");
	assert_int_equal(tracefs_find(dirs, &e, &dir), 0);
	assert_ptr_equal(dir, second);
	make(first, "instances");
	assert_int_equal(tracefs_find(dirs, &e, &dir), 0);
	assert_ptr_equal(dir, first);
}

FIXTURE_TEST(no_such_place)
{
	const char *dir = NULL;
	struct err_text e;

	assert_int_equal(tracefs_find(dirs, &e, &dir), -EOPNOTSUPP);
	assert_non_null(strstr(e.text, first));
	assert_null(dir);
}

FIXTURE_TEST(nothing_is_mounted)
{
	const char *dir = NULL;
	struct err_text e;

	make(root, "tracing");
	assert_int_equal(tracefs_find(dirs, &e, &dir), -ENOENT);
	assert_non_null(strstr(e.text, "mount -t tracefs"));
	assert_null(strchr(e.text, '\n'));
	assert_null(dir);
}

/* As another user: root may do anything. */
static int find_as_nobody(struct err_text *e)
{
	const char *dir;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		struct err_text text = {{0}};
		int r = setgid(65534) == 0 && setuid(65534) == 0 ? tracefs_find(dirs, &text, &dir)
								 : -EINVAL;

		_exit(write(fds[1], &text, sizeof(text)) == sizeof(text) ? -r : 1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], e, sizeof(*e)), sizeof(*e));
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return -WEXITSTATUS(status);
}

FIXTURE_TEST(another_owner_has_it)
{
	struct err_text e;
	char path[128];

	if (geteuid() != 0)
		skip();
	make(root, "tracing");
	make(first, "instances");
	/* May be looked at, not written. */
	assert_int_equal(find_as_nobody(&e), -EACCES);
	assert_non_null(strstr(e.text, "/tracing/instances: Permission denied"));
	/* As the kernel has it: not even to be looked at. */
	assert_int_equal(chmod(first, 0700), 0);
	assert_int_equal(find_as_nobody(&e), -EACCES);
	assert_non_null(strstr(e.text, "as root"));
	/* What the sentence advises, of the two directories only the first, then both. */
	assert_non_null(strstr(e.text, "chown USER"));
	assert_int_equal(chown(first, 65534, 65534), 0);
	assert_int_equal(find_as_nobody(&e), -EACCES);
	snprintf(path, sizeof(path), "%s/instances", first);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(find_as_nobody(&e), 0);
}

FIXTURE_TEST(only_an_empty_place_is_mounted_on)
{
	assert_int_equal(tracefs_mount_private(first), -ENOENT);
	make(root, "tracing");
	make(first, "instances");
	assert_int_equal(tracefs_mount_private(first), -EEXIST);
}
