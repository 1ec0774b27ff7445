/* SPDX-License-Identifier: Apache-2.0 */
/* The life of linux.process_stats: start, flush, clear, stop, whom it waits for, and what it logs. */
#include "base/event_loop/time_slice.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/process_rig.h"

static int publisher;

static void register_publisher(bool complete)
{
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, &publisher), 0);
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, complete);
}

static void unregister_publisher(void)
{
	metadata_bus_unregister(env.bus, FAKE_SESSION, &publisher);
}

static unsigned n_track_events(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += fake_has(fake_packet_field(i), PB_TRACE_PACKET_TRACK_EVENT);
	return n;
}

/* ---- start ---- */

FIXTURE_TEST(without_a_config_tasks_are_written_when_they_run)
{
	config.process_stats_config = NULL;
	put_processes(3);
	create_and_start();
	assert_int_equal(fake.started, 1);
	publish_tid(2);
	assert_int_equal(process_rows(2), 1);
	assert_int_equal(n_processes(), 1);
}

FIXTURE_TEST(the_quirk_disable_on_demand)
{
	Pb__ProcessStatsConfig__Quirks quirk = PB__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND;

	stats.quirks = &quirk;
	stats.n_quirks = 1;
	stats.scan_all_processes_on_start = false;
	put_processes(3);
	create_and_start();
	assert_false(metadata_bus_has_subscriber(env.bus, FAKE_SESSION));
	publish_tid(2);
	run_loop();
	assert_int_equal(fake.n, 0);
	assert_int_equal(fake.started, 1);
}

static unsigned n_ticks;

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct event *e = *(struct event **)ctx;

	n_ticks++;
	if (!fake.started)
		event_add(e, &(struct timeval){0});
}

/* Other events of the loop run between the slices of the scan, and reported tasks go first. */
FIXTURE_TEST(a_long_scan_runs_in_slices)
{
	enum { PROCESSES = 40 };
	struct event *e;

	put_processes(PROCESSES);
	fake.packet_ns = TIME_SLICE_NS / 2; /* of a process; two are a slice */
	e = evtimer_new(env.loop, on_tick, &e);
	n_ticks = 0;
	event_add(e, &(struct timeval){0});
	create_and_start();
	proc_put_task((struct proc_task){.pid = 5000, .name = "urgent"});
	publish_tid(5000);
	event_base_loop(env.loop, EVLOOP_ONCE);
	event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(process_rows(5000), 1);
	assert_int_equal(fake.started, 0);
	run_loop();
	event_free(e);
	assert_int_equal(fake.started, 1);
	assert_int_equal(n_processes(), PROCESSES + 1);
	assert_true(n_ticks + 1 >= PROCESSES / 3);
}

/* Tasks that start after the scan and before the events begin are found when they begin. */
FIXTURE_TEST(a_second_scan_when_the_events_begin)
{
	put_processes(3);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	register_publisher(false);
	source->start(instance);
	run_loop();
	proc_put_task((struct proc_task){.pid = 70, .name = "between"});
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, true);
	assert_int_equal(process_rows(70), 0); /* the publisher is not recording yet */
	run_loop();
	assert_process(70, 1, "ppid 1 cmdline between|arg uid 1000 is_kthread 0");
	assert_int_equal(process_rows(2), 1);
	/* Later, events report them. */
	proc_put_task((struct proc_task){.pid = 71, .name = "later"});
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, false);
	metadata_bus_set_complete(env.bus, FAKE_SESSION, &publisher, true);
	run_loop();
	assert_int_equal(process_rows(71), 0);
	unregister_publisher();
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

/* ---- flush and clear ---- */

FIXTURE_TEST(every_flush_is_answered)
{
	stats.scan_all_processes_on_start = false;
	create_and_start();
	for (uint64_t id = 1; id <= 100; id++)
		source->flush(instance, id);
	run_loop();
	assert_int_equal(fake.flushed, 100);
	assert_int_equal(fake.last_flush_id, 100);
}

FIXTURE_TEST(a_flush_does_not_wait_for_the_scan)
{
	put_processes(3000);
	create_and_start();
	flush_and_run();
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	run_loop();
	assert_true(n_processes() <= 3000);
}

