/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

#include "client/producer/metadata_bus.h"
#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_fields.h"
#include "unit/procfs/fake_proc.h"

/*
 * One instance of linux.process_stats with a loop, a metadata bus and a directory that stands in
 * for /proc; and the rows of its packets as text. The config requests a scan with names of threads.
 */

static const struct data_source *const source = &process_stats_data_source;
static Pb__ProcessStatsConfig stats;
static Pb__DataSourceConfig config;
static struct ds_env env;
static void *instance;

SETUP
{
	fake_reset();
	proc_new();
	pb__process_stats_config__init(&stats);
	pb__data_source_config__init(&config);
	config.process_stats_config = &stats;
	stats.scan_all_processes_on_start = true;
	stats.record_thread_names = true;
	env = (struct ds_env){
		.loop = event_base_new(),
		.bus = metadata_bus_new(),
		.proc_root = proc_root,
	};
	instance = NULL;
	assert_true(env.loop && env.bus);
}

static inline void destroy(void)
{
	source->destroy(instance);
	instance = NULL;
}

TEARDOWN
{
	destroy();
	metadata_bus_free(env.bus);
	event_base_free(env.loop);
	assert(!fake.live);
	fake_reset();
	proc_remove_all();
}

static inline void create_and_start(void)
{
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(fake.n, 0);
	source->start(instance);
}

/* Runs the loop until nothing is left to do. */
static inline void run_loop(void)
{
	event_base_dispatch(env.loop);
}

static inline void start_and_run(void)
{
	create_and_start();
	run_loop();
}

/* Runs the loop until only the timer of the poll is left. */
static inline void run_until_idle(void)
{
	while (event_base_get_num_events(env.loop, EVENT_BASE_COUNT_ADDED) > 1)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

static inline void flush_and_run(void)
{
	unsigned flushed = fake.flushed;

	source->flush(instance, 1);
	while (fake.flushed == flushed)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

static inline void publish(const struct metadata_task *tasks, size_t n_tasks, const int32_t *tids,
			   size_t n_tids)
{
	metadata_bus_publish(
		env.bus, FAKE_SESSION,
		&(struct metadata_batch){
			.tasks = tasks, .n_tasks = n_tasks, .tids = tids, .n_tids = n_tids});
}

static inline void publish_tid(int32_t tid)
{
	publish(NULL, 0, &tid, 1);
}

static inline void put_processes(int n)
{
	for (int pid = 1; pid <= n; pid++)
		proc_put_task((struct proc_task){.pid = pid, .name = "x"});
}

/* A process with so many threads; /proc does not list those, although it has their files. */
static inline void put_threads(int pid, int n)
{
	for (int tid = pid; tid < pid + n; tid++) {
		proc_put_task((struct proc_task){.pid = pid,
						 .tid = tid,
						 .name = tid == pid ? "main" : "thread",
						 .threads = (unsigned)n});
		if (tid != pid)
			proc_remove("%d", tid);
	}
}

/* ---- rows of the packets ---- */

/* Finds rows in the messages of the packets: those in the field of a message whose id field has the
 * value. Returns their number; *ret_row (if not NULL) is the last one. */
static inline unsigned find_rows(uint32_t message, uint32_t field, uint32_t id_field, int32_t id,
				 struct pb_field *ret_row)
{
	struct pb_field m, row;
	unsigned found = 0;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);
		struct pb_dec d;

		if (!fake_field(p.data, p.len, message, 0, &m))
			continue;
		pb_dec_init(&d, m.data, m.len);
		while (pb_dec_next(&d, &row)) {
			if (row.id != field || (id_field && (int32_t)fake_u64(row, id_field) != id))
				continue;
			found++;
			if (ret_row)
				*ret_row = row;
		}
		assert(pb_dec_ok(&d));
	}
	return found;
}

static inline unsigned n_processes(void)
{
	return find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_PROCESSES, 0, 0, NULL);
}

static inline unsigned n_threads(void)
{
	return find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_THREADS, 0, 0, NULL);
}

/* The number of Process rows of a process, of Thread rows of a thread, of rows of counters. */
static inline unsigned process_rows(int32_t pid)
{
	return find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_PROCESSES,
			 PB_PROCESS_TREE_PROCESS_PID, pid, NULL);
}

static inline unsigned thread_rows(int32_t tid)
{
	return find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_THREADS,
			 PB_PROCESS_TREE_THREAD_TID, tid, NULL);
}

static inline unsigned stats_rows(int32_t pid, struct pb_field *ret_row)
{
	return find_rows(PB_TRACE_PACKET_PROCESS_STATS, PB_PROCESS_STATS_PROCESSES,
			 PB_PROCESS_STATS_PROCESS_PID, pid, ret_row);
}

static inline unsigned n_stats(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += fake_has(fake_packet_field(i), PB_TRACE_PACKET_PROCESS_STATS);
	return n;
}

static inline uint64_t packet_time(size_t i)
{
	return fake_u64(fake_packet_field(i), PB_TRACE_PACKET_TIMESTAMP);
}

static inline bool packet_is_cleared(size_t i)
{
	return fake_has(fake_packet_field(i), PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED);
}

/* The task has so many rows, and the last one has exactly these fields. */
static inline void expect_process(int32_t pid, unsigned times, const char *want, const char *file,
				  int line)
{
	struct pb_field row = {0};

	_assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_PROCESSES,
				    PB_PROCESS_TREE_PROCESS_PID, pid, &row),
			  times, file, line);
	_assert_string_equal(fake_fields(row, "ProcessTree.Process", PB_PROCESS_TREE_PROCESS_PID),
			     want, file, line);
}

static inline void expect_thread(int32_t tid, unsigned times, const char *want, const char *file,
				 int line)
{
	struct pb_field row = {0};

	_assert_int_equal(find_rows(PB_TRACE_PACKET_PROCESS_TREE, PB_PROCESS_TREE_THREADS,
				    PB_PROCESS_TREE_THREAD_TID, tid, &row),
			  times, file, line);
	_assert_string_equal(fake_fields(row, "ProcessTree.Thread", PB_PROCESS_TREE_THREAD_TID),
			     want, file, line);
}

#define assert_process(pid, times, want) expect_process(pid, times, want, __FILE__, __LINE__)
#define assert_thread(tid, times, want) expect_thread(tid, times, want, __FILE__, __LINE__)
