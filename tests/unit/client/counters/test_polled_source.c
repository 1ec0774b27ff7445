/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/clock.h"
#include "base/event_loop/time_slice.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/counter_rig.h"

/* A source of which every step takes as long as the test says. */

struct slow {
	struct polled_source poll;
	unsigned steps; /* of a pass */
	unsigned done; /* in this one */
	uint64_t step_ns;
	uint32_t track;
};

static struct slow slow;
static uint32_t period;

static void begin(struct polled_source *p)
{
	((struct slow *)p)->done = 0;
}

static bool step(struct polled_source *p)
{
	struct slow *s = (struct slow *)p;
	uint64_t end = clock_mono_ns() + s->step_ns;

	if (s->done == s->steps)
		return false;
	while (clock_mono_ns() < end)
		;
	tracks_set(p->tracks, s->track, ++s->done);
	return true;
}

static void deinit(struct polled_source *p)
{
	polled_source_deinit(p);
}

static const struct polled_source_ops ops = {
	.name = "test", .group = "slow", .begin = begin, .step = step, .deinit = deinit};

static int slow_create(struct ds_handle *h, const struct ds_env *e,
		       const Pb__DataSourceConfig *unused, void **ret_instance)
{
	assert_int_equal(polled_source_init(&slow.poll, &ops, h, e, period), 0);
	slow.track = tracks_add(slow.poll.tracks, &(struct track_spec){.kind = TRACK_COUNTER,
								       .parent = slow.poll.group,
								       .name = "steps"});
	*ret_instance = &slow.poll;
	return 0;
}

static const struct data_source slow_source = {
	.name = "test",
	.create = slow_create,
	.start = polled_source_start,
	.flush = polled_source_flush,
	.clear = polled_source_clear,
	.stop = polled_source_stop,
	.destroy = polled_source_destroy,
};

SETUP
{
	rig_setup(&slow_source);
	slow = (struct slow){.steps = 3};
	period = 1;
}

TEARDOWN
{
	rig_teardown();
}

FIXTURE_TEST(the_start_is_answered_after_the_first_pass)
{
	slow.step_ns = TIME_SLICE_NS + 1;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	assert_int_equal(slow.done, 1); /* a step is a turn */
	assert_int_equal(fake.started, 0);
	finish_pass();
	assert_int_equal(fake.started, 1);
	run_pass();
	assert_int_equal(fake.started, 1);
}

FIXTURE_TEST(a_flush_does_not_wait_for_the_pass)
{
	slow.step_ns = TIME_SLICE_NS + 1;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	source->flush(instance, 6);
	assert_int_equal(fake.last_flush_id, 6);
	read_tracks();
	assert_int_equal(read_last("slow/steps"), 1);
	source->stop(instance); /* nor does a stop */
	assert_int_equal(fake.stopped, 1);
	assert_int_equal(event_base_loop(env.loop, EVLOOP_NONBLOCK), 1); /* nothing is due */
	assert_int_equal(slow.done, 1);
}

/* Past COUNTER_NEW_MS behind the last pass. */
static void let_it_grow_old(void)
{
	rig_poll()->pass_began -= COUNTER_NEW_MS * NS_PER_MS;
}

/* The same, and the last pass was a short one, however slow this machine is. */
static void let_a_short_pass_grow_old(void)
{
	rig_poll()->pass_took = 0;
	let_it_grow_old();
}

