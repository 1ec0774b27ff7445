/* SPDX-License-Identifier: Apache-2.0 */
/* When linux.sys_stats polls which tables, and when it answers. */
#include <event2/event.h>

#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

static const struct data_source *const source = &sys_stats_data_source;
static Pb__SysStatsConfig stats;
static Pb__DataSourceConfig config;
static struct ds_env env;
static void *instance;

static void put(const char *path, const char *text)
{
	proc_put(text, strlen(text), "%s", path);
}

SETUP
{
	fake_reset();
	proc_new();
	put("meminfo", "MemTotal: 10 kB\n");
	put("vmstat", "nr_free_pages 20\n");
	put("stat", "processes 30\n");
	pb__sys_stats_config__init(&stats);
	pb__data_source_config__init(&config);
	config.sys_stats_config = &stats;
	env = (struct ds_env){
		.loop = event_base_new(),
		.proc_root = proc_root,
		.sys_root = proc_root,
	};
	instance = NULL;
	assert_true(env.loop);
}

TEARDOWN
{
	if (instance)
		source->destroy(instance);
	event_base_free(env.loop);
	assert(!fake.live);
	fake_reset();
	proc_remove_all();
}

static void create_and_start(void)
{
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(fake.n, 0);
	source->start(instance);
}

/* Returns whether the packet has SysStats. */
static bool has_stats(size_t packet, struct pb_field *ret)
{
	return fake_field(fake.packets[packet].data, fake.packets[packet].len,
			  PB_TRACE_PACKET_SYS_STATS, 0, ret);
}

/* The number of packets whose SysStats has the field. */
static unsigned packets_with(uint32_t id)
{
	struct pb_field s;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		if (has_stats(i, &s))
			n += fake_has(s, id);
	return n;
}

static unsigned packets_of(uint32_t id)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += fake_has(fake_packet_field(i), id);
	return n;
}

/* Runs the loop until so many timers have fired. */
static void ticks(unsigned n)
{
	while (n-- > 0)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

/* No period is a multiple of another one. */
FIXTURE_TEST(any_mix_of_periods)
{
	stats.meminfo_period_ms = 11;
	stats.vmstat_period_ms = 17;
	stats.stat_period_ms = UINT32_MAX;
	create_and_start();
	while (packets_with(PB_SYS_STATS_VMSTAT) < 12)
		ticks(1);
	assert_true(packets_with(PB_SYS_STATS_MEMINFO) >= 12);
	assert_int_equal(packets_with(PB_SYS_STATS_NUM_FORKS), 1);
	/* None of the packets is empty. */
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field s;

		if (!has_stats(i, &s))
			continue;
		assert_true(fake_has(s, PB_SYS_STATS_MEMINFO) || fake_has(s, PB_SYS_STATS_VMSTAT));
	}
}

FIXTURE_TEST(a_period_of_1_ms_is_one_of_10)
{
	uint64_t begin = clock_mono_ns();

	stats.meminfo_period_ms = 1;
	stats.stat_period_ms = 10;
	capture_log();
	create_and_start();
	assert_int_equal(captured("the period of meminfo, 1 ms, is below the minimum; using 10 ms"),
			 1);
	assert_null(strstr(log_text, "stat every"));
	while (packets_with(PB_SYS_STATS_MEMINFO) < 12)
		ticks(1);
	/* The start, the next multiple, and ten whole periods, of which the last may be early. */
	assert_true(clock_mono_ns() - begin >= 90 * NS_PER_MS);
}

FIXTURE_TEST(without_a_period_nothing_is_polled)
{
	create_and_start();
	assert_int_equal(fake.started, 1);
	/* There is no timer: this returns. */
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, 0);
	source->destroy(instance);
	instance = NULL;
	config.sys_stats_config = NULL;
	create_and_start();
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, 0);
}

/* The trace has the failure once; later polls look for them in vain, and write nothing. */
FIXTURE_TEST(files_that_are_not_there_make_no_packets)
{
	stats.buddyinfo_period_ms = stats.diskstat_period_ms = stats.psi_period_ms = 10;
	stats.thermal_period_ms = stats.cpuidle_period_ms = stats.cpufreq_period_ms = 10;
	stats.devfreq_period_ms = stats.gpufreq_period_ms = stats.slab_period_ms = 10;
	create_and_start();
	assert_int_equal(fake.n, 1);
	assert_int_equal(packets_with(PB_SYS_STATS_READ_FAILURES), 1);
	ticks(10);
	assert_int_equal(fake.n, 1);
}

