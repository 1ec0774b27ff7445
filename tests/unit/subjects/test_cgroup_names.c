/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of groups and of runtimes' files in a directory of the test, read by the real processes. */
#include <event2/event.h>
#include <sys/time.h>

#include "base/core/clock.h"
#include "subjects/cgroup_names.h"
#include "subjects/name_reader.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B64 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "11111111-2222-3333-4444-555555555555"
#define UID_ "11111111_2222_3333_4444_555555555555"
#define V2 "sys/fs/cgroup"
#define DOCKER "var/lib/docker/containers/"

struct rig {
	char *root;
	struct cgroup_names *n;
	struct event_base *loop;
	unsigned n_named;
};

static void make_dirs(const struct rig *g, const char *path)
{
	char full[1024];

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		snprintf(full, sizeof(full), "%s/%.*s", g->root, (int)(at - path), path);
		mkdir(full, 0755);
	}
}

static void put_file(const struct rig *g, const char *path, const char *text)
{
	char full[1024];
	FILE *f;

	make_dirs(g, path);
	snprintf(full, sizeof(full), "%s/%s", g->root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_group(const struct rig *g, const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), V2 "%s/cgroup.threads", path);
	put_file(g, full, "");
}

static void count_named(void *ctx, const struct cgroup_row *row)
{
	struct rig *g = ctx;

	assert_true(row->is_named);
	g->n_named++;
}

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	if (temp_dir_setup((void **)&g->root) < 0 || name_reader_start(g->root) < 0)
		return -1;
	put_file(g, V2 "/cgroup.controllers", "");
	g->loop = event_base_new();
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;
	void *root = g->root;

	cgroup_names_free(g->n);
	name_reader_stop();
	while (wait(NULL) > 0)
		;
	event_base_free(g->loop);
	temp_dir_teardown(&root);
	free(g);
	return 0;
}

static void make_names(struct rig *g, struct event_base *loop)
{
	struct cgroup_mount mount;
	char sys[256];

	snprintf(sys, sizeof(sys), "%s/sys", g->root);
	assert_true(cgroup_mount_find(sys, 0, &mount));
	assert_int_equal(cgroup_names_new(&(struct cgroup_names_options){.loop = loop,
									 .mount = &mount,
									 .named = count_named,
									 .ctx = g},
					  &g->n),
			 0);
}

static void read_names(struct rig *g)
{
	make_names(g, NULL);
	while (cgroup_names_walk_step(g->n))
		;
	assert_true(cgroup_names_wait(g->n, 5000));
}

