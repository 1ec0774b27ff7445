/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/members/members_groups.h"

#include <stdio.h>

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

	assert_int_equal(member_groups_init(&g, "/nowhere", NULL), 0);
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
	member_groups_mark_written(&g, written(&g));
	assert_int_equal(written(&g)->id, 7);
	member_groups_mark_written(&g, written(&g));
	assert_null(member_groups_find(&g, "/a"));
	member_groups_mark_written(&g, written(&g));
	member_groups_mark_written(&g, written(&g));
	assert_null(member_groups_next_unwritten(&g));

	/* The path belongs to the group that has it now. */
	member_groups_add(&g, 20, 1, "/a");
	member_groups_remove(&g, 8);
	e = member_groups_find(&g, "/a");
	assert_int_equal(e->id, 20);
	member_groups_add(&g, 21, 1, "/a");
	assert_int_equal(member_groups_find(&g, "/a")->id, 21);
	member_groups_remove(&g, 20);
	member_groups_mark_written(&g, written(&g));
	assert_int_equal(member_groups_find(&g, "/a")->id, 21);

	member_groups_mark_all_unwritten(&g);
	for (unsigned i = 0; i < 3; i++)
		member_groups_mark_written(&g, written(&g));
	assert_null(member_groups_next_unwritten(&g));
	member_groups_deinit(&g);
}

TEST(limit)
{
	struct member_groups g;
	char path[32];

	assert_int_equal(member_groups_init(&g, "/nowhere", NULL), 0);
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
