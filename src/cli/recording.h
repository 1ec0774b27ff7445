/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/err.h"
#include "cli/console.h"
#include "cli/trace_file.h"
#include "cli/tracefs_events.h"
#include "config/trace_config.pb-c.h"

/*
 * A recording from its first to its last moment: finds the service or starts one, runs the session,
 * shows progress, obeys signals, and gathers what the summary will tell. Blocks in a loop of its
 * own.
 */

/* Set by the caller, borrowed while recording_run runs. */
struct recording_setup {
	const Pb__TraceConfig *config;
	const char *socket; /* the service must be there; NULL: the usual place, or our own */
	const struct tracefs_events *events; /* of this machine's kernel; NULL unknown */
	bool needs_ftrace; /* without it there is no point in recording */
	struct trace_file *file;
	struct console *console;
};

/* What came of it. Zero-initialise; recording_result_deinit frees. */
struct recording_result {
	struct trace_scan scan;
	struct name_list sources; /* asked for, not registered at the beginning nor at the end */
	struct name_list left_out; /* likewise: registered, but filtered out; sentences */
	struct name_list offered; /* data sources that were registered at the beginning */
	struct name_list gone; /* producers that went away meanwhile */
	struct service_stats before;
	struct service_stats stats;
	bool has_before;
	bool has_stats;
	bool flush_failed;
	uint64_t elapsed_ms; /* of tracing, by our clock */
	int write_error; /* of the file; the packets before it are good */
};

/*
 * 0: everything that was recorded is in the file. Else -errno with the sentence in why: -EINTR the
 * person threw it away; with write_error set the file took a part of it. SIGPIPE and SIGXFSZ are
 * ignored from here on.
 */
int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why);
void recording_result_deinit(struct recording_result *r);
