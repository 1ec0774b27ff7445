/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/family.h"
#include "ebpf/map.h"
#include "ebpf/process_sums.h"
#include "ebpf/top.h"

/*
 * Of a family with a processes_spec, the hash "processes" of its object (bpf/process.h) becomes
 * tracks of the largest processes, one for each value. Elements of processes that are gone are
 * deleted once their last values are in the trace.
 */
struct processes {
	const struct processes_spec *spec; /* borrowed */
	struct process_sums sums;
	struct top *top; /* owned */
	struct map_reader reader;
	struct map_cpus lost;
	uint32_t lost_track;
	uint32_t total_tracks[PROCESS_VALUES_MAX];
	uint32_t max_elements, n_elements; /* of the hash; at the last read */
	struct sonda_process_key *gone; /* owned: keys to be deleted */
	size_t n_gone, gone_cap;
	void (*each)(void *ctx, const void *key,
		     const void *value); /* may be NULL: sees elements */
	void *ctx;
};

struct processes_spec {
	const struct track_spec *columns; /* n_values; kind and parent are set */
	uint32_t n_values; /* u64s of an element */
	uint32_t n_columns; /* the first so many have tracks */
	uint32_t weights; /* bits: the columns whose growth makes a process one of the largest */
	bool is_spans;
	bool has_totals; /* the columns stand in the group of all, too: of all processes together */
	const char *lost_name; /* a track's, and what it means */
	const char *lost_description;
	uint32_t elements_per_cpu; /* room in the hash; 0: PROCESSES_PER_CPU */
};

#define PROCESSES_PER_CPU 1024u
#define PROCESSES_MIN 8192u
#define PROCESSES_MAX_ELEMENTS (1u << 18)

/* Before the object is loaded: sizes. Switches to add to the family's own. */
uint32_t processes_prepare(struct ebpf_object *o, const struct ebpf_facts *f,
			   const struct processes_spec *spec, uint32_t n_cpus);
/* Of a loaded object; 0 or -errno, and processes_free in either case. */
int processes_new(const struct ebpf_run *r, const struct processes_spec *spec,
		  struct processes **ret);
/* 0 or -errno. */
int processes_read(struct processes *p, struct ebpf_run *r);
void processes_hide(struct processes *p, struct ebpf_run *r);
/* NULL is fine. */
void processes_free(struct processes *p);
