/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/features.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/new_groups.h"
#include "ebpf/engine/object.h"

/*
 * A family: counters that are collected together. It is one row of ebpf_families
 * (families/families.h), with one object of bpf/ in one or more variants, and one reader. A struct
 * ebpf_run is a running family of one recording. Callbacks of a family:
 *
 *	prepare, setup   the object is open and not loaded: sets the sizes of maps
 *	begin     the object is loaded and not attached: finds further maps, allocates
 *	read      at the end of each period: maps -> tracks
 *	end       frees what begin allocated
 *
 * tracks/family_run.c does what most families need: a per-CPU array "cpus", sums by process
 * (tracks/per_process.h), the memory of their state. So each of the four may be NULL.
 *
 * A run ends when it fails; the reason is written to the trace, and other families continue.
 */

struct ebpf_run;
struct ebpf_errors;
struct outliers;
struct per_process;
struct per_process_spec;
struct process_ends;

/* The kinds of slices above a threshold; the config has a threshold for each. */
enum ebpf_outliers {
	EBPF_OUTLIERS_NONE,
	EBPF_OUTLIERS_RUNQ,
	EBPF_OUTLIERS_BLOCK,
	EBPF_OUTLIERS_RECLAIM,
	EBPF_OUTLIERS,
};
struct writer;

struct ebpf_cost {
	/* run time and run count of the family's programs when the measurement began
	 * (ebpf_object_read_cost()) */
	uint64_t ns, count;
	double percent; /* percent of one CPU, in the last measurement */
	uint64_t all_ns, all_count,
		all_took; /* totals of all measurements; all_took: ns of one CPU */
	uint32_t track, missed_track;
};

struct ebpf_family {
	Pb__EbpfCountersConfig__Family id;
	const char *name; /* name in messages */
	bool by_default; /* enabled if the config names no family */
	enum ebpf_outliers outliers;
	const struct ebpf_variant *variants;
	int n_variants;
	const struct per_process_spec *processes; /* NULL: no sums by process */
	const struct per_process_spec
		*processes_below; /* used by all variants but the first; NULL: processes */
	uint32_t no_names_switch; /* bit of sonda_settings.switches if no_call_names is set */
	uint32_t by_cgroup_switch; /* bit if waits_by_cgroup is set; 0: no such waits */
	size_t cpu_size; /* size of a value of "cpus"; 0: no such map */
	size_t state_size, state_per_cpu; /* bytes; the per-CPU array is the last member */
	/* Returns bits of sonda_settings.switches, in addition to those of the sums by process. */
	uint32_t (*prepare)(struct ebpf_object *o, const struct ebpf_features *f, uint32_t n_cpus);
	/* Like prepare, for a family that may turn out to be impossible; there is no state yet.
	 * Returns 0, or -errno and sets why. */
	int (*setup)(struct ebpf_run *r, const struct ebpf_features *f);
	/* Returns 0 or -errno; end is called in either case. The first read that needs a track
	 * creates it. */
	int (*begin)(struct ebpf_run *r);
	/* Called after tracks_begin. Returns 0 or -errno; an error is counted, logged once, and the
	 * read repeated in the next period. The sums by process are read by the caller; NULL: there
	 * is nothing else. */
	int (*read)(struct ebpf_run *r);
	/* Removes the family's own tracks. Called if it is stopped while others continue. */
	void (*remove_tracks)(struct ebpf_run *r);
	void (*end)(struct ebpf_run *r); /* also called after a begin that failed */
};

struct ebpf_run {
	const struct ebpf_family *family;
	const struct ebpf_variant *variant; /* the selected one */
	struct ebpf_object *object; /* owned; NULL: not running */
	struct new_groups_user new_groups; /* of the object */
	const struct ebpf_features *features; /* borrowed for the call of begin */
	struct tracks *tracks; /* borrowed */
	uint32_t group; /* group of all tracks */
	uint32_t n_cpus; /* possible CPUs: values of a per-CPU map */
	uint32_t top_n; /* limit of processes with tracks */
	bool no_call_names; /* of system calls: no tracks by name */
	bool process_rows; /* sums by process are written as rows (tracks/process_rows.h) */
	bool thread_rows; /* these sums, and the rows, are by thread */
	bool waits_by_cgroup; /* waits are also counted by control group */
	bool histogram_rows; /* histograms are also written as packets (tracks/histogram_rows.h) */
	bool is_asked_for_all; /* the next read writes what is not due yet, too */
	struct process_ends *ends; /* borrowed; shared by the runs. NULL: without process_rows */
	bool is_cleared; /* the incremental state was cleared; the family resets this flag */
	const char *proc_root; /* borrowed */
	uint64_t generation; /* number of the period that ended (bpf/histogram.h) */
	struct outliers *outliers; /* owned; NULL: disabled */
	void *state; /* of the family, zeroed before begin; owned, as are cpus and processes */
	struct map_cpus cpus;
	struct per_process *processes; /* NULL: no sums by process */
	struct writer *writer; /* writer of the tracks, for other packets; borrowed */
	struct ebpf_errors *errors; /* for errors of a part of the family; borrowed */
	struct err_text why; /* setup and begin may set it on error */
	struct ebpf_cost cost;
	bool error_logged; /* a read error was logged */
	uint64_t read_ns; /* average CPU time of a read */
	uint64_t next_read_ns; /* CLOCK_MONOTONIC: a read before this exceeds the CPU budget */
};

/* Starts a run. The caller has set family to top_n and the borrowed fields. On error nothing is
 * left allocated, and why has the reason. */
int ebpf_run_start(struct ebpf_run *r, const struct ebpf_features *f,
		   const struct ebpf_scope *scope, struct err_text *why);
/* Ends the period and sets the tracks; their timestamp is the end of the period. Returns 0 or
 * -errno. */
int ebpf_run_read(struct ebpf_run *r);
/* Returns true if this period is to be skipped. Periods are longer if the maps are so large that
 * reading them each time would take more than 0.5 % of a CPU. */
bool ebpf_run_over_budget(const struct ebpf_run *r);
/* Removes the tracks of a run. Call it before ebpf_run_stop() if a family is stopped while others
 * continue. */
void ebpf_run_remove_tracks(struct ebpf_run *r);
void ebpf_run_stop(struct ebpf_run *r);
