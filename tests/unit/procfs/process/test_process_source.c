/* SPDX-License-Identifier: Apache-2.0 */

#include "procfs/process/process_packet.h"
#include "base/event_loop/time_slice.h"
#include "unit/procfs/process_rig.h"
#include "unit/procfs/told.h"

static void wait_for_stats(unsigned n)
{
	while (n_stats() < n)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

FIXTURE_TEST(the_start_is_answered_after_the_scan)
{
	put_processes(100);
	create_and_start();
	run_loop();
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), 100);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_THREADS, NULL, NULL), 100);
	assert_true(fake_has(fake_packet_field(0), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
}

static unsigned n_ticks;

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct event *e = *(struct event **)ctx;

	(void)fd, (void)what;
	n_ticks++;
	/* Somebody else's work: it must not wait until the scan is done. */
	if (!fake.started)
		event_add(e, &(struct timeval){0});
}

/* What is due on the loop gets its turn between those of the scan. */
FIXTURE_TEST(a_long_scan_lets_others_work)
{
	enum { PROCESSES = 40 };
	struct event *e;

	put_processes(PROCESSES);
	fake.packet_ns = TIME_SLICE_NS / 2; /* of a process; two are a turn */
	e = evtimer_new(env.loop, on_tick, &e);
	n_ticks = 0;
	event_add(e, &(struct timeval){0});
	create_and_start();
	run_loop();
	event_free(e);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL), PROCESSES);
	assert_true(n_ticks + 1 >= PROCESSES / 3);
}

FIXTURE_TEST(without_a_config)
{
	config.process_stats_config = NULL;
	put_processes(3);
	create_and_start();
	assert_int_equal(fake.started, 1);
	tell_tid(2);
	assert_int_equal(fake_process(2, NULL), 1);
	assert_int_equal(fake_thread(2, NULL), 1);
}

static unsigned n_track_events(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += fake_has(fake_packet_field(i), PB_TRACE_PACKET_TRACK_EVENT);
	return n;
}

FIXTURE_TEST(many_flushes_are_all_answered)
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
	source->flush(instance, 1);
	while (!fake.flushed)
		event_base_loop(env.loop, EVLOOP_ONCE);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	run_loop();
	assert_true(fake_rows(PB_PROCESS_TREE_PROCESSES, NULL, NULL) <= 3000);
}

