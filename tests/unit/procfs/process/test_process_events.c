/* SPDX-License-Identifier: Apache-2.0 */
/* What is heard of a task becomes one entry, or several; what an entry becomes:
 * test_process_writer.c. */

#include "unit/procfs/writer_rig.h"
#include "procfs/process/process_queue.h"

static struct process_events events;

SETUP
{
	writer_rig_begin();
	events = (struct process_events){0};
	writer.options.thread_names = true;
}

TEARDOWN
{
	process_events_deinit(&events);
	writer_rig_end();
}

static bool one_slice(void)
{
	struct time_slice slice = time_slice_start(stepping);
	bool more = process_events_run(&events, &writer, &slice);

	process_packet_end(&packet);
	return more;
}

static size_t waiting(void)
{
	return events.n - events.next;
}

static void hear(struct metadata_task t)
{
	process_events_add(&events, &writer, &t);
}

static void hear_new(uint64_t at, int32_t tid, int32_t creator)
{
	hear((struct metadata_task){.kind = METADATA_TASK_NEW,
				    .time_ns = at,
				    .tid = tid,
				    .other = creator,
				    .name = "new"});
}

static void hear_name(uint64_t at, int32_t tid, const char *name)
{
	struct metadata_task t = {.kind = METADATA_TASK_RENAMED, .time_ns = at, .tid = tid};

	memcpy(t.name, name, strlen(name));
	hear(t);
}

static void hear_exec(uint64_t at, int32_t tid, const char *file)
{
	hear((struct metadata_task){.kind = METADATA_TASK_EXEC,
				    .time_ns = at,
				    .tid = tid,
				    .file = file,
				    .file_len = (uint32_t)strlen(file)});
}

static uint64_t time_of(size_t i)
{
	return fake_u64(fake_packet_field(i), PB_TRACE_PACKET_TIMESTAMP);
}

FIXTURE_TEST(one_life_is_one_entry)
{
	hear_new(10, 70, 7);
	hear_name(11, 70, "first");
	hear_new(12, 80, 7);
	hear_exec(13, 70, "/bin/one");
	hear_name(14, 70, "two");
	hear_exec(15, 70, "/bin/two");
	assert_int_equal(waiting(), 2);
	assert_int_equal(events.text, 8);
	assert_false(one_slice());
	assert_true(process_events_is_empty(&events));
	assert_int_equal(events.text, 0);
	assert_process(70, 1, "ppid 7 cmdline /bin/two");
	assert_thread(70, 1, "name two tgid 70");
	assert_int_equal(fake_process(80, NULL), 1);
	/* Each in its own time, right behind the event. */
	assert_int_equal(fake.n, 2);
	assert_int_equal(time_of(0), 16);
	assert_int_equal(time_of(1), 13);
}

FIXTURE_TEST(a_number_that_is_used_again)
{
	proc_put_task((struct proc_task){.pid = 8, .name = "parent"});
	/* What has the number now is not what had it first. */
	proc_put_task((struct proc_task){.pid = 70, .name = "second"});
	hear_new(10, 70, 7);
	hear_name(11, 70, "first");
	hear_new(20, 70, 8);
	hear_name(21, 70, "second");
	assert_int_equal(waiting(), 2);
	assert_false(one_slice());
	assert_process(70, 2, "ppid 8 cmdline second|arg uid 1000 kthread 0");
	assert_int_equal(time_of(0), 12);
}

FIXTURE_TEST(an_event_after_the_entry_was_served_is_a_new_entry)
{
	hear_new(10, 70, 7);
	assert_false(one_slice());
	hear_name(20, 70, "later");
	assert_int_equal(waiting(), 1);
	assert_false(one_slice());
	assert_thread(70, 2, "name later tgid 70");
}

static void hear_end(uint64_t at, int32_t tid)
{
	hear((struct metadata_task){.kind = METADATA_TASK_ENDED, .time_ns = at, .tid = tid});
}

