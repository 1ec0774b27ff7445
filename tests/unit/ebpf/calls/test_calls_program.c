/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs of linux.syscalls in a kernel that is not one: load, records, losses. */
#include "ebpf/calls/calls_program.h"
#include "unit/ebpf/family_rig.h"

static struct calls_config config;
static struct calls_program *program;

static int setup(void **state)
{
	int r = rig_setup(state);

	config = (struct calls_config){.settings = {.own = {(uint32_t)getpid()}}};
	fake_bpf_reset(ebpf_count_cpus());
	config.specs[1].is_wanted = 1;
	return r;
}

static int teardown(void **state)
{
	calls_program_free(program);
	program = NULL;
	return rig_end(state);
}

static int start(void)
{
	rig_need_btf();
	return calls_program_new(&config, "/sys/kernel/tracing", &program, &rig.why);
}

static void fail_on_call(void *ctx, const struct call_record *r)
{
	fail();
}

TEST_WITH(the_config_is_in_the_maps_and_records_come_out_of_the_ring, setup, teardown)
{
	uint32_t pids[] = {7, 9}, size;
	struct calls_counts counts;
	const uint64_t *record;

	config.pids = pids;
	config.n_pids = 2;
	config.of_user = true;
	assert_int_equal(start(), 0);
	assert_int_equal(*(uint8_t *)fake_value("specs", 1), 1);
	assert_int_equal(*(uint8_t *)fake_value("specs", 2), 0);
	assert_non_null(fake_find(fake_map("followed"), &pids[1]));
	assert_int_equal(fake_map("followed")->n, 2);
	assert_null(calls_program_peek(program, &size));
	for (uint64_t i = 0; i < 2; i++)
		fake_ring_put("calls", &i, sizeof(i));
	for (uint64_t i = 0; i < 2; i++) {
		record = calls_program_peek(program, &size);
		assert_int_equal(size, sizeof(i));
		assert_int_equal(*record, i);
		calls_program_consume(program);
	}
	assert_null(calls_program_peek(program, &size));
	assert_true(calls_program_wakeup_fd(program) >= 0);
	calls_program_each_open_call(program, fail_on_call, NULL);
	((struct calls_cpu *)fake_value("cpus", 0))->ring_full = 5;
	calls_program_measure_cost(program);
	calls_program_read_counts(program, &counts);
	assert_int_equal(counts.lost.ring_full, 5);
}

TEST_WITH(what_the_kernel_refuses, setup, teardown)
{
	static const struct {
		int cmd;
		const char *name;
		int error;
		const char *why;
	} cases[] = {
		{BPF_PROG_LOAD, NULL, EPERM, "permission denied"},
		{BPF_PROG_LOAD, NULL, EINVAL, "could not be loaded"},
		{BPF_MAP_UPDATE_ELEM, "specs", EIO, "cannot set up the maps"},
		{BPF_RAW_TRACEPOINT_OPEN, NULL, EINVAL, "could not be attached"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_bpf_fail(cases[i].cmd, cases[i].name, cases[i].error);
		if (cases[i].cmd == BPF_RAW_TRACEPOINT_OPEN)
			fake_bpf_fail(BPF_LINK_CREATE, NULL, EINVAL);
		assert_true(start() < 0);
		if (!strstr(rig.why.text, cases[i].why))
			fail_msg("case %zu: %s", i, rig.why.text);
		fake_bpf_fail_no_more();
	}
	rig.member = "storage_ma";
	assert_int_equal(start(), 0);
}
