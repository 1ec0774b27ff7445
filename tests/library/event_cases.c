/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_cases
 *
 * Writes every kind of track event, once for each session that records category "cases". Each case
 * has a track of its own, whose name the queries of tests/interop/test_event_cases.sh use. Times
 * are chosen by the program, so that durations are exact. Runs until it is killed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(cases, "cases", "All cases");
SONDA_CATEGORY_DEFINE(second, "second", "For a group");
SONDA_CATEGORY_DEFINE(group, "cases,second");
SONDA_CATEGORY_DEFINE(slow, "cases.slow", "Off by default", "slow");
SONDA_DYNAMIC_CATEGORY_DEFINE(any);

#define THREADS 50
#define MS 1000000u

/* A track for one case, at the time `at` ms after the start. */
#define ON(t, at) SONDA_TRACK(&(t)), SONDA_TIMESTAMP(base + (uint64_t)(at)*MS)

static uint64_t base;

/* ---- slices ---- */

static void slices(void)
{
	struct sonda_track t = sonda_track_named("nested", 0, NULL);
	struct sonda_track end = sonda_track_named("end alone", 0, NULL);
	struct sonda_track open = sonda_track_named("open", 0, NULL);
	struct sonda_track same = sonda_track_named("one time", 0, NULL);

	SONDA_BEGIN(cases, "A", ON(t, 0));
	SONDA_BEGIN(cases, "B", ON(t, 1));
	SONDA_INSTANT(cases, "I", ON(t, 2));
	SONDA_END(cases, ON(t, 3));
	SONDA_END(cases, ON(t, 10));

	SONDA_END(cases, ON(end, 0));
	SONDA_INSTANT(cases, "after", ON(end, 1));

	SONDA_BEGIN(cases, "never closed", ON(open, 0));

	SONDA_BEGIN(cases, "first", ON(same, 0));
	SONDA_END(cases, ON(same, 5));
	SONDA_BEGIN(cases, "second", ON(same, 5));
	SONDA_END(cases, ON(same, 7));
}

static void *end_elsewhere(void *track)
{
	struct sonda_track *t = track;

	prctl(PR_SET_NAME, "other");
	SONDA_END(cases, ON(*t, 4));
	return NULL;
}

static void across_threads(void)
{
	struct sonda_track t = sonda_track_named("two threads", 0, NULL);
	pthread_t thread;

	SONDA_BEGIN(cases, "handed over", ON(t, 1));
	pthread_create(&thread, NULL, end_elsewhere, &t);
	pthread_join(thread, NULL);
}

static void *one_event(void *number)
{
	SONDA_INSTANT(cases, "last of a thread", SONDA_INT("thread", (intptr_t)number));
	return NULL;
}