FIXTURE_TEST(a_clear_forgets)
{
	size_t n;

	put_processes(3);
	create_and_start();
	run_loop();
	n = fake.n;
	source->clear(instance);
	run_loop();
	assert_int_equal(fake.n, n); /* nothing by itself */
	tell_tid(2);
	run_loop();
	assert_int_equal(fake.n, n + 1);
	assert_int_equal(fake_process(2, NULL), 2);
	assert_true(fake_has(fake_packet_field(n), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
}

FIXTURE_TEST(after_the_stop_there_is_silence)
{
	size_t n;

	put_processes(3);
	create_and_start();
	run_loop();
	source->stop(instance);
	n = fake.n;
	proc_put_task((struct proc_task){.pid = 70, .name = "x"});
	tell_tid(70);
	run_loop();
	assert_int_equal(fake.n, n);
	assert_int_equal(metadata_bus_wanted(env.bus, FAKE_SESSION), 0);
}

FIXTURE_TEST(destroyed_at_any_time)
{
	put_processes(3000);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_true(metadata_bus_wanted(env.bus, FAKE_SESSION));
	tell_tid(2); /* not yet */
	source->destroy(instance);
	assert_int_equal(metadata_bus_wanted(env.bus, FAKE_SESSION), 0);
	assert_int_equal(fake.n, 0);
	create_and_start();
	source->destroy(instance); /* in the middle of the scan */
	instance = NULL;
	run_loop();
	assert_int_equal(metadata_bus_wanted(env.bus, FAKE_SESSION), 0);
}

FIXTURE_TEST(counters_of_every_process)
{
	stats.scan_all_processes_on_start = false;
	stats.proc_stats_poll_ms = 1; /* raised to 100 */
	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	create_and_start();
	wait_for_stats(3);
	assert_int_equal(fake.started, 1);
	/* The first packet of all says that it is. */
	assert_true(fake_has(fake_packet_field(0), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
	/* What the pass met was described, once. */
	assert_int_equal(fake_process(70, NULL), 1);
	source->stop(instance);
	run_loop(); /* ends: no timer is left */
}

FIXTURE_TEST(counters_that_do_not_change)
{
	size_t n;

	stats.proc_stats_poll_ms = 100;
	stats.proc_stats_cache_ttl_ms = 1000000;
	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	create_and_start();
	wait_for_stats(1);
	n = fake.n;
	for (unsigned i = 0; i < 6; i++)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.n, n);
	source->clear(instance);
	wait_for_stats(2);
	assert_true(fake_has(fake_packet_field(n), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
}

/* As after a clear, once. */
FIXTURE_TEST(dropped_descriptors_are_written_again)
{
	size_t n;

	stats.proc_stats_poll_ms = 100;
	stats.proc_stats_cache_ttl_ms = 1000000;
	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	create_and_start();
	wait_for_stats(1);
	n = fake.n;
	assert_int_equal(fake_process(70, NULL), 1);
	fake.dropped = 3;
	while (n_stats() < 2 || fake_process(70, NULL) < 2)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_true(fake_has(fake_packet_field(n), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED));
	n = fake.n;
	for (unsigned i = 0; i < 6; i++)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.n, n);
}

/* Not with the writer of the names, whose packets say that the state is new; see
 * tracks_set_thread_writer. */
FIXTURE_TEST(our_own_counters)
{
	struct pb_field f;
	unsigned values = 0;

	stats.proc_stats_poll_ms = 100;
	stats.record_process_io = true;
	stats.record_thread_sched = true;
	stats.record_process_cgroup = true;
	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	proc_put("rchar: 5\n", 9, "70/io");
	proc_put("0::/a\n", 6, "70/cgroup");
	proc_put("1 2 3\n", 6, "70/task/70/schedstat");
	create_and_start();
	assert_int_equal(fake.live, 3); /* names, processes' counters, threads' counters */
	wait_for_stats(2);
	source->flush(instance, 1);
	while (!fake.flushed)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.flushes, 3);
	source->clear(instance);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &f))
			values += fake_has(f, PB_TRACK_EVENT_TYPE);
	}
	assert_true(values >= 3);
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

/* Said once, and counted: what is missing is that counter alone. */
FIXTURE_TEST(files_that_cannot_be_understood)
{
	struct pb_field stats_packet, unread, f;
	unsigned found = 0;

	stats.proc_stats_poll_ms = 100;
	stats.scan_smaps_rollup = true;
	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	proc_put("", 0, "70/smaps_rollup");
	create_and_start();
	wait_for_stats(2);
	source->stop(instance);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_PROCESS_STATS, 0, &stats_packet))
			continue;
		if (!fake_field(stats_packet.data, stats_packet.len, PB_PROCESS_STATS_UNREAD_FILES,
				0, &unread)) {
			fake_field(stats_packet.data, stats_packet.len, PB_PROCESS_STATS_PROCESSES,
				   0, &f);
			assert_int_equal(fake_u64(f, PB_PROCESS_STATS_PROCESS_VM_SIZE_KB), 1);
			continue;
		}
		found++;
		assert_true(
			fake_str_is(unread, PB_PROCESS_STATS_UNREAD_FILE_NAME, 0, "smaps_rollup"));
		assert_true(fake_u64(unread, PB_PROCESS_STATS_UNREAD_FILE_COUNT) >= 2);
	}
	assert_int_equal(found, 1);
}

/* Neither spins nor overflows. */
FIXTURE_TEST(periods_of_any_length)
{
	static const uint32_t periods[] = {0, 1, 99, 4294967295u};

	proc_put_task((struct proc_task){.pid = 70, .name = "x", .more = "VmSize:\t1 kB\n"});
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		stats.proc_stats_poll_ms = periods[i];
		stats.proc_stats_cache_ttl_ms = 4294967295u;
		fake_reset_packets();
		told_begin();
		create_and_start();
		for (unsigned turns = 0; turns < 20; turns++)
			event_base_loop(env.loop, EVLOOP_NONBLOCK);
		assert_int_equal(told_end("is raised to 100"), periods[i] == 1 || periods[i] == 99);
		/* At the start; what does not change is not written again. */
		assert_int_equal(n_stats(), periods[i] ? 1 : 0);
		source->stop(instance);
		source->destroy(instance);
		instance = NULL;
	}
}

/* A config that asks for nothing that is there. */
FIXTURE_TEST(options_without_effect_are_logged)
{
	config.process_stats_config = NULL;
	told_begin();
	create_and_start();
	assert_int_equal(told_end("linux.process_stats records nothing"), 1);
	source->stop(instance);
	source->destroy(instance);
	instance = NULL;
	config.process_stats_config = &stats;
	stats.proc_stats_poll_ms = 1000;
	told_begin();
	create_and_start();
	assert_int_equal(told_end("records nothing"), 0);
}

FIXTURE_TEST(no_proc)
{
	env.proc_root = "/nonexistent";
	assert_int_equal(source->create(NULL, &env, &config, &instance), -ENOENT);
	assert_null(instance);
}
