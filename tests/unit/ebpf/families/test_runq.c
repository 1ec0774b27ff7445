/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/runq.h"
#include "ebpf/families/families.h"

static struct runq_cpu *cpu(uint32_t i)
{
	return fake_value("cpus", i);
}

/* So many waits of that bucket, and the longest of all in the period that is about to end. */
static void add_waits(uint32_t i, uint32_t bucket, uint32_t n, uint64_t max)
{
	uint64_t generation = rig.run.generation + 1;

	cpu(i)->switches += n;
	cpu(i)->wait.buckets[bucket] += n;
	cpu(i)->wait_max.generation[generation & 1] = generation;
	cpu(i)->wait_max.max[generation & 1] = max;
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(only_cpus_that_switch_have_tracks)
{
	rig_start(&runq_family);
	add_waits(2, 7, 10, 7);
	*(uint64_t *)fake_value("migrations", 2) = 5;
	assert_int_equal(rig_read(), 0);
	assert_null(read_find("eBPF/CPU 0"));
	assert_int_equal(read_last("eBPF/CPU 2/runq latency p50"), 7);
	assert_int_equal(read_last("eBPF/CPU 2/runq latency max"), 7);
	assert_int_equal(read_last("eBPF/CPU 2/context switches"), 10);
	assert_int_equal(read_last("eBPF/CPU 2/migrations"), 5);
	assert_null(read_find("eBPF/runq lost"));
}

FIXTURE_TEST(throttled_time_has_a_track)
{
	rig_start(&runq_family);
	add_waits(1, 7, 1, 7);
	rig_read();
	assert_null(read_find("eBPF/CPU 1/runq throttled"));
	cpu(1)->throttled_ns = 5000000;
	rig_read();
	assert_int_equal(read_last("eBPF/CPU 1/runq throttled"), 5000000);
}

FIXTURE_TEST(percentiles_are_of_the_period)
{
	rig_start(&runq_family);
	add_waits(0, 30, 1000, 30);
	rig_read();
	add_waits(0, 10, 98, 20);
	add_waits(0, 20, 2, 20);
	rig_read();
	assert_int_equal(read_last("eBPF/CPU 0/runq latency p50"), 10);
	assert_int_equal(read_last("eBPF/CPU 0/runq latency p99"), 20);
	assert_int_equal(read_last("eBPF/CPU 0/runq latency max"), 20);
	/* No thread waited. */
	rig_read();
	assert_int_equal(read_last("eBPF/CPU 0/runq latency p99"), 0);
	assert_int_equal(read_last("eBPF/CPU 0/runq latency max"), 0);
}

FIXTURE_TEST(depth_is_the_mean_over_time)
{
	rig_start(&runq_family);
	add_waits(1, 1, 1, 1);
	cpu(1)->clock = 1000;
	cpu(1)->depth_ns = 500;
	rig_read();
	add_waits(1, 1, 1, 1);
	cpu(1)->clock = 2000;
	cpu(1)->depth_ns = 3000;
	cpu(1)->depth = 3;
	rig_read();
	assert_true(read_last_double("eBPF/CPU 1/runq depth") == 2.5);
	/* Without a switch since, it is what it was at the last one. */
	rig_read();
	assert_true(read_last_double("eBPF/CPU 1/runq depth") == 3);
	assert_int_equal(read_last("eBPF/CPU 1/runq depth max"), 3);
}

FIXTURE_TEST(elements_without_room_are_reported)
{
	rig_start(&runq_family);
	add_waits(0, 1, 1, 1);
	add_waits(3, 1, 1, 1);
	cpu(0)->lost = 2;
	cpu(3)->lost = 40;
	rig_read();
	assert_int_equal(read_last("eBPF/runq lost"), 42);
}

FIXTURE_TEST(a_read_that_fails_loses_no_count)
{
	rig_start(&runq_family);
	add_waits(0, 5, 10, 5);
	rig_read();
	add_waits(0, 9, 100, 9);
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, "cpus", EIO);
	assert_int_equal(rig_read(), -EIO);
	fake_bpf_fail_no_more();
	assert_int_equal(read_count("eBPF/CPU 0/context switches"), 1);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/CPU 0/context switches"), 110);
	assert_int_equal(read_last("eBPF/CPU 0/runq latency p50"), 9);
}

FIXTURE_TEST(older_kernels)
{
	rig.member = "storage_ma"; /* task storage may not be made in the scheduler */
	rig_start(&runq_family);
	assert_non_null(fake_map("threads_by_pid"));
	assert_null(fake_map("threads"));
}

FIXTURE_TEST(without_a_field)
{
	rig.no_tracefs = true;
	rig.member = "cfs_rq";
	assert_int_equal(rig_try(&runq_family), -ENOENT);
	assert_non_null(strstr(rig.why.text, "cfs_rq"));
	assert_null(rig.run.object);
}

FIXTURE_TEST(hidden_its_tracks_end)
{
	rig_start(&runq_family);
	add_waits(0, 5, 10, 5);
	cpu(0)->lost = 1;
	rig_read();
	ebpf_run_remove_tracks(&rig.run);
	tracks_end(rig.run.tracks);
	read_tracks();
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1); /* the group of all */
	assert_int_equal(read_last("eBPF/CPU 0/runq latency p50"), 0);
	assert_int_equal(read_last("eBPF/CPU 0/context switches"), 10);
}
