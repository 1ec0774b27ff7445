/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of tasks that start, change their names, execute a program or exit: which rows, from
 * which source, with which time.
 */
#include "base/event_loop/time_slice.h"
#include "unit/procfs/process_rig.h"

/* Events, in a notation that fits into one line. */

static struct metadata_task start_of(uint64_t ns, int32_t pid, int32_t creator, const char *name)
{
	struct metadata_task t = {
		.kind = METADATA_TASK_NEW, .time_ns = ns, .tid = pid, .other = creator};

	memcpy(t.name, name, strnlen(name, sizeof(t.name)));
	return t;
}

static struct metadata_task thread_of(uint64_t ns, int32_t tid, int32_t creator, const char *name)
{
	struct metadata_task t = start_of(ns, tid, creator, name);

	t.is_thread = true;
	return t;
}

static struct metadata_task sibling_of(uint64_t ns, int32_t pid, int32_t creator, const char *name)
{
	struct metadata_task t = start_of(ns, pid, creator, name);

	t.is_sibling = true;
	return t;
}

static struct metadata_task name_of(uint64_t ns, int32_t tid, const char *name)
{
	struct metadata_task t = start_of(ns, tid, 0, name);

	t.kind = METADATA_TASK_RENAMED;
	return t;
}

static struct metadata_task exec_of(uint64_t ns, int32_t tid, const char *file)
{
	return (struct metadata_task){.kind = METADATA_TASK_EXEC,
				      .time_ns = ns,
				      .tid = tid,
				      .file = file,
				      .file_len = (uint32_t)strlen(file)};
}

static struct metadata_task exit_of(uint64_t ns, int32_t tid)
{
	return (struct metadata_task){.kind = METADATA_TASK_ENDED, .time_ns = ns, .tid = tid};
}

/* Publishes the events together, and waits until they are written. */
#define EVENTS(...)                                                                                \
	do {                                                                                       \
		const struct metadata_task events_[] = {__VA_ARGS__};                              \
		publish(events_, ARRAY_SIZE(events_), NULL, 0);                                    \
		run_loop();                                                                        \
	} while (0)

static void start_without_scan(void)
{
	stats.scan_all_processes_on_start = false;
	create_and_start();
}

static uint64_t last_time(void)
{
	return packet_time(fake.n - 1);
}

/* ---- tasks that have exited: the events are all there is ---- */

FIXTURE_TEST(one_life_is_one_row)
{
	start_without_scan();
	EVENTS(start_of(10, 70, 7, "new"), name_of(11, 70, "first"), start_of(12, 80, 7, "new"),
	       exec_of(13, 70, "/bin/one"), name_of(14, 70, "two"), exec_of(15, 70, "/bin/two"));
	assert_process(70, 1, "ppid 7 cmdline /bin/two");
	assert_thread(70, 1, "name two tgid 70");
	assert_process(80, 1, "ppid 7 cmdline new cmdline_is_comm 1");
	/* Each has a packet with the time right behind its last event. */
	assert_int_equal(fake.n, 2);
	assert_int_equal(packet_time(0), 16);
	assert_int_equal(packet_time(1), 13);
	/* A later event is another row; the parent stays. */
	EVENTS(exec_of(30, 70, "/bin/other"), name_of(30, 70, "other"));
	assert_process(70, 2, "ppid 7 cmdline /bin/other");
	assert_int_equal(last_time(), 31);
	/* With a new name alone, the command line still holds. */
	EVENTS(name_of(40, 70, "own"));
	assert_int_equal(process_rows(70), 2);
	assert_thread(70, 3, "name own tgid 70");
	/* A name that stands for the command line changes with the name. */
	EVENTS(name_of(41, 80, "second"));
	assert_process(80, 2, "ppid 7 cmdline second cmdline_is_comm 1");
	/* An exec whose file has no name. */
	EVENTS(start_of(50, 90, 7, "new"), exec_of(51, 90, ""));
	assert_process(90, 1, "ppid 7 cmdline new cmdline_is_comm 1");
}

