/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/machine/inode_walk.h"

static struct inode_walk walk;

SETUP
{
	proc_new();
	walk = (struct inode_walk){0};
}

TEARDOWN
{
	inode_walk_end(&walk);
	proc_remove_all();
}

/* How often the path (below the root) was found, with the inode and type that stat says. */
struct seen {
	const char *path;
	unsigned n;
};

static unsigned walk_all(struct seen *seen, size_t n)
{
	struct inode_found f;
	unsigned found = 0;
	struct stat st;

	while (inode_walk_step(&walk, &f)) {
		if (!f.inode)
			continue;
		found++;
		assert_int_equal(strlen(f.path), f.path_len);
		assert_int_equal(lstat(f.path, &st), 0);
		assert_true(f.inode == st.st_ino);
		assert_int_equal(f.type == INODE_FILE, S_ISREG(st.st_mode));
		assert_int_equal(f.type == INODE_DIRECTORY, S_ISDIR(st.st_mode));
		assert_int_equal(strncmp(f.path, proc_root, strlen(proc_root)), 0);
		for (size_t i = 0; i < n; i++)
			seen[i].n += strcmp(f.path + strlen(proc_root), seen[i].path) == 0;
	}
	assert_int_equal(walk.depth, 0);
	return found;
}

static void path_to(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", proc_root, name);
}

FIXTURE_TEST(every_file_once)
{
	struct seen seen[] = {{"", 0},	     {"/a", 0},	    {"/a/b", 0},	{"/a/b/c", 0},
			      {"/a/one", 0}, {"/empty", 0}, {"/odd\nname ", 0}, {"/link", 0},
			      {"/up", 0},    {"/a/pipe", 0}};
	size_t n = ARRAY_SIZE(seen);
	char path[256];

	proc_put("x", 1, "a/b/c");
	proc_put("x", 1, "a/one");
	proc_put("x", 1, "odd\nname ");
	path_to(path, sizeof(path), "empty");
	assert_int_equal(mkdir(path, 0700), 0);
	/* Links lead nowhere, not in circles either. */
	path_to(path, sizeof(path), "link");
	assert_int_equal(symlink(".", path), 0);
	path_to(path, sizeof(path), "up");
	assert_int_equal(symlink("/", path), 0);
	path_to(path, sizeof(path), "a/pipe");
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s//", proc_root);
	assert_int_equal(inode_walk_begin(&walk, path), 0);
	assert_int_equal(walk_all(seen, n), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(seen[i].n, 1);
	assert_int_equal(walk.unreadable + walk.too_deep, 0);
}

FIXTURE_TEST(no_deeper_than_a_limit)
{
	char path[4096] = "";

	/* Relative, since the whole path is longer than fake_proc.h has room for. */
	for (unsigned i = 0; i < INODE_DEPTH_MAX + 5; i++) {
		char *at;

		strcat(path, "d/");
		assert_true(asprintf(&at, "%s/%s", proc_root, path) > 0);
		assert_int_equal(mkdir(at, 0700), 0);
		free(at);
	}
	assert_int_equal(inode_walk_begin(&walk, proc_root), 0);
	/* The root, and of what lies on the deepest level open the names. */
	assert_int_equal(walk_all(NULL, 0), INODE_DEPTH_MAX + 1);
	assert_int_equal(walk.too_deep, 1);
}

FIXTURE_TEST(it_can_end_anywhere)
{
	struct inode_found f;

	proc_put("x", 1, "a/b/c/d");
	assert_int_equal(inode_walk_begin(&walk, proc_root), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_true(inode_walk_step(&walk, &f));
	/* A folder that goes while it is open. */
	proc_remove("a");
	while (inode_walk_step(&walk, &f))
		;
	proc_put("x", 1, "a/b/c/d");
	assert_int_equal(inode_walk_begin(&walk, proc_root), 0);
	assert_true(inode_walk_step(&walk, &f));
	assert_int_equal(inode_walk_begin(&walk, proc_root), 0);
	assert_true(inode_walk_step(&walk, &f));
	inode_walk_end(&walk);
	assert_false(inode_walk_step(&walk, &f));
}

FIXTURE_TEST(a_root_that_is_no_directory)
{
	struct inode_found f;
	char path[256];

	proc_put("x", 1, "file");
	path_to(path, sizeof(path), "file");
	assert_int_equal(inode_walk_begin(&walk, path), -ENOTDIR);
	path_to(path, sizeof(path), "nothing");
	assert_int_equal(inode_walk_begin(&walk, path), -ENOENT);
	assert_false(inode_walk_step(&walk, &f));
}

/* /proc and /sys are other devices than the root, and so is what lies below /dev. */
FIXTURE_TEST(not_to_other_devices)
{
	struct inode_found f;
	struct stat st;

	assert_int_equal(inode_walk_begin(&walk, "/"), 0);
	assert_true(inode_walk_step(&walk, &f));
	assert_string_equal(f.path, "/");
	for (unsigned i = 0; i < 20000 && inode_walk_step(&walk, &f); i++) {
		if (!f.inode || f.type != INODE_DIRECTORY || lstat(f.path, &st) < 0)
			continue;
		assert_true(st.st_dev == walk.device);
	}
}
