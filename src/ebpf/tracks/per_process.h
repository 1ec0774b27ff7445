/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/hash_table.h"
#include "base/core/pid_set.h"
#include "ebpf/engine/family.h"
#include "ebpf/engine/map.h"
#include "ebpf/tracks/top_n.h"

/* Sums of the per-process elements (bpf/process.h) over a recording. Freeing an element does not
 * reduce a sum. Sums never decrease, although elements are read one after the other while BPF
 * programs update them. */
#define PROCESS_VALUES_MAX 8u
#define PROCESSES_MAX 65536u /* limit of processes; further ones are ignored */

struct process_sum {
	uint32_t pid;
	UT_hash_handle hh;
	uint32_t period; /* last period with an element of the process */
	uint32_t first_period; /* first period with an element of the process */
	bool grew; /* its values grew in that period */
	bool was_emptied; /* set by the caller: it emptied the elements since the last period */
	uint64_t
		made_ns; /* set by the caller: CLOCK_BOOTTIME when its newest element was created */
	bool is_gone; /* set by the caller: its elements are to be freed */
	uint64_t raw[PROCESS_VALUES_MAX]; /* sums of the elements in this period */
	uint64_t last[PROCESS_VALUES_MAX]; /* part of raw that is in totals */
	uint64_t totals[PROCESS_VALUES_MAX];
};

struct process_sums {
	uint32_t n_values; /* u64s of an element; set by the caller, as is is_spans */
	bool is_spans; /* values are time spans, not sums; the first is time on CPUs */
	uint32_t n_cpus; /* set by the caller; for spans */
	uint32_t period;
	uint64_t now;
	uint64_t cpu_ns; /* time of all CPUs in this period; in the first one unlimited */
	struct process_sum *all; /* uthash of owned entries; the caller may iterate over it */
	uint64_t all_totals[PROCESS_VALUES_MAX]; /* including processes that have exited */
};

typedef void (*process_element_fn)(void *ctx, uint32_t pid, uint32_t what, const uint64_t *values);

/* The processes that have ended, for all families of a recording. A family of spans finds them
 * (per_process_spec.is_spans); without it each family looks in /proc, which takes longer. */
struct process_ends {
	struct pid_set pids; /* the caller reserves and clears it */
	bool is_known; /* a family of spans is read */
};

/* Tracks of the processes with the largest sums, one for each value, for families with a
 * per_process_spec. The elements of exited processes are freed after their last values were
 * written. */
struct per_process {
	const struct per_process_spec *spec; /* borrowed */
	struct process_sums sums;
	struct top_n *top; /* owned */
	struct map_view keys, values, times;
	uint64_t period_ns; /* start of the period that is read, CLOCK_BOOTTIME; 0: first */
	uint32_t n_cpus, n_each; /* number of elements of each CPU */
	struct map_cpus lost;
	uint32_t lost_track;
	uint32_t total_tracks[PROCESS_VALUES_MAX];
	uint32_t n_most; /* elements in use on the fullest CPU at the last read */
	uint32_t *used; /* owned: elements in use of the CPU that is read */
	uint32_t n_used;
	uint32_t *gone; /* owned: elements to be freed */
	size_t n_gone, gone_cap;
	process_element_fn each; /* called for each element; may be NULL */
	void *ctx;
};

struct per_process_spec {
	const struct track_spec *columns; /* n_columns; this unit sets kind and parent */
	uint32_t n_values; /* u64s of an element */
	uint32_t n_columns; /* number of values, from the first, that have tracks */
	uint32_t weights; /* bits: columns whose growth ranks the processes */
	bool is_spans; /* the first value is time on CPUs */
	/* the group of the family has the columns too, summed over all processes */
	bool has_totals;
	const char *lost_name; /* name and description of the track of lost values */
	const char *lost_description;
	uint32_t elements_per_cpu; /* 0: PROCESSES_PER_CPU */
};

#define PROCESSES_PER_CPU 2048u /* powers of two */
#define PROCESSES_MIN 8192u
#define PROCESSES_MAX_ELEMENTS (1u << 18)

/* Sets the sizes of the object's maps. Call it before the object is loaded. */
void per_process_prepare(struct ebpf_object *o, const struct per_process_spec *spec,
			 uint32_t n_cpus);
/* Maps the elements of a loaded object. Returns 0 or -errno; call per_process_free() in either
 * case. */
int per_process_new(const struct ebpf_run *r, const struct per_process_spec *spec,
		    struct per_process **ret);
/* Ends a period: reads the elements and sets tracks or writes rows. Returns 0 or -errno. */
int per_process_read(struct per_process *p, struct ebpf_run *r);
/* Returns true if more than half of the elements of a CPU were in use at the last read. */
bool per_process_is_filling(const struct per_process *p);
void per_process_remove_tracks(struct per_process *p, struct ebpf_run *r);
/* No-op for NULL. */
void per_process_free(struct per_process *p);