/* Sources are flushed one after the other, and others may publish at their flush. */
FIXTURE_TEST(a_flush_waits_for_metadata)
{
	int32_t tids[2000];

	stats.scan_all_processes_on_start = false;
	put_processes(2000);
	create_and_start();
	for (int i = 0; i < 2000; i++)
		tids[i] = i + 1;
	source->flush(instance, 11);
	assert_int_equal(fake.flushed, 0);
	publish(NULL, 0, tids, 2000);
	run_loop();
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(fake.last_flush_id, 11);
	assert_int_equal(fake.flushes, 1);
	assert_int_equal(fake.packets_at_flush, fake.n);
	assert_int_equal(n_processes(), 2000);
	/* A busy publisher has pending metadata. */
	register_publisher(false);
	source->flush(instance, 12);
	metadata_bus_set_busy(env.bus, FAKE_SESSION, &publisher, true);
	run_loop();
	assert_int_equal(fake.flushed, 1);
	metadata_bus_set_busy(env.bus, FAKE_SESSION, &publisher, false);
	run_loop();
	assert_int_equal(fake.flushed, 2);
	unregister_publisher();
}

FIXTURE_TEST(a_flush_commits_every_writer)
{
	stats.proc_stats_poll_ms = 100;
	stats.record_process_io = true;
	stats.record_thread_sched = true;
	create_and_start();
	assert_int_equal(fake.live, 3); /* names, counters of processes, counters of threads */
	flush_and_run();
	assert_int_equal(fake.flushes, 3);
	/* Slow polls are committed by themselves. */
	destroy();
	fake.flushes = 0;
	stats.proc_stats_poll_ms = 500;
	create_and_start();
	run_until_idle();
	assert_true(fake.flushes >= 3);
}

FIXTURE_TEST(a_clear_writes_nothing_by_itself)
{
	size_t n;

	put_processes(3);
	start_and_run();
	n = fake.n;
	source->clear(instance);
	run_loop();
	assert_int_equal(fake.n, n);
	publish_tid(2);
	run_loop();
	assert_int_equal(fake.n, n + 1);
	assert_true(packet_is_cleared(n));
}

FIXTURE_TEST(a_clear_begins_a_scan_if_the_config_says_so)
{
	stats.scan_after_clear = true;
	put_processes(3);
	start_and_run();
	for (unsigned i = 0; i < 2; i++) {
		fake_reset_packets();
		source->clear(instance);
		if (i) /* while the scan of the last clear goes on */
			source->clear(instance);
		run_loop();
		assert_true(packet_is_cleared(0));
		assert_int_equal(n_processes(), 3);
	}
	source->stop(instance);
	fake_reset_packets();
	source->clear(instance);
	run_loop();
	assert_int_equal(fake.n, 0);
}

/* ---- stop ---- */

FIXTURE_TEST(nothing_is_written_after_the_stop)
{
	size_t n;

	stats.proc_stats_poll_ms = 100;
	put_processes(3);
	create_and_start();
	source->flush(instance, 1); /* a slice is due */
	proc_put_task((struct proc_task){.pid = 60, .name = "x"});
	publish_tid(60);
	source->stop(instance);
	assert_int_equal(process_rows(60), 1);
	run_loop(); /* ends: no timer is left */
	n = fake.n;
	proc_put_task((struct proc_task){.pid = 70, .name = "x"});
	publish_tid(70);
	run_loop();
	assert_int_equal(fake.n, n);
	assert_int_equal(metadata_bus_has_subscriber(env.bus, FAKE_SESSION), 0);
}

/* A publisher may be stopped after this source. */
FIXTURE_TEST(a_stop_waits_for_the_last_events)
{
	static const struct metadata_task last = {
		.kind = METADATA_TASK_NEW, .tid = 5000, .time_ns = 10, .other = 2, .name = "last"};

	put_processes(300);
	create_and_start();
	register_publisher(false);
	source->stop(instance);
	source->flush(instance, 3);
	run_loop();
	assert_int_equal(fake.stopped, 0);
	assert_int_equal(fake.flushed, 1);
	publish(&last, 1, NULL, 0);
	run_loop();
	assert_int_equal(fake.stopped, 0);
	assert_int_equal(process_rows(5000), 1);
	unregister_publisher();
	run_loop();
	assert_int_equal(fake.stopped, 1);
	assert_false(metadata_bus_has_subscriber(env.bus, FAKE_SESSION));
}

FIXTURE_TEST(a_flush_and_the_stop_run_in_slices)
{
	const unsigned threads = 1000;
	unsigned turns = 0;

	stats.scan_all_processes_on_start = false;
	stats.proc_stats_poll_ms = UINT32_MAX;
	stats.record_thread_sched = true;
	proc_put_task((struct proc_task){.pid = 1, .name = "x"});
	for (unsigned tid = 1; tid <= threads; tid++)
		proc_put("1 2 3\n", 6, "1/task/%u/schedstat", tid);
	create_and_start();
	while (n_track_events() < threads * 2 / 9)
		event_base_loop(env.loop, EVLOOP_ONCE);
	for (unsigned i = 0; i < 2; i++) {
		source->clear(instance);
		fake_reset_packets();
		fake.packet_ns = 4 * TIME_SLICE_NS / threads; /* three descriptors a thread */
		if (i == 0)
			source->flush(instance, 1);
		else
			source->stop(instance);
		for (turns = 0; !(i == 0 ? fake.flushed : fake.stopped); turns++)
			event_base_loop(env.loop, EVLOOP_ONCE);
		assert_true(turns >= 4);
		assert_true(n_track_events() >= threads * 2 / 9);
	}
}

