/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of ProcessTree: of a scan, and of tasks that the metadata bus names. */
#include <pthread.h>
#include <sys/prctl.h>

#include "base/event_loop/time_slice.h"
#include "base/system/outside_reads.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/process_rig.h"

#define RECORDED "tests/data/procfs/recorded"

FIXTURE_TEST(options_of_the_rows)
{
	env.proc_root = RECORDED;
	stats.skip_main_thread_message = true;
	stats.record_thread_names = false;
	stats.record_process_age = true;
	start_and_run();
	assert_process(
		28864, 1,
		"ppid 28858 cmdline database server|--flag|two words uid 0 process_start_from_boot "
		"2628790000000 is_kthread 0");
	assert_int_equal(thread_rows(28864), 0);
	destroy();
	fake_reset_packets();
	env.proc_root = proc_root;
	put_threads(70, 2);
	proc_remove("70/task/71/comm"); /* not needed without names */
	start_and_run();
	assert_thread(71, 1, "tgid 70");
}

FIXTURE_TEST(every_process_and_thread_of_proc)
{
	static const char *const no_tasks[] = {"self",	     "1a",	    "-5", "0",
					       "4294967296", "99999999999", "fs", "+7"};

	for (size_t i = 0; i < ARRAY_SIZE(no_tasks); i++)
		proc_put("", 0, "%s/status", no_tasks[i]);
	proc_put("", 0, "12"); /* a file, not a directory */
	put_threads(100, 1);
	put_threads(200, 500); /* more names than one read of the directory returns */
	put_threads(800, 2);
	start_and_run();
	assert_int_equal(n_processes(), 3);
	assert_int_equal(n_threads(), 503);
	assert_thread(200, 1, "name main tgid 200");
	assert_thread(699, 1, "name thread tgid 200");
	assert_int_equal(fake.started, 1);
}

FIXTURE_TEST(an_empty_proc)
{
	start_and_run();
	assert_int_equal(fake.n, 0);
	assert_int_equal(fake.started, 1);
}

/* More threads than status says, or fewer: all are listed. */
FIXTURE_TEST(a_wrong_number_of_threads)
{
	put_threads(10, 5);
	proc_put_task((struct proc_task){.pid = 10, .name = "main", .threads = 9});
	put_threads(20, 5);
	proc_put_task((struct proc_task){.pid = 20, .name = "main", .threads = 2});
	start_and_run();
	for (int i = 0; i < 5; i++)
		assert_int_equal(thread_rows(10 + i), 1);
	assert_true(thread_rows(21) + thread_rows(22) + thread_rows(23) + thread_rows(24) >= 1);
}

/* A task may exit, or refuse access, between any two reads. */
FIXTURE_TEST(files_that_are_missing)
{
	put_threads(10, 1);
	proc_remove("10/cmdline");
	put_threads(20, 3);
	proc_remove("20/task");
	put_threads(30, 3);
	proc_remove("30/task/31/comm");
	proc_put("no colon in this", 16, "40/status");
	put_threads(50, 1);
	proc_put("Name:\tx\nTgid:\t9\nPid:\t9\n", 23, "60/status"); /* of another task */
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"}); /* a thread */
	start_and_run();
	assert_process(10, 1, "ppid 1 cmdline main cmdline_is_comm 1 uid 1000 is_kthread 0");
	assert_int_equal(process_rows(20), 1);
	assert_int_equal(thread_rows(31), 0);
	assert_int_equal(thread_rows(32), 1);
	assert_int_equal(process_rows(50), 1);
	assert_int_equal(n_processes(), 4);
}

