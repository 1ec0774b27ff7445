/* SPDX-License-Identifier: Apache-2.0 */
/* Which groups names mean, and which threads are in them: in a tree that the test makes. */
#include "subjects/cgroup_names.h"
#include "subjects/name_reader.h"
#include "subjects/subject.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B64 "0123ba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define C64 "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define D64 "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd" /* of no group */
#define UID "11111111-2222-3333-4444-555555555555"

struct rig {
	char *root;
	char sys[256], proc[256];
	struct subject s;
	struct err_text e;
};

static void put_file(const struct rig *g, const char *path, const char *text)
{
	char full[1024];
	FILE *f;

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		snprintf(full, sizeof(full), "%s/%.*s", g->root, (int)(at - path), path);
		mkdir(full, 0755);
	}
	snprintf(full, sizeof(full), "%s/%s", g->root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_group(const struct rig *g, const char *path, const char *threads)
{
	char full[1024];

	snprintf(full, sizeof(full), "sys/fs/cgroup/unified%s/cgroup.threads", path);
	put_file(g, full, threads);
}

static void put_process(const struct rig *g, unsigned pid, const char *comm, unsigned parent,
			const char *cgroup)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "proc/%u/comm", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	put_file(g, path, text);
	snprintf(path, sizeof(path), "proc/%u/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nPid:\t%u\nPPid:\t%u\n", comm, pid, parent);
	put_file(g, path, text);
	snprintf(path, sizeof(path), "proc/%u/cgroup", pid);
	snprintf(text, sizeof(text), "1:name=systemd:/x\n0::%s\n", cgroup);
	put_file(g, path, text);
}

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	if (temp_dir_setup((void **)&g->root) < 0 || name_reader_start(g->root) < 0)
		return -1;
	snprintf(g->sys, sizeof(g->sys), "%s/sys", g->root);
	snprintf(g->proc, sizeof(g->proc), "%s/proc", g->root);
	put_file(g, "sys/fs/cgroup/unified/cgroup.controllers", "");
	put_group(g, "", "1\n");
	put_group(g, "/system.slice/nginx.service", "10\n11\n");
	put_group(g, "/system.slice/nginx.service/worker", "12\n");
	put_group(g, "/system.slice/ssh.service", "20\n");
	put_group(g, "/docker/" A64, "30\n");
	put_group(g, "/docker/" A64 "/system.slice/ssh.service", "31\n");
	put_file(g, "var/lib/docker/containers/" A64 "/config.v2.json", "{\"Name\":\"/web\"}");
	put_group(g, "/docker/" B64, "40\n");
	put_file(g, "var/lib/docker/containers/" B64 "/config.v2.json", "{\"Name\":\"/0123b\"}");
	put_group(g, "/a/x.service", "");
	put_group(g, "/b/x.service", "");
	put_group(g, "/kubepods/pod" UID "/" C64, "50\n");
	put_file(g, "var/log/pods/shop_cart-1_" UID "/x", "");
	/* Version 1 has what version 2 has not. */
	put_file(g, "sys/fs/cgroup/cpu/tasks", "");
	put_file(g, "sys/fs/cgroup/cpu/old/tasks", "60\n");
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;
	void *root = g->root;

	subject_deinit(&g->s);
	name_reader_stop();
	while (wait(NULL) > 0)
		;
	temp_dir_teardown(&root);
	free(g);
	return 0;
}

enum { UNIT, CONTAINER, POD, CGROUP };

static int find(struct rig *g, int what, const char *name, bool may_wait)
{
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;
	char *names[] = {(char *)name};

	c.wait = may_wait;
	*(what == UNIT	      ? &c.n_units
	  : what == CONTAINER ? &c.n_containers
	  : what == POD	      ? &c.n_pods
			      : &c.n_cgroups) = 1;
	*(what == UNIT	      ? &c.units
	  : what == CONTAINER ? &c.containers
	  : what == POD	      ? &c.pods
			      : &c.cgroups) = names;
	subject_deinit(&g->s);
	return subject_find_groups(&c, g->sys, &g->s, &g->e);
}

