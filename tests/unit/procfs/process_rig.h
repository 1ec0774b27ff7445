/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

#include "unit/fixture.h"
#include "client/producer/metadata_bus.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/process_rows.h"
#include "procfs/data_sources.h"

/* One instance of linux.process_stats with a folder for /proc, a loop and a feed. */

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

TEARDOWN
{
	if (instance)
		source->destroy(instance);
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

/* Until nothing is left to do. */
static inline void run_loop(void)
{
	event_base_dispatch(env.loop);
}

static inline void tell(const struct metadata_task *tasks, size_t n_tasks, const int32_t *tids,
			size_t n_tids)
{
	metadata_bus_publish(
		env.bus, FAKE_SESSION,
		&(struct metadata_batch){
			.tasks = tasks, .n_tasks = n_tasks, .tids = tids, .n_tids = n_tids});
}

static inline void tell_tid(int32_t tid)
{
	tell(NULL, 0, &tid, 1);
}

static inline unsigned n_stats(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += fake_has(fake_packet_field(i), PB_TRACE_PACKET_PROCESS_STATS);
	return n;
}

static inline void put_processes(int n)
{
	for (int pid = 1; pid <= n; pid++)
		proc_put_task((struct proc_task){.pid = pid, .name = "x"});
}
