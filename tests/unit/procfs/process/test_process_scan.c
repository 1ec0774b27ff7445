/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sys/prctl.h>

#include "unit/procfs/writer_rig.h"
#include "procfs/process/process_scan.h"

static struct process_scan scan;

SETUP
{
	writer_rig_begin();
	scan = (struct process_scan){0};
	writer.options.thread_names = true;
}

TEARDOWN
{
	process_packet_end(&packet);
	process_scan_end(&scan);
	writer_rig_end();
}

/* One time slice: true when there is more. */
static bool one_slice(void)
{
	struct time_slice slice = time_slice_start(stepping);
	bool more = process_scan_run(&scan, &writer, &slice);

	process_packet_end(&packet);
	return more;
}

static unsigned all_slices(void)
{
	unsigned slices = 1;

	assert_int_equal(process_scan_begin(&scan, &writer, false), 0);
	while (one_slice())
		slices++;
	assert_false(process_scan_is_active(&scan));
	return slices;
}

/* Threads have folders in the root of the real /proc that readdir hides. */
static void hide_threads(int first, int last)
{
	for (int tid = first; tid <= last; tid++)
		proc_remove("%d", tid);
}

static void put_process(int pid, int n_threads)
{
	proc_put_task(
		(struct proc_task){.pid = pid, .name = "main", .threads = (unsigned)n_threads});
	for (int tid = pid + 1; tid < pid + n_threads; tid++)
		proc_put_task((struct proc_task){
			.pid = pid, .tid = tid, .name = "thread", .threads = (unsigned)n_threads});
	hide_threads(pid + 1, pid + n_threads - 1);
}

FIXTURE_TEST(every_task_in_one_slice)
{
	put_process(10, 1);
	put_process(20, 5);
	put_process(30, 2);
	assert_int_equal(all_slices(), 1);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 3);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL), 8);
	for (int tid = 21; tid <= 24; tid++) {
		assert_thread(tid, 1, "name thread tgid 20");
	}
	assert_thread(20, 1, "name main tgid 20");
}

FIXTURE_TEST(an_empty_machine)
{
	assert_int_equal(all_slices(), 1);
	assert_int_equal(fake.n, 0);
}

/* Thousands of tasks, and a clock by which a time slice has time for ten. */
FIXTURE_TEST(a_slice_ends_in_time)
{
	enum { PROCESSES = 1000, THREADS = 3, A_TURN = 10 };
	unsigned rows = 0, now;

	for (int i = 1; i <= PROCESSES; i++)
		put_process(i * THREADS, THREADS);
	step_ns = TIME_SLICE_NS / A_TURN;
	assert_int_equal(process_scan_begin(&scan, &writer, false), 0);
	while (one_slice()) {
		now = fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL);
		assert_true(now - rows <= A_TURN);
		rows = now;
	}
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), PROCESSES);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL), PROCESSES * THREADS);
	assert_true(fake.n >= PROCESSES * THREADS / A_TURN);
}

FIXTURE_TEST(an_expired_slice_serves_one_task)
{
	for (int i = 1; i <= 20; i++)
		put_process(i, 1);
	step_ns = 10ull * TIME_SLICE_NS;
	assert_in_range(all_slices(), 20, 22);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 20);
}

FIXTURE_TEST(tasks_that_vanish_in_the_middle)
{
	for (int i = 1; i <= 50; i++)
		put_process(i * 100, 10);
	step_ns = TIME_SLICE_NS / 5;
	assert_int_equal(process_scan_begin(&scan, &writer, false), 0);
	assert_true(one_slice());
	/* The one whose threads are being walked, and some to come. */
	assert_true(pid_list_is_open(&scan.threads));
	for (int i = 1; i <= 50; i += 2)
		proc_remove("%d", i * 100);
	while (one_slice())
		;
	for (int i = 2; i <= 50; i += 2) {
		assert_int_equal(fake_process(i * 100, NULL), 1);
		assert_int_equal(fake_thread(i * 100 + 9, NULL), 1);
	}
}