FIXTURE_TEST(an_ended_task_is_not_read)
{
	hear_end(5, 70); /* not heard of before */
	assert_true(process_events_is_empty(&events));
	/* It may be a zombie in /proc, or its number another one's already. */
	proc_put_task((struct proc_task){.pid = 70, .name = "other"});
	hear_new(10, 70, 7);
	hear_name(11, 70, "mine");
	hear_end(12, 70);
	assert_false(one_slice());
	assert_process(70, 1, "ppid 7 cmdline mine is_comm 1");
	assert_int_equal(time_of(0), 12); /* it was so before it ended */
	hear_end(13, 70);
	assert_false(one_slice());
	assert_int_equal(fake.n, 1);
}

/* The id of the parent belongs to another task by now, which ended too. */
FIXTURE_TEST(a_parent_whose_id_was_used_again)
{
	uint64_t began = clock_boot_ns() - NS_PER_S;

	proc_put_task((struct proc_task){.pid = 70, .name = "new"});
	hear_new(began, 70, 7);
	hear_end(began + 100, 7);
	hear_new(began + 200, 7, 8);
	hear_end(began + 300, 7);
	while (one_slice())
		;
	assert_int_equal(fake_process(70, NULL), 1);
	assert_int_equal(time_of(0), began + 1);
}

/* /proc has another parent already. The row has a time at which readers know the parent. */
FIXTURE_TEST(a_parent_whose_exit_is_not_reported_yet)
{
	uint64_t began = clock_boot_ns() - 3 * NS_PER_S;

	proc_put_task((struct proc_task){.pid = 70, .name = "new"});
	hear_new(began, 70, 7);
	assert_false(one_slice()); /* writes a row of the process, and one of its thread */
	assert_int_equal(time_of(0), began + 1);
	hear_exec(began + 500, 70, "/bin/new");
	assert_false(one_slice());
	assert_int_equal(time_of(2), began + 1);
	/* Once it is reported, the time is that of the exit. */
	hear_end(began + 700, 7);
	hear_exec(began + 800, 70, "/bin/new");
	assert_false(one_slice());
	assert_int_equal(time_of(4), began + 701);
	/* Readers may have passed it on after a flush. */
	writer.flushed_ns = clock_boot_ns();
	hear_exec(began + 900, 70, "/bin/new");
	assert_false(one_slice());
	assert_true(time_of(6) >= writer.flushed_ns);
	assert_process(70, 4, "ppid 7 cmdline new|arg uid 1000 kthread 0");
}

/* A thread runs a program: its leader ends, and it goes on by that number. */
FIXTURE_TEST(an_exec_by_a_thread_after_its_leader_ended)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "prog"});
	hear_new(10, 70, 7);
	hear_end(12, 70);
	hear_name(13, 70, "prog");
	hear_exec(14, 70, "/bin/prog");
	assert_false(one_slice());
	assert_process(70, 1, "ppid 7 cmdline prog|arg uid 1000 kthread 0");
}

/* Of one that was there before the events, only /proc knows whose it is. */
FIXTURE_TEST(the_process_of_an_ended_thread_is_read)
{
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "old"});
	hear_name(11, 71, "old");
	hear_end(12, 71);
	assert_false(one_slice());
	assert_thread(71, 1, "name old tgid 70");
}

/* More than could be held comes as it was read, CPU by CPU. */
FIXTURE_TEST(a_late_start_event)
{
	pid_relations_put_process(&writer.relations, 7, 1);
	hear_name(11, 70, "mine");
	hear_exec(12, 70, "/bin/mine");
	hear_end(13, 70);
	hear_new(10, 70, 7);
	assert_int_equal(waiting(), 1);
	assert_false(one_slice());
	assert_process(70, 1, "ppid 7 cmdline /bin/mine");
	assert_thread(70, 1, "name mine tgid 70");
	assert_int_equal(time_of(0), 13);
}

FIXTURE_TEST(a_slice_is_bounded)
{
	unsigned slices = 0;

	for (int32_t i = 0; i < 1000; i++)
		hear_new(10, 100 + i, 7);
	step_ns = TIME_SLICE_NS / 10;
	do
		slices++;
	while (one_slice());
	assert_in_range(slices, 100, 200);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 1000);
	/* At least one however late it is. */
	hear_new(10, 5000, 7);
	hear_new(10, 5001, 7);
	step_ns = 2 * TIME_SLICE_NS;
	assert_true(one_slice());
	assert_false(one_slice());
}

