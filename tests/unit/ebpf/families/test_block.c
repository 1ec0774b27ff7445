/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/block.h"
#include "ebpf/families/families.h"
#include "wire/pb_read.h"

static struct block_disk disk;

#define SDA (8u << 20)

static void put_disk(uint32_t id, enum block_op op)
{
	const struct block_key key = {.disk = id, .op = op};

	assert_int_equal(fake_put(fake_map("disks"), &key, &disk), 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(a_disk_and_its_operations)
{
	rig_start(&block_family);
	disk = (struct block_disk){.name = "sda", .begun = 12, .ended = 10, .bytes = 40960};
	disk.latency.buckets[20] = 10;
	put_disk(SDA, BLOCK_READ);
	disk = (struct block_disk){.name = "sda", .begun = 3, .ended = 2};
	put_disk(SDA, BLOCK_FLUSH);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/Block I/O/sda/read"), 40960);
	assert_int_equal(read_last("eBPF/Block I/O/sda/read requests"), 10);
	assert_int_equal(read_last("eBPF/Block I/O/sda/read latency p99"), 20);
	assert_int_equal(read_last("eBPF/Block I/O/sda/flush requests"), 2);
	assert_null(read_find("eBPF/Block I/O/sda/flush"));
	assert_null(read_find("eBPF/Block I/O/sda/write"));
	assert_int_equal(read_last("eBPF/Block I/O/sda/in flight"), 3);
	rig_read();
	assert_int_equal(read_last("eBPF/Block I/O/sda/read latency p99"), 0);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

FIXTURE_TEST(histogram_rows_are_by_disk_and_operation)
{
	unsigned found = 0;

	rig.run.histogram_rows = true;
	rig_start(&block_family);
	disk = (struct block_disk){.name = "sda", .begun = 2, .ended = 2, .latency_ns = 41};
	disk.latency.buckets[20] = 2;
	put_disk(SDA, BLOCK_READ);
	assert_int_equal(rig_read(), 0);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field packet = fake_packet_field(i), device, operation;
		struct pb_field rows = pb_inner_field(&packet, PB_TRACE_PACKET_EBPF_HISTOGRAM_ROWS);
		uint64_t sum = 0;

		if (!rows.data)
			continue;
		device = pb_inner_field(&rows, PB_EBPF_HISTOGRAM_ROWS_DEVICE);
		operation = pb_inner_field(&rows, PB_EBPF_HISTOGRAM_ROWS_OPERATION);
		pb_read(&rows, PB_TO(PB_EBPF_HISTOGRAM_ROWS_SUM_NS, &sum));
		assert_true(pb_field_is(&device, "sda") && pb_field_is(&operation, "read"));
		assert_int_equal(sum, 41);
		found++;
	}
	assert_int_equal(found, 1);
}

/* The name comes from the kernel, and an operation that we do not know is none. */
FIXTURE_TEST(contents_of_maps_are_checked)
{
	rig_start(&block_family);
	memset(&disk, 'x', sizeof(disk.name));
	disk.begun = disk.ended = 1;
	put_disk(SDA, BLOCK_WRITE);
	put_disk(SDA, (enum block_op)99);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(
		read_last("eBPF/Block I/O/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/write requests"), 1);
}

FIXTURE_TEST(more_ended_than_began)
{
	rig_start(&block_family);
	disk = (struct block_disk){.name = "sda", .begun = 1, .ended = 3};
	put_disk(SDA, BLOCK_READ);
	rig_read();
	assert_int_equal(read_last("eBPF/Block I/O/sda/in flight"), 0);
}

FIXTURE_TEST(processes_and_losses)
{
	const uint32_t pid = (uint32_t)getpid();
	char path[64];

	rig_start(&block_family);
	rig_read();
	fake_put(fake_map("processes"), &pid,
		 &(struct block_process){.begun = 5, .ended = 3, .read = 4096, .written = 512});
	*(struct block_lost *)fake_value("lost", 1) =
		(struct block_lost){.requests = 1, .disks = 2, .processes = 3};
	assert_int_equal(rig_read(), 0);
	snprintf(path, sizeof(path), "process %u/block read", pid);
	assert_int_equal(read_last(path), 4096);
	snprintf(path, sizeof(path), "process %u/block in flight", pid);
	assert_int_equal(read_last(path), 2);
	assert_int_equal(read_last("eBPF/block requests lost"), 1);
	assert_int_equal(read_last("eBPF/block disks lost"), 2);
	assert_int_equal(read_last("eBPF/block processes lost"), 3);
}

/* One of its maps cannot be read: the others are. */
FIXTURE_TEST(a_part_that_fails)
{
	rig_start(&block_family);
	disk = (struct block_disk){.name = "sda", .begun = 1, .ended = 1};
	put_disk(SDA, BLOCK_READ);
	fake_bpf_fail(BPF_MAP_LOOKUP_BATCH, "processes", EIO);
	fake_bpf_fail(BPF_MAP_GET_NEXT_KEY, "processes", EIO);
	assert_int_equal(rig_read(), -EIO);
	assert_int_equal(read_last("eBPF/Block I/O/sda/read requests"), 1);
}

FIXTURE_TEST(older_arguments_have_their_own_program)
{
	rig.tracepoint = "block_rq_issue";
	rig.args = 2;
	rig_start(&block_family);
	assert_int_equal(fake_count_programs("block_rq_issue_2"), 1); /* or _1: they are cut */
}