FIXTURE_TEST(a_flush_and_the_stop_have_values_of_now)
{
	period = UINT32_MAX;
	create_and_start();
	source->flush(instance, 1); /* it is new */
	assert_int_equal(rig_poll()->pass, 1);
	assert_int_equal(fake.last_flush_id, 1);
	let_a_short_pass_grow_old();
	slow.steps = 4;
	source->flush(instance, 2);
	assert_int_equal(fake.last_flush_id, 2);
	read_tracks();
	assert_int_equal(read_last("slow/steps"), 4);
	let_a_short_pass_grow_old();
	slow.steps = 5;
	/* In as many turns as it takes; flushes that come meanwhile wait for the same pass. */
	slow.step_ns = TIME_SLICE_NS + 1;
	source->flush(instance, 3);
	source->flush(instance, 4);
	assert_int_equal(fake.last_flush_id, 2);
	source->stop(instance);
	assert_int_equal(fake.stopped, 0);
	while (!fake.stopped)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.last_flush_id, 4);
	assert_int_equal(rig_poll()->pass, 3);
	read_tracks();
	assert_int_equal(read_last("slow/steps"), 5);
	assert_int_equal(event_base_loop(env.loop, EVLOOP_NONBLOCK), 1); /* nothing is due */
}

/* As on a machine so slow that a step takes a time slice. */
FIXTURE_TEST(the_rig_waits_for_the_answers)
{
	period = UINT32_MAX;
	create_and_start();
	slow.step_ns = TIME_SLICE_NS + 1;
	let_a_short_pass_grow_old();
	flush_source(1);
	assert_int_equal(rig_poll()->pass, 2);
	let_a_short_pass_grow_old();
	make_pass_new();
	flush_source(2);
	assert_int_equal(rig_poll()->pass, 2);
	let_a_short_pass_grow_old();
	stop_source();
	assert_int_equal(rig_poll()->pass, 3);
}

FIXTURE_TEST(a_long_pass_is_not_begun_for_them)
{
	period = UINT32_MAX;
	slow.step_ns = COUNTER_SHORT_MS * NS_PER_MS / 3 + NS_PER_MS;
	create_and_start();
	let_it_grow_old();
	source->flush(instance, 1);
	assert_int_equal(fake.last_flush_id, 1);
	stop_source();
	assert_int_equal(rig_poll()->pass, 1);
}

FIXTURE_TEST(a_flush_of_many_tracks_takes_turns)
{
	const unsigned n = 10000;
	unsigned turns = 1;
	uint64_t before;
	char name[16];

	period = UINT32_MAX;
	create_and_start();
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", i);
		tracks_set(rig_poll()->tracks,
			   tracks_add(rig_poll()->tracks,
				      &(struct track_spec){.kind = TRACK_COUNTER,
							   .parent = rig_poll()->group,
							   .name = name}),
			   1);
	}
	tracks_clear(rig_poll()->tracks);
	before = tracks_counts(rig_poll()->tracks).values;
	fake_reset_packets();
	fake.packet_ns = 4 * TIME_SLICE_NS / n;
	source->flush(instance, 1);
	for (; !fake.last_flush_id; turns++)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_true(turns >= 4);
	assert_true(tracks_counts(rig_poll()->tracks).values >= before + n + 1);
}

FIXTURE_TEST(a_pass_that_is_longer_than_the_period_leaves_room)
{
	uint64_t ended;

	slow.step_ns = 10 * NS_PER_MS;
	create_and_start();
	ended = clock_mono_ns();
	while (rig_poll()->pass == 1)
		event_base_loop(env.loop, EVLOOP_ONCE);
	assert_true(clock_mono_ns() - ended >= 28 * NS_PER_MS); /* as long as the pass took */
}

FIXTURE_TEST(periods)
{
	static const uint32_t asked[] = {0, 1, 10, 250, UINT32_MAX};
	static const uint32_t got[] = {COUNTER_PERIOD_MS, COUNTER_PERIOD_MIN_MS, 10, 250,
				       UINT32_MAX};

	for (size_t i = 0; i < 5; i++) {
		period = asked[i];
		capture_log();
		create_and_start();
		/* Only the session that requested less gets a message. */
		assert_int_equal(captured("a period of 1 ms is too short; using 10 ms"),
				 asked[i] == 1);
		assert_int_equal(rig_poll()->period_ms, got[i]);
		source->destroy(instance);
		instance = NULL;
		fake_reset();
	}
}