FIXTURE_TEST(a_file_that_comes_back_is_no_loss_to_others)
{
	stats.meminfo_period_ms = stats.stat_period_ms = 10;
	put("stat", "");
	create_and_start();
	ticks(3);
	assert_int_equal(packets_with(PB_SYS_STATS_NUM_FORKS), 0);
	assert_true(packets_with(PB_SYS_STATS_MEMINFO) >= 4);
	assert_int_equal(packets_with(PB_SYS_STATS_READ_FAILURES), 1);
	put("stat", "processes 31\n");
	ticks(3);
	assert_true(packets_with(PB_SYS_STATS_NUM_FORKS) >= 3);
	/* How often it failed is in the trace at the end. */
	source->stop(instance);
	assert_int_equal(packets_with(PB_SYS_STATS_READ_FAILURES), 2);
}

FIXTURE_TEST(a_flush_and_the_stop_are_answered)
{
	size_t n;
	unsigned flushes;

	put("vmstat", "nr_free_pages 20\nnuma_of_tomorrow 5\n");
	stats.vmstat_period_ms = 3600000;
	create_and_start();
	/* The descriptor and the value of the counter without a number. */
	assert_true(packets_of(PB_TRACE_PACKET_TRACK_DESCRIPTOR) >= 1);
	assert_int_equal(packets_of(PB_TRACE_PACKET_TRACK_EVENT), 1);
	/* With such a period each poll is committed. */
	assert_int_equal(fake.flushes, 1);
	source->flush(instance, 77);
	assert_int_equal(fake.last_flush_id, 77);
	/* If the last poll is old, the flush and the stop begin with another one. */
	flushes = fake.flushes;
	assert_in_range(flushes, 2, 3);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	assert_in_range(fake.flushes, flushes + 1, flushes + 2);
	/* No timer is left. */
	n = fake.n;
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, n);
}

static uint64_t last_forks(void)
{
	struct pb_field s;

	for (size_t i = fake.n; i-- > 0;)
		if (has_stats(i, &s) && fake_has(s, PB_SYS_STATS_NUM_FORKS))
			return fake_u64(s, PB_SYS_STATS_NUM_FORKS);
	return 0;
}

/* Waits for two polls of another table. */
static void let_it_grow_old(void)
{
	ticks(2);
}

FIXTURE_TEST(a_flush_and_the_stop_have_values_of_now)
{
	size_t n;

	stats.stat_period_ms = UINT32_MAX;
	stats.meminfo_period_ms = 120;
	create_and_start();
	assert_int_equal(last_forks(), 30);
	put("stat", "processes 31\n");
	source->flush(instance, 1); /* the last poll is recent */
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(last_forks(), 30);
	let_it_grow_old();
	source->flush(instance, 2);
	assert_int_equal(fake.flushed, 2);
	assert_int_equal(last_forks(), 31);
	put("stat", "processes 32\n");
	let_it_grow_old();
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	assert_int_equal(last_forks(), 32);
	/* No timer is left. */
	n = fake.n;
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, n);
}

/* A flush in the middle of a pass is answered at its end; each device is in one packet. */
FIXTURE_TEST(flushes_in_a_long_pass)
{
	unsigned devices = 0;
	struct pb_field s;

	for (unsigned i = 0; i < 3000; i++)
		proc_put("7\n", 2, "class/devfreq/%u/cur_freq", i);
	stats.devfreq_period_ms = UINT32_MAX;
	create_and_start();
	assert_int_equal(fake.started, 0);
	for (uint64_t id = 1; id <= 20; id++)
		source->flush(instance, id);
	assert_true(fake.flushed < 20);
	while (fake.flushed < 20)
		ticks(1);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.last_flush_id, 20);
	for (size_t i = 0; i < fake.n; i++)
		if (has_stats(i, &s))
			devices += fake_count(s.data, s.len, PB_SYS_STATS_DEVFREQ);
	assert_true(fake.n > 1);
	assert_int_equal(devices, 3000);
	source->stop(instance);
	while (!fake.stopped)
		ticks(1);
}

FIXTURE_TEST(cleared_state_is_written_again)
{
	put("vmstat", "numa_of_tomorrow 5\n");
	stats.vmstat_period_ms = 10;
	create_and_start();
	ticks(2);
	/* An unchanged value is written again only after the clear. */
	assert_int_equal(packets_of(PB_TRACE_PACKET_TRACK_EVENT), 1);
	fake_reset_packets();
	source->clear(instance);
	ticks(1);
	assert_int_equal(packets_of(PB_TRACE_PACKET_TRACK_EVENT), 1);
	assert_true(packets_of(PB_TRACE_PACKET_TRACK_DESCRIPTOR) >= 1);
}
