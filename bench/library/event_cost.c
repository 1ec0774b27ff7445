/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_cost [THREADS [EVENTS]]      while a session records category "bench"
 *        event_cost disabled EVENTS         for callgrind: functions with_events() and without()
 *
 * Prints ns an event, the least of several rounds: a disabled event, a reading of the clock, an
 * instant, one with two annotations, a slice (two events), a counter, an event on a track of its
 * own. With THREADS: CPU time of an instant, when each thread writes EVENTS at once, from its start
 * to its end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(bench, "bench", "Measured");
SONDA_CATEGORY_DEFINE(off, "off", "Never enabled", "slow");

#define ROUNDS 30
#define PIECE __attribute__((noinline, noclone))

static unsigned events = 5000; /* of a round: they fit into the shared memory */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- what is measured ---- */

PIECE static void disabled(unsigned i)
{
	SONDA_INSTANT(off, "never", SONDA_INT("i", i));
}

PIECE static void clock_reading(unsigned i)
{
	(void)i;
	sonda_now();
}

PIECE static void instant(unsigned i)
{
	(void)i;
	SONDA_INSTANT(bench, "instant");
}

PIECE static void two_annotations(unsigned i)
{
	SONDA_INSTANT(bench, "annotated", SONDA_INT("rc", i), SONDA_UINT("bytes", 1500));
}

PIECE static void slice(unsigned i)
{
	(void)i;
	SONDA_SCOPE(bench, "slice");
}

static struct sonda_track ram, queue;

PIECE static void counter(unsigned i)
{
	SONDA_COUNTER(bench, &ram, i);
}

PIECE static void on_track(unsigned i)
{
	(void)i;
	SONDA_INSTANT(bench, "on a track", SONDA_TRACK(&queue));
}

PIECE static void text(unsigned i)
{
	(void)i;
	SONDA_INSTANT(bench, "text", SONDA_STRING("path", "/usr/lib/x86_64-linux-gnu/libc.so.6"));
}

static const struct {
	const char *name;
	void (*fn)(unsigned i);
} pieces[] = {
	{"disabled", disabled}, {"clock", clock_reading},
	{"instant", instant},	{"annotations", two_annotations},
	{"slice", slice},	{"counter", counter},
	{"track", on_track},	{"text", text},
};

static double measure(void (*fn)(unsigned))
{
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = now_ns();
		double ns;

		for (unsigned i = 0; i < events; i++)
			fn(i);
		ns = (double)(now_ns() - start) / events;
		if (ns < best)
			best = ns;
		usleep(10000); /* the service takes what was written */
	}
	return best;
}

static void *many(void *ns)
{
	struct timespec t;

	for (unsigned i = 0; i < events; i++)
		instant(i);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	*(uint64_t *)ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return NULL;
}

static void measure_threads(int n)
{
	pthread_t threads[64];
	uint64_t ns[64], sum = 0;

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, many, &ns[i]) != 0)
			exit(1);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		sum += ns[i];
	}
	printf("threads %d %.1f\n", n, (double)sum / n / events);
}

/* ---- for callgrind ---- */

PIECE static void without(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		;
}

PIECE static void with_events(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		SONDA_INSTANT(off, "never", SONDA_INT("n", n));
}

int main(int argc, char **argv)
{
	int threads = 0;

	if (argc == 3 && strcmp(argv[1], "disabled") == 0) {
		without((unsigned)atoi(argv[2]));
		with_events((unsigned)atoi(argv[2]));
		return 0;
	}
	if (argc > 1)
		threads = atoi(argv[1]);
	if (argc > 2)
		events = (unsigned)atoi(argv[2]);
	if (threads > 64 || sonda_init(NULL) < 0 || sonda_wait_connected(20000) < 0)
		return 1;
	while (!sonda_category_enabled(&bench))
		usleep(1000);
	ram = sonda_track_counter("ram", NULL);
	queue = sonda_track_named("queue", 0, NULL);
	for (size_t i = 0; threads == 0 && i < sizeof(pieces) / sizeof(pieces[0]); i++)
		printf("%s %.1f\n", pieces[i].name, measure(pieces[i].fn));
	if (threads > 0)
		measure_threads(threads);
	return 0;
}
