/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/memory.h"
#include "ebpf/families/families.h"

static struct memory_cpu *cpu(uint32_t i)
{
	return fake_value("cpus", i);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(sums_of_all_cpus)
{
	rig_start(&memory_family);
	cpu(0)->stalls[MEMORY_DIRECT_RECLAIM].ns = 1000;
	cpu(0)->stalls[MEMORY_DIRECT_RECLAIM].count = 1;
	cpu(3)->stalls[MEMORY_DIRECT_RECLAIM].ns = 20;
	cpu(3)->stalls[MEMORY_DIRECT_RECLAIM].count = 2;
	cpu(2)->stalls[MEMORY_BACKGROUND_COMPACTION].ns = 5;
	cpu(1)->oom_kills = 1;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/Memory/direct reclaim time"), 1020);
	assert_int_equal(read_last("eBPF/Memory/direct reclaims"), 3);
	assert_int_equal(read_last("eBPF/Memory/compactions"), 0);
	assert_int_equal(read_last("eBPF/Memory/background compaction time"), 5);
	assert_int_equal(read_last("eBPF/Memory/OOM kills"), 1);
	assert_null(read_find("eBPF/memory stalls lost"));
}

/* The map of stalls that go on was full. */
FIXTURE_TEST(elements_without_room_are_reported)
{
	rig_start(&memory_family);
	cpu(0)->lost = 7;
	rig_read();
	assert_int_equal(read_last("eBPF/memory stalls lost"), 7);
	cpu(1)->lost = 1;
	rig_read();
	assert_int_equal(read_last("eBPF/memory stalls lost"), 8);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

/* A kernel without compaction. */
FIXTURE_TEST(hooks_that_are_not_there_are_left_out)
{
	rig.tracepoint = "mm_compaction_begin";
	rig.args = -ENOENT;
	rig.no_tracefs = true;
	rig_start(&memory_family);
	assert_int_equal(fake_count_programs("mm_compaction_begin"), 0);
	assert_int_equal(fake_count_programs("on_oom_kill"), 1);
	assert_int_equal(rig_read(), 0);
}
