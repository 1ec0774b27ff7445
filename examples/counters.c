/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of a program: memory in bytes, a load as a real number, and a total that is written as
 * differences. If no session records them, they cost one load and a branch each.
 *
 *	cc -o counters counters.c $(pkg-config --cflags --libs sonda)
 *	sonda record --app 'app.stats' -- ./counters
 */
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(stats, "app.stats", "Memory, load and work");

#define SAMPLES 50
#define PERIOD_NS 2000000

int main(void)
{
	struct sonda_track heap = sonda_track_counter("heap", NULL);
	struct sonda_track load = sonda_track_counter("load", NULL);
	struct sonda_track bytes = sonda_track_counter("bytes handled", NULL);
	const struct timespec period = {0, PERIOD_NS};
	void *blocks[SAMPLES];
	long total = 0;

	heap.unit = SONDA_UNIT_BYTES;
	load.unit_name = "requests/s";
	bytes.unit = SONDA_UNIT_BYTES;
	bytes.is_incremental = 1; /* short in the trace; for counters that one thread writes */
	sonda_init(NULL);
	sonda_wait_connected(1000);
	for (int i = 0; i < SAMPLES; i++) {
		blocks[i] = malloc(1000 + (size_t)(rand() % 100000));
		total += rand() % 5000;
		SONDA_COUNTER(stats, &heap, mallinfo2().uordblks);
		SONDA_COUNTER_DOUBLE(stats, &load, 100 + rand() % 1000 / 10.0);
		SONDA_COUNTER(stats, &bytes, total);
		nanosleep(&period, NULL);
	}
	for (int i = 0; i < SAMPLES; i++)
		free(blocks[i]);
	return 0;
}
