/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "ebpf/engine/family.h"
#include "ebpf/engine/map.h"
#include "ebpf/tracks/top_n.h"

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

/*
 * Of a family with a per_process_spec, the elements of its object (bpf/process.h) become tracks of the
 * largest processes, one for each value. Those of processes that are gone are freed once their last
 * values are in the trace.
 */
typedef void (*process_element_fn)(void *ctx, uint32_t pid, uint32_t what, const uint64_t *values);

struct per_process {
	const struct per_process_spec *spec; /* borrowed */
	struct process_sums sums;
	struct top_n *top; /* owned */
	struct map_view keys, values, times;
	uint64_t period_ns; /* CLOCK_BOOTTIME: when the period began that is read; 0: the first */
	uint32_t n_cpus, n_each; /* elements that each CPU has room for */
	struct map_cpus lost;
	uint32_t lost_track;
	uint32_t total_tracks[PROCESS_VALUES_MAX];
	uint32_t n_most; /* elements of the CPU that has most, at the last read */
	uint32_t *used; /* owned: elements of the CPU that is read */
	uint32_t n_used;
	uint32_t *gone; /* owned: elements to be freed */
	size_t n_gone, gone_cap;
	process_element_fn each; /* may be NULL: sees elements */
	void *ctx;
};

struct per_process_spec {
	const struct track_spec *columns; /* n_values; kind and parent are set */
	uint32_t n_values; /* u64s of an element */
	uint32_t n_columns; /* the first so many have tracks */
	uint32_t weights; /* bits: the columns whose growth makes a process one of the largest */
	bool is_spans;
	bool has_totals; /* the columns stand in the group of all, too: of all processes together */
	const char *lost_name; /* a track's, and what it means */
	const char *lost_description;
	uint32_t elements_per_cpu; /* room for; 0: PROCESSES_PER_CPU */
};

#define PROCESSES_PER_CPU 2048u /* powers of two */
#define PROCESSES_MIN 8192u
#define PROCESSES_MAX_ELEMENTS (1u << 18)

/* Before the object is loaded: sizes. */
void per_process_prepare(struct ebpf_object *o, const struct per_process_spec *spec,
			 uint32_t n_cpus);
/* Of a loaded object; 0 or -errno, and per_process_free in either case. */
int per_process_new(const struct ebpf_run *r, const struct per_process_spec *spec,
		    struct per_process **ret);
/* 0 or -errno. */
int per_process_read(struct per_process *p, struct ebpf_run *r);
void per_process_hide(struct per_process *p, struct ebpf_run *r);
/* NULL is fine. */
void per_process_free(struct per_process *p);
