/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/time_slice.h"

#include "base/core/mem.h"

static struct {
	bool known; /* Another process tells of rounds */
	uint64_t end; /* of this one, from its first turn on */
	unsigned turns; /* of this one, so far */
	unsigned before; /* of the one before */
} round_;

void time_slice_loop_iteration(void)
{
	round_.known = true;
	round_.before = round_.turns;
	round_.turns = 0;
}

struct time_slice time_slice_start(uint64_t (*now)(void))
{
	uint64_t begin = now(), end = begin + TIME_SLICE_NS;

	if (round_.known) {
		if (round_.turns++ == 0)
			round_.end = end;
		end = MIN(begin + TIME_SLICE_NS / MAX(round_.before, 1u), round_.end);
	}
	return (struct time_slice){.now = now, .end = end};
}
