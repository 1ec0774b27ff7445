/* SPDX-License-Identifier: Apache-2.0 */
/* What the source makes of what it hears, and whom it waits for. */

#include "base/system/log.h"
#include "unit/procfs/process_rig.h"

FIXTURE_TEST(without_a_scan)
{
	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	assert_int_equal(fake.started, 1);
	run_loop();
	assert_int_equal(fake.n, 0);
	tell_tid(2);
	assert_int_equal(fake_process(2, NULL), 1);
	assert_int_equal(fake.n, 1);
}

FIXTURE_TEST(tasks_of_the_metadata_bus)
{
	static const int32_t tids[] = {2, 0, -1, 999, 71, 70};

	stats.scan_all_processes_on_start = false;
	put_processes(3);
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "a"});
	create_and_start();
	tell(NULL, 0, tids, 6);
	tell(NULL, 0, tids, 6);
	run_loop();
	assert_int_equal(fake_process(2, NULL), 1);
	assert_int_equal(fake_process(70, NULL), 1);
	assert_int_equal(fake_thread(71, NULL), 1);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 2);
	/* Gone the first time, there the second. */
	proc_put_task((struct proc_task){.pid = 999, .name = "late"});
	tell(NULL, 0, tids, 6);
	run_loop();
	assert_int_equal(fake_process(999, NULL), 1);
}

FIXTURE_TEST(a_name_that_changes)
{
	static const struct metadata_task renamed[] = {
		{.kind = METADATA_TASK_RENAMED, .tid = 70, .name = "after"}};
	static const int32_t tids[] = {70};

	proc_put_task((struct proc_task){.pid = 70, .name = "before"});
	create_and_start();
	run_loop();
	proc_put_task((struct proc_task){.pid = 70, .name = "after"});
	tell_tid(70);
	assert_int_equal(fake_process(70, NULL), 1);
	tell(renamed, 1, tids, 1);
	run_loop();
	assert_process(70, 2, "ppid 1 cmdline after|arg uid 1000 kthread 0");
	/* Also when it has not run since. */
	tell(renamed, 1, NULL, 0);
	run_loop();
	assert_int_equal(fake_process(70, NULL), 3);
}

FIXTURE_TEST(tasks_that_have_exited)
{
	static const struct metadata_task tasks[] = {
		{.kind = METADATA_TASK_NEW, .time_ns = 10, .tid = 70, .other = 2, .name = "x"},
		{.kind = METADATA_TASK_RENAMED, .time_ns = 11, .tid = 70, .name = "brief"},
		{.kind = METADATA_TASK_NEW,
		 .time_ns = 12,
		 .tid = 71,
		 .other = 70,
		 .name = "worker",
		 .is_thread = true},
	};
	static const int32_t tids[] = {2, 70, 71};

	put_processes(3);
	create_and_start();
	run_loop();
	tell(tasks, 3, tids, 3);
	run_loop();
	assert_process(70, 1, "ppid 2 cmdline brief is_comm 1 kthread 1");
	assert_thread(71, 1, "name worker tgid 70");
	assert_int_equal(fake_process(2, NULL), 1);
}

/* Ten thousand at once. */
FIXTURE_TEST(ten_thousand_new_tasks_at_once)
{
	struct metadata_task *tasks = calloc(10000, sizeof(*tasks));
	unsigned processes;
	size_t n = 0;

	stats.scan_all_processes_on_start = false;
	create_and_start();
	for (int32_t i = 0; i < 10000; i++) {
		tasks[i] = (struct metadata_task){
			.kind = METADATA_TASK_NEW, .tid = 100 + i, .time_ns = 1};
		tasks[i].other = 7;
	}
	processes = 0;
	for (size_t at = 0; at < 10000; at += 2500) {
		tell(tasks + at, 2500, NULL, 0);
		while (event_base_get_num_events(env.loop, EVENT_BASE_COUNT_ADDED))
			event_base_loop(env.loop, EVLOOP_ONCE);
		processes += fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL);
		n += fake.n;
		fake_reset_packets();
	}
	assert_int_equal(processes, 10000);
	assert_int_equal(n, 10000);
	free(tasks);
}

FIXTURE_TEST(more_than_could_be_held)
{
	log_set_level(LOG_LEVEL_ERROR);
	stats.scan_all_processes_on_start = false;
	create_and_start();
	for (int i = 0; i < 100; i++)
		metadata_bus_publish(env.bus, FAKE_SESSION, &(struct metadata_batch){.lost = 1});
	run_loop();
	assert_int_equal(fake.n, 0);
	log_set_level(LOG_LEVEL_INFO);
}

