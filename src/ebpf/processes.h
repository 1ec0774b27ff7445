/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/family.h"
#include "ebpf/map.h"
#include "ebpf/process_sums.h"
#include "ebpf/top.h"

/*
 * What most families by process do: the hash "processes" of their object (bpf/process.h) becomes
 * tracks of the largest processes, one for each value. Elements of processes that are gone are
 * deleted once their last values are in the trace.
 *
 * Embedded; zero-initialise, and deinit also after a processes_init that failed.
 */
struct processes {
	const struct processes_spec *spec; /* borrowed */
	struct process_sums sums;
	struct top *top; /* owned */
	struct map_reader reader;
	int lost_fd; /* the object's */
	uint32_t lost_track;
	uint32_t total_tracks[PROCESS_VALUES_MAX];
	uint64_t *lost; /* owned, one a CPU */
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

/* For a family's prepare: sizes; switches to add to its own. */
uint32_t processes_prepare(struct ebpf_object *o, const struct ebpf_facts *f,
			   const struct processes_spec *spec, uint32_t n_cpus);
/* For its begin: 0 or -errno. */
int processes_init(struct processes *p, const struct processes_spec *spec, struct ebpf_run *r);
/* For its read. */
int processes_read(struct processes *p, struct ebpf_run *r);
/* For its hide and its end. */
void processes_hide(struct processes *p, struct ebpf_run *r);
void processes_deinit(struct processes *p);

/* A family that has no more than this: r->state is its struct processes, from the heap. */
int processes_run_begin(struct ebpf_run *r, const struct processes_spec *spec);
int processes_run_read(struct ebpf_run *r);
void processes_run_hide(struct ebpf_run *r);
void processes_run_end(struct ebpf_run *r);
