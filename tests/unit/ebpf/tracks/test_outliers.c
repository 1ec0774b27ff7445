/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/outliers.h"
#include "bpf/sonda_program.h"
#include "ebpf/families/families.h"
#include "ebpf/tracks/event_tracks.h"

static const struct ebpf_scope scope = {
	.own_pid = 1, .outlier_ns = 1000, .outliers_per_second = 100};

/* It ended just now. */
static void put_slice(const char *name, uint64_t ns)
{
	struct sonda_event_text e = {.event = {.type = SONDA_SLICE,
					       .tid = 72,
					       .tgid = 71,
					       .time = clock_boot_ns() - ns,
					       .duration = ns}};

	memcpy(e.event.name, name, strlen(name));
	fake_ring_put("sonda_events", &e, sizeof(e));
}

/* In the packets that are kept: the beginnings of slices. */
static unsigned count_slices(void)
{
	struct pb_field e;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += read_sub(fake_packet_field(i), PB_TRACE_PACKET_TRACK_EVENT, &e) &&
		     fake_u64(e, PB_TRACK_EVENT_TYPE) == 1;
	return n;
}

static void start(const struct ebpf_family *f)
{
	if (rig_start_scope(f, &scope) != 0)
		fail_msg("%s", rig.why.text);
}

/* What a reader has to know of a slice's track is in the trace again after a clear: read_tracks()
 * lets no event pass whose track is not described in its state. */
static void assert_told_again(const struct ebpf_family *f, const char *track)
{
	start(f);
	put_slice("slow", 50);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(count_slices(), 1);
	assert_int_equal(read_find(track)->described, 1);
	put_slice("slow", 60);
	rig_read();
	assert_int_equal(count_slices(), 2);
	assert_int_equal(read_find(track)->described, 1);
	/* What came before is overwritten. */
	tracks_clear(rig.run.tracks);
	fake_reset_packets();
	put_slice("slow", 70);
	rig_read();
	assert_int_equal(count_slices(), 1);
	assert_int_equal(read_find(track)->described, 1);
	assert_int_equal(rd.states, 1);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(of_threads_after_a_clear)
{
	assert_told_again(&runq_family, "thread 71/72");
}

FIXTURE_TEST(of_lanes_after_a_clear)
{
	assert_told_again(&block_family, "thread 71/72/block I/O");
}

FIXTURE_TEST(without_a_threshold_there_is_no_ring)
{
	rig_start(&runq_family);
	assert_null(rig.run.outliers);
	assert_null(fake_map("sonda_events"));
}

FIXTURE_TEST(those_left_out_are_counted_on_both_sides)
{
	start(&memory_family);
	rig_read();
	assert_null(read_find("eBPF/memory slices left out"));
	((struct sonda_outliers_cpu *)fake_value("outliers", 0))->left_out = 3;
	((struct sonda_outliers_cpu *)fake_value("outliers", 2))->left_out = 4;
	for (unsigned i = 0; i < EVENT_TRACKS_EVENTS_PER_SECOND + 5; i++)
		put_slice("stall", 10);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(count_slices(), EVENT_TRACKS_EVENTS_PER_SECOND);
	rig_read();
	assert_int_equal(read_last("eBPF/memory slices left out"), 7 + 5);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1 + 1); /* and the thread */
}

FIXTURE_TEST(without_memory_for_the_ring)
{
	rig_need_btf();
	fake_bpf_fail(BPF_MAP_CREATE, "sonda_events", ENOMEM);
	assert_int_equal(rig_start_scope(&runq_family, &scope), -ENOMEM);
	assert_null(rig.run.object);
	fake_bpf_fail_no_more();
	fake_bpf_fail(BPF_OBJ_GET_INFO_BY_FD, NULL, EPERM);
	assert_int_not_equal(rig_start_scope(&runq_family, &scope), 0);
	assert_null(rig.run.outliers);
}
