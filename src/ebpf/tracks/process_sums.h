/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

/*
 * The elements of processes (bpf/process.h) added up by process, over the life of the recording: an
 * element that is freed takes nothing away. Totals never fall, though elements are
 * read one after the other while the kernel counts on.
 *
 *	process_sums_begin(s, now);
 *	process_sums_add(s, pid, values);    for each element
 *	process_sums_end(s);
 */
#define PROCESS_VALUES_MAX 8u
#define PROCESSES_MAX 65536u /* with elements; further ones are not seen */

struct process_sum {
	uint32_t pid;
	UT_hash_handle hh;
	uint32_t period; /* the last that told of it */
	bool grew; /* in that period */
	uint64_t
		made_ns; /* the caller's: CLOCK_BOOTTIME, when the newest of its elements was made */
	bool is_gone; /* the caller's: its elements are to be deleted */
	uint64_t raw[PROCESS_VALUES_MAX]; /* of the elements, in this period */
	uint64_t last[PROCESS_VALUES_MAX]; /* what is in the totals of them */
	uint64_t totals[PROCESS_VALUES_MAX];
};

struct process_sums {
	uint32_t n_values; /* of an element; set by the caller, as the next one */
	bool is_spans; /* values are spans, not sums */
	uint32_t period;
	uint64_t now;
	struct process_sum *all; /* a uthash of owned ones; the caller may go through it */
	uint64_t all_totals[PROCESS_VALUES_MAX]; /* also of those that are gone */
};

void process_sums_deinit(struct process_sums *s);
/* now: CLOCK_BOOTTIME, for spans. */
void process_sums_begin(struct process_sums *s, uint64_t now);
/* values: n_values. The process, or NULL: no memory, or too many. */
struct process_sum *process_sums_add(struct process_sums *s, uint32_t pid, const uint64_t *values);
/* Forgets who was not told of in this period. */
void process_sums_end(struct process_sums *s);
