/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/random.h>

/* Pauses between attempts to reach a service. They double from 1 s to 30 s, as those of
 * traced_relay, and each is shortened at random by up to a half, so that many machines do not
 * reconnect at the same moment. */
#define BACK_OFF_FIRST_MS 1000u
#define BACK_OFF_LAST_MS 30000u

struct back_off {
	uint32_t ms; /* of the last pause before it was shortened; 0: after a success */
};

static inline uint32_t back_off_next_ms(struct back_off *b)
{
	uint32_t random = 0;

	if (b->ms == 0)
		b->ms = BACK_OFF_FIRST_MS;
	else
		b->ms = b->ms * 2 < BACK_OFF_LAST_MS ? b->ms * 2 : BACK_OFF_LAST_MS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 0;
	return b->ms - random % (b->ms / 2);
}
