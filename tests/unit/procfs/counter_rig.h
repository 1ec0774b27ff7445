/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

#include "base/core/clock.h"
#include "client/counters/polled_source.h"
#include "unit/client/read_tracks.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

/*
 * One instance of a source of counter tracks, with directories for /proc (proc_root) and /sys (the
 * same) and a loop; its passes run one by one.
 */

static Pb__DataSourceConfig config;
static struct ds_env env;
static void *instance;
static const struct data_source *source;

static inline void rig_setup(const struct data_source *s)
{
	fake_reset();
	proc_new();
	pb__data_source_config__init(&config);
	env = (struct ds_env){
		.loop = event_base_new(), .proc_root = proc_root, .sys_root = proc_root};
	source = s;
	instance = NULL;
}

static inline void rig_teardown(void)
{
	if (instance)
		source->destroy(instance);
	event_base_free(env.loop);
	assert_false(fake.live);
	fake_reset();
	proc_remove_all();
}

static inline struct polled_source *rig_poll(void)
{
	return instance;
}

static inline void finish_pass(void)
{
	while (rig_poll()->in_pass)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

static inline void create_and_start(void)
{
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(fake.n, 0);
	source->start(instance);
	finish_pass();
	assert_int_equal(fake.started, 1);
	read_tracks();
}

/* The next pass from its beginning to its end. */
static inline void run_pass(void)
{
	uint32_t pass = rig_poll()->pass;

	while (rig_poll()->pass == pass)
		event_base_loop(env.loop, EVLOOP_ONCE);
	finish_pass();
	read_tracks();
}

/* The same without a wait for its time, and without its packets: starting begins a pass at once. */
static inline void pass_at_once(void)
{
	source->start(instance);
	finish_pass();
	fake_reset_packets();
}

/* The next flush or stop starts no extra pass, which it does COUNTER_NEW_MS after the last one: a
 * slow machine takes that long between two lines of a test. */
static inline void make_pass_new(void)
{
	rig_poll()->pass_began = clock_mono_ns();
}

/* A flush and the stop may be answered in a later loop iteration: after an extra pass, or after
 * values that take more than one time slice. */
static inline void flush_source(uint64_t flush_id)
{
	source->flush(instance, flush_id);
	while (fake.last_flush_id != flush_id)
		event_base_loop(env.loop, EVLOOP_ONCE);
	read_tracks();
}

static inline void stop_source(void)
{
	source->stop(instance);
	while (!fake.stopped)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.stopped, 1);
	read_tracks();
}

static inline void put(const char *path, const char *text)
{
	proc_put(text, strlen(text), "%s", path);
}
