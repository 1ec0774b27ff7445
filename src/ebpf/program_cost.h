/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"

/*
 * The run time of BPF programs, measured by the kernel (bpf_stats). A measurement costs two clock
 * reads for each run of a program, as much as the programs themselves. So one period in COST_EVERY
 * is measured, starting with the first one after the load.
 *
 * Tracks: for each family, in the group "own cost", the percentage of one CPU in that period; in
 * "runs missed" how often the kernel skipped a program, if it did.
 */
#define COST_EVERY 10

struct program_cost {
	int stats_fd; /* owned; -1: not measuring. Zero-initialising is not enough */
	uint64_t began; /* CLOCK_MONOTONIC, ns */
	uint32_t pass;
	uint32_t group, missed_group;
	bool is_refused; /* the error was reported */
	uint32_t n_cpus;
	double limit; /* percent of the whole machine; 0: no limit */
};

void program_cost_deinit(struct program_cost *c);
/* Call it in each pass after all families were read. Stops families above the limit, the most
 * expensive first, until the sum is below it. */
void program_cost_end_pass(struct program_cost *c, struct ebpf_run *runs, size_t n,
			   struct ebpf_errors *errors);
/* Updates the tracks of missed runs. program_cost_end_pass() does so periodically; call this for
 * the last values. */
void program_cost_set_missed(struct program_cost *c, struct ebpf_run *runs, size_t n);
/* Writes the measurements of all families, also of stopped ones, as one packet
 * (EbpfCountersStats.costs). No packet of the writer may be open. */
void program_cost_write(const struct program_cost *c, const struct ebpf_run *runs, size_t n,
			struct writer *w);
