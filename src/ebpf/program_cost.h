/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/family.h"
#include "ebpf/engine/errors.h"

/*
 * What the programs in the kernel cost, by the kernel's own measure. To measure costs two readings
 * of a clock for each run of a program, which is as much as the programs themselves: so one period
 * in COST_EVERY is measured, the second one first.
 *
 * Tracks: for each family, in the group "own cost", the percentage of one CPU in that period; in
 * "runs missed" how often the kernel left a program out, where it did.
 */
#define COST_EVERY 10

struct program_cost {
	int stats_fd; /* owned; -1: not measured now. Zero-initialising is not enough */
	uint64_t began; /* CLOCK_MONOTONIC, ns */
	uint32_t pass;
	uint32_t group, missed_group;
	bool is_refused; /* was told */
	uint32_t n_cpus;
	double limit; /* of the whole machine, in percent; 0: none */
};

void program_cost_deinit(struct program_cost *c);
/* At each pass, after all families were read. Families above the limit are stopped, the most
 * expensive first, until the sum is below it. */
void program_cost_pass(struct program_cost *c, struct ebpf_run *runs, size_t n,
		       struct ebpf_errors *errors);
/* What the kernel left out until now, as program_cost_pass does now and then: for the last values. */
void program_cost_set_missed(struct program_cost *c, struct ebpf_run *runs, size_t n);
/* What was measured of each, as one packet (EbpfCountersStats.costs), also of those that ended; no
 * packet of the writer may be open. */
void program_cost_write(const struct program_cost *c, const struct ebpf_run *runs, size_t n,
			struct writer *w);