FIXTURE_TEST(options_of_the_rows)
{
	stats.record_process_age = true;
	stats.skip_main_thread_message = true;
	stats.record_thread_names = false;
	start_without_scan();
	EVENTS(start_of(100, 80, 7, "older"), thread_of(110, 81, 80, "worker"));
	assert_process(80, 1, "ppid 7 cmdline older cmdline_is_comm 1 process_start_from_boot 100");
	assert_int_equal(thread_rows(80), 0);
	assert_thread(81, 1, "tgid 80");
}

FIXTURE_TEST(parents_and_processes)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	start_without_scan();
	/* The creator's process is read from /proc, and written. */
	EVENTS(thread_of(200, 72, 70, "worker"));
	assert_int_equal(process_rows(70), 1);
	assert_thread(72, 1, "name worker tgid 70");
	assert_int_equal(last_time(), 201);
	/* From then on it is known, also for what its threads create. */
	proc_remove("70");
	EVENTS(thread_of(210, 73, 72, "other"), start_of(211, 80, 73, "child"));
	assert_thread(73, 1, "name other tgid 70");
	assert_process(80, 1, "ppid 70 cmdline child cmdline_is_comm 1");
	EVENTS(name_of(220, 73, "renamed"));
	assert_thread(73, 2, "name renamed tgid 70");
	assert_int_equal(process_rows(73), 0);
	/* CLONE_PARENT: the parent of the creator. */
	EVENTS(sibling_of(230, 81, 80, "twin"));
	assert_process(81, 1, "ppid 70 cmdline twin cmdline_is_comm 1");
	EVENTS(sibling_of(240, 82, 999, "twin"));
	assert_process(82, 1, "cmdline twin cmdline_is_comm 1");
	/* Nothing is known of these threads' process, nor whether the second is a thread. */
	EVENTS(thread_of(250, 91, 998, "worker"), name_of(251, 92, "stranger"));
	assert_int_equal(thread_rows(91) + thread_rows(92), 0);
	/* A creator that is unknown was most likely a process. */
	EVENTS(start_of(260, 93, 998, "child"));
	assert_process(93, 1, "ppid 998 cmdline child cmdline_is_comm 1");
	/* A child of kthreadd is a kernel thread. */
	EVENTS(start_of(270, 94, 2, "kthread"));
	assert_process(94, 1, "ppid 2 cmdline kthread cmdline_is_comm 1 is_kthread 1");
}

FIXTURE_TEST(a_reused_id)
{
	start_without_scan();
	EVENTS(start_of(10, 70, 7, "first"), start_of(15, 8, 1, "parent"),
	       thread_of(20, 70, 8, "second"));
	assert_process(70, 1, "ppid 7 cmdline first cmdline_is_comm 1");
	assert_thread(70, 2, "name second tgid 8");
	EVENTS(start_of(30, 70, 8, "third"));
	assert_process(70, 2, "ppid 8 cmdline third cmdline_is_comm 1");
	/* The first two are written from events: the id belongs to the last one. */
	proc_put_task((struct proc_task){.pid = 71, .name = "second"});
	EVENTS(start_of(40, 71, 7, "new"), name_of(41, 71, "first"), start_of(50, 71, 8, "new"),
	       name_of(51, 71, "second"));
	assert_process(71, 2, "ppid 8 cmdline second|arg uid 1000 is_kthread 0");
	assert_int_equal(packet_time(fake.n - 3), 42);
	/* A process started, but a thread has the id now. */
	proc_put_task((struct proc_task){.pid = 70, .tid = 72, .name = "other"});
	EVENTS(start_of(60, 72, 7, "mine"));
	assert_process(72, 1, "ppid 7 cmdline mine cmdline_is_comm 1");
}

