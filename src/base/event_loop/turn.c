/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/turn.h"

#include "base/core/mem.h"

static struct {
	bool known; /* somebody tells of rounds */
	uint64_t end; /* of this one, from its first turn on */
	unsigned turns; /* of this one, so far */
	unsigned before; /* of the one before */
} round_;

void turn_round_begins(void)
{
	round_.known = true;
	round_.before = round_.turns;
	round_.turns = 0;
}

struct turn turn_begin(uint64_t (*now)(void))
{
	uint64_t begin = now(), end = begin + TURN_NS;

	if (round_.known) {
		if (round_.turns++ == 0)
			round_.end = end;
		end = MIN(begin + TURN_NS / MAX(round_.before, 1u), round_.end);
	}
	return (struct turn){.now = now, .end = end};
}
