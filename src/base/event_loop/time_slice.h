/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A limit on how long one callback may run, so that other callbacks are not late. Long work is a
 * loop of small steps. After each step the callback calls time_slice_over(). If that returns true,
 * the callback returns and continues in a later loop iteration. So a kernel ring that fills
 * meanwhile waits for at most one time slice and one step.
 *
 * If the owner of the loop calls time_slice_loop_iteration() at the start of each iteration, all
 * time slices of one iteration share TIME_SLICE_NS: it is divided by the number of slices of the
 * previous iteration. A slice that starts after the time is used up does a single step.
 */
struct time_slice {
	uint64_t (*now)(void); /* in ns; clock_mono_ns except in tests */
	uint64_t end;
};

#define TIME_SLICE_NS 4000000

struct time_slice time_slice_start(uint64_t (*now)(void));
/* Starts a loop iteration. Only one loop of the process may call it. */
void time_slice_loop_iteration(void);

static inline bool time_slice_over(const struct time_slice *t)
{
	return t->now() >= t->end;
}
