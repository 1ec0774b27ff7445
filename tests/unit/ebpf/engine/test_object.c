/* SPDX-License-Identifier: Apache-2.0 */
/* libbpf's object by itself, of what a family's run never asks for. */
#include "unit/ebpf/family_rig.h"

#include "ebpf/engine/images.h"

EBPF_DECLARE(tcp);

static const struct ebpf_image image = EBPF_IMAGE(tcp);
static const struct ebpf_scope scope = {.own_pid = 1};
static struct ebpf_object *object;

static int teardown(void **state)
{
	ebpf_object_free(object);
	object = NULL;
	return rig_end(state);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, teardown)

FIXTURE_TEST(files_that_are_no_objects)
{
	static const unsigned char text[] = "no object";
	const struct ebpf_image none = {.name = "none", .begin = text, .end = text + sizeof(text)};

	assert_true(ebpf_object_open(&none, &object, &rig.why) < 0);
	assert_null(object);
	assert_non_null(strstr(rig.why.text, "none.bpf.o could not be read"));
}

FIXTURE_TEST(maps_by_name)
{
	rig_need_btf();
	assert_int_equal(ebpf_object_open(&image, &object, &rig.why), 0);
	ebpf_object_resize(object, "no such map", 7);
	ebpf_object_leave_out_map(object, "no such map");
	ebpf_object_leave_out_program(object, "no such program");
	ebpf_object_leave_out_program(object, "on_drop");
	assert_int_equal(ebpf_object_load(object, &scope, 0, &rig.why), 0);
	assert_true(ebpf_object_map(object, "cpus") >= 0);
	assert_int_equal(ebpf_object_map(object, "no such map"), -ENOENT);
	/* Left out, as none is asked for. */
	assert_int_equal(ebpf_object_map(object, "sonda_pids"), -ENOENT);
	assert_int_equal(fake_count_programs("on_drop"), 0);
	assert_int_equal(ebpf_object_attach(object, &rig.why), 0);
	assert_int_equal(fake_bpf.attached, 3);
}

FIXTURE_TEST(periods_have_numbers)
{
	uint64_t next;

	rig_need_btf();
	assert_int_equal(ebpf_object_open(&image, &object, &rig.why), 0);
	assert_int_equal(ebpf_object_load(object, &scope, 0, &rig.why), 0);
	assert_int_equal(ebpf_object_next_period(object), 1);
	assert_int_equal(ebpf_object_next_period(object), 2);
	fake_bpf_fail(BPF_MAP_UPDATE_ELEM, NULL, EPERM);
	assert_int_equal(ebpf_object_next_period(object), 0);
	/* The period goes on: the next one that ends is the same. */
	fake_bpf_fail_no_more();
	assert_int_equal(ebpf_object_next_period(object), 3);
	memcpy(&next, fake_value(".data.sonda", 0), sizeof(next));
	assert_int_equal(next, 4);
}

FIXTURE_TEST(run_times_of_programs_are_summed)
{
	uint64_t ns, count, missed;

	rig_need_btf();
	assert_int_equal(ebpf_object_open(&image, &object, &rig.why), 0);
	ebpf_object_leave_out_program(object, "on_drop");
	assert_int_equal(ebpf_object_load(object, &scope, 0, &rig.why), 0);
	for (size_t i = 0; i < fake_bpf.n_programs; i++)
		if (!strncmp(fake_bpf.programs[i].name, "on_re", 5)) {
			fake_bpf.programs[i].ns = 100;
			fake_bpf.programs[i].runs = 2;
			fake_bpf.programs[i].missed = 1;
		}
	ebpf_object_read_cost(object, &ns, &count, &missed);
	assert_int_equal(ns, 300); /* a retransmit, a reset sent, one received */
	assert_int_equal(count, 6);
	assert_int_equal(missed, 3);
	fake_bpf_fail(BPF_OBJ_GET_INFO_BY_FD, NULL, EPERM);
	ebpf_object_read_cost(object, &ns, &count, &missed);
	assert_int_equal(ns, 0);
}

FIXTURE_TEST(statistics_may_be_refused)
{
	int fd;

	fd = ebpf_enable_stats();
	assert_true(fd >= 0);
	close(fd);
	fake_bpf_fail(BPF_ENABLE_STATS, NULL, EPERM);
	assert_int_equal(ebpf_enable_stats(), -EPERM);
}
