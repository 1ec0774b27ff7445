/* SPDX-License-Identifier: Apache-2.0 */
#include "base/event_loop/time_slice.h"

#include "base/core/mem.h"

static struct {
	bool counted; /* time_slice_loop_iteration() is called */
	uint64_t end; /* of the first slice of this iteration */
	unsigned slices; /* of this iteration, so far */
	unsigned slices_before; /* of the previous iteration */
} iteration;

void time_slice_loop_iteration(void)
{
	iteration.counted = true;
	iteration.slices_before = iteration.slices;
	iteration.slices = 0;
}

struct time_slice time_slice_start(uint64_t (*now)(void))
{
	uint64_t begin = now(), end = begin + TIME_SLICE_NS;

	if (iteration.counted) {
		if (iteration.slices++ == 0)
			iteration.end = end;
		end = MIN(begin + TIME_SLICE_NS / MAX(iteration.slices_before, 1u), iteration.end);
	}
	return (struct time_slice){.now = now, .end = end};
}
