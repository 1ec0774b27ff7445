/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "procfs/process/process_map.h"

/*
 * When tasks ended, of those whose end was heard and no later begin of the same number. Zero-initialise.
 * A time has two maps, as the values of one are 31 bits and a sign.
 */
struct process_ends {
	struct process_map high, low;
};

/* ns: CLOCK_BOOTTIME; 0: it has not ended. Without memory it is as if nothing were heard. */
static inline void process_ends_put(struct process_ends *e, int32_t tid, uint64_t ns)
{
	if (process_map_set(&e->low, tid, (int32_t)(ns & INT32_MAX)) < 0)
		ns = 0;
	(void)process_map_set(&e->high, tid, (int32_t)(ns >> 31));
}

/* 0: not heard. Ends in the first two seconds after the boot are not known. */
static inline uint64_t process_ends_get(const struct process_ends *e, int32_t tid)
{
	uint64_t high = (uint64_t)process_map_get(&e->high, tid);

	return high ? high << 31 | (uint64_t)process_map_get(&e->low, tid) : 0;
}

static inline void process_ends_clear(struct process_ends *e)
{
	process_map_clear(&e->high);
	process_map_clear(&e->low);
}