static void assert_row(const struct rig *g, const char *path, const char *said)
{
	const struct cgroup_row *r = NULL;
	char is[1500];

	while ((r = cgroup_names_next(g->n, r)) && strcmp(r->path, path) != 0)
		;
	if (!r)
		fail_msg("no row of %s", path);
	snprintf(is, sizeof(is), "%s|%s|%s|%s|%s|%s|%s|%s", cgroup_kind_name(r->kind),
		 cgroup_runtime_name(r->runtime), r->container, r->name, r->image, r->pod,
		 r->namespace, r->unit);
	if (strcmp(is, said) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", path, is, said);
	assert_true(r->is_named);
	assert_ptr_equal(cgroup_names_find(g->n, r->id), r);
}

TEST_STATE(groups_of_each_runtime, setup, teardown, struct rig *g)
{
	put_group(g, "/docker/" A64 "/sub");
	put_file(g, DOCKER A64 "/config.v2.json",
		 "{\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx\"}}");
	put_group(g, "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" B64 ".scope");
	put_file(g, "var/log/containers/pod-1_prod_app-" B64 ".log", "");
	put_file(g, "run/containerd/io.containerd.runtime.v2.task/k8s.io/" B64 "/config.json",
		 "{\"annotations\":{\"io.kubernetes.cri.image-name\":\"reg/app:2\"}}");
	put_file(g, "var/log/pods/prod_pod-1_" UID "/app/0.log", "");
	put_group(g, "/machine.slice/libpod-" A64 ".scope/container");
	put_file(g, "var/lib/containers/storage/overlay-containers/containers.json",
		 "[{\"id\":\"" A64 "\",\"names\":[\"db\"],\"metadata\":\"{}\"}]");
	put_group(g, "/user.slice/user-7.slice/user@7.service/user.slice/libpod-" B64 ".scope");
	put_file(g, "etc/passwd", "root:x:0:0:r:/root:/bin/sh\nu:x:7:7:U:/home/u:/bin/sh\n");
	put_file(g, "home/u/.local/share/containers/storage/vfs-containers/containers.json",
		 "[{\"id\":\"" B64 "\",\"names\":[\"mine\"]}]");
	put_group(g, "/default/ctr-1");
	put_file(g, "run/containerd/io.containerd.runtime.v2.task/default/ctr-1/config.json", "{}");
	put_group(g, "/some/group");
	put_group(g, "/lxc.payload.box");
	put_group(g, "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/vcpu0");
	put_file(g, "run/systemd/machines/qemu-1-vm", "NAME=qemu-1-vm\n");
	put_group(g, "/machine.slice/machine-a\\x2db.scope");
	put_file(g, "run/systemd/machines/a-b", "NAME=a-b\n");
	assert_int_equal(
		symlink("a-b", temp_dir_path((void *const *)&g->root, 0,
					     "run/systemd/machines/unit:machine-a\\x2db.scope")),
		0);
	put_group(g, "/system.slice/cron.service");
	read_names(g);

	assert_row(g, "/", "group|||||||");
	assert_row(g, "/docker/" A64, "container|docker|" A64 "|web|nginx|||");
	assert_row(g, "/docker/" A64 "/sub", "container|docker|" A64 "|web|nginx|||");
	assert_row(g, "/kubepods.slice/kubepods-pod" UID_ ".slice", "pod|||||pod-1|prod|");
	assert_row(g, "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" B64 ".scope",
		   "container|cri-containerd|" B64 "|app|reg/app:2|pod-1|prod|");
	assert_row(g, "/machine.slice/libpod-" A64 ".scope/container",
		   "container|podman|" A64 "|db||||");
	assert_row(g, "/user.slice/user-7.slice/user@7.service/user.slice/libpod-" B64 ".scope",
		   "container|podman|" B64 "|mine||||");
	assert_row(g, "/default/ctr-1", "container|containerd|ctr-1|ctr-1|||default|");
	assert_row(g, "/some/group", "group|||||||");
	assert_row(g, "/lxc.payload.box", "container|lxc|box|box||||");
	assert_row(g, "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/vcpu0",
		   "machine|libvirt|vm|vm||||");
	assert_row(g, "/machine.slice/machine-a\\x2db.scope", "container|nspawn|a-b|a-b||||");
	assert_row(g, "/system.slice/cron.service", "unit|||||||cron.service");
}

#define HASH "0123456789abcdef0123456789abcdef"

/* A static pod, whose uid is a hash; and one that has no directory of logs. */
TEST_STATE(pods_without_the_usual_files, setup, teardown, struct rig *g)
{
	put_group(g, "/kubepods.slice/kubepods-pod" HASH ".slice/cri-containerd-" A64 ".scope");
	put_file(g, "var/log/pods/kube-system_etcd-node1_" HASH "/etcd/0.log", "");
	put_group(g, "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" B64 ".scope");
	put_file(g, "run/containerd/io.containerd.runtime.v2.task/k8s.io/" B64 "/config.json",
		 "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
		 "\"io.kubernetes.cri.sandbox-name\":\"pod-1\","
		 "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}");
	read_names(g);
	assert_row(g, "/kubepods.slice/kubepods-pod" HASH ".slice",
		   "pod|||||etcd-node1|kube-system|");
	assert_row(g, "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" B64 ".scope",
		   "container|cri-containerd|" B64 "|app||pod-1|prod|");
}

/* A recording keeps the name that a container had; the next one has the new name. */
TEST_STATE(container_that_is_renamed, setup, teardown, struct rig *g)
{
	put_group(g, "/docker/" A64);
	put_file(g, DOCKER A64 "/config.v2.json", "{\"Name\":\"/old\"}");
	read_names(g);
	assert_row(g, "/docker/" A64, "container|docker|" A64 "|old||||");
	put_file(g, DOCKER A64 "/config.v2.json", "{\"Name\":\"/new\"}");
	assert_row(g, "/docker/" A64, "container|docker|" A64 "|old||||");
	cgroup_names_free(g->n);
	read_names(g);
	assert_row(g, "/docker/" A64, "container|docker|" A64 "|new||||");
}

/* Files that are no files, are too large, lead elsewhere or belong to others. */
TEST_STATE(hostile_files, setup, teardown, struct rig *g)
{
	static const char *const ids[] = {"0", "1", "2", "3", "4", "5"};
	char path[6][512], id[6][65], group[128];
	static char big[RUNTIME_FILE_MAX + 64];

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		memset(id[i], ids[i][0], 64);
		id[i][64] = '\0';
		snprintf(group, sizeof(group), "/docker/%s", id[i]);
		put_group(g, group);
		snprintf(path[i], sizeof(path[i]), "%s/" DOCKER "%s/config.v2.json", g->root,
			 id[i]);
		make_dirs(g, path[i] + strlen(g->root) + 1);
	}
	assert_int_equal(mkfifo(path[0], 0600), 0);
	put_file(g, "shadow", "{\"Name\":\"/secret\"}");
	assert_int_equal(symlink(temp_dir_path((void *const *)&g->root, 0, "shadow"), path[1]), 0);
	memset(big, ' ', sizeof(big) - 1);
	memcpy(big, "{\"Name\":\"/big\"}", strlen("{\"Name\":\"/big\"}"));
	put_file(g, path[2] + strlen(g->root) + 1, big);
	memset(big, '[', 10000);
	big[10000] = '\0';
	put_file(g, path[3] + strlen(g->root) + 1, big);
	put_file(g, path[4] + strlen(g->root) + 1, "{\"Name\":\"/other\"}");
	assert_int_equal(mkdir(path[5], 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path[4], 4242, 4242), 0);
	read_names(g);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char said[256];

		snprintf(group, sizeof(group), "/docker/%s", id[i]);
		snprintf(said, sizeof(said), "container|docker|%s|%s||||", id[i],
			 i == 4 && geteuid() != 0 ? "other" : "");
		assert_row(g, group, said);
	}
}