FIXTURE_TEST(metadata_of_other_sessions_is_ignored)
{
	static const int32_t tid = 2;

	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	metadata_bus_publish(env.bus, FAKE_SESSION + 1,
			     &(struct metadata_batch){.tids = &tid, .n_tids = 1});
	run_loop();
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(the_quirk_disable_on_demand)
{
	Pb__ProcessStatsConfig__Quirks quirk = PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND;

	stats.quirks = &quirk;
	stats.n_quirks = 1;
	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	assert_false(metadata_bus_wanted(env.bus, FAKE_SESSION));
	tell_tid(2);
	run_loop();
	assert_int_equal(fake.n, 0);
	assert_int_equal(fake.started, 1);
}

FIXTURE_TEST(events_during_the_scan_go_first)
{
	put_processes(3000);
	create_and_start();
	proc_put_task((struct proc_task){.pid = 5000, .name = "urgent"});
	tell_tid(5000);
	run_loop();
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake_process(5000, NULL), 1);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 3001);
}

FIXTURE_TEST(a_flush_waits_for_earlier_events)
{
	int32_t tids[2000];

	stats.scan_all_processes_on_start = false;
	put_processes(2000);
	create_and_start();
	for (int i = 0; i < 2000; i++)
		tids[i] = i + 1;
	/* Sources are flushed one after the other; what another one tells counts still. */
	source->flush(instance, 11);
	assert_int_equal(fake.flushed, 0);
	tell(NULL, 0, tids, 2000);
	run_loop();
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(fake.last_flush_id, 11);
	assert_int_equal(fake.flushes, 1);
	assert_int_equal(fake.packets_at_flush, fake.n);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 2000);
}

FIXTURE_TEST(a_flush_waits_for_pending_metadata)
{
	int publisher;

	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	source->flush(instance, 11);
	metadata_bus_set_busy(env.bus, FAKE_SESSION, &publisher, true);
	run_loop();
	assert_int_equal(fake.flushed, 0);
	tell_tid(2);
	run_loop();
	assert_int_equal(fake.flushed, 0);
	metadata_bus_set_busy(env.bus, FAKE_SESSION, &publisher, false);
	run_loop();
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(fake.packets_at_flush, 1);
	/* One that owes nothing is not waited for. */
	source->flush(instance, 12);
	run_loop();
	assert_int_equal(fake.flushed, 2);
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

FIXTURE_TEST(events_before_the_stop_are_written)
{
	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	source->flush(instance, 1); /* a turn is due */
	tell_tid(2);
	source->stop(instance);
	assert_int_equal(fake_process(2, NULL), 1);
}

/* Whoever tells may be stopped after us. */
FIXTURE_TEST(a_stop_waits_for_the_last_events)
{
	static const struct metadata_task last = {
		.kind = METADATA_TASK_NEW, .tid = 5000, .time_ns = 10, .other = 2, .name = "last"};
	int publisher;

	put_processes(300);
	create_and_start();
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	source->stop(instance);
	source->flush(instance, 3);
	run_loop();
	assert_int_equal(fake.stopped, 0);
	assert_int_equal(fake.flushed, 1);
	tell(&last, 1, NULL, 0);
	run_loop();
	assert_int_equal(fake.stopped, 0);
	assert_int_equal(fake_process(5000, NULL), 1);
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
	run_loop();
	assert_int_equal(fake.stopped, 1);
	assert_false(metadata_bus_wanted(env.bus, FAKE_SESSION));
}

static void two_polls(void)
{
	unsigned n = n_stats() + 2;

	while (n_stats() < n)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

/* Tasks that start after the scan and before the events begin are found when they begin. */
FIXTURE_TEST(events_that_begin_after_the_scan)
{
	int publisher;

	put_processes(3);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	source->start(instance);
	run_loop();
	proc_put_task((struct proc_task){.pid = 70, .name = "between"});
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, true);
	assert_int_equal(fake_process(70, NULL), 0); /* the publisher is not recording yet */
	run_loop();
	assert_process(70, 1, "ppid 1 cmdline between|arg uid 1000 kthread 0");
	assert_int_equal(fake_process(2, NULL), 1);
	/* Later, events report them. */
	proc_put_task((struct proc_task){.pid = 71, .name = "later"});
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, false);
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, true);
	run_loop();
	assert_int_equal(fake_process(71, NULL), 0);
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

/* The number of one that has ended, where nobody tells who has it next. */
FIXTURE_TEST(a_publisher_that_is_incomplete)
{
	int publisher;

	stats.proc_stats_poll_ms = 100;
	proc_put_task((struct proc_task){.pid = 1, .name = "x", .more = "VmSize:\t1 kB\n"});
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	for (unsigned promised = 0; promised <= 1; promised++) {
		metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, promised);
		proc_put_task((struct proc_task){.pid = 70, .name = "x"});
		create_and_start();
		two_polls();
		proc_remove("70");
		two_polls();
		proc_put_task((struct proc_task){.pid = 70, .name = "y"});
		two_polls();
		assert_int_equal(fake_process(70, NULL), promised ? 1 : 2);
		source->destroy(instance);
		instance = NULL;
		fake_reset_packets();
	}
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

FIXTURE_TEST(destroyed_while_it_waits)
{
	int publisher;

	put_processes(3);
	create_and_start();
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	source->stop(instance);
	source->destroy(instance);
	instance = NULL;
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
	run_loop();
	assert_int_equal(fake.stopped, 0);
}