/* A task in 65,536 groups has a line of 700 kB before the lines that matter. */
FIXTURE_TEST(a_status_of_many_groups)
{
	size_t room = (1u << 20) + 4096, n;
	char *text = calloc(1, room);

	n = (size_t)sprintf(text, "Name:\tx\nTgid:\t5\nPid:\t5\nGroups:\t");
	for (unsigned g = 0; g < 65536; g++)
		n += (size_t)sprintf(text + n, "%u ", 4294900000u + g);
	n += (size_t)sprintf(text + n, "\nNSpid:\t5\t6\nKthread:\t1\n");
	proc_put(text, n, "5/status");
	/* No kernel writes a text of this size. */
	proc_put(text, room, "6/status");
	free(text);
	capture_log();
	start_and_run();
	assert_int_equal(captured("/proc/PID/status: "), 1);
	assert_process(5, 1, "cmdline x cmdline_is_comm 1 nspid 6 is_kthread 1");
	assert_int_equal(process_rows(6), 0);
}

FIXTURE_TEST(a_long_command_line_is_cut)
{
	enum { LIMIT = 128 << 10 };
	static const size_t sizes[] = {1, 4095, 4096, 4097, 8193, LIMIT - 1, LIMIT, LIMIT + 1};
	static char text[LIMIT + 1];
	struct pb_field row, f;

	memset(text, 'x', sizeof(text));
	stats.scan_all_processes_on_start = false;
	create_and_start();
	for (int i = 0; i < (int)ARRAY_SIZE(sizes); i++) {
		proc_put_task((struct proc_task){.pid = 70 + i, .name = "x"});
		proc_put(text, sizes[i], "%d/cmdline", 70 + i);
		publish_tid(70 + i);
		assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_PROCESSES,
					   PB_PROCESS_TREE_PROCESS_PID, 70 + i, &row),
				 1);
		fake_field(row.data, row.len, PB_PROCESS_TREE_PROCESS_CMDLINE, 0, &f);
		assert_int_equal(f.len, MIN(sizes[i], (size_t)LIMIT));
	}
}

/* A packet takes tasks up to a size, and has the times before and after their files were read. */
FIXTURE_TEST(packets_have_a_size_and_two_times)
{
	uint64_t before = clock_boot_ns();
	struct pb_field tree;

	put_threads(100, 4000);
	start_and_run();
	assert_true(fake.n > 3);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		assert_true(p.len < (16 << 10) + 64);
		assert_int_equal(packet_is_cleared(i), i == 0);
		assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_TREE, 0, &tree));
		assert_true(packet_time(i) >= before);
		before = fake_u64(tree, PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP);
		assert_true(before >= packet_time(i));
	}
}

FIXTURE_TEST(processes_that_exit_during_the_scan)
{
	for (int i = 1; i <= 50; i++)
		put_threads(i * 100, 10);
	fake.packet_ns = TIME_SLICE_NS;
	create_and_start();
	event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.started, 0);
	for (int i = 1; i <= 50; i += 2)
		proc_remove("%d", i * 100);
	run_loop();
	assert_int_equal(fake.started, 1);
	for (int i = 2; i <= 50; i += 2) {
		assert_int_equal(process_rows(i * 100), 1);
		assert_int_equal(thread_rows(i * 100 + 9), 1);
	}
}

/* ---- tasks that the bus names ---- */

FIXTURE_TEST(tasks_that_ran_are_written_once)
{
	static const int32_t tids[] = {2, 0, -1, INT32_MIN, INT32_MAX, 999, 71, 72, 2};

	stats.scan_all_processes_on_start = false;
	put_processes(3);
	put_threads(70, 2);
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a b"});
	proc_put_task((struct proc_task){.pid = 90, .tid = 72, .name = "c"}); /* without leader */
	create_and_start();
	publish(NULL, 0, tids, ARRAY_SIZE(tids));
	publish(NULL, 0, tids, ARRAY_SIZE(tids));
	run_loop();
	assert_int_equal(process_rows(2), 1);
	/* A thread brings its process. */
	assert_int_equal(process_rows(70), 1);
	assert_thread(71, 1, "name a b tgid 70");
	assert_thread(72, 1, "name c tgid 90");
	assert_int_equal(n_processes(), 2);
	/* The first time it had exited. */
	proc_put_task((struct proc_task){.pid = 999, .name = "late"});
	publish(NULL, 0, tids, ARRAY_SIZE(tids));
	run_loop();
	assert_int_equal(process_rows(999), 1);
	/* A clear begins a new state. */
	source->clear(instance);
	publish_tid(999);
	assert_int_equal(process_rows(999), 2);
	assert_true(packet_is_cleared(fake.n - 1));
}

