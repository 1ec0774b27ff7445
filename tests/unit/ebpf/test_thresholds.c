/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/thresholds.h"
#include "unit/client/read_tracks.h"
#include "unit/procfs/captured_log.h"

static struct ebpf_errors errors;
static struct thresholds *t;
static struct writer *w;
static struct tracks *tracks;

static Pb__EbpfCountersConfig__Trigger threshold(const char *counter, double above,
						 const char *name)
{
	Pb__EbpfCountersConfig__Trigger m = PB__EBPF_COUNTERS_CONFIG__TRIGGER__INIT;

	m.counter = (char *)counter;
	m.name = (char *)name;
	m.has_above = true;
	m.above = above;
	return m;
}

static void init(Pb__EbpfCountersConfig__Trigger *all, size_t n)
{
	Pb__EbpfCountersConfig__Trigger *list[THRESHOLDS_MAX + 2];
	Pb__EbpfCountersConfig c = PB__EBPF_COUNTERS_CONFIG__INIT;

	for (size_t i = 0; i < n; i++)
		list[i] = &all[i];
	c.triggers = list;
	c.n_triggers = n;
	assert_int_equal(thresholds_new(&c, &errors, &t), 0);
	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
	tracks_watch(tracks, thresholds_check_update, t);
}

static int teardown(void **state)
{
	tracks_free(tracks);
	thresholds_free(t);
	ebpf_errors_deinit(&errors);
	writer_free(w);
	fake_reset();
	t = NULL;
	tracks = NULL;
	w = NULL;
	return 0;
}

static uint32_t counter(const char *name, uint32_t cpu, bool total)
{
	return tracks_add(tracks,
			  &(struct track_spec){.kind = TRACK_COUNTER,
					       .parent = tracks_add_cpu(tracks, TRACK_ROOT, cpu),
					       .name = name,
					       .total = total});
}

/* The value fires it, or not. */
static bool fires(uint32_t track, double v)
{
	const char *const *names;
	size_t n;

	capture_log();
	tracks_set_double(tracks, track, v);
	n = thresholds_collect_fired(t, &names);
	assert_int_equal(captured(": trigger late"), n);
	if (n)
		assert_string_equal(names[0], "late");
	assert_int_equal(thresholds_collect_fired(t, &names), 0);
	return n;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(a_gauge_fires_once_until_it_was_below)
{
	Pb__EbpfCountersConfig__Trigger late = threshold("runq latency p99", 20, "late");
	uint32_t p99, p50;

	init(&late, 1);
	p99 = counter("runq latency p99", 0, false);
	p50 = counter("runq latency p50", 0, false);
	assert_false(fires(p50, 99));
	assert_false(fires(p99, 20)); /* not above */
	assert_true(fires(p99, 20.5));
	assert_false(fires(p99, 20.5));
	assert_false(fires(p99, 30));
	assert_false(fires(p99, 20));
	assert_true(fires(p99, 21));
}

FIXTURE_TEST(the_first_value_can_fire)
{
	Pb__EbpfCountersConfig__Trigger late = threshold("*p99", 20, "late");

	init(&late, 1);
	assert_true(fires(counter("runq latency p99", 0, false), 21));
}

FIXTURE_TEST(tracks_of_cpus_are_one)
{
	Pb__EbpfCountersConfig__Trigger late = threshold("p99", 20, "late");
	uint32_t cpu0, cpu1;

	init(&late, 1);
	cpu0 = counter("p99", 0, false);
	cpu1 = counter("p99", 1, false);
	assert_true(fires(cpu1, 30));
	assert_false(fires(cpu0, 30));
	assert_false(fires(cpu1, 0)); /* the other one is above still */
	assert_false(fires(cpu1, 30));
	tracks_remove(tracks, cpu0); /* ends above */
	assert_false(fires(cpu1, 0));
	assert_true(fires(cpu1, 30));
}

FIXTURE_TEST(monotonic_counters_by_their_growth)
{
	Pb__EbpfCountersConfig__Trigger late = threshold("OOM kills", 4, "late");
	uint32_t kills;

	init(&late, 1);
	kills = counter("OOM kills", 0, true);
	assert_false(fires(kills, 3));
	assert_false(fires(kills, 7));
	assert_true(fires(kills, 12));
	assert_false(fires(kills, 12)); /* not a bit: below again */
	assert_true(fires(kills, 20));
}

FIXTURE_TEST(a_handle_that_another_track_has_begins_anew)
{
	Pb__EbpfCountersConfig__Trigger late = threshold("p99", 20, "late");
	uint32_t p99, other;

	init(&late, 1);
	p99 = counter("p99", 0, false);
	assert_true(fires(p99, 30));
	tracks_remove(tracks, p99);
	other = counter("p50", 0, false);
	assert_int_equal(other, p99);
	assert_false(fires(other, 30));
	assert_true(fires(counter("p99", 0, false), 30));
}

FIXTURE_TEST(invalid_entries_are_reported)
{
	Pb__EbpfCountersConfig__Trigger all[THRESHOLDS_MAX + 2];

	for (size_t i = 0; i < THRESHOLDS_MAX + 2; i++)
		all[i] = threshold("p99", 20, "late");
	all[0].name = NULL;
	capture_log();
	init(all, THRESHOLDS_MAX + 2);
	assert_int_equal(captured("linux.ebpf_counters: triggers: "), 2);
	capture_log();
	thresholds_report_unused(t, &errors);
	assert_int_equal(captured("there was no counter \"p99\" for the trigger late"),
			 THRESHOLDS_MAX);
}

FIXTURE_TEST(without_any)
{
	const char *const *names;

	assert_int_equal(thresholds_new(NULL, &errors, &t), 0);
	assert_null(t);
	assert_int_equal(thresholds_collect_fired(t, &names), 0);
	thresholds_report_unused(t, &errors);
}
