/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "bpf/samples.h"
#include "config/data_source_config.pb-c.h"

/* PerfEventConfig, checked and with its defaults. Older spellings of a field (sampling_frequency,
 * target_pid beside callstack_sampling.scope) mean the same. */
#define PERF_CONFIG_FREQUENCY                                                                      \
	10 /* samples of a CPU a second; the default of Perfetto's traced_perf */
#define PERF_CONFIG_RING_PAGES 256
#define PERF_CONFIG_RING_PAGES_MAX 16384
#define PERF_CONFIG_READ_MS 100
#define PERF_CONFIG_ADDITIONAL_MAX 4096 /* programs */
#define PERF_CONFIG_READ_MS_MIN 10

struct perf_config {
	struct perf_event_attr attr;
	char filter[1024]; /* of a tracepoint; empty: none */
	struct perf_event_attr
		followers[SAMPLES_FOLLOWERS_MAX]; /* counters read with each sample */
	uint32_t n_followers;
	clockid_t clock; /* of the samples */
	bool has_stacks, has_kernel_frames, has_user_frames;
	bool unwinds; /* programs without frame pointers: user_frames is UNWIND_DWARF or unset */
	uint32_t n_additional; /* programs that are sampled in addition to those of the scope */
	uint32_t ring_pages; /* a power of two */
	uint32_t read_ms;
	const Pb__PerfEventConfig *message; /* borrowed: what the config was read from */
};

struct perf_config_env {
	const char *tracefs; /* mount point, for the numbers of tracepoints; NULL: none */
	const char *sys_root; /* "/sys" */
	bool for_root; /* the consumer is root: see ds_consumer_is_root */
};

/* Reads the config, which must outlive *ret. Returns 0; -EACCES if only root may use a requested
 * feature; or -EINVAL, -ENOENT or another -errno. Sets e on failure. */
int perf_config_read(const Pb__PerfEventConfig *config, const struct perf_config_env *env,
		     struct perf_config *ret, struct err_text *e);

enum perf_scope {
	PERF_LEFT_OUT,
	PERF_WANTED,
	PERF_ADDITIONAL, /* wanted if its program is one of the first n_additional ones */
};

/* Returns whether the config requests samples of the process. cmdline: its command line, arguments
 * separated by NUL, or "" (a kernel thread). */
enum perf_scope perf_config_find_scope(const struct perf_config *c, pid_t pid, const char *cmdline);
/* Returns true if perf_config_find_scope() reads cmdline. */
bool perf_config_needs_cmdline(const struct perf_config *c);
