/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_groups.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/test.h"

static struct group_entry *written(struct member_groups *g)
{
	struct group_entry *e = member_groups_next_unwritten(g);

	assert_non_null(e);
	return e;
}

TEST(records)
{
	struct member_groups g;
	struct group_entry *e;

	member_groups_init(&g, "/nowhere");
	member_groups_add(&g, 1, 0, "/");
	member_groups_add(&g, 7, 1, "/a");
	member_groups_add(&g, 8, 7, "/a/b");
	member_groups_add(&g, 8, 7, "/a/other"); /* a path never changes */
	assert_string_equal(member_groups_get(&g, 8)->path, "/a/b");
	assert_int_equal(member_groups_find(&g, "/a")->id, 7);
	assert_false(g.has_unknown);

	/* A thread is in a group whose record was lost. */
	assert_null(member_groups_get(&g, 9)->path);
	assert_true(g.has_unknown);

	/* In a cgroup namespace the root has another path in the kernel's records. */
	member_groups_add(&g, 10, 1, "/docker/123/c");
	assert_string_equal(member_groups_get(&g, 10)->path, "/c");

	/* A group that was removed is written before it leaves. */
	member_groups_remove(&g, 7);
	assert_int_equal(written(&g)->id, 1);
	member_groups_written(&g, written(&g));
	assert_int_equal(written(&g)->id, 7);
	member_groups_written(&g, written(&g));
	assert_null(member_groups_find(&g, "/a"));
	member_groups_written(&g, written(&g));
	member_groups_written(&g, written(&g));
	assert_null(member_groups_next_unwritten(&g));

	/* The path belongs to the group that has it now. */
	member_groups_add(&g, 20, 1, "/a");
	member_groups_remove(&g, 8);
	e = member_groups_find(&g, "/a");
	assert_int_equal(e->id, 20);
	member_groups_add(&g, 21, 1, "/a");
	assert_int_equal(member_groups_find(&g, "/a")->id, 21);
	member_groups_remove(&g, 20);
	member_groups_written(&g, written(&g));
	assert_int_equal(member_groups_find(&g, "/a")->id, 21);

	member_groups_write_again(&g);
	for (unsigned i = 0; i < 3; i++)
		member_groups_written(&g, written(&g));
	assert_null(member_groups_next_unwritten(&g));
	member_groups_deinit(&g);
}

TEST(limit)
{
	struct member_groups g;
	char path[32];

	member_groups_init(&g, "/nowhere");
	for (uint64_t i = 1; i <= MEMBER_GROUPS_MAX; i++) {
		snprintf(path, sizeof(path), "/g%u", (unsigned)i);
		member_groups_add(&g, i, 0, path);
	}
	assert_int_equal(g.refused, 0);
	assert_null(member_groups_get(&g, MEMBER_GROUPS_MAX + 1));
	member_groups_add(&g, MEMBER_GROUPS_MAX + 2, 0, "/one more");
	assert_null(member_groups_find(&g, "/one more"));
	assert_int_equal(g.refused, 2);
	member_groups_deinit(&g);
}

/* The walk needs a mount of version 2 for its root only. */
TEST(walk)
{
	char dir[] = "/tmp/test_members_groups.XXXXXX", path[128];
	static const char *const dirs[] = {"a", "a/b", "a/b/c", "d"};
	struct member_groups g;
	struct stat st;

	assert_non_null(mkdtemp(dir));
	member_groups_init(&g, "/nowhere");
	g.mount = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/file", dir);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	member_groups_walk(&g);
	while (member_groups_walk_step(&g))
		;
	unlink(path);
	for (size_t i = sizeof(dirs) / sizeof(*dirs); i-- > 0;) {
		snprintf(path, sizeof(path), "/%s", dirs[i]);
		assert_non_null(member_groups_find(&g, path));
		snprintf(path, sizeof(path), "%s/%s", dir, dirs[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(member_groups_get(&g, st.st_ino)->id, st.st_ino);
		rmdir(path);
	}
	assert_non_null(member_groups_find(&g, "/"));
	assert_null(member_groups_find(&g, "/file"));
	member_groups_deinit(&g);
	rmdir(dir);
}
