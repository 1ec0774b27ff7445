/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of linux.cgroup_members in a kernel that is not one: load, records, losses. */
#include "ebpf/members/members_program.h"
#include "unit/ebpf/family_rig.h"

static struct members_program *program;

static int setup(void **state)
{
	int r = rig_setup(state);

	fake_bpf_reset(ebpf_count_cpus());
	return r;
}

static int teardown(void **state)
{
	members_program_free(program);
	program = NULL;
	return rig_end(state);
}

static int start(void)
{
	rig_need_btf();
	return members_program_new("/sys/kernel/tracing", &program, &rig.why);
}

TEST_WITH(records_of_wrong_sizes_are_passed_over, setup, teardown)
{
	struct {
		struct member_group g;
		char more[8];
	} r = {.g = {.type = MEMBER_ROW, .group = 1}};
	const size_t head = offsetof(struct member_group, path);
	uint32_t type;

	assert_int_equal(start(), 0);
	assert_null(members_program_peek(program, &type));
	fake_ring_put("members", &r, 2);
	fake_ring_put("members", &r, sizeof(struct member_row) - 1);
	r.g.type = 99;
	fake_ring_put("members", &r, sizeof(r.g));
	r.g.type = MEMBER_GROUP;
	fake_ring_put("members", &r, (uint32_t)head); /* no path */
	memset(r.g.path, 'x', sizeof(r.g.path));
	fake_ring_put("members", &r, (uint32_t)head + 8); /* a path without its NUL */
	r.g.type = MEMBER_GROUP_END;
	fake_ring_put("members", &r, (uint32_t)head - 1);
	r.g.group = 2;
	fake_ring_put("members", &r, (uint32_t)head);
	r.g.type = MEMBER_GROUP;
	strcpy(r.g.path, "/a");
	fake_ring_put("members", &r, (uint32_t)head + 3);
	for (int i = 0; i < 2; i++) {
		const struct member_group *g = members_program_peek(program, &type);

		assert_int_equal(type, i ? MEMBER_GROUP : MEMBER_GROUP_END);
		assert_int_equal(g->group, 2);
		members_program_consume(program);
	}
	assert_null(members_program_peek(program, &type));
	*(uint64_t *)fake_value("lost", 0) = 3;
	assert_int_equal(members_program_count_lost(program), 3);
	assert_true(members_program_open_threads(program) < 0);
}

TEST_WITH(what_the_kernel_refuses, setup, teardown)
{
	fake_bpf_fail(BPF_PROG_LOAD, NULL, EPERM);
	assert_int_equal(start(), -EPERM);
	assert_non_null(strstr(rig.why.text, "permission denied"));
	fake_bpf_fail_no_more();
	/* A kernel whose programs cannot read paths: there are no records of new groups. */
	fake_bpf_fail(BPF_PROG_LOAD, "on_mkdir", EINVAL);
	assert_int_equal(start(), 0);
	assert_int_equal(fake_count_programs("on_mkdir"), 0);
	members_program_free(program);
	program = NULL;
	fake_bpf_fail(BPF_MAP_CREATE, "members", ENOMEM);
	assert_true(start() < 0);
}
