/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "base/system/outside_reads.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/process_rows.h"
#include "procfs/process/process_writer.h"

#define RECORDED "tests/data/procfs/recorded"

static struct proc_files files;
static struct process_packet packet;
static struct process_writer writer;

static int begin(const char *root)
{
	fake_reset();
	writer = (struct process_writer){
		.options = {.thread_names = true}, .files = &files, .packet = &packet};
	packet = (struct process_packet){.w = writer_new(NULL, 1, WRITER_STALL)};
	return proc_files_init(&files, root);
}

static int setup(void **state)
{
	proc_new();
	return begin(proc_root);
}

static int setup_recorded(void **state)
{
	proc_root[0] = '\0';
	return begin(RECORDED);
}

static int teardown(void **state)
{
	process_packet_end(&packet);
	proc_files_deinit(&files);
	process_writer_deinit(&writer);
	writer_free(packet.w);
	fake_reset();
	if (proc_root[0])
		proc_remove_all();
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup_recorded, teardown)
#define TEST_SETUP(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(a_leader_is_a_process_and_a_thread)
{
	process_writer_write_task(&writer, 28864);
	process_packet_end(&packet);
	assert_process(28864, 1,
		       "ppid 28858 cmdline database server|--flag|two words uid 0 kthread 0");
	assert_thread(28864, 1, "name Tgid:\t1\n\\x tgid 28864");
}

FIXTURE_TEST(the_leader_without_its_thread)
{
	writer.options.skip_main_thread = true;
	process_writer_write_task(&writer, 28864);
	process_writer_write_task(&writer, 28864);
	process_packet_end(&packet);
	assert_int_equal(fake_process(28864, NULL), 1);
	assert_int_equal(fake_thread(28864, NULL), 0);
}

FIXTURE_TEST(a_kernel_thread_is_named_by_its_comm)
{
	process_writer_write_task(&writer, 2);
	process_writer_write_task(&writer, 10);
	process_packet_end(&packet);
	assert_process(2, 1, "ppid 0 cmdline kthreadd is_comm 1 uid 0 kthread 1");
	assert_process(10, 1,
		       "ppid 2 cmdline kworker/0:0H-events_highpri is_comm 1 uid 0 kthread 1");
}

FIXTURE_TEST(a_process_in_a_namespace)
{
	process_writer_write_task(&writer, 28868);
	process_packet_end(&packet);
	assert_process(28868, 1, "ppid 28865 cmdline sleep|30 uid 0 nspid 1 kthread 0");
	assert_thread(28868, 1, "name sleep tgid 28868 nstid 1");
}

FIXTURE_TEST(the_age_if_requested)
{
	writer.options.age = true;
	files.ns_per_tick = 10000000;
	process_writer_write_task(&writer, 28864);
	process_packet_end(&packet);
	assert_process(28864, 1,
		       "ppid 28858 cmdline database server|--flag|two words uid 0 start "
		       "2628790000000 kthread 0");
}

FIXTURE_TEST(each_task_once)
{
	struct proc_status status;

	for (unsigned i = 0; i < 3; i++) {
		process_writer_write_task(&writer, 2);
		process_writer_write_task(&writer, 28864);
		assert_true(process_writer_write_process(&writer, 28864, &status));
	}
	assert_int_equal(status.threads, 3);
	process_packet_end(&packet);
	assert_int_equal(fake_process(2, NULL), 1);
	assert_int_equal(fake_process(28864, NULL), 1);
	assert_int_equal(fake_thread(28864, NULL), 1);
}

TEST_SETUP(a_thread_brings_its_process)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "main", .threads = 3});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a b", .threads = 3});
	proc_put_task((struct proc_task){.pid = 70, .tid = 72, .name = "c", .threads = 3});
	process_writer_write_task(&writer, 71);
	process_writer_write_task(&writer, 72);
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, NULL), 1);
	assert_int_equal(fake_process(71, NULL), 0);
	assert_int_equal(fake_thread(70, NULL), 1);
	assert_thread(71, 1, "name a b tgid 70");
	assert_int_equal(fake_thread(72, NULL), 1);
}

/* The leader may have ended before its threads, and its files may be gone. */
TEST_SETUP(a_thread_without_its_process)
{
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"});
	process_writer_write_task(&writer, 71);
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, NULL), 0);
	assert_thread(71, 1, "name a tgid 70");
}

/* Of the folder of its process' threads, if there is one. */
static void name_thread(int32_t pid, int32_t tid, bool namespaced)
{
	struct pid_list threads = {0};

	if (pid_list_open(&threads, files.root, pid) < 0)
		return;
	process_writer_write_thread(&writer, &threads, tid, namespaced);
	pid_list_close(&threads);
}

