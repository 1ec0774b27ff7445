/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: threads THREADS EVENTS drop|stall
 *
 * Each thread writes numbered packets while a session records. Prints what was written and what was
 * dropped, and ends when the session does.
 */
#include "numbers.h"

#include <pthread.h>

static uint64_t events;

static void *write_events(void *arg)
{
	unsigned writer = (unsigned)(uintptr_t)arg;
	uint64_t written = 0;

	for (uint64_t i = 0; i < events; i++)
		written += numbers_write(writer, i, i % 1000 == 0 ? 9000 : i % 30);
	return (void *)(uintptr_t)written;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	unsigned n = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t written = 0;
	void *ret;

	if (n == 0 || n > 64)
		return 2;
	events = strtoull(argv[2], NULL, 10);
	numbers_register(strcmp(argv[3], "stall") == 0 ? SONDA_FULL_STALL : SONDA_FULL_DROP);
	numbers_init();
	say("ready");
	numbers_wait_for_start();
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, write_events, (void *)(uintptr_t)i) != 0)
			return 1;
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], &ret);
		written += (uintptr_t)ret;
	}
	printf("called %llu dropped %llu\n", (unsigned long long)(events * n),
	       (unsigned long long)sonda_data_source_dropped(&numbers));
	/* Ends a session that waits for it. */
	sonda_activate_triggers((const char *const[]){"sonda.test.numbers.written"}, 1, 0);
	say("done");
	WAIT_FOR(!sonda_data_source_enabled(&numbers));
	WAIT_FOR(__atomic_load_n(&seen.destroys, __ATOMIC_RELAXED) ==
		 __atomic_load_n(&seen.setups, __ATOMIC_RELAXED));
	(void)written;
	return 0;
}
