/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/runq.h"

#include "bpf/cgroup_waits.h"
#include "ebpf/families/families.h"
#include "wire/pb_read.h"

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

/* ---- histograms as packets ---- */

struct rows_seen {
	unsigned packets;
	uint64_t sum_ns, values, last_bucket;
};

static struct rows_seen read_histogram_rows(size_t from)
{
	struct rows_seen seen = {0};

	for (size_t i = from; i < fake.n; i++) {
		struct pb_field packet = fake_packet_field(i);
		struct pb_field rows = pb_inner_field(&packet, PB_TRACE_PACKET_EBPF_HISTOGRAM_ROWS);

		struct pb_field buckets = pb_inner_field(&rows, PB_EBPF_HISTOGRAM_ROWS_ROWS);
		struct pb_packed p = pb_packed_of(&buckets);
		uint64_t sum = 0, n;

		if (!rows.data)
			continue;
		pb_read(&rows, PB_TO(PB_EBPF_HISTOGRAM_ROWS_SUM_NS, &sum));
		seen.packets++;
		seen.sum_ns += sum;
		while (pb_packed_next(&p, &seen.last_bucket)) {
			assert_true(pb_packed_next(&p, &n));
			seen.values += n;
		}
	}
	return seen;
}

FIXTURE_TEST(histogram_rows_are_what_all_cpus_added)
{
	struct rows_seen seen;
	size_t before;

	rig.run.histogram_rows = true;
	rig_start(&runq_family);
	add_waits(0, 5, 10, 5);
	cpu(0)->wait_ns = 50;
	add_waits(3, 7, 2, 7);
	cpu(3)->wait_ns = 14;
	rig_read();
	seen = read_histogram_rows(0);
	assert_int_equal(seen.packets, 1);
	assert_int_equal(seen.sum_ns, 64);
	assert_int_equal(seen.values, 12);
	assert_int_equal(seen.last_bucket, 7);
	before = fake.n;
	add_waits(3, 5, 1, 5);
	cpu(3)->wait_ns += 5;
	rig_read();
	seen = read_histogram_rows(before);
	assert_int_equal(seen.values, 1);
	assert_int_equal(seen.sum_ns, 5);
	before = fake.n;
	rig_read(); /* nothing is new */
	assert_int_equal(read_histogram_rows(before).packets, 0);
}

FIXTURE_TEST(without_histogram_rows_there_are_none)
{
	rig_start(&runq_family);
	add_waits(0, 5, 10, 5);
	rig_read();
	assert_int_equal(read_histogram_rows(0).packets, 0);
}

/* ---- by control group ---- */

struct wait_row {
	uint64_t group, cause, total, longest, pairs;
};

/* Reads the rows of all packets so far. Returns their number. ret_lost: the last number. */
static unsigned read_wait_rows(struct wait_row *ret, unsigned max, uint64_t *ret_lost)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field packet = fake_packet_field(i);
		struct pb_field waits = pb_inner_field(&packet, PB_TRACE_PACKET_CGROUP_WAITS);
		struct pb_field rows = pb_inner_field(&waits, PB_CGROUP_WAITS_ROWS);
		uint64_t v;

		pb_read(&waits, PB_TO(PB_CGROUP_WAITS_LOST, ret_lost));
		for (struct pb_packed p = pb_packed_of(&rows); rows.data && n < max; n++) {
			struct wait_row *r = &ret[n];

			if (!pb_packed_next(&p, &r->group))
				break;
			assert_true(
				pb_packed_next(&p, &r->cause) && pb_packed_next(&p, &r->total) &&
				pb_packed_next(&p, &r->longest) && pb_packed_next(&p, &r->pairs));
			for (uint64_t k = 0; k < 2 * r->pairs; k++)
				assert_true(pb_packed_next(&p, &v));
		}
	}
	return n;
}

static struct cgroup_waits *group(uint64_t id)
{
	const struct cgroup_waits none = {.total = {0}};

	if (!fake_find(fake_map("cgroup_waits"), &id))
		assert_int_equal(fake_put(fake_map("cgroup_waits"), &id, &none), 0);
	return (struct cgroup_waits *)fake_find(fake_map("cgroup_waits"), &id);
}

static void add_group_waits(uint64_t id, uint32_t cause, uint32_t bucket, uint32_t n, uint64_t ns)
{
	struct cgroup_waits *w = group(id);

	w->total[cause] += n * ns;
	w->longest[cause] = MAX(w->longest[cause], ns);
	w->buckets[cause * CGROUP_WAITS_BUCKETS + bucket] += n;
}

static void start_by_group(void)
{
	rig.run.waits_by_cgroup = true;
	rig.run.is_asked_for_all = true;
	rig_start(&runq_family);
}

FIXTURE_TEST(waits_by_control_group_are_what_was_added_since_the_last_read)
{
	struct wait_row rows[4];
	uint64_t lost = 0;

	start_by_group();
	add_group_waits(77, CGROUP_WAIT_IDLE, 3, 10, 1600);
	add_group_waits(1ull << 40 | 9, CGROUP_WAIT_QUOTA, 60, 1, 30000000);
	rig_read();
	add_group_waits(77, CGROUP_WAIT_IDLE, 2, 1, 1300);
	cpu(1)->switches = 1;
	cpu(1)->cgroups_lost = 5;
	rig_read();
	rig_read(); /* nothing is new */
	assert_int_equal(read_wait_rows(rows, 4, &lost), 3);
	assert_int_equal(rows[0].group + rows[1].group, 77 + (1ull << 40 | 9));
	assert_int_equal(rows[0].total + rows[1].total, 16000 + 30000000);
	assert_int_equal(rows[2].group, 77);
	assert_int_equal(rows[2].cause, CGROUP_WAIT_IDLE);
	assert_int_equal(rows[2].total, 1300);
	assert_int_equal(rows[2].longest, 0); /* not longer than those before */
	assert_int_equal(rows[2].pairs, 1);
	assert_int_equal(lost, 5);
}

FIXTURE_TEST(many_control_groups_have_several_packets)
{
	struct wait_row *rows = calloc(1000, sizeof(*rows));
	uint64_t lost = 0, sum = 0;

	start_by_group();
	for (uint64_t id = 1; id <= 500; id++)
		add_group_waits(id, CGROUP_WAIT_OWN, 1, 1, 1024);
	rig_read();
	assert_int_equal(read_wait_rows(rows, 1000, &lost), 500);
	for (unsigned i = 0; i < 500; i++)
		sum += rows[i].group;
	assert_int_equal(sum, 500 * 501 / 2);
	assert_true(fake.n > 500 / 64);
	free(rows);
}

FIXTURE_TEST(an_idle_control_group_makes_room_and_comes_back)
{
	struct wait_row rows[4];
	uint64_t lost = 0, id = 5;

	start_by_group();
	add_group_waits(5, CGROUP_WAIT_OWN, 1, 1, 1024);
	for (unsigned i = 0; i < 12; i++)
		rig_read();
	assert_null(fake_find(fake_map("cgroup_waits"), &id));
	add_group_waits(5, CGROUP_WAIT_OWN, 1, 1, 1024);
	rig_read();
	assert_int_equal(read_wait_rows(rows, 4, &lost), 2);
	assert_int_equal(rows[1].total, 1024);
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