TEST_SETUP(what_is_gone_is_asked_for_again)
{
	process_writer_write_task(&writer, 70);
	name_thread(70, 71, false);
	proc_put("", 0, "70/task/none");
	name_thread(70, 71, false);
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"});
	process_writer_write_task(&writer, 70);
	name_thread(70, 71, false);
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, NULL), 1);
	assert_int_equal(fake_thread(71, NULL), 1);
}

/* Between readdir and open the number of a process went to a thread of another one. */
TEST_SETUP(a_pid_that_another_task_has_now)
{
	struct proc_status status;

	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"});
	assert_false(process_writer_write_process(&writer, 71, &status));
	/* And a file that is of somebody else altogether. */
	proc_put("Name:\tx\nTgid:\t9\nPid:\t9\n", 23, "80/status");
	assert_false(process_writer_write_process(&writer, 80, &status));
	process_writer_write_task(&writer, 80);
	process_packet_end(&packet);
	assert_int_equal(fake.n, 0);
}

TEST_SETUP(invalid_ids_are_not_written)
{
	process_writer_write_task(&writer, 0);
	process_writer_write_task(&writer, -1);
	process_writer_write_task(&writer, INT32_MIN);
	process_writer_write_task(&writer, INT32_MAX);
	process_packet_end(&packet);
	assert_int_equal(fake.n, 0);
}

static void forget(int32_t tid)
{
	pid_set_remove(&writer.seen, tid);
}

TEST_SETUP(a_renamed_task_is_told_again)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "before"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"});
	process_writer_write_task(&writer, 70);
	process_writer_write_task(&writer, 71);
	proc_put_task((struct proc_task){.pid = 70, .name = "after"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "b"});
	process_writer_write_task(&writer, 70);
	forget(71);
	process_writer_write_task(&writer, 71);
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, NULL), 1);
	assert_thread(71, 2, "name b tgid 70");

	forget(70);
	process_writer_write_task(&writer, 70);
	process_packet_end(&packet);
	assert_process(70, 2, "ppid 1 cmdline after|arg uid 1000 kthread 0");
}

TEST_SETUP(without_names_a_thread_is_two_numbers)
{
	writer.options.thread_names = false;
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	name_thread(70, 71, false); /* no file is read */
	process_writer_write_task(&writer, 70);
	process_packet_end(&packet);
	assert_thread(71, 1, "tgid 70");
	assert_thread(70, 1, "tgid 70");
}

TEST_SETUP(threads_in_a_namespace_have_inner_numbers)
{
	proc_put_task((struct proc_task){
		.pid = 70, .tid = 71, .name = "a\\n", .more = "NSpid:\t71\t2\t1\n"});
	name_thread(70, 71, true);
	process_packet_end(&packet);
	assert_thread(71, 1, "name a\n tgid 70 nstid 2|1");
}

TEST_SETUP(a_clear_begins_anew)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	process_writer_write_task(&writer, 70);
	process_packet_end(&packet);
	process_writer_clear(&writer);
	process_writer_write_task(&writer, 70);
	process_packet_end(&packet);
	assert_int_equal(fake_process(70, NULL), 2);
	assert_false(fake_has(fake_packet_field(0), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
	assert_true(fake_has(fake_packet_field(1), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
}

/* Who reads it waits for a lock of the process: the child is stopped. The last test, as the child
 * stays. */
FIXTURE_TEST(a_command_line_that_cannot_be_read_in_time_is_read_again)
{
	struct time_slice slice = time_slice_start(clock_mono_ns);
	uint64_t end = clock_boot_ns();
	int status;

	assert_int_equal(outside_reads_start(), 0);
	outside_reads_set_timely(true);
	assert_int_equal(kill(outside_reads_pid(), SIGSTOP), 0);
	waitpid(outside_reads_pid(), &status, WUNTRACED);
	process_writer_write_task(&writer, 28864);
	process_packet_end(&packet);
	assert_process(28864, 1, "ppid 28858 cmdline Tgid:\t1\n\\x is_comm 1 uid 0 kthread 0");
	assert_int_equal(writer.n_unread, 1);
	process_writer_read_again(&writer, &slice);
	assert_int_equal(writer.n_unread, 1);
	/* Its parent exits: the row has a time at which readers know the parent. */
	process_writer_task_ended(&writer, 28858, end);
	assert_int_equal(kill(outside_reads_pid(), SIGCONT), 0);
	while (writer.n_unread > 0) {
		slice = time_slice_start(clock_mono_ns);
		process_writer_read_again(&writer, &slice);
	}
	process_packet_end(&packet);
	assert_process(28864, 2,
		       "ppid 28858 cmdline database server|--flag|two words uid 0 kthread 0");
	assert_int_equal(fake_u64(fake_packet_field(fake.n - 1), PB_TRACE_PACKET_TIMESTAMP),
			 end + 1);
}
