/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a family where the kernel does not do as it is asked. */
#include "unit/ebpf/family_rig.h"

#include "bpf/memory.h"
#include "ebpf/families/families.h"
#include "ebpf/tracks/per_process.h"

/* It does not run, nothing of it is left, and that is why. */
static void assert_off(const struct ebpf_family *f, int error, const char *reason)
{
	assert_int_equal(rig_try(f), error);
	assert_null(rig.run.object);
	assert_null(rig.run.state);
	assert_null(rig.run.processes);
	assert_null(rig.run.outliers);
	if (!strstr(rig.why.text, reason))
		fail_msg("\"%s\" and not \"%s\"", rig.why.text, reason);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(without_permission_no_variant_is_tried)
{
	fake_bpf_fail(BPF_PROG_LOAD, NULL, EPERM);
	assert_off(&tcp_family, -EPERM, "permission denied: CAP_BPF and CAP_PERFMON are required");
	assert_string_equal(rig.run.variant->name, "tp_btf");
	assert_int_equal(fake_bpf.n_maps, 0);
}

/* CAP_BPF alone lets the first tries of libbpf through, and no program that traces. */
FIXTURE_TEST(with_half_of_the_permission)
{
	fake_bpf_fail(BPF_PROG_LOAD, "on_retransmit", EPERM);
	assert_off(&tcp_family, -EPERM, "permission denied");
	fake_bpf_fail_no_more();
	fake_bpf_fail(BPF_MAP_CREATE, "cpus", EPERM);
	assert_off(&tcp_family, -EPERM, "permission denied");
}

/* By the last word of the verifier, without what a terminal would obey. */
FIXTURE_TEST(rejections_by_the_verifier_are_reported)
{
	static const struct {
		const char *verifier, *reason;
	} rows[] = {
		{"0: R1=ctx()\n1: (79) r7 = *(u64 *)(r1 +24)\n"
		 "func 'kfree_skb' doesn't have 4-th argument\n"
		 "invalid bpf_context access off=24 size=8\nold state: R0=1\nprocessed 2 insns\n",
		 "invalid bpf_context access off=24 size=8"},
		{"4: (85) call unknown#158\ninvalid func unknown#158\nprocessed 4 insns\n",
		 "the kernel has no BPF helper 158"},
		{"0: R1=ctx()\nbad \033[2J\nprocessed 2 insns\n", "bad ?[2J"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_bpf.verifier = rows[i].verifier;
		fake_bpf_fail(BPF_PROG_LOAD, "on_drop", EACCES);
		assert_off(&tcp_family, -EACCES, rows[i].reason);
		assert_non_null(strstr(rig.why.text, "tcp.bpf.o could not be loaded"));
		assert_int_equal(fake_bpf.attached, 0);
		rig_end(NULL);
		assert_int_equal(rig_setup(NULL), 0);
	}
}

FIXTURE_TEST(a_variant_that_does_not_load_is_skipped)
{
	rig_need_tracefs();
	fake_bpf.refused_type = BPF_PROG_TYPE_TRACING;
	rig_start(&tcp_family);
	assert_string_equal(rig.run.variant->name, "raw_tp");
	assert_int_equal(fake_bpf.attached, 4);
	assert_int_equal(rig_read(), 0);
}

/* The reason is that of the first, which should have worked. */
FIXTURE_TEST(none_loads)
{
	rig_need_tracefs();
	fake_bpf.refused_type = BPF_PROG_TYPE_TRACING;
	fake_bpf_fail(BPF_RAW_TRACEPOINT_OPEN, "on_drop", ENOENT);
	assert_int_not_equal(rig_try(&tcp_family), 0);
	assert_string_equal(rig.run.variant->name, "tp");
	assert_null(rig.run.object);
	assert_non_null(strstr(rig.why.text, "tcp.bpf.o could not be loaded: Invalid argument"));
}

FIXTURE_TEST(maps_without_memory)
{
	static const struct {
		const struct ebpf_family *family;
		const char *map;
	} all[] = {{&runq_family, "migrations"},
		   {&faults_family, "processes"},
		   {&block_family, "disks"},
		   {&tcp_family, "cpus"}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		fake_bpf_fail_no_more();
		fake_bpf_fail(BPF_MAP_CREATE, all[i].map, ENOMEM);
		assert_off(all[i].family, -ENOMEM, "Cannot allocate memory");
		assert_non_null(strstr(rig.why.text, all[i].map));
	}
}

FIXTURE_TEST(programs_that_cannot_be_attached)
{
	fake_bpf_fail(BPF_LINK_CREATE, "on_switch", EBUSY);
	fake_bpf_fail(BPF_RAW_TRACEPOINT_OPEN, "on_switch", EBUSY);
	assert_off(&runq_family, -EBUSY, "runq.bpf.o could not be attached");
}

FIXTURE_TEST(without_types)
{
	rig_need_tracefs();
	rig.no_btf = true;
	rig_start(&memory_family);
	assert_string_equal(rig.run.variant->name, "raw_tp");
}

FIXTURE_TEST(without_types_and_records)
{
	rig.no_btf = rig.no_tracefs = true;
	assert_off(&runq_family, -ENOENT, "no BTF");
	assert_off(&block_family, -ENOENT, "no BTF");
	assert_off(&memory_family, -ENOENT, "no BTF");
	assert_int_equal(fake_bpf.n_maps, 0);
}

FIXTURE_TEST(unknown_arguments)
{
	rig.no_tracefs = true;
	rig.tracepoint = "sched_switch";
	rig.args = 2;
	assert_off(&runq_family, -ENOENT, "sched_switch has an unsupported number of arguments: 2");
	rig.args = -ENOENT;
	assert_off(&runq_family, -ENOENT, "no tracepoint sched_switch");
}

/* 5.17 and before: the state is read from the thread. */
FIXTURE_TEST(old_arguments)
{
	rig.tracepoint = "sched_switch";
	rig.args = 3;
	rig_start(&runq_family);
}

FIXTURE_TEST(the_scope_is_set_or_nothing_counts)
{
	static const uint32_t pids[] = {71, 72};
	const struct ebpf_scope scope = {.own_pid = 1, .pids = pids, .n_pids = 2};
	uint8_t *yes;

	assert_int_equal(rig_start_scope(&runq_family, &scope), 0);
	yes = fake_find(fake_map("sonda_pids"), &pids[1]);
	assert_non_null(yes);
	assert_int_equal(*yes, 1);
	ebpf_run_stop(&rig.run);
	fake_bpf_fail(BPF_MAP_UPDATE_ELEM, "sonda_pids", ENOMEM);
	assert_int_equal(rig_start_scope(&runq_family, &scope), -ENOMEM);
	assert_non_null(strstr(rig.why.text, "initialized"));
	assert_null(rig.run.object);
}

FIXTURE_TEST(a_period_that_cannot_be_ended)
{
	struct memory_cpu *cpu;

	rig_start(&memory_family);
	cpu = fake_value("cpus", 1);
	cpu->oom_kills = 3;
	fake_bpf_fail(BPF_MAP_UPDATE_ELEM, NULL, EIO);
	assert_int_equal(rig_read(), -EIO);
	fake_bpf_fail_no_more();
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/Memory/OOM kills"), 3);
}

FIXTURE_TEST(who_reads_long_rests)
{
	rig_start(&memory_family);
	assert_false(ebpf_run_over_budget(&rig.run));
	rig.run.read_ns = 8000000000;
	rig_read();
	assert_true(ebpf_run_over_budget(&rig.run));
	/* At most half a percent: seven seconds of work in more than twenty minutes. */
	assert_true(rig.run.next_read_ns - clock_mono_ns() > 1200000000000);
}

/* Its reads free the elements of processes that have ended. */
FIXTURE_TEST(a_family_whose_elements_are_half_used_does_not_rest)
{
	rig_start(&faults_family);
	rig.run.read_ns = 8000000000;
	rig_read();
	assert_true(ebpf_run_over_budget(&rig.run));
	rig.run.processes->n_most = rig.run.processes->n_each / 2 + 1;
	assert_false(ebpf_run_over_budget(&rig.run));
}