FIXTURE_TEST(destroyed_at_any_time)
{
	put_processes(3000);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_true(metadata_bus_has_subscriber(env.bus, FAKE_SESSION));
	publish_tid(2); /* before the start: ignored */
	destroy();
	assert_int_equal(metadata_bus_has_subscriber(env.bus, FAKE_SESSION), 0);
	assert_int_equal(fake.n, 0);
	create_and_start();
	destroy(); /* in the middle of the scan */
	run_loop();
	fake_reset_packets();
	create_and_start();
	register_publisher(false);
	source->stop(instance);
	destroy(); /* while the stop waits for a publisher */
	unregister_publisher();
	run_loop();
	assert_int_equal(fake.stopped, 0);
	assert_int_equal(metadata_bus_has_subscriber(env.bus, FAKE_SESSION), 0);
}

/* ---- what is logged ---- */

/* A period neither makes the loop spin nor overflows. */
FIXTURE_TEST(periods_of_any_length)
{
	static const uint32_t periods[] = {0, 1, 99, 4294967295u};

	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		stats.proc_stats_poll_ms = periods[i];
		stats.proc_stats_cache_ttl_ms = 4294967295u;
		fake_reset_packets();
		capture_log();
		create_and_start();
		for (unsigned turns = 0; turns < 20; turns++)
			event_base_loop(env.loop, EVLOOP_NONBLOCK);
		assert_int_equal(captured("is below the minimum; using 100 ms"),
				 periods[i] == 1 || periods[i] == 99);
		assert_int_equal(n_stats(), periods[i] ? 1 : 0);
		source->stop(instance);
		destroy();
	}
}

FIXTURE_TEST(options_without_effect_are_logged)
{
	config.process_stats_config = NULL;
	capture_log();
	create_and_start();
	assert_int_equal(captured("linux.process_stats records nothing"), 1);
	destroy();
	config.process_stats_config = &stats;
	stats.record_process_io = true;
	capture_log();
	create_and_start();
	assert_int_equal(captured("record_process_io records nothing without proc_stats_poll_ms"),
			 1);
	destroy();
	stats.proc_stats_poll_ms = 1000;
	capture_log();
	create_and_start();
	assert_int_equal(captured("records nothing"), 0);
}

/* The first error of each kind of file is logged; all are counted in the trace. */
FIXTURE_TEST(read_errors_are_logged_once_and_counted)
{
	struct pb_field unread = {0};
	size_t n;

	stats.scan_all_processes_on_start = false;
	proc_put("", 0, "self/status");
	proc_put_task((struct proc_task){.pid = 70, .name = "x"});
	proc_put("", 0, "71/status");
	proc_put("", 0, "72/status");
	proc_remove("70/cmdline");
	capture_log();
	create_and_start();
	publish_tid(70);
	publish_tid(71);
	publish_tid(72);
	flush_and_run();
	assert_int_equal(captured("/proc/PID/status: "), 1);
	assert_non_null(strstr(log_text, "/proc/PID/cmdline: not supported by this kernel"));
	assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_UNREAD_FILES, 0,
				   0, &unread),
			 2);
	assert_true(fake_str_is(unread, PB_PROCESS_STATS_UNREAD_FILE_NAME, 0, "cmdline"));
	assert_int_equal(fake_u64(unread, PB_PROCESS_STATS_UNREAD_FILE_ERROR), ENOENT);
	n = fake.n;
	flush_and_run();
	assert_int_equal(fake.n, n);
	publish_tid(71);
	flush_and_run();
	assert_int_equal(fake.n, n + 1);
}

FIXTURE_TEST(lost_metadata_is_logged_at_a_limited_rate)
{
	stats.scan_all_processes_on_start = false;
	create_and_start();
	capture_log();
	for (int i = 0; i < 100; i++)
		metadata_bus_publish(env.bus, FAKE_SESSION, &(struct metadata_batch){.lost = 1});
	run_loop();
	assert_in_range(captured("too many task events"), 1, 10);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(no_proc)
{
	env.proc_root = "/nonexistent";
	assert_int_equal(source->create(NULL, &env, &config, &instance), -ENOENT);
	env.proc_root = "/dev/null";
	assert_int_equal(source->create(NULL, &env, &config, &instance), -ENOTDIR);
	assert_null(instance);
}