/* Above the limit of waiting tasks further ones are dropped, until the next event. */
FIXTURE_TEST(more_tasks_than_can_wait)
{
	enum { WAITING_MAX = 1 << 16, MORE = 100 };
	static int32_t tids[WAITING_MAX + MORE];

	stats.scan_all_processes_on_start = false;
	for (int i = 0; i < WAITING_MAX + MORE; i++)
		tids[i] = i + 1;
	proc_put_task((struct proc_task){.pid = WAITING_MAX, .name = "x"});
	proc_put_task((struct proc_task){.pid = WAITING_MAX + MORE, .name = "x"});
	create_and_start();
	publish(NULL, 0, tids, ARRAY_SIZE(tids));
	run_loop();
	assert_int_equal(process_rows(WAITING_MAX), 1);
	assert_int_equal(process_rows(WAITING_MAX + MORE), 0);
	publish_tid(WAITING_MAX + MORE);
	run_loop();
	assert_int_equal(process_rows(WAITING_MAX + MORE), 1);
}

/* ---- the real /proc ---- */

enum { NAMED = 70 }; /* more than one request to the kernel has */

struct named {
	pthread_t thread;
	pthread_barrier_t *barrier;
	char name[16];
	int32_t tid;
};

static void *named_thread(void *arg)
{
	struct named *t = arg;

	prctl(PR_SET_NAME, t->name);
	t->tid = gettid();
	pthread_barrier_wait(t->barrier);
	pthread_barrier_wait(t->barrier);
	return NULL;
}

/* The names come from netlink if that is permitted, otherwise from files. */
FIXTURE_TEST(our_own_threads)
{
	static struct named named[NAMED];
	pthread_barrier_t barrier;
	char want[64];

	env.proc_root = "/proc";
	pthread_barrier_init(&barrier, NULL, NAMED + 1);
	for (unsigned i = 0; i < NAMED; i++) {
		named[i].barrier = &barrier;
		snprintf(named[i].name, sizeof(named[i].name), "a\n) Tgid: 1 %02u", i);
		assert_int_equal(pthread_create(&named[i].thread, NULL, named_thread, &named[i]),
				 0);
	}
	pthread_barrier_wait(&barrier);
	start_and_run();
	for (unsigned i = 0; i < NAMED; i++) {
		snprintf(want, sizeof(want), "name %s tgid %d", named[i].name, getpid());
		assert_thread(named[i].tid, 1, want);
	}
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < NAMED; i++)
		pthread_join(named[i].thread, NULL);
}

/* The process that reads command lines waits for a lock: it is stopped here. The last test, because
 * that process stays. */
FIXTURE_TEST(a_command_line_that_cannot_be_read_in_time_is_read_again)
{
	uint64_t end = clock_boot_ns();
	const struct metadata_task exit_of_parent = {
		.kind = METADATA_TASK_ENDED, .tid = 28858, .time_ns = end};
	int status;

	env.proc_root = RECORDED;
	stats.scan_all_processes_on_start = false;
	assert_int_equal(outside_reads_start(), 0);
	outside_reads_set_timely(true);
	assert_int_equal(kill(outside_reads_pid(), SIGSTOP), 0);
	waitpid(outside_reads_pid(), &status, WUNTRACED);
	create_and_start();
	publish_tid(28864);
	assert_process(28864, 1,
		       "ppid 28858 cmdline Tgid:\t1\n\\x cmdline_is_comm 1 uid 0 is_kthread 0");
	event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(process_rows(28864), 1);
	publish(&exit_of_parent, 1, NULL, 0);
	assert_int_equal(kill(outside_reads_pid(), SIGCONT), 0);
	run_loop();
	assert_process(28864, 2,
		       "ppid 28858 cmdline database server|--flag|two words uid 0 is_kthread 0");
	/* Its parent has exited: the row has a time at which readers know the parent. */
	assert_int_equal(packet_time(fake.n - 1), end + 1);
}
