/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"
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

FIXTURE_TEST(every_field_of_a_process)
{
	const struct proc_status s = {
		.has = ~0u,
		.tgid = 70,
		.pid = 70,
		.ppid = 1,
		.uid = 4294967294u,
		.kthread = false,
		.n_nspid = 2,
		.nspid = {8, 1},
		.name = name_of("main"),
	};
	struct pb_field row, f;
	static const char cmdline[] = "prog\0--a b\0\0last";

	process_packet_next(&packet);
	process_packet_add_process(&packet, &(struct process_row){.status = &s,
								  .cmdline = cmdline,
								  .cmdline_len = sizeof(cmdline),
								  .has_start = true,
								  .start_from_boot_ns = 123456789});
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, &row), 1);
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_PROCESS_PPID), 1);
	assert_int_equal(fake_count(row.data, row.len, PB_PROCESS_TREE_PROCESS_CMDLINE), 3);
	assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 0, "prog"));
	assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 1, "--a b"));
	assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 2, "last"));
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM));
	/* int32 of the format. */
	assert_true(fake_u64(row, PB_PROCESS_TREE_PROCESS_UID) == (uint64_t)(int64_t)-2);
	assert_true(fake_field(row.data, row.len, PB_PROCESS_TREE_PROCESS_NSPID, 1, &f));
	assert_int_equal(f.u64, 1);
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT), 123456789);
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_PROCESS_IS_KTHREAD), 0);
}

FIXTURE_TEST(unknown_values_are_not_written)
{
	const struct proc_status s = {.tgid = 70, .pid = 70, .name = name_of("main")};
	struct pb_field row;

	process_packet_next(&packet);
	process_packet_add_process(&packet, &(struct process_row){.status = &s, .cmdline = ""});
	process_packet_add_thread(&packet, &(struct thread_row){.tid = 71, .tgid = 70});
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, &row), 1);
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_PPID));
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_UID));
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_NSPID));
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT));
	assert_false(fake_has(row, PB_PROCESS_TREE_PROCESS_IS_KTHREAD));
	/* Without arguments the name stands in. */
	assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 0, "main"));
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM), 1);
	assert_int_equal(fake_thread(71, &row), 1);
	assert_false(fake_has(row, PB_PROCESS_TREE_THREAD_NAME));
	assert_false(fake_has(row, PB_PROCESS_TREE_THREAD_NSTID));
}

FIXTURE_TEST(every_field_of_a_thread)
{
	const struct proc_name name = name_of("");
	const int32_t nstid[] = {5, 6};
	struct pb_field row;

	process_packet_next(&packet);
	process_packet_add_thread(
		&packet,
		&(struct thread_row){
			.tid = 71, .tgid = 70, .name = &name, .nstid = nstid, .n_nstid = 2});
	process_packet_end(&packet);
	assert_int_equal(fake_thread(71, &row), 1);
	assert_int_equal(fake_u64(row, PB_PROCESS_TREE_THREAD_TGID), 70);
	assert_true(fake_str_is(row, PB_PROCESS_TREE_THREAD_NAME, 0, ""));
	assert_int_equal(fake_count(row.data, row.len, PB_PROCESS_TREE_THREAD_NSTID), 2);
}