FIXTURE_TEST(a_task_that_ended_is_not_read)
{
	start_without_scan();
	EVENTS(exit_of(5, 70));
	assert_int_equal(fake.n, 0);
	/* Its directory is that of a zombie, or its id is that of another task by now. */
	proc_put_task((struct proc_task){.pid = 70, .name = "other"});
	EVENTS(start_of(10, 70, 7, "new"), name_of(11, 70, "mine"), exit_of(12, 70));
	assert_process(70, 1, "ppid 7 cmdline mine cmdline_is_comm 1");
	assert_int_equal(last_time(), 12); /* before the exit */
	EVENTS(exit_of(13, 70));
	assert_int_equal(fake.n, 1);
	/* /proc must be read if nothing else says to which process the thread belonged. */
	proc_put_task((struct proc_task){.pid = 80, .tid = 81, .name = "old"});
	EVENTS(name_of(11, 81, "old"), exit_of(12, 81));
	assert_thread(81, 1, "name old tgid 80");
}

/* Above the limits of the publisher events come CPU by CPU: the start is the last one here. */
FIXTURE_TEST(a_start_that_is_reported_late)
{
	start_without_scan();
	EVENTS(name_of(11, 70, "mine"), exec_of(12, 70, "/bin/mine"), exit_of(13, 70),
	       start_of(10, 70, 7, "new"));
	assert_process(70, 1, "ppid 7 cmdline /bin/mine");
	assert_thread(70, 1, "name mine tgid 70");
	assert_int_equal(last_time(), 13);
}

/* A thread that executes a program takes over the id of its leader. */
FIXTURE_TEST(an_exec_by_a_thread)
{
	struct metadata_task exec = exec_of(20, 70, "/bin/prog");

	start_without_scan();
	EVENTS(start_of(10, 70, 7, "main"), thread_of(11, 71, 70, "worker"));
	exec.other = 71;
	EVENTS(exec);
	assert_process(70, 2, "ppid 7 cmdline /bin/prog");
	/* The thread's id is free: a new name of it is that of an unknown task. */
	EVENTS(name_of(30, 71, "stranger"));
	assert_int_equal(thread_rows(71), 1);
	EVENTS(exec_of(40, 80, "/bin/prog"));
	assert_process(80, 1, "cmdline /bin/prog");
	/* The leader had ended before: the process goes on, and exists. */
	proc_put_task((struct proc_task){.pid = 90, .name = "prog"});
	EVENTS(start_of(50, 90, 7, "new"), exit_of(51, 90), name_of(52, 90, "prog"),
	       exec_of(53, 90, "/bin/prog"));
	assert_process(90, 1, "ppid 7 cmdline prog|arg uid 1000 is_kthread 0");
}

/* Readers would take a row without the parent for another process of the same id. */
FIXTURE_TEST(a_row_without_a_parent_awaits_the_report_of_the_start)
{
	struct metadata_task exec = exec_of(20, 70, "/bin/prog"), name = name_of(21, 70, "prog");

	exec.awaits_start = name.awaits_start = true;
	start_without_scan();
	EVENTS(exec, name);
	assert_int_equal(process_rows(70), 0);
	assert_thread(70, 1, "name prog tgid 70");
	EVENTS(start_of(10, 70, 7, "new"), exec_of(20, 70, "/bin/prog"));
	assert_process(70, 1, "ppid 7 cmdline /bin/prog");
}

FIXTURE_TEST(names_and_ids_of_any_value)
{
	struct metadata_task start = start_of(10, 70, 7, "");
	char name[16];

	memset(name, 0xff, sizeof(name)); /* without an end */
	start_without_scan();
	EVENTS(start);
	assert_thread(70, 1, "name  tgid 70");
	memcpy(start.name, name, sizeof(name));
	EVENTS(start);
	assert_thread(70, 2,
		      "name \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		      " tgid 70");
	EVENTS(start_of(20, INT32_MAX, INT32_MIN, "x"), thread_of(21, -1, 0, "x"));
	/* A start at an unknown time has the present time. */
	EVENTS(start_of(0, 80, 7, "x"));
	assert_true(last_time() > 1000);
}

/* ---- tasks that exist: their files, and the names of the events ---- */

FIXTURE_TEST(an_existing_task_is_read)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "child"});
	start_without_scan();
	EVENTS(start_of(5, 7, 1, "parent"), start_of(10, 70, 7, "child"));
	assert_process(70, 1, "ppid 7 cmdline child|arg uid 1000 is_kthread 0");
	assert_thread(70, 1, "name child tgid 70");
	/* The first known parent stays, although /proc has another one. */
	source->clear(instance);
	publish_tid(70);
	assert_process(70, 2, "ppid 1 cmdline child|arg uid 1000 is_kthread 0");
}

