/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * How long one callback may keep the loop. Long work is a loop of small steps, which asks after
 * each one whether its turn is over, and goes on in the next turn: what else waits on the loop,
 * such as kernel rings that fill, is never late by more than a turn and a step.
 *
 * Where the loop's owner says when a round of it begins (its callbacks between two waits), that holds
 * for all turns of a round together: they share the time of one, as many as there were in the round
 * before. One that comes when the time is used up has a single step.
 */
struct turn {
	uint64_t (*now)(void); /* in ns; clock_mono_ns but in tests */
	uint64_t end;
};

#define TURN_NS 4000000

struct turn turn_begin(uint64_t (*now)(void));
/* The process has one loop that has turns. */
void turn_round_begins(void);

static inline bool turn_over(const struct turn *t)
{
	return t->now() >= t->end;
}
