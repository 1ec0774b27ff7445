/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_startup EVENTS [MS]
 *
 * Writes events from the start on, of two threads, before there is a service. Says "written", and
 * goes on with one event a millisecond until a session has come and ended, or the time of MS is
 * over. Prints how many events were written and dropped.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(boot, "boot", "Of the start");
SONDA_CATEGORY_DEFINE(other, "other", "Not of the start");

static unsigned long events;
static bool gave_up;

static void on_trouble(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "%s\n", sentence);
	if (strstr(sentence, "no session adopted"))
		__atomic_store_n(&gave_up, true, __ATOMIC_RELAXED);
}

static void *write_events(void *text)
{
	for (unsigned long i = 0; i < events; i++)
		SONDA_INSTANT(boot, "early", SONDA_UINT("n", i), SONDA_STRING("text", text));
	return NULL;
}

int main(int argc, char **argv)
{
	struct sonda_init_options o = {.size = sizeof(o),
				       .on_trouble = on_trouble,
				       .startup_categories = "nothing,boo*",
				       .startup_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 600000};
	static char big[20001]; /* more than four chunks */
	unsigned long later = 0;
	pthread_t thread;

	if (argc < 2)
		return 2;
	events = strtoul(argv[1], NULL, 10);
	memset(big, 'x', sizeof(big) - 1);
	SONDA_INSTANT(boot, "too early");
	if (sonda_init(&o) != 0 || !sonda_category_enabled(&boot) || sonda_category_enabled(&other))
		return 1;
	SONDA_BEGIN(boot, "start");
	if (pthread_create(&thread, NULL, write_events, "of a thread that ends") != 0)
		return 1;
	pthread_join(thread, NULL);
	write_events("of the main thread");
	SONDA_INSTANT(boot, "big", SONDA_STRING("big", big));
	SONDA_END(boot);
	puts("written");
	fflush(stdout);
	/* The session has more categories than the start. */
	while (!sonda_category_enabled(&other) && !__atomic_load_n(&gave_up, __ATOMIC_RELAXED)) {
		SONDA_INSTANT(boot, "waiting", SONDA_UINT("n", later));
		later++;
		usleep(1000);
	}
	for (unsigned i = 0; sonda_category_enabled(&other); i++) {
		SONDA_INSTANT(boot, "waiting", SONDA_UINT("n", later));
		later++;
		if (i == 100)
			sonda_activate_triggers((const char *const[]){"boot.done"}, 1, 0);
		usleep(1000);
	}
	printf("early %lu later %lu dropped %llu\n", 2 * events, later,
	       (unsigned long long)sonda_track_events_dropped());
	sonda_shutdown();
	return 0;
}