FIXTURE_TEST(a_name_that_changes)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "before"});
	stats.scan_all_processes_on_start = true;
	start_and_run();
	proc_put_task((struct proc_task){.pid = 70, .name = "after"});
	publish_tid(70);
	assert_int_equal(process_rows(70), 1);
	EVENTS(name_of(0, 70, "after"));
	assert_process(70, 2, "ppid 1 cmdline after|arg uid 1000 is_kthread 0");
}

/* Where they differ, the name of the event is written with its time, that of the file is not. */
FIXTURE_TEST(the_name_of_an_event_beats_the_name_of_the_file)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "file"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "file"});
	proc_put_task((struct proc_task){.pid = 80, .name = "file", .more = "NSpid:\t80\t1\n"});
	start_without_scan();
	EVENTS(start_of(200, 70, 7, "event"));
	assert_int_equal(process_rows(70), 1);
	assert_thread(70, 2, "name event tgid 70");
	assert_int_equal(last_time(), 201);
	EVENTS(thread_of(210, 71, 70, "event"));
	assert_thread(71, 2, "name event tgid 70");
	/* Ids in namespaces come with the row of the process only. */
	EVENTS(start_of(220, 80, 7, "event"));
	assert_thread(80, 2, "name event tgid 80");
	assert_int_equal(last_time(), 221);
	/* Names of kernel threads are longer in the file. */
	proc_put_task((struct proc_task){
		.pid = 90, .name = "kworker/0:0-events", .more = "Kthread:\t1\n"});
	EVENTS(start_of(230, 90, 2, "kworker/0:0"));
	assert_thread(90, 1, "name kworker/0:0-events tgid 90");
}

/* An exiting process, or one in the middle of an exec, has no command line. */
FIXTURE_TEST(a_process_without_its_command_line)
{
	proc_put_task((struct proc_task){.pid = 70, .name = "prog"});
	proc_put("", 0, "70/cmdline");
	proc_put_task((struct proc_task){.pid = 80, .name = "prog"});
	proc_put("", 0, "80/cmdline");
	start_without_scan();
	EVENTS(start_of(100, 70, 7, "prog"), exec_of(200, 70, "/bin/prog"));
	assert_process(70, 1, "ppid 7 cmdline /bin/prog uid 1000 is_kthread 0");
	assert_int_equal(last_time(), 201);
	EVENTS(name_of(300, 70, "last"));
	assert_int_equal(process_rows(70), 1);
	assert_thread(70, 2, "name last tgid 70");
	/* Its start was not reported. */
	EVENTS(name_of(310, 80, "prog"));
	assert_process(80, 1, "ppid 1 cmdline prog cmdline_is_comm 1 uid 1000 is_kthread 0");
}

/* ---- the time of a row whose parent has exited ---- */

/* The id of the parent belongs to another task by now, which ended too. */
FIXTURE_TEST(a_parent_whose_id_was_reused)
{
	uint64_t began = clock_boot_ns() - NS_PER_S;

	proc_put_task((struct proc_task){.pid = 70, .name = "new"});
	start_without_scan();
	EVENTS(start_of(began, 70, 7, "new"), exit_of(began + 100, 7),
	       start_of(began + 200, 7, 8, "other"), exit_of(began + 300, 7));
	assert_int_equal(process_rows(70), 1);
	assert_int_equal(packet_time(0), began + 1);
}

