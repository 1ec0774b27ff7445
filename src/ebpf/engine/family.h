/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/features.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/object.h"

/*
 * What counts together: one row of ebpf_families (families.c), one object of bpf/ (or a ladder of
 * them), one reader. What runs of it for one recording is a struct ebpf_run:
 *
 *	prepare   the object is open and not loaded: maps get their sizes
 *	begin     it is loaded and counts nothing yet: further maps are found, memory is taken
 *	read      at each period's end: maps -> tracks
 *	end       gives back what begin took
 *
 * What most have, run.c does for them: a per-CPU array "cpus", sums by process (processes.h), the
 * memory of their state. So each of the four may be NULL.
 *
 * A run ends for good when something fails; the reason is told in the trace, and others go on.
 */

struct ebpf_run;
struct ebpf_errors;
struct outliers;
struct per_process;
struct per_process_spec;

/* What of a family may be slices of their own: by threshold in the config. */
enum ebpf_outliers {
	EBPF_OUTLIERS_NONE,
	EBPF_OUTLIERS_RUNQ,
	EBPF_OUTLIERS_BLOCK,
	EBPF_OUTLIERS_RECLAIM,
	EBPF_OUTLIERS,
};
struct writer;

struct ebpf_cost {
	uint64_t ns, count; /* the kernel's sums when the measurement began */
	double percent; /* of one CPU, in the last one */
	uint64_t all_ns, all_count, all_took; /* over all measurements; took: ns of one CPU */
	uint32_t track, missed_track;
};

struct ebpf_family {
	Pb__EbpfCountersConfig__Family id;
	const char *name; /* as people write it */
	bool by_default; /* when the config names none */
	enum ebpf_outliers outliers;
	const struct ebpf_variant *variants;
	int n_variants;
	const struct per_process_spec *processes; /* NULL: it has no sums by process */
	const struct per_process_spec
		*processes_below; /* on variants below the first; NULL: the same */
	size_t cpu_size; /* of a value of "cpus"; 0: it has none */
	size_t state_size, state_per_cpu; /* bytes; the array of all CPUs comes last */
	/* What goes to sonda_settings.switches, beside what the sums by process want. */
	uint32_t (*prepare)(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus);
	/* 0 or -errno; end comes in either case. Tracks are made by the first read that needs them. */
	int (*begin)(struct ebpf_run *r);
	/* 0 or -errno: counted, told once, and tried again at the next period. After tracks_begin.
	 * The sums by process are read here; NULL: there are no others. */
	int (*read)(struct ebpf_run *r);
	/* Only of one that is switched off while others go on: removes its own tracks. */
	void (*hide)(struct ebpf_run *r);
	void (*end)(struct ebpf_run *r); /* also after a begin that failed */
};

struct ebpf_run {
	const struct ebpf_family *family;
	const struct ebpf_variant *variant; /* that was chosen */
	struct ebpf_object *object; /* owned; NULL: it does not run */
	const struct ebpf_features *features; /* borrowed during begin */
	struct tracks *tracks; /* borrowed, as what follows */
	uint32_t group; /* the track of all */
	uint32_t n_cpus; /* possible ones: values of a per-CPU map */
	uint32_t top_n; /* processes that may have tracks of their own */
	const char *proc_root;
	uint64_t generation; /* of the period that is over (bpf/histogram.h) */
	struct outliers *outliers; /* owned; NULL: none are asked for */
	void *state; /* the family's own, zeroed before begin; owned, as what follows */
	struct map_cpus cpus;
	struct per_process *processes; /* NULL: none */
	struct writer *writer; /* of the tracks, for packets of its own; borrowed */
	struct ebpf_errors *errors; /* for what is only a part of it; borrowed */
	struct err_text why; /* a begin that failed may say why */
	struct ebpf_cost cost;
	bool said; /* that a read failed */
	uint64_t read_ns; /* CPU time of a read, on average */
	uint64_t rests_until; /* CLOCK_MONOTONIC, ns */
};

/* Begins to count. What is set before: family to top_n, and what is borrowed. On failure nothing is
 * left of it, and why has a sentence. */
int ebpf_run_start(struct ebpf_run *r, const struct ebpf_features *f,
		   const struct ebpf_scope *scope, struct err_text *why);
/* Ends the period, which is the moment of its tracks, and sets them. 0 or -errno. */
int ebpf_run_read(struct ebpf_run *r);
/* Where maps are so large that a read in each period would take more than 0.5 % of one CPU, periods are
 * longer: is this one left out? */
bool ebpf_run_rests(const struct ebpf_run *r);
/* Of one that is switched off while others go on, before its stop: removes its tracks. */
void ebpf_run_hide(struct ebpf_run *r);
void ebpf_run_stop(struct ebpf_run *r);