/* Entries are found while others are served and come. */
FIXTURE_TEST(served_and_added_alternately)
{
	step_ns = TIME_SLICE_NS / 3;
	for (int32_t i = 0; i < 3000; i++) {
		hear_new(10, 100 + i, 7);
		hear_name(11, 100 + i, "mine");
		hear_name(12, 100 + i / 2, "half");
		if (i % 3 == 0)
			(void)one_slice();
		if (fake.n > FAKE_PACKETS / 2)
			fake_reset_packets();
	}
	while (one_slice())
		;
	assert_thread(3099, 1, "name mine tgid 3099");
}

FIXTURE_TEST(a_burst_is_written_in_slices_and_not_when_it_is_added)
{
	const uint32_t n = PROCESS_EVENTS_MANY + 100;
	unsigned slices = 1;
	struct pb_field row;

	/* Both have another name by now. */
	proc_put_task((struct proc_task){.pid = 50, .name = "early"});
	proc_put_task((struct proc_task){.pid = (int32_t)n, .name = "late"});
	for (uint32_t i = 1; i <= n; i++)
		hear_new(10, (int32_t)i, 70000);
	assert_int_equal(fake.n, 0);
	assert_int_equal(waiting(), n);
	step_ns = TIME_SLICE_NS / 1000;
	for (; one_slice(); slices++) {
		assert_true(waiting() >= n - slices * 1000);
		/* The first were too many for a look at what they are now. */
		assert_int_equal(fake_process(50, &row), slices == 1);
		if (slices == 1)
			assert_true(fake_str_is(row, PB_PROCESS_TREE_PROCESS_CMDLINE, 0, "new"));
		fake_reset_packets();
	}
	assert_true(slices >= n / 1000);
	assert_process((int32_t)n, 1, "ppid 70000 cmdline late|arg uid 1000 kthread 0");
	/* And what they took is not kept. */
	assert_true(events.cap <= PROCESS_EVENTS_MANY);
}

FIXTURE_TEST(more_than_may_wait)
{
	for (uint32_t i = 0; i < PROCESS_EVENTS_MAX + 100; i++)
		hear_new(10, (int32_t)i + 1, 7);
	/* The oldest were written at once. */
	assert_int_equal(waiting(), PROCESS_EVENTS_MAX);
	process_packet_end(&packet);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 100);
	assert_int_equal(fake_process(100, NULL), 1);
	assert_int_equal(fake_process(101, NULL), 0);
}

FIXTURE_TEST(long_names_of_files)
{
	char *file = malloc(4096);
	size_t n = 2 * PROCESS_EVENTS_TEXT_MAX / 4095;

	memset(file, 'x', 4095);
	file[4095] = '\0';
	for (size_t i = 0; i < n; i++)
		hear_exec(10, (int32_t)i + 1, file);
	assert_true(events.text < PROCESS_EVENTS_TEXT_MAX + 4096);
	assert_true(waiting() < n);
	/* Again and again by one task: the last one counts. */
	for (size_t i = 0; i < n; i++)
		hear_exec(10, (int32_t)n, file);
	assert_true(events.text < PROCESS_EVENTS_TEXT_MAX + 4096);
	while (one_slice())
		;
	assert_int_equal(events.text, 0);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), n);
	free(file);
}

FIXTURE_TEST(a_file_without_a_name)
{
	hear_new(10, 70, 7);
	hear((struct metadata_task){.kind = METADATA_TASK_EXEC, .time_ns = 11, .tid = 70});
	assert_false(one_slice());
	assert_process(70, 1, "ppid 7 cmdline new is_comm 1");
}

FIXTURE_TEST(forgotten_while_it_waits)
{
	hear_new(10, 70, 7);
	hear_exec(11, 70, "/bin/true"); /* a sanitizer sees whether it is freed */
}
