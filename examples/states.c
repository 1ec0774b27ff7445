/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of a program: what each of its connections does. A state lasts until the next one on its
 * track, so that no part of the program has to know what ended.
 *
 *	cc -o states states.c $(pkg-config --cflags --libs sonda)
 *	sonda record --app 'app.links' -- ./states
 */
#include <time.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(links, "app.links", "States of connections");

#define LINKS 3
#define ROUNDS 4

static void wait_ms(long ms)
{
	const struct timespec t = {0, ms * 1000000};

	nanosleep(&t, NULL);
}

int main(void)
{
	struct sonda_track state[LINKS];

	sonda_init(NULL);
	sonda_wait_connected(1000);
	for (uint64_t i = 0; i < LINKS; i++) {
		state[i] = sonda_track_state("connection", i, NULL);
		SONDA_STATE(links, &state[i], "connecting", SONDA_UINT("number", i));
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < LINKS; i++) {
			SONDA_STATE(links, &state[i], "busy", SONDA_INT("round", round));
			wait_ms(1);
			SONDA_STATE_DYNAMIC(links, &state[i], round & 1 ? "idle" : "waiting");
		}
	for (int i = 0; i < LINKS; i++)
		SONDA_STATE_END(links, &state[i]);
	return 0;
}
