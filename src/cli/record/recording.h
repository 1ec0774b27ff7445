/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "cli/record/recording_setup.h"
#include "cli/report/recording_sources.h"
#include "cli/report/refusals.h"
#include "cli/report/snapshot_report.h"

/*
 * A whole recording: finds the service or starts one, runs the session, shows progress, handles
 * signals, and collects the data of the summary. Blocks in its own loop.
 *
 * The command was forked before and waits. It is executed when all data sources have started, and
 * the recording ends with it. The first signal is forwarded to the running command, the next one
 * stops and saves, the last one discards the trace.
 *
 * With CLONE_SNAPSHOT each trigger saves a snapshot, and nothing else is saved.
 */

#define RECORDING_COMMAND_ENDED "the command ended" /* value of recording_result.end */

/* The result. Zero-initialise; recording_result_deinit frees. */
struct recording_result {
	struct trace_scan scan;
	struct recording_sources sources;
	struct service_stats before;
	struct service_stats stats;
	bool started_daemons; /* no service was running */
	uint64_t daemons_cpu_ns; /* CPU time of the started daemons and their children */
	bool has_before;
	bool has_stats;
	bool all_started; /* all data sources had started before the stop; true if unknown */
	bool flush_failed;
	uint64_t set_up_ms; /* from the start of tracing until all data sources had started */
	uint64_t elapsed_ms; /* after the set-up */
	enum refused_options refused; /* why it was ended early; the file is useless */
	struct err_text end; /* why this process stopped it; "": this process did not stop it */
	bool is_cut_short; /* a private sonda-probes died */
	bool ended_by_itself; /* the session ended, or the file reached max_bytes */
	int write_error; /* error of writing the file; earlier packets are valid */
	struct snapshot_log snapshots;
};

/* Returns 0 if all recorded data is in the file. Else -errno and sets why: -ECONNABORTED if the
 * service ended the session early (the data is in the file), -EINTR if the user discarded the
 * recording; with write_error set the file has a part of the data. SIGPIPE and SIGXFSZ are ignored
 * from here on. */
int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why);
void recording_result_deinit(struct recording_result *r);