TEST_STATE(what_names_mean, setup, teardown, struct rig *g)
{
	static const struct {
		int what;
		const char *name, *path; /* NULL: it is refused */
		int error;
		const char *words;
	} rows[] = {
		{UNIT, "nginx.service", "/system.slice/nginx.service", 0, NULL},
		{UNIT, "nginx", "/system.slice/nginx.service", 0, NULL},
		/* The one of this system, not that in a container. */
		{UNIT, "ssh.service", "/system.slice/ssh.service", 0, NULL},
		{UNIT, "x", NULL, -ENOTUNIQ, "2 units are named 'x': /"},
		{UNIT, "ngnix.service", NULL, -ESRCH, "did you mean nginx.service?"},
		{UNIT, "zzz", NULL, -ESRCH, "no unit is named 'zzz'; there are "},
		{UNIT, "\x1b[1m", NULL, -ESRCH, "no unit is named '?[1m'"},
		{UNIT, "", NULL, -EINVAL, "empty name"},
		{UNIT, "worker", NULL, -ESRCH, "worker"},
		{CONTAINER, "web", "/docker/" A64, 0, NULL},
		{CONTAINER, "01234", "/docker/" A64, 0, NULL},
		/* A name counts more than the begin of an id. */
		{CONTAINER, "0123b", "/docker/" B64, 0, NULL},
		{CONTAINER, "0123", NULL, -ENOTUNIQ, "containers are named '0123': /"},
		{CONTAINER, "0", NULL, -ESRCH, "there are "},
		{CONTAINER, "wep", NULL, -ESRCH, "did you mean web?"},
		{POD, "shop/cart-1", "/kubepods/pod" UID, 0, NULL},
		{POD, "shop/cart", NULL, -ESRCH, "did you mean shop/cart-1?"},
		{CGROUP, "/", "/", 0, NULL},
		{CGROUP, "system.slice/", "/system.slice", 0, NULL},
		{CGROUP, "//a", "/a", 0, NULL},
		{CGROUP, "/old", "/old", 0, NULL},
		{CGROUP, "/system.slice/nginx", NULL, -ESRCH, "no control group"},
		{CGROUP, "/../proc", NULL, -ESRCH, "no control group"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = find(g, rows[i].what, rows[i].name, false);

		if (r != rows[i].error)
			fail_msg("%s: %d %s", rows[i].name, r, r ? g->e.text : "");
		if (r && !strstr(g->e.text, rows[i].words))
			fail_msg("%s: %s", rows[i].name, g->e.text);
		if (r)
			continue;
		assert_int_equal(g->s.n, 1);
		assert_string_equal(g->s.groups[0].path, rows[i].path);
		assert_int_equal(g->s.groups[0].is_v2, strcmp(rows[i].path, "/old") != 0);
	}
}

TEST_STATE(what_may_be_awaited, setup, teardown, struct rig *g)
{
	assert_int_equal(find(g, UNIT, "zzz", true), 0);
	assert_int_equal(g->s.n, 0);
	assert_int_equal(g->s.n_awaited, 1);
	assert_int_equal(find(g, UNIT, "nginx", true), 0);
	assert_int_equal(g->s.n_awaited, 0);
	assert_int_equal(find(g, UNIT, "x", true), -ENOTUNIQ);
	assert_int_equal(find(g, CGROUP, "", true), -EINVAL);
}

static void assert_ids(const struct pid_set *set, const int32_t *ids, size_t n)
{
	int32_t id = 0;

	for (size_t i = 0; i < n; i++) {
		id = pid_set_next(set, id);
		assert_int_equal(id, ids[i]);
	}
	assert_int_equal(pid_set_next(set, id), 0);
}

TEST_STATE(threads_of_groups_below, setup, teardown, struct rig *g)
{
	static const int32_t of_nginx[] = {10, 11, 12}, of_old[] = {60};
	_cleanup_(pid_set_clear) struct pid_set threads = {0}, old = {0};

	find(g, UNIT, "nginx", false);
	assert_int_equal(subject_add_threads(&g->s, &threads), 0);
	assert_ids(&threads, of_nginx, 3);
	find(g, CGROUP, "old", false);
	assert_int_equal(subject_add_threads(&g->s, &old), 0);
	assert_ids(&old, of_old, 1);
}

TEST_STATE(who_starts_processes, setup, teardown, struct rig *g)
{
	static const int32_t parents[] = {1, 7}, awaited[] = {1, 7, 8, 99};
	_cleanup_(pid_set_clear) struct pid_set of_nginx = {0}, of_late = {0};
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;
	char *units[] = {"nginx"};
	uint32_t spawner = 99;

	put_process(g, 1, "systemd", 0, "/init.scope");
	put_process(g, 7, "systemd", 1, "/user.slice");
	put_process(g, 8, "systemd", 1, "/user.slice");
	put_process(g, 9, "containerd", 1, "/");
	put_process(g, 10, "nginx", 1, "/system.slice/nginx.service");
	put_process(g, 11, "nginx", 10, "/system.slice/nginx.service");
	put_process(g, 12, "nginx", 7, "/system.slice/nginx.service/worker");
	c.n_units = 1;
	c.units = units;
	c.n_spawner_pids = 1;
	c.spawner_pids = &spawner;
	find(g, UNIT, "nginx", false);
	subject_add_spawners(&g->s, &c, g->proc, &of_nginx);
	assert_ids(&of_nginx, parents, 2);
	find(g, UNIT, "zzz", true);
	subject_add_spawners(&g->s, &c, g->proc, &of_late);
	assert_ids(&of_late, awaited, 4);
}

TEST_STATE(processes_of_a_subject, setup, teardown, struct rig *g)
{
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;
	char *programs[] = {"a_program_with_a_long_name"};
	_cleanup_(pid_set_clear) struct pid_set pids = {0};
	char nearest[SUBJECT_PROGRAM_LEN + 1];

	put_process(g, 10, "nginx", 1, "/system.slice/nginx.service/worker");
	put_process(g, 13, "a_program_with_", 1, "/system.slice/nginx.serviceful");
	find(g, UNIT, "nginx", false);
	assert_true(subject_has_process(&g->s, NULL, g->proc, 10));
	assert_false(subject_has_process(&g->s, NULL, g->proc, 13));
	assert_false(subject_has_process(&g->s, NULL, g->proc, 14));
	/* Awaited: known by the last part of its path. */
	put_process(g, 15, "late", 1, "/system.slice/zzz.service");
	put_process(g, 16, "late", 1, "/a/zzz.service/b");
	put_process(g, 17, "late", 1, "/a/xzzz.service");
	put_process(g, 18, "late", 1, "/zzz.servicey/zzz");
	find(g, UNIT, "zzz", true);
	assert_true(subject_has_process(&g->s, NULL, g->proc, 15));
	assert_true(subject_has_process(&g->s, NULL, g->proc, 16));
	assert_false(subject_has_process(&g->s, NULL, g->proc, 17));
	assert_false(subject_has_process(&g->s, NULL, g->proc, 18));
	c.n_programs = 1;
	c.programs = programs;
	subject_deinit(&g->s);
	assert_true(subject_has_process(&g->s, &c, g->proc, 13));
	assert_false(subject_has_process(&g->s, &c, g->proc, 10));
	assert_int_equal(subject_find_program(g->proc, "ngix", &pids, nearest), 0);
	assert_string_equal(nearest, "nginx");
	assert_int_equal(subject_find_program(g->proc, "nginx", &pids, nearest), 1);
	assert_true(pid_set_has(&pids, 10));
}

TEST_STATE(ids_for_programs_in_the_kernel, setup, teardown, struct rig *g)
{
	Pb__SubjectConfig c = PB__SUBJECT_CONFIG__INIT;
	char *units[] = {"nginx"}, *late[] = {"zzz"}, *old[] = {"/old"},
	     *paths[] = {"a/b//", "/a/b"}, *long_name[] = {"a_program_with_a_long_name"},
	     *id[] = {D64}, *dashed[] = {"a-b"};
	struct subject_ids ids;
	struct stat st;

	assert_int_equal(subject_find_ids(NULL, g->sys, &ids, &g->e), 0);
	assert_false(ids.is_set);
	subject_ids_deinit(&ids);
	c.n_units = 1;
	c.units = units;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_true(ids.is_set);
	assert_int_equal(stat(temp_dir_path((void *const *)&g->root, 0,
					    "sys/fs/cgroup/unified/system.slice/nginx.service"),
			      &st),
			 0);
	assert_int_equal(ids.n_groups, 1);
	assert_int_equal(ids.groups[0], st.st_ino);
	subject_ids_deinit(&ids);
	c.units = late;
	c.wait = true;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_int_equal(ids.n_groups, 0);
	assert_int_equal(ids.n_names, 1);
	assert_string_equal(ids.names[0], "zzz.service");
	subject_ids_deinit(&ids);
	c.n_units = 0;
	c.n_containers = 1;
	c.containers = late;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_string_equal(ids.containers[0], "zzz");
	assert_string_equal(ids.names[0], "lxc.payload.zzz");
	assert_string_equal(ids.names[1], "systemd-nspawn@zzz.service");
	assert_string_equal(ids.names[2], "machine-zzz.scope");
	subject_ids_deinit(&ids);
	c.containers = dashed;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_string_equal(ids.names[1], "systemd-nspawn@a-b.service");
	assert_string_equal(ids.names[2], "machine-a\\x2db.scope");
	subject_ids_deinit(&ids);
	c.containers = id;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_string_equal(ids.names[1], "docker-" D64 ".scope");
	subject_ids_deinit(&ids);
	c.n_containers = 0;
	c.n_cgroups = 2;
	c.cgroups = paths;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_string_equal(ids.names[0], "/a/b");
	assert_string_equal(ids.names[1], "/a/b");
	subject_ids_deinit(&ids);
	c.n_cgroups = 0;
	c.n_programs = 1;
	c.programs = long_name;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), 0);
	assert_string_equal(ids.programs[0], "a_program_with_");
	subject_ids_deinit(&ids);
	c.n_programs = 9;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), -E2BIG);
	subject_ids_deinit(&ids);
	c.n_programs = 0;
	c.n_cgroups = 1;
	c.cgroups = old;
	assert_int_equal(subject_find_ids(&c, g->sys, &ids, &g->e), -EOPNOTSUPP);
	subject_ids_deinit(&ids);
}

