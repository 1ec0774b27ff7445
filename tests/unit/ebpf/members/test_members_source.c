/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linux.cgroup_members without a kernel: records of the BPF programs, or a directory in place of
 * /proc, in; packets out.
 */
#include <event2/event.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "ebpf/members/members_packets.h"
#include "ebpf/members/members_program.h"
#include "ebpf/members/members_source.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/procfs/source_rig.h"

/* ---- the programs ---- */

static struct {
	bool runs;
	int new_error;
	struct member_group records[8]; /* or struct member_row */
	size_t n, at;
	struct member_row threads[4]; /* that exist */
	size_t n_threads;
	uint64_t lost;
	int made; /* an eventfd */
} programs;

int members_program_new(const char *tracefs_root, struct members_program **ret, struct err_text *e)
{
	if (programs.new_error)
		return err_set(e, programs.new_error, "no permission");
	programs.runs = true;
	programs.made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret = (struct members_program *)&programs;
	return 0;
}

void members_program_free(struct members_program *p)
{
	if (p)
		close(programs.made);
	programs.runs &= p == NULL;
}

const void *members_program_peek(struct members_program *p, uint32_t *ret_type)
{
	if (programs.at == programs.n)
		return NULL;
	*ret_type = programs.records[programs.at].type;
	return &programs.records[programs.at];
}

void members_program_consume(struct members_program *p)
{
	programs.at++;
}

uint64_t members_program_count_lost(struct members_program *p)
{
	return programs.lost;
}

int members_program_watched_fd(const struct members_program *p)
{
	return programs.made;
}

