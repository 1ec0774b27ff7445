/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/procfs/process_rows.h"
#include "procfs/process/process_packet.h"

static struct process_packet packet;

SETUP
{
	fake_reset();
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL), .new_state = true};
}

TEARDOWN
{
	writer_free(packet.w);
	fake_reset();
}

static struct proc_name name_of(const char *s)
{
	struct proc_name n = {.len = (uint8_t)strlen(s)};

	memcpy(n.s, s, n.len);
	return n;
}

static struct pb_field tree_of(size_t i)
{
	struct pb_field p = fake_packet_field(i), t = {0};

	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_TREE, 0, &t));
	return t;
}

FIXTURE_TEST(a_packet_has_the_time_before_and_after)
{
	uint64_t before = clock_boot_ns(), first, end;
	struct pb_field p;

	process_packet_next(&packet);
	first = clock_boot_ns();
	process_packet_next(&packet); /* a task of which nothing was left to write */
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 71, .tgid = 70});
	end = clock_boot_ns();
	process_packet_end(&packet);
	p = fake_packet_field(0);
	assert_in_range(fake_u64(p, PB_TRACE_PACKET_TIMESTAMP), before, end);
	assert_true(fake_u64(p, PB_TRACE_PACKET_TIMESTAMP) >= first);
	assert_in_range(fake_u64(tree_of(0), PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP), end,
			clock_boot_ns());
	assert_int_equal(fake.n, 1);
}

FIXTURE_TEST(only_the_first_packet_of_a_state_says_so)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i == 2)
			packet.new_state = true;
		process_packet_next(&packet);
		process_packet_add_thread(&packet, &(struct thread_row){.tid = 71, .tgid = 70});
		process_packet_end(&packet);
		assert_int_equal(
			fake_has(fake_packet_field(i), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED),
			i % 2 == 0);
	}
}

FIXTURE_TEST(no_rows_no_packet)
{
	process_packet_next(&packet);
	process_packet_end(&packet);
	process_packet_end(&packet);
	assert_int_equal(fake.n, 0);
	assert_true(packet.new_state);
}

FIXTURE_TEST(packets_are_of_bounded_size)
{
	enum { TASKS = 5000, ROW_MAX = 64 };

	for (int i = 1; i <= TASKS; i++) {
		const struct proc_name name = name_of("fifteen letters");

		process_packet_next(&packet);
		process_packet_add_thread(
			&packet, &(struct thread_row){.tid = i, .tgid = 70, .name = &name});
	}
	process_packet_end(&packet);
	assert_true(fake.n > 5);
	for (size_t i = 0; i < fake.n; i++) {
		assert_true(fake.packets[i].len < PROCESS_PACKET_BYTES + ROW_MAX);
		assert_true(fake_has(tree_of(i), PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP));
		assert_int_equal(
			fake_has(fake_packet_field(i), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED),
			i == 0);
	}
	assert_int_equal(fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL), TASKS);
}

FIXTURE_TEST(one_kind_at_a_time)
{
	static const enum process_packet_kind kinds[] = {PROCESS_PACKET_TREE, PROCESS_PACKET_TREE,
							 PROCESS_PACKET_STATS, PROCESS_PACKET_STATS,
							 PROCESS_PACKET_TREE};
	struct pb_field p, f;

	process_packet_next(&packet);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		pb_enc_close(process_packet_row(&packet, kinds[i], 1));
	process_packet_end(&packet);
	assert_int_equal(fake.n, 3);
	assert_int_equal(fake_count(tree_of(0).data, tree_of(0).len, 1), 2);
	p = fake_packet_field(1);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &f));
	assert_int_equal(fake_count(f.data, f.len, PB_PROCESS_STATS_PROCESSES), 2);
	assert_true(fake_has(f, PB_PROCESS_STATS_COLLECTION_END_TIMESTAMP));
	assert_false(fake_has(p, PB_TRACE_PACKET_PROCESS_TREE));
	assert_int_equal(fake_count(tree_of(2).data, tree_of(2).len, 1), 1);
}

FIXTURE_TEST(a_reported_state_is_a_packet_of_its_own)
{
	struct pb_field p;

	process_packet_next(&packet);
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 71, .tgid = 70});
	process_packet_next_at(&packet, 5000);
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 72, .tgid = 70});
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 73, .tgid = 70});
	process_packet_next_at(&packet, 4000);
	process_packet_next_at(&packet, 6000); /* of the one before there was nothing to write */
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 74, .tgid = 70});
	process_packet_next(&packet);
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 75, .tgid = 70});
	process_packet_next_at(&packet, 0); /* nobody knows when: now */
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 76, .tgid = 70});
	process_packet_end(&packet);
	assert_int_equal(fake.n, 4);
	/* Right behind the event. */
	p = fake_packet_field(1);
	assert_int_equal(fake_u64(p, PB_TRACE_PACKET_TIMESTAMP), 5001);
	p = tree_of(1);
	assert_int_equal(fake_count(p.data, p.len, PB_PROCESS_TREE_THREADS), 2);
	assert_false(fake_has(p, PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP));
	assert_int_equal(fake_u64(fake_packet_field(2), PB_TRACE_PACKET_TIMESTAMP), 6001);
	p = tree_of(3);
	assert_int_equal(fake_count(p.data, p.len, PB_PROCESS_TREE_THREADS), 2);
	assert_true(fake_has(p, PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP));
	assert_true(fake_has(tree_of(0), PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP));
}

FIXTURE_TEST(every_field_of_a_process)
{
	static const char cmdline[] = "prog\0--a b\0\0last";
	const struct proc_status s = {
		.has = ~0u,
		.tgid = 70,
		.pid = 70,
		.ppid = 1,
		.uid = 4294967294u, /* int32 in the trace */
		.n_nspid = 2,
		.nspid = {8, 1},
		.name = name_of("main"),
	};

	process_packet_next(&packet);
	process_packet_add_process(&packet, &(struct process_row){.status = &s,
								  .cmdline = cmdline,
								  .cmdline_len = sizeof(cmdline),
								  .has_start = true,
								  .start_from_boot_ns = 123456789});
	process_packet_end(&packet);
	assert_process(70, 1,
		       "ppid 1 cmdline prog|--a b|last uid -2 nspid 8|1 start 123456789 kthread 0");
}

/* Without arguments the name stands in. */
FIXTURE_TEST(unknown_values_are_not_written)
{
	const struct proc_status s = {.tgid = 70, .pid = 70, .name = name_of("main")};

	process_packet_next(&packet);
	process_packet_add_process(&packet, &(struct process_row){.status = &s, .cmdline = ""});
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 71, .tgid = 70});
	process_packet_end(&packet);
	assert_process(70, 1, "cmdline main is_comm 1");
	assert_thread(71, 1, "tgid 70");
}

FIXTURE_TEST(every_field_of_a_thread)
{
	const struct proc_name name = name_of("");
	const int32_t nstid[] = {5, 6};
	const struct thread_row row = {
		.tid = 71, .tgid = 70, .name = &name, .nstid = nstid, .n_nstid = 2};

	process_packet_next(&packet);
	process_packet_add_thread(&packet, &row);
	process_packet_end(&packet);
	assert_thread(71, 1, "name  tgid 70 nstid 5|6");
}