/* /proc has another parent already. The row has a time at which readers know the first one. */
FIXTURE_TEST(a_parent_whose_exit_is_not_reported_yet)
{
	uint64_t began = clock_boot_ns() - 3 * NS_PER_S;

	proc_put_task((struct proc_task){.pid = 70, .name = "new"});
	start_without_scan();
	EVENTS(start_of(began, 70, 7, "new")); /* a row of the process, and one of its thread */
	assert_int_equal(packet_time(0), began + 1);
	EVENTS(exec_of(began + 500, 70, "/bin/new"));
	assert_int_equal(packet_time(2), began + 1);
	/* Once it is reported, the time is that of the exit. */
	EVENTS(exit_of(began + 700, 7), exec_of(began + 800, 70, "/bin/new"));
	assert_int_equal(packet_time(4), began + 701);
	/* After two flushes, readers may have passed on what came before the first. */
	flush_and_run();
	EVENTS(exec_of(began + 900, 70, "/bin/new"));
	assert_int_equal(packet_time(6), began + 701);
	flush_and_run();
	EVENTS(exec_of(began + 1000, 70, "/bin/new"));
	assert_true(packet_time(8) > began + 2 * NS_PER_S);
	assert_process(70, 5, "ppid 7 cmdline new|arg uid 1000 is_kthread 0");
}

/* ---- many events ---- */

/* Above this number the oldest are written without a look at their files. */
FIXTURE_TEST(a_burst_of_events)
{
	enum { MANY = 1 << 15, MORE = 100 };
	struct metadata_task *events = malloc((MANY + MORE) * sizeof(*events));

	for (int i = 0; i < MANY + MORE; i++)
		events[i] = start_of(10, 1000 + i, 7, "new");
	proc_put_task((struct proc_task){.pid = 1000, .name = "early"});
	proc_put_task((struct proc_task){.pid = 1000 + MANY + MORE - 1, .name = "late"});
	start_without_scan();
	publish(events, MANY + MORE, NULL, 0);
	assert_int_equal(process_rows(1000), 1);
	assert_true(fake.n < MANY); /* a slice ends in time */
	assert_process(1000, 1, "ppid 7 cmdline new cmdline_is_comm 1");
	while (event_base_get_num_events(env.loop, EVENT_BASE_COUNT_ADDED)) {
		fake_reset_packets();
		event_base_loop(env.loop, EVLOOP_ONCE);
	}
	assert_process(1000 + MANY + MORE - 1, 1, "ppid 7 cmdline late|arg uid 1000 is_kthread 0");
	free(events);
}

/* What waits has a limit; the oldest are written at once then. */
FIXTURE_TEST(more_events_than_can_wait)
{
	enum { MAX_WAITING = 1 << 18, MORE = 100 };
	struct metadata_task *events = malloc((MAX_WAITING + MORE) * sizeof(*events));

	for (int i = 0; i < MAX_WAITING + MORE; i++)
		events[i] = start_of(10, 1 + i, 7, "new");
	start_without_scan();
	source->flush(instance, 1); /* the next time slice is due already */
	publish(events, MAX_WAITING + MORE, NULL, 0);
	assert_int_equal(n_processes(), MORE);
	assert_int_equal(process_rows(MORE), 1);
	free(events);
}

FIXTURE_TEST(long_names_of_files)
{
	enum { LEN = 4095, TEXT_MAX = 8 << 20, TASKS = 2 * TEXT_MAX / LEN };
	char *file = malloc(LEN + 1);

	memset(file, 'x', LEN);
	file[LEN] = '\0';
	start_without_scan();
	source->flush(instance, 1);
	for (int i = 1; i <= TASKS; i++) {
		const struct metadata_task exec = exec_of(10, i, file);

		publish(&exec, 1, NULL, 0);
	}
	/* Half of them were written already. */
	assert_in_range(n_processes(), TASKS / 2 - 2, TASKS / 2 + 2);
	run_loop();
	assert_int_equal(n_processes(), TASKS);
	free(file);
}

FIXTURE_TEST(destroyed_while_events_wait)
{
	const struct metadata_task exec = exec_of(10, 70, "/bin/true");

	start_without_scan();
	source->flush(instance, 1);
	publish(&exec, 1, NULL, 0);
	assert_int_equal(fake.n, 0);
}
