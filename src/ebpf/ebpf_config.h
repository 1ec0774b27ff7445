/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "config/data_source_config.pb-c.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"
#include "subjects/subject.h"

/*
 * The checked config. Requests that cannot be fulfilled are reported as errors.
 */

#define EBPF_FAMILIES_MAX 32
#define EBPF_PROGRAMS_MAX 16
#define EBPF_HISTOGRAMS_MAX 16
#define EBPF_PIDS_MAX 4096
#define EBPF_CGROUPS_MAX 256
#define EBPF_OUTLIERS_PER_SECOND 100 /* default */
#define EBPF_PERIOD_MS 100 /* default */
#define EBPF_TOP_N 16
#define EBPF_TOP_N_MAX 1024

struct ebpf_config {
	uint32_t period_ms;
	uint32_t top_n;
	bool no_call_names;
	bool process_rows; /* sums by process as rows instead of tracks */
	bool thread_rows; /* rows are those of threads */
	bool waits_by_cgroup;
	bool histogram_rows; /* histograms as packets, besides their percentiles */
	double max_overhead_percent;
	uint64_t outlier_ns[EBPF_OUTLIERS]; /* 0: no slices */
	uint32_t outliers_per_second;
	const struct ebpf_family *families[EBPF_FAMILIES_MAX];
	size_t n;
	char *programs[EBPF_PROGRAMS_MAX]; /* owned; names without duplicates */
	size_t n_programs;
	uint32_t *pids; /* owned */
	size_t n_pids;
	/* the config lists control groups; if none of them exists, no thread is counted */
	bool has_cgroups;
	uint64_t *cgroups; /* owned; ids */
	size_t n_cgroups;
	struct subject_ids subject; /* in addition to these */
};

/* Reads the config, except for control groups and the subject, and adds its errors to errors.
 * families: the table. c may be NULL. Returns 0 or -ENOMEM; call deinit in either case. */
int ebpf_config_init(struct ebpf_config *s, const Pb__EbpfCountersConfig *c,
		     const struct ebpf_family *const *families, size_t n,
		     struct ebpf_errors *errors);
/* Call it after ebpf_config_init(): resolves the control groups of the config. Returns 0 or
 * -ENOMEM. */
int ebpf_config_find_cgroups(struct ebpf_config *s, const Pb__EbpfCountersConfig *c,
			     const char *sys_root, struct ebpf_errors *errors);
/* Resolves the subject_config; call it after ebpf_config_init(). If it cannot be fulfilled, no
 * thread is counted. Returns 0 or -ENOMEM. */
int ebpf_config_find_subject(struct ebpf_config *s, const Pb__SubjectConfig *c,
			     const char *sys_root, struct ebpf_errors *errors);
void ebpf_config_deinit(struct ebpf_config *s);
