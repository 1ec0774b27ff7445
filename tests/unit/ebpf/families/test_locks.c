/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/locks.h"
#include "ebpf/families/families.h"

/* 5.19 */
static void need_lock_events(void)
{
	rig_need_btf();
	if (rig.real.count_args(rig.real.ctx, "contention_begin") < 0)
		skip();
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(kinds_of_locks_with_waits)
{
	struct locks_cpu *cpu;

	need_lock_events();
	rig_start(&locks_family);
	cpu = fake_value("cpus", 0);
	cpu->kinds[LOCK_MUTEX] = (struct lock_sum){.ns = 1000, .count = 3};
	cpu = fake_value("cpus", 3);
	cpu->kinds[LOCK_MUTEX] = (struct lock_sum){.ns = 10, .count = 1};
	cpu->lost = 2;
	cpu->depth = 1; /* a wait goes on: no sum */
	cpu->spinning[0].since = 77;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/Locks/mutex wait time"), 1010);
	assert_int_equal(read_last("eBPF/Locks/mutex waits"), 4);
	assert_null(read_find("eBPF/Locks/spinlock waits"));
	assert_int_equal(read_last("eBPF/spinlock waits lost"), 2);
	*(uint64_t *)fake_value("lost", 1) = 5;
	rig_read();
	assert_int_equal(read_last("eBPF/kernel lock waits lost"), 5);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

/* Of its two parts one cannot be read. */
FIXTURE_TEST(a_part_that_fails)
{
	need_lock_events();
	rig_start(&locks_family);
	((struct locks_cpu *)fake_value("cpus", 0))->kinds[LOCK_SPIN].count = 1;
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, "lost", EIO);
	assert_int_equal(rig_read(), -EIO);
	assert_int_equal(read_last("eBPF/Locks/spinlock waits"), 1);
}

FIXTURE_TEST(before_5_19)
{
	rig.tracepoint = "contention_begin";
	rig.args = -ENOENT;
	rig.no_tracefs = true;
	assert_int_equal(rig_try(&locks_family), -ENOENT);
	assert_non_null(strstr(rig.why.text, "no tracepoint contention_begin"));
}
