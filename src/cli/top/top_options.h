/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/record/option_values.h"
#include "cli/record/record_options.h"
#include "cli/top/top_rows.h"
#include "config/trace_config.pb-c.h"

/* The command line of sonda top. Zero-initialise; top_options_deinit frees. */
struct top_options {
	const char *socket; /* borrowed from argv; NULL: the default */
	const char *color; /* borrowed from argv: always, never or auto */
	uint32_t period_ms;
	uint64_t count; /* screens; 0: until the user ends it */
	size_t sort; /* index of a column */
	size_t rows; /* 0: as many as there is room for */
	struct pid_list
		pids; /* owned, as are the next ones; their strings are borrowed from argv */
	struct arg_list units, containers, pods, cgroups, programs;
	enum top_by by;
	bool tree;
	bool by_thread;
	bool batch;
	bool json;
	bool help;
};

/* Returns 0 (also for --help, which sets ret->help), or -EINVAL or -ENOMEM and sets e. Call
 * top_options_deinit() in every case. */
int top_options_parse(int argc, char **argv, struct top_options *ret, struct err_text *e);
void top_options_deinit(struct top_options *o);

void top_print_usage(void);

/* Returns true if one of --unit, --container, --pod, --cgroup and --program is given. */
bool top_options_name_subject(const struct top_options *o);
/* Returns the subject that these options name. Its lists are borrowed from o. */
Pb__SubjectConfig top_options_subject(const struct top_options *o);

/* The config of the session of sonda top. */

/* For how many processes each family of eBPF counters writes values: the most that a family
 * allows. */
#define TOP_EBPF_PROCESSES 1024

/* Where the values of the processes come from. */
enum top_sources {
	TOP_EBPF, /* all from eBPF programs */
	/* The list of processes comes from linux.process_stats: for kernels whose BPF has no
	 * iterator of processes. */
	TOP_EBPF_WITHOUT_PROCESSES,
	TOP_PROC, /* all from /proc */
};

/* Makes the config of the session. Returns 0 (the caller frees with
 * pb__trace_config__free_unpacked()), or -errno. */
int top_config_build(const struct top_options *o, enum top_sources sources, Pb__TraceConfig **ret);