/* Only one of a process's files can be read: it has just ended, or hides behind other rights. */
FIXTURE_TEST(files_that_are_missing)
{
	put_process(10, 1);
	proc_remove("10/cmdline");
	put_process(20, 3);
	proc_remove("20/task");
	put_process(30, 3);
	proc_remove("30/task/31/comm");
	proc_put("no colon in this", 16, "40/status");
	put_process(50, 1);
	all_slices();
	assert_process(10, 1, "ppid 1 cmdline main is_comm 1 uid 1000 kthread 0");
	assert_int_equal(fake_process(20, NULL), 1);
	assert_int_equal(fake_thread(31, NULL), 0);
	assert_int_equal(fake_thread(32, NULL), 1);
	assert_int_equal(fake_process(40, NULL), 0);
	assert_int_equal(fake_process(50, NULL), 1);
}

FIXTURE_TEST(emitted_tasks_are_skipped)
{
	struct pid_list threads = {0};

	put_process(10, 3);
	put_process(20, 1);
	process_writer_write_task(&writer, 10);
	assert_int_equal(pid_list_open(&threads, files.root, 10), 0);
	process_writer_write_thread(&writer, &threads, 12, false);
	pid_list_close(&threads);
	all_slices();
	all_slices();
	assert_int_equal(fake_process(10, NULL), 1);
	for (int tid = 10; tid <= 12; tid++)
		assert_int_equal(fake_thread(tid, NULL), 1);
	assert_int_equal(fake_process(20, NULL), 1);
}

FIXTURE_TEST(threads_in_a_namespace)
{
	proc_put_task((struct proc_task){
		.pid = 10, .name = "init", .threads = 2, .more = "NSpid:\t10\t1\n"});
	proc_put_task((struct proc_task){
		.pid = 10, .tid = 11, .name = "t", .threads = 2, .more = "NSpid:\t11\t2\n"});
	hide_threads(11, 11);
	all_slices();
	assert_thread(11, 1, "name t tgid 10 nstid 2");
}

FIXTURE_TEST(a_scan_that_is_given_up)
{
	for (int i = 1; i <= 20; i++)
		put_process(i * 10, 3);
	step_ns = TIME_SLICE_NS;
	assert_int_equal(process_scan_begin(&scan, &writer, false), 0);
	assert_true(one_slice());
	assert_true(process_scan_is_active(&scan));
	process_scan_end(&scan);
	assert_false(process_scan_is_active(&scan));
	process_scan_end(&scan);
}

enum { NAMED = 70 };

struct named {
	pthread_t thread;
	pthread_barrier_t *barrier;
	char name[16];
	int32_t tid;
};

static void *be_named(void *arg)
{
	struct named *t = arg;

	prctl(PR_SET_NAME, t->name);
	t->tid = gettid();
	pthread_barrier_wait(t->barrier);
	pthread_barrier_wait(t->barrier);
	return NULL;
}

static void expect_named(const struct named *named)
{
	char want[64];

	for (unsigned i = 0; i < NAMED; i++) {
		snprintf(want, sizeof(want), "name %s tgid %d", named[i].name, getpid());
		assert_thread(named[i].tid, 1, want);
	}
}

/* Of the real machine: where the kernel may be checks for names, and where it may not. */
FIXTURE_TEST(threads_by_the_kernel_and_by_their_files)
{
	static struct named named[NAMED];
	pthread_barrier_t barrier;

	proc_files_deinit(&files);
	assert_int_equal(proc_files_init(&files, "/proc"), 0);
	pthread_barrier_init(&barrier, NULL, NAMED + 1);
	for (unsigned i = 0; i < NAMED; i++) {
		named[i].barrier = &barrier;
		snprintf(named[i].name, sizeof(named[i].name), "a\n) Tgid: 1 %02u", i);
		assert_int_equal(pthread_create(&named[i].thread, NULL, be_named, &named[i]), 0);
	}
	pthread_barrier_wait(&barrier);
	all_slices();
	expect_named(named);
	fake_reset_packets();
	process_writer_clear(&writer);
	files.own_numbers = false;
	assert_int_equal(process_scan_begin(&scan, &writer, false), 0);
	assert_false(scan.taskstats.open);
	while (one_slice())
		;
	expect_named(named);
	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < NAMED; i++)
		pthread_join(named[i].thread, NULL);
}