TEST(awaited_containers_and_pods_by_their_rows)
{
	char *containers[] = {"web", "0123ba"}, *pods[] = {"shop/cart-1"};
	const struct subject_ids ids = {
		.containers = containers, .n_containers = 2, .pods = pods, .n_pods = 1};
	struct cgroup_row row = {.path = "/docker/" A64,
				 .kind = CGROUP_CONTAINER,
				 .container = A64,
				 .name = "web",
				 .pod = "",
				 .namespace = ""};

	assert_true(subject_ids_is_awaited(&ids, &row));
	row.name = "other";
	assert_false(subject_ids_is_awaited(&ids, &row));
	row.path = "/docker/" A64 "/below";
	row.name = "web";
	assert_false(subject_ids_is_awaited(&ids, &row));
	row.path = "/docker/" B64;
	row.container = B64;
	assert_true(subject_ids_is_awaited(&ids, &row));
	row.path = "/docker/" C64;
	row.container = C64;
	row.name = "cart";
	assert_false(subject_ids_is_awaited(&ids, &row));
	row.pod = "cart-1";
	row.namespace = "shop";
	assert_true(subject_ids_is_awaited(&ids, &row));
	row.kind = CGROUP_POD;
	assert_true(subject_ids_is_awaited(&ids, &row));
	row.kind = CGROUP_OTHER;
	assert_false(subject_ids_is_awaited(&ids, &row));
	row.kind = CGROUP_CONTAINER;
	row.namespace = "sho";
	assert_false(subject_ids_is_awaited(&ids, &row));
}
