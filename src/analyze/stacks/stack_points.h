/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"

/*
 * The call stacks of a trace, in one form:
 *
 *	cpu	samples of linux.perf and of other profilers: the code that ran. Weights are samples
 *	waits	the totals of linux.waits, or its single waits if it has no totals: the code that
 *		waited. Weights are ns
 *	single	the single waits of linux.waits, also those without a stack
 *	wakers	the totals of linux.waits by the stacks of the threads that ended the waits, or single
 *		waits if it has none of these. Weights are ns
 *	single wakers	the single waits, with the stacks of the threads that ended them
 *
 * A single wait is a slice on a track with the name "waits" below the track of its thread. The name
 * of the slice is the reason; its begin has the stack of the sleeper, its end that of the waker. A
 * total is a StackSample of the source "linux.waits" with the weights "blocked" and "waits", whose
 * innermost frame is the reason in brackets. Those by wakers have the source "linux.wakers".
 */
enum stack_kind {
	STACKS_CPU,
	STACKS_WAITS,
	STACKS_SINGLE_WAITS,
	STACKS_WAKERS,
	STACKS_SINGLE_WAKERS
};

struct stack_point {
	int64_t ts, dur; /* ns; dur: of a single wait, -1 if it has no end; else 0 */
	int64_t weight, n; /* n: samples or waits */
	uint32_t utid; /* the main thread if only the process is known; NULL_U32: unknown */
	uint32_t site; /* the innermost call site; NULL_U32: no stack was taken */
	uint32_t reason; /* reason of a wait, a string that may be in brackets; else NULL_U32 */
	uint32_t slice; /* slice of a single wait; else NULL_U32 */
	bool of_process; /* the weight is of all threads of the process */
};

struct stack_points {
	struct stack_point *of; /* owned; in the order of time */
	size_t n, cap;
	int64_t total_weight, total_n; /* sums of all points */
};

/* Returns the kind of a word ("cpu", "waits", "single", "wakers"), or STACKS_CPU. */
enum stack_kind stack_kind_of(const char *word);
/* Reads all points of a kind. Returns false if out of memory. free(ret->of) in either case. */
bool stack_points_read(const struct store *s, enum stack_kind kind, struct stack_points *ret);