/* What the packet for the summary says, the last one; packets_n: of how many. */
static uint64_t stat_in_trace(uint32_t field, unsigned packets_n)
{
	uint64_t v = 0;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field m;

		if (!read_sub(fake_packet_field(i), PB_TRACE_PACKET_POLLED_COUNTERS_STATS, &m))
			continue;
		assert_true(fake_str_is(m, PB_POLLED_COUNTERS_STATS_SOURCE, 0, "test"));
		v = fake_u64(m, field);
		n++;
	}
	assert_int_equal(n, packets_n);
	return v;
}

FIXTURE_TEST(failures_are_counted_in_the_trace)
{
	bool said = false;

	create_and_start();
	assert_null(read_find("slow/failed reads"));
	polled_source_failed(rig_poll(), &said, "a", 5);
	assert_true(said);
	polled_source_failed(rig_poll(), &said, "a", 5);
	run_pass();
	assert_int_equal(read_last("slow/failed reads"), 2);
	run_pass();
	assert_int_equal(read_count("slow/failed reads"), 1);
	assert_int_equal(stat_in_trace(PB_POLLED_COUNTERS_STATS_FAILED_READS, 1), 2);
	polled_source_failed(rig_poll(), &said, "a", 5);
	source->flush(instance, 1);
	finish_pass();
	assert_int_equal(stat_in_trace(PB_POLLED_COUNTERS_STATS_FAILED_READS, 2), 3);
	source->clear(instance);
	run_pass();
	assert_int_equal(stat_in_trace(PB_POLLED_COUNTERS_STATS_FAILED_READS, 3), 3);
}

FIXTURE_TEST(failed_reads_are_named_up_to_a_limit_by_paths_that_are_cut)
{
	char path[3 * COUNTER_ERRORS_PATH];
	struct pb_field m, f;
	unsigned n = 0;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	create_and_start();
	for (unsigned i = 0; i < 3 * COUNTER_ERRORS_KINDS; i++) {
		bool said = false;

		polled_source_failed(rig_poll(), &said, path, EIO);
	}
	run_pass();
	assert_int_equal(stat_in_trace(PB_POLLED_COUNTERS_STATS_FAILED_READS, 1),
			 3 * COUNTER_ERRORS_KINDS);
	for (size_t i = 0; i < fake.n; i++)
		if (read_sub(fake_packet_field(i), PB_TRACE_PACKET_POLLED_COUNTERS_STATS, &m))
			break;
	while (fake_field(m.data, m.len, PB_POLLED_COUNTERS_STATS_READ_FAILURES, n, &f))
		n++;
	assert_int_equal(n, COUNTER_ERRORS_KINDS);
	assert_true(fake_field(m.data, m.len, PB_POLLED_COUNTERS_STATS_READ_FAILURES, 0, &f));
	path[COUNTER_ERRORS_PATH - 1] = 0;
	assert_true(fake_str_is(f, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, 0, path));
	assert_int_equal(fake_u64(f, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR), EIO);
}

FIXTURE_TEST(refused_tracks_too)
{
	create_and_start();
	assert_int_equal(
		tracks_add(rig_poll()->tracks, &(struct track_spec){.kind = TRACK_COUNTER,
								    .parent = rig_poll()->group,
								    .name = "steps"}),
		TRACK_VOID);
	run_pass();
	assert_int_equal(read_last("slow/refused tracks"), 1);
	assert_int_equal(stat_in_trace(PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS, 1), 1);
}

/* There is room for the number where there is none for what it counts. */
FIXTURE_TEST(refused_tracks_beyond_the_limit)
{
	char name[16];

	create_and_start();
	for (unsigned i = 0; i < TRACKS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		(void)tracks_add(rig_poll()->tracks,
				 &(struct track_spec){.kind = TRACK_GROUP, .name = name});
	}
	capture_log();
	run_pass();
	run_pass();
	assert_int_equal(captured("counted as \"refused tracks\""), 1);
	assert_int_equal(read_last("slow/refused tracks"), 4);
	assert_null(read_find("slow/failed reads"));
}
