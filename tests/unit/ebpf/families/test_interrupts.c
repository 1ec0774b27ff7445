/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/interrupts.h"
#include "ebpf/families/families.h"

static struct interrupts_cpu *cpu(uint32_t i)
{
	return fake_value("cpus", i);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(each_kind_from_its_first_event_on)
{
	rig_start(&interrupts_family);
	rig_read();
	assert_null(read_find("eBPF/CPU 0"));
	cpu(1)->softirqs[3] = (struct interrupts_sum){.ns = 1000, .count = 2};
	cpu(1)->handlers = (struct interrupts_sum){.ns = 50, .count = 1};
	cpu(2)->timer = (struct interrupts_sum){.ns = 7, .count = 4};
	assert_int_equal(rig_read(), 0);
	assert_null(read_find("eBPF/CPU 0"));
	assert_int_equal(read_last("eBPF/CPU 1/softirq NET_RX time"), 1000);
	assert_int_equal(read_last("eBPF/CPU 1/softirqs NET_RX"), 2);
	assert_int_equal(read_last("eBPF/CPU 1/hardirqs"), 1);
	assert_null(read_find("eBPF/CPU 1/timer interrupts"));
	assert_int_equal(read_last("eBPF/CPU 2/timer interrupt time"), 7);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

FIXTURE_TEST(a_cpu_whose_timer_is_a_device)
{
	rig.tracepoint = "local_timer_entry";
	rig.args = -ENOENT;
	rig.no_tracefs = true;
	rig_start(&interrupts_family);
	for (size_t i = 0; i < fake_bpf.n_programs; i++)
		assert_null(strstr(fake_bpf.programs[i].name, "timer"));
}

FIXTURE_TEST(a_read_that_fails_changes_nothing)
{
	rig_start(&interrupts_family);
	cpu(0)->timer = (struct interrupts_sum){.ns = 7, .count = 4};
	fake_bpf_fail(BPF_MAP_LOOKUP_ELEM, "cpus", EIO);
	assert_int_equal(rig_read(), -EIO);
	assert_null(read_find("eBPF/CPU 0"));
	fake_bpf_fail_no_more();
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/CPU 0/timer interrupts"), 4);
}