static void many_threads(void)
{
	pthread_t threads[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, one_event, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- names and categories ---- */

static void names(void)
{
	struct sonda_track t = sonda_track_named("names", 0, NULL);
	struct sonda_track dynamic = sonda_track_named("dynamic names", 0, NULL);
	struct sonda_track categories = sonda_track_named("categories", 0, NULL);
	char buf[32];

	for (int i = 0; i < 1000; i++)
		SONDA_INSTANT(cases, "one name", ON(t, i));
	for (int i = 0; i < 3; i++) {
		snprintf(buf, sizeof(buf), "dynamic %d", i);
		SONDA_INSTANT_DYNAMIC(cases, buf, ON(dynamic, i));
	}
	SONDA_INSTANT(group, "of a group", ON(categories, 0));
	SONDA_INSTANT(any, "of a text", ON(categories, 1), SONDA_IN_CATEGORY("cases.dynamic"));
	SONDA_INSTANT(slow, "slow", ON(categories, 2));
}

/* ---- arguments ---- */

static void annotations(void)
{
	struct sonda_track t = sonda_track_named("annotations", 0, NULL);
	struct sonda_track merged = sonda_track_named("merged", 0, NULL);
	static char big[65536 + 1];

	SONDA_INSTANT(cases, "types", ON(t, 0), SONDA_BOOL("bool", true),
		      SONDA_UINT("uint", UINT64_MAX), SONDA_INT("int", -3),
		      SONDA_DOUBLE("real", 1.5), SONDA_STRING("string", "s"),
		      SONDA_POINTER("pointer", 0x1234), SONDA_INTERNED("interned", "again"),
		      SONDA_BYTES("bytes", "abcdef", 3), SONDA_JSON("json", "{\"k\": 7}"));
	SONDA_INSTANT(cases, "nested", ON(t, 1),
		      SONDA_DICT("d", SONDA_ARRAY("a", SONDA_INT_ITEM(1),
						  SONDA_DICT_ITEM(SONDA_STRING("k", "deep")))));
	SONDA_INSTANT(cases, "odd name", ON(t, 2), SONDA_INT("x.y[0]", 1));
	SONDA_BEGIN(cases, "merged", ON(merged, 0), SONDA_INT("both", 1), SONDA_INT("begin", 1));
	SONDA_END(cases, ON(merged, 1), SONDA_INT("both", 2), SONDA_INT("end", 1));
	memset(big, 'x', sizeof(big) - 1);
	SONDA_INSTANT(cases, "64 KiB", ON(t, 3), SONDA_STRING("big", big));
}

static void places(void)
{
	struct sonda_track t = sonda_track_named("places", 0, NULL);

	SONDA_INSTANT(cases, "here", ON(t, 0), SONDA_HERE());
	SONDA_INSTANT(cases, "logged", SONDA_TIMESTAMP(base), SONDA_HERE(),
		      SONDA_LOG(SONDA_LOG_WARN, "a line of a log"));
	SONDA_INSTANT(cases, "extended", ON(t, 1), SONDA_FIELD_STRING(9900, "made up"));
}

/* ---- tracks ---- */

static void overlap(const char *name, uint8_t merge)
{
	struct sonda_track one = sonda_track_named(name, 1, NULL);
	struct sonda_track two = sonda_track_named(name, 2, NULL);

	one.sibling_merge = two.sibling_merge = merge;
	SONDA_BEGIN(cases, "op", ON(one, 0));
	SONDA_BEGIN(cases, "op", ON(two, 1));
	SONDA_END(cases, ON(one, 3));
	SONDA_END(cases, ON(two, 4));
}

static void tracks(void)
{
	struct sonda_track thread = sonda_track_thread(), global = sonda_track_global();
	struct sonda_track level1 = sonda_track_named("level 1", 0, NULL);
	struct sonda_track level2 = sonda_track_named("level 2", 0, &level1);
	struct sonda_track level3 = sonda_track_named("level 3", 0, &level2);
	struct sonda_track of_thread = sonda_track_named("of a thread", 0, &thread);
	struct sonda_track of_all = sonda_track_named("of all", 0, &global);
	struct sonda_track ordered = sonda_track_named("ordered", 0, NULL);
	struct sonda_track child = sonda_track_named("child", 0, &ordered);

	SONDA_INSTANT(cases, "leaf", ON(level3, 0));
	SONDA_INSTANT(cases, "x", ON(of_thread, 0));
	SONDA_INSTANT(cases, "x", ON(of_all, 0));
	SONDA_INSTANT(cases, "default", ON(global, 0));
	ordered.child_ordering = SONDA_ORDER_EXPLICIT;
	ordered.description = "a description";
	child.has_sibling_order_rank = 1;
	child.sibling_order_rank = -5;
	SONDA_INSTANT(cases, "x", ON(child, 0));
	overlap("merged ops", SONDA_MERGE_DEFAULT);
	overlap("separate ops", SONDA_MERGE_NONE);
}

/* ---- counters and flows ---- */

static void counters(void)
{
	struct sonda_track ints = sonda_track_counter("ints", NULL);
	struct sonda_track reals = sonda_track_counter("reals", NULL);
	struct sonda_track sums = sonda_track_counter("sums", NULL);
	struct sonda_track extra = sonda_track_counter("extra", NULL);
	struct sonda_track named = sonda_track_counter("named unit", NULL);

	ints.unit = SONDA_UNIT_BYTES;
	ints.unit_multiplier = 1024;
	sums.is_incremental = 1;
	named.unit_name = "widgets";
	SONDA_COUNTER(cases, &ints, 300);
	SONDA_COUNTER_DOUBLE(cases, &reals, 0.25);
	for (int i = 0; i < 4; i++)
		SONDA_COUNTER(cases, &sums, 10 - 3 * i);
	SONDA_INSTANT(cases, "with counters", SONDA_EXTRA_INT(&extra, 5),
		      SONDA_EXTRA_DOUBLE(&reals, 0.5));
	SONDA_COUNTER(cases, &named, 1);
}

static void step(const char *name, uint64_t at, struct sonda_arg flow)
{
	struct sonda_track t = sonda_track_named("flows", at, NULL);

	SONDA_BEGIN_DYNAMIC(cases, name, ON(t, at), flow);
	SONDA_END(cases, ON(t, at + 1));
}

static void flows(void)
{
	struct sonda_track t = sonda_track_named("flow at an end", 0, NULL);

	step("A", 0, SONDA_FLOW(7));
	step("B", 10, SONDA_FLOW(7));
	step("C", 20, SONDA_FLOW_END(7));
	step("D", 30, SONDA_FLOW(7));
	step("E", 40, SONDA_FLOW(7));
	SONDA_BEGIN(cases, "F", ON(t, 50));
	SONDA_END(cases, ON(t, 55), SONDA_FLOW_GLOBAL(99));
	step("G", 60, SONDA_FLOW_GLOBAL(99));
}

/* ---- times ---- */

static void times(void)
{
	struct sonda_track t = sonda_track_named("times", 0, NULL);
	struct timespec mono;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	SONDA_INSTANT(cases, "monotonic", SONDA_TRACK(&t),
		      SONDA_TIMESTAMP_OF(SONDA_CLOCK_MONOTONIC, (uint64_t)mono.tv_sec * 1000000000 +
									(uint64_t)mono.tv_nsec),
		      SONDA_UINT("boot", sonda_now()));
	SONDA_INSTANT(cases, "now", SONDA_TRACK(&t), SONDA_UINT("boot", sonda_now()));
	SONDA_INSTANT(cases, "past", SONDA_TRACK(&t), SONDA_TIMESTAMP(base - 5 * MS),
		      SONDA_UINT("boot", base - 5 * MS));
	SONDA_INSTANT(cases, "now", SONDA_TRACK(&t), SONDA_UINT("boot", sonda_now()));
}

/* Something that takes CPU time. */
static void busy(void)
{
	volatile unsigned n = 0;

	SONDA_BEGIN(cases, "busy");
	while (n < 3000000)
		n++;
	SONDA_END(cases);
}

static void wait_until(bool enabled)
{
	while ((sonda_category_enabled(&cases) != 0) != enabled)
		usleep(1000);
}

static void write_all(void)
{
	const char *written = "event_cases_written";

	base = sonda_now();
	slices();
	across_threads();
	many_threads();
	names();
	annotations();
	places();
	tracks();
	counters();
	flows();
	times();
	busy();
	SONDA_INSTANT(cases, "all written");
	/* The session ends. */
	(void)sonda_activate_triggers(&written, 1, 0);
}

int main(void)
{
	const char *notify = getenv("EVENT_CASES_NOTIFY_FD");

	prctl(PR_SET_NAME, "cases-main");
	if (sonda_init(NULL) < 0 || sonda_wait_connected(20000) < 0)
		return 1;
	if (notify && write(atoi(notify), "1", 1) != 1)
		return 1;
	for (;;) {
		wait_until(true);
		write_all();
		wait_until(false);
	}
}