/* The file of a container appears after its group: it is read again after a second. */
TEST_STATE(file_that_comes_late, setup, teardown, struct rig *g)
{
	const struct cgroup_row *r;
	uint64_t begin = clock_boot_ns();

	make_names(g, g->loop);
	r = cgroup_names_add(g->n, 77, 1, "/docker/" A64);
	assert_non_null(r);
	assert_ptr_equal(cgroup_names_add(g->n, 77, 1, "/other"), r);
	assert_true(cgroup_names_wait(g->n, 5000));
	assert_false(r->is_named);
	put_file(g, DOCKER A64 "/config.v2.json", "{\"Name\":\"/late\"}");
	while (!r->is_named && clock_boot_ns() - begin < 20 * NS_PER_S)
		event_base_loop(g->loop, EVLOOP_ONCE);
	assert_string_equal(r->name, "late");
	/* It was not tried again at once. The loop counts from the time at which it last woke
	 * up. */
	assert_true(clock_boot_ns() - begin >= NS_PER_S / 2);
	assert_int_equal(g->n_named, 1);
	/* A second group of the container needs no reading. */
	r = cgroup_names_add(g->n, 78, 77, "/docker/" A64 "/sub");
	assert_true(r->is_named);
	assert_string_equal(r->name, "late");
	/* A group of the same path has another id: it is another group. */
	assert_ptr_not_equal(cgroup_names_add(g->n, 79, 1, "/docker/" A64), r);
	assert_int_equal(g->n_named, 3);
}

TEST_STATE(groups_with_odd_names, setup, teardown, struct rig *g)
{
	char deep[1024] = "";

	put_group(g, "/a\nb/\xff\xfe/ space /x\\x2dy.service");
	for (int i = 0; i < CGROUP_WALK_DEPTH + 10; i++)
		strcat(deep, "/d");
	put_group(g, deep);
	read_names(g);
	assert_row(g, "/a\nb/\xff\xfe/ space /x\\x2dy.service", "unit|||||||x\\x2dy.service");
	assert_int_equal(cgroup_names_count_left_out(g->n), 1);
}

/* The processes are gone: rows have what their paths say. */
TEST_STATE(reader_that_ended, setup, teardown, struct rig *g)
{
	put_group(g, "/docker/" A64);
	make_names(g, g->loop);
	while (cgroup_names_walk_step(g->n))
		;
	name_reader_stop();
	assert_row(g, "/docker/" A64, "container|docker|" A64 "|||||");
	assert_true(cgroup_names_wait(g->n, 5000));
}

TEST_STATE(many_containers, setup, teardown, struct rig *g)
{
	char path[256], id[65];

	make_names(g, NULL);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		snprintf(path, sizeof(path), DOCKER "%s/config.v2.json", id);
		if (i % 2)
			put_file(g, path, "{\"Name\":\"/x\"}");
		snprintf(path, sizeof(path), "/docker/%s", id);
		assert_non_null(cgroup_names_add(g->n, i + 10, 1, path));
	}
	assert_true(cgroup_names_wait(g->n, 20000));
	assert_int_equal(g->n_named, 500);
	for (unsigned i = 0; i < 500; i++)
		assert_string_equal(cgroup_names_find(g->n, i + 10)->name, i % 2 ? "x" : "");
}

TEST_STATE(hierarchies, setup, teardown, struct rig *g)
{
	struct cgroup_mount m;
	char sys[256];

	snprintf(sys, sizeof(sys), "%s/hybrid", g->root);
	put_file(g, "hybrid/fs/cgroup/unified/cgroup.controllers", "");
	put_file(g, "hybrid/fs/cgroup/systemd/tasks", "");
	put_file(g, "hybrid/fs/cgroup/memory/tasks", "");
	assert_true(cgroup_mount_find(sys, 0, &m));
	assert_true(m.is_v2);
	assert_true(cgroup_mount_find(sys, 1, &m));
	assert_false(m.is_v2);
	assert_string_equal(m.path + strlen(m.path) - 7, "systemd");
	assert_true(cgroup_mount_find(sys, 2, &m));
	assert_string_equal(m.threads, "tasks");
	assert_false(cgroup_mount_find(sys, 3, &m));
	snprintf(sys, sizeof(sys), "%s/v1", g->root);
	put_file(g, "v1/fs/cgroup/cpu/tasks", "");
	assert_false(cgroup_mount_find(sys, 0, &m));
	assert_true(cgroup_mount_find(sys, 1, &m));
	assert_false(m.is_v2);
}
