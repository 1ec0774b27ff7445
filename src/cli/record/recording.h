/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "cli/record/command_child.h"
#include "cli/record/option_values.h"
#include "cli/report/recording_sources.h"
#include "cli/report/snapshot_report.h"
#include "cli/terminal/console.h"
#include "cli/terminal/kernel_events.h"
#include "cli/trace/trace_file.h"
#include "config/trace_config.pb-c.h"

/*
 * A recording from its first to its last moment: finds the service or starts one, runs the session,
 * shows progress, obeys signals, and gathers what the summary will tell. Blocks in a loop of its
 * own.
 *
 * With a command, which has been forked and waits: it runs once all data sources have started, and
 * the recording ends with it. The first signal is the command's, if it runs, the next one stops and
 * saves, the last one discards.
 *
 * With CLONE_SNAPSHOT each trigger saves a snapshot, and nothing else is saved.
 */

/* Set by the caller, borrowed while recording_run runs. */
struct recording_setup {
	Pb__TraceConfig *config; /* its threads are listed again at the last moment */
	const struct pid_list *pids; /* whose threads these are; n is 0: of nobody */
	struct command_child *command; /* NULL: there is none */
	const char *socket; /* the service must be there; NULL: the usual place, or our own */
	const char *detach; /* the session continues under this name, in a service that is there */
	const struct tracefs_events *events; /* of this machine's kernel; NULL unknown */
	unsigned same_signal_ms; /* see end_signals.h */
	bool needs_ftrace; /* without it there is no point in recording */
	struct trace_file *file; /* NULL: there are snapshots in its place */
	bool passes_file; /* the service writes into it; nothing is read */
	bool streams; /* the trace goes into the file while it is recorded: read, if not passed */
	uint64_t max_bytes; /* of a file that is read into; 0: no limit */
	const char *snapshots; /* their path (cli/record/snapshots.h); NULL: the config has none */
	struct console *console;
};

/* What came of it. Zero-initialise; recording_result_deinit frees. */
struct recording_result {
	struct trace_scan scan;
	struct recording_sources sources;
	struct service_stats before;
	struct service_stats stats;
	bool has_before;
	bool has_stats;
	bool all_started; /* all data sources, before it was stopped; true when nobody tells */
	bool flush_failed;
	uint64_t elapsed_ms; /* of tracing, by our clock */
	struct err_text end; /* why it was stopped from here; "": it was not */
	bool ended_by_itself; /* the session has, or the file has its max_bytes */
	int write_error; /* of the file; the packets before it are good */
	struct snapshot_log snapshots;
};

/*
 * 0: everything that was recorded is in the file. Else -errno and sets why: -ECONNABORTED
 * the same, but the service has ended it; -EINTR the user threw it away; with write_error set the file took a part of it. SIGPIPE and SIGXFSZ are
 * ignored from here on. After an error the command has not run, or is of no further use.
 */
int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why);
void recording_result_deinit(struct recording_result *r);
