/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ebpf/engine/object.h"

/* What the programs of an object cost, measured in one period of ten, because the kernel's
 * statistics cost about as much as they measure. Begin with stats_fd -1. */
struct run_cost {
	int stats_fd; /* owned; -1: it is not being measured */
	unsigned period;
	uint64_t began, ns_before, runs_before;
	uint64_t run_ns, runs; /* of the programs, while it was measured */
	uint64_t measured_ns; /* how long it was measured, times the number of CPUs */
};

/* Call it once a period: it ends a measurement, and begins one in every tenth period, from the
 * first one on. */
void run_cost_next_period(struct run_cost *c, const struct ebpf_object *o);

/* The two halves of run_cost_next_period(), called in this order. run_cost_end_measurement() ends a
 * measurement, if there is one, and returns the percentage of the time of all CPUs that the
 * programs took; 0 if nothing was being measured. run_cost_begin_if_due() begins one in every tenth
 * period. */
double run_cost_end_measurement(struct run_cost *c, const struct ebpf_object *o);
void run_cost_begin_if_due(struct run_cost *c, const struct ebpf_object *o);