int members_program_open_threads(const struct members_program *p)
{
	int fd = memfd_create("threads", MFD_CLOEXEC);
	size_t len = programs.n_threads * sizeof(*programs.threads);

	assert_int_equal(write(fd, programs.threads, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void give_group(uint32_t type, uint64_t id, uint64_t parent, const char *path)
{
	struct member_group *g = &programs.records[programs.n++];

	assert_true(programs.n <= ARRAY_SIZE(programs.records));
	*g = (struct member_group){.type = type, .group = id, .parent = parent};
	strcpy(g->path, path);
}

static void give_row(uint64_t group, uint32_t tgid, uint32_t tid, uint64_t time)
{
	const struct member_row row = {
		.type = MEMBER_ROW, .tgid = tgid, .tid = tid, .time = time, .group = group};

	memcpy(&programs.records[programs.n++], &row, sizeof(row));
}

/* ---- the session ---- */

static char proc_root[128], sys_root[128];

SETUP
{
	fake_reset();
	fake_root_new();
	snprintf(proc_root, sizeof(proc_root), "%s/proc", fake_root);
	snprintf(sys_root, sizeof(sys_root), "%s/sys", fake_root);
	fake_text("proc/7/cgroup", "0::/a.service\n");
	fake_text("proc/8/cgroup", "1:cpu:/x\n0::/a.service (deleted)\n");
	fake_text("proc/9/cgroup", "0::/gone\n");
	fake_text("proc/self", "no process\n");
	env = (struct ds_env){
		.loop = event_base_new(), .proc_root = proc_root, .sys_root = sys_root};
}

TEARDOWN
{
	source_end(&cgroup_members_data_source);
	assert_false(programs.runs);
	memset(&programs, 0, sizeof(programs));
	fake_root_remove();
}

static void start(const Pb__CgroupMembersConfig *m)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;

	config.cgroup_members_config = (Pb__CgroupMembersConfig *)m;
	source_start(&cgroup_members_data_source, config);
}

static const char *flush(void)
{
	return source_flush(&cgroup_members_data_source, NULL);
}

static const char *stop(void)
{
	fake_reset_packets();
	return source_stop(&cgroup_members_data_source, NULL);
}

FIXTURE_TEST(threads_groups_and_their_changes)
{
	const char *text;

	programs.threads[0] = (struct member_row){.tgid = 40, .tid = 41, .time = 100, .group = 5};
	programs.threads[1] = (struct member_row){.tgid = 40, .tid = 40, .time = 101, .group = 5};
	programs.n_threads = 2;
	give_group(MEMBER_GROUP, 5, 0, "/");
	give_group(MEMBER_GROUP, 6, 5, "/a\nb");
	start(NULL);
	text = flush();
	assert_has(text, "cgroup_members { lost: 0 }");
	assert_has(text, "timestamp: 100 cgroup_members { group_ids: [5] time_delta: [0, 2] "
			 "tid_delta: [82, 1] tgid_delta: [1, 0] group: [0, 0] is_initial: 1 }");
	assert_has(text, "groups { id: 5 path: '/'");
	assert_has(text, "groups { id: 6 parent_id: 5 path: '/a?b'");
	/* A thread moves twice; its last group is removed, and was never seen before. */
	fake_reset_packets();
	give_row(6, 40, 41, 200);
	give_row(9, 40, 41, 190); /* from another CPU */
	give_group(MEMBER_GROUP_END, 6, 0, "");
	text = flush();
	assert_has(text, "timestamp: 200 cgroup_members { group_ids: [6, 9] time_delta: [0, 19] "
			 "tid_delta: [82, 0] tgid_delta: [1, 1] group: [0, 1] }");
	assert_has_not(text, "groups {"); /* 9 has no path */
	programs.lost = 4;
	assert_has(stop(), "cgroup_members { lost: 4 }");
}

/* The files with its name may be gone when the next tick is due. */
FIXTURE_TEST(a_new_group_is_read_at_once)
{
	start(NULL);
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
	give_group(MEMBER_GROUP, 5, 1, "/docker/x");
	assert_int_equal(eventfd_write(programs.made, 1), 0);
	for (unsigned i = 0; i < 50 && !programs.at; i++) {
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
		usleep(100);
	}
	assert_int_equal(programs.at, 1);
	stop();
}

FIXTURE_TEST(a_clear_writes_everything_again)
{
	programs.threads[0] = (struct member_row){.tgid = 40, .tid = 41, .time = 100, .group = 5};
	programs.n_threads = 1;
	give_group(MEMBER_GROUP, 5, 0, "/");
	start(NULL);
	flush();
	fake_reset_packets();
	assert_string_equal(flush(), "");
	cgroup_members_data_source.clear(instance);
	assert_has(flush(), "groups { id: 5 path: '/'");
	assert_has(packets_of(0), "is_initial: 1");
	assert_has(packets_of(0), "cgroup_members { lost: 0 }");
	/* More losses are written when they come. */
	fake_reset_packets();
	programs.lost = 3;
	assert_has(flush(), "cgroup_members { lost: 3 }");
}

FIXTURE_TEST(rows_fill_packets)
{
	struct member_groups groups;
	struct members_packets p;
	struct writer *w = writer_new(NULL, 1, WRITER_DROP);

	assert_int_equal(member_groups_init(&groups, "/nowhere", NULL), 0);
	assert_int_equal(members_packets_init(&p, w, &groups), 0);
	for (uint32_t i = 0; i < MEMBERS_ROWS_EACH + 1; i++)
		members_packets_add_row(&p, &(struct member_row){.tid = i, .group = i % 2 + 1},
					false);
	assert_int_equal(fake.n, 1);
	assert_has(packets_of(0), "group_ids: [1, 2] ");
	members_packets_add_row(&p, &(struct member_row){.group = 1}, true); /* of another kind */
	assert_int_equal(fake.n, 2);
	members_packets_end(&p);
	members_packets_end(&p); /* nothing is left */
	assert_int_equal(fake.n, 3);
	members_packets_deinit(&p);
	member_groups_deinit(&groups);
	writer_free(w);
}

/* The groups of the directory that stands in for the cgroup file system. */
static void make_tree(void)
{
	fake_text("sys/fs/cgroup/cgroup.controllers", "");
	fake_text("sys/fs/cgroup/cgroup.procs", "");
	fake_text("sys/fs/cgroup/a.service/cgroup.procs", "7\n");
}

FIXTURE_TEST(without_bpf_the_files_of_proc_are_polled)
{
	Pb__CgroupMembersConfig m = PB__CGROUP_MEMBERS_CONFIG__INIT;
	char ids[64];
	const char *text;
	struct stat st;

	make_tree();
	assert_int_equal(stat(fake_path("sys/fs/cgroup/a.service"), &st), 0);
	m.no_ebpf = true;
	m.poll_ms = 1;
	start(&m);
	text = flush();
	assert_has(text, "polled_because: 'disabled by no_ebpf in the config' poll_ms: 100 }");
	snprintf(ids, sizeof(ids), "group_ids: [%llu] ", (unsigned long long)st.st_ino);
	assert_has(text, ids);
	assert_has(text, "tid_delta: [0, 0] ");
	assert_has(text, "group: [0, 0] is_initial: 1 }");
	assert_has(text, "path: '/a.service' kind: 'unit' unit: 'a.service'");
	/* The next pass comes by itself. */
	fake_reset_packets();
	while (!strstr(packets_of(0), "is_initial"))
		event_base_loop(env.loop, EVLOOP_ONCE);
	stop();
}

FIXTURE_TEST(the_trace_says_why_it_polls)
{
	programs.new_error = -EPERM;
	start(NULL);
	assert_has(flush(), "polled_because: 'no permission' poll_ms: 1000 }");
	assert_has(stop(), "polled_because: 'no permission'");
}
