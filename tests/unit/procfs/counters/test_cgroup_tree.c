/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "procfs/counters/cgroup_tree.h"
#include "unit/procfs/fake_proc.h"
#include "unit/client/read_tracks.h"

static const struct polled_source_ops ops = {.name = "test"};
static struct polled_source p;
static struct cgroup_choice choice;
static struct cgroup_tree tree;
static Pb__CgroupStatsConfig c;

SETUP
{
	fake_reset();
	proc_new();
	pb__cgroup_stats_config__init(&c);
	p = (struct polled_source){.ops = &ops, .writer = writer_new(NULL, 1, WRITER_STALL)};
	assert_int_equal(tracks_new("test", p.writer, &p.tracks), 0);
}

TEARDOWN
{
	cgroup_tree_deinit(&tree);
	assert_int_equal(tree.n, 0);
	cgroup_choice_deinit(&choice);
	tracks_free(p.tracks);
	writer_free(p.writer);
	fake_reset();
	proc_remove_all();
}

static void init(void)
{
	assert_int_equal(cgroup_choice_init(&choice, &c), 0);
	assert_int_equal(cgroup_tree_init(&tree, &choice, &p, proc_root), 0);
}

static void make(const char *path)
{
	proc_put("", 0, "%s/cgroup.procs", path);
}

/* A pass, and what it visited: recorded ones as "path,", others as "(path),". */
static const char *visit(void)
{
	static char got[1 << 16];
	size_t n = 0;

	p.pass++;
	got[0] = '\0';
	for (struct cgroup *g = tree.root; g; g = cgroup_tree_next(g)) {
		cgroup_tree_list(&tree, g);
		while (cgroup_tree_drop(&tree))
			;
		n += (size_t)snprintf(got + n, sizeof(got) - n, g->recorded ? "%s," : "(%s),",
				      g->path);
	}
	return got;
}

FIXTURE_TEST(everything_by_default)
{
	const char *got;

	make("a/b/c");
	make("d");
	init();
	got = visit();
	assert_non_null(strstr(got, "a,a/b,a/b/c,"));
	assert_non_null(strstr(got, "d,"));
	assert_int_equal(got[0], ','); /* the root first */
	assert_int_equal(tree.n, 5);
	assert_int_equal(tracks_counts(p.tracks).tracks, 4);
}

FIXTURE_TEST(subtrees_to_a_depth)
{
	char *roots[] = {(char[]){"a/*"}};
	const char *got;

	make("a/b/c/d");
	make("x/y");
	c.cgroups = roots;
	c.n_cgroups = 1;
	c.has_max_depth = true;
	c.max_depth = 1;
	init();
	/* Nothing is looked for where nothing can be: not in a/b/c, nor below x/y. */
	got = visit();
	assert_non_null(strstr(got, "(a),a/b,a/b/c,"));
	assert_non_null(strstr(got, "(x),(x/y),"));
	assert_null(strstr(got, "a/b/c/d"));
}

FIXTURE_TEST(the_root_alone)
{
	char *roots[] = {(char[]){"/"}};

	make("a/b");
	c.cgroups = roots;
	c.n_cgroups = 1;
	c.has_max_depth = true;
	init();
	assert_string_equal(visit(), ",");
}

FIXTURE_TEST(groups_appear_and_disappear)
{
	make("a/b");
	init();
	assert_string_equal(visit(), ",a,a/b,");
	make("a/c/d");
	assert_non_null(strstr(visit(), "a/c,a/c/d,"));
	assert_int_equal(tree.n, 5);
	proc_remove("a");
	assert_string_equal(visit(), ",");
	assert_int_equal(tree.n, 1);
	assert_int_equal(tracks_counts(p.tracks).tracks, 0);
}

FIXTURE_TEST(many_that_go_at_once_end_piece_by_piece)
{
	char path[32];
	unsigned pieces = 1;
	uint32_t before;

	for (unsigned i = 0; i < 5 * CGROUP_DROP_PIECE; i++) {
		snprintf(path, sizeof(path), "a/%u/b", i);
		make(path);
	}
	init();
	visit();
	assert_int_equal(tree.n, 2 + 10 * CGROUP_DROP_PIECE);
	proc_remove("a");
	p.pass++;
	cgroup_tree_list(&tree, tree.root);
	assert_null(cgroup_tree_next(tree.root));
	for (before = tree.n; cgroup_tree_drop(&tree); before = tree.n, pieces++)
		assert_int_equal(before - tree.n, CGROUP_DROP_PIECE);
	assert_int_equal(pieces, 11);
	assert_int_equal(tree.n, 1);
	assert_int_equal(tracks_counts(p.tracks).tracks, 0);
	/* The end in the middle of it. */
	make("a/b/c");
	visit();
	proc_remove("a");
	p.pass++;
	cgroup_tree_list(&tree, tree.root);
	assert_int_equal(tree.n, 4);
}

FIXTURE_TEST(another_group_of_the_same_name_is_another)
{
	struct cgroup *a;
	uint64_t inode;

	make("a/b");
	init();
	visit();
	a = TAILQ_FIRST(&tree.root->children);
	inode = a->inode;
	make("spare/b"); /* takes another number */
	proc_remove("a");
	{
		char from[128], to[128];

		snprintf(from, sizeof(from), "%s/spare", proc_root);
		snprintf(to, sizeof(to), "%s/a", proc_root);
		assert_int_equal(rename(from, to), 0);
	}
	assert_string_equal(visit(), ",a,a/b,");
	assert_int_not_equal(TAILQ_FIRST(&tree.root->children)->inode, inode);
	assert_int_equal(tracks_counts(p.tracks).tracks, 2);
}

FIXTURE_TEST(a_group_removed_between_two_lists)
{
	struct cgroup *a;

	make("a/b/c");
	init();
	visit();
	a = TAILQ_FIRST(&tree.root->children);
	proc_remove("a");
	p.pass++;
	cgroup_tree_list(&tree, a); /* nothing happens; its parent's listing ends it */
	assert_int_equal(p.errors.failures, 0);
	assert_string_equal(visit(), ",");
}

FIXTURE_TEST(hostile_names)
{
	make("a\nb\x1b[2J");
	make("..a");
	make("x\\x2dy@\xff");
	make("memory.current ");
	init();
	visit();
	assert_int_equal(tree.n, 5);
	for (struct cgroup *g = TAILQ_FIRST(&tree.root->children); g; g = TAILQ_NEXT(g, sibling))
		(void)tracks_refer(p.tracks, g->track);
	read_tracks();
	assert_non_null(read_find("a?b?[2J"));
	assert_non_null(read_find("..a"));
	assert_non_null(read_find("x\\x2dy@?"));
}

FIXTURE_TEST(too_deep_is_left_out)
{
	char path[256] = "d";

	for (unsigned i = 1; i < CGROUP_DEPTH_MAX + 3; i++)
		strcat(path, "/d");
	make(path);
	init();
	visit();
	assert_int_equal(tree.n, CGROUP_DEPTH_MAX + 1);
	assert_int_equal(p.errors.failures, 1);
}

FIXTURE_TEST(many_siblings)
{
	for (unsigned i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "job-%u", i);
		make(name);
	}
	init();
	visit();
	assert_int_equal(tree.n, 301);
	for (unsigned i = 0; i < 300; i += 2)
		proc_remove("job-%u", i);
	visit();
	assert_int_equal(tree.n, 151);
	assert_int_equal(tracks_counts(p.tracks).tracks, 150);
}
