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
 * A whole recording: finds the service or starts one, runs the session, shows progress, handles
 * signals, and collects the data of the summary. Blocks in its own loop.
 *
 * The command was forked before and waits. It is executed when all data sources have started, and
 * the recording ends with it. The first signal is forwarded to the running command, the next one
 * stops and saves, the last one discards the trace.
 *
 * With CLONE_SNAPSHOT each trigger saves a snapshot, and nothing else is saved.
 */

/* Set by the caller, borrowed while recording_run runs. */
struct recording_setup {
	Pb__TraceConfig *config; /* its threads are listed again just before the start */
	const struct pid_list *pids; /* the processes of -p; n is 0 without -p */
	struct command_child *command; /* NULL: there is none */
	const char *socket; /* address of a running service; NULL: default, or a private one */
	const char *detach; /* key of the detached session, which continues in a running service */
	const struct tracefs_events *events; /* of this machine's kernel; NULL unknown, or not needed */
	const char *tracefs_root; /* of this machine; NULL: the service is elsewhere, or unreadable */
	unsigned same_signal_ms; /* see terminal/signals.h */
	bool needs_ftrace; /* fails if linux.ftrace is not provided */
	struct trace_file *file; /* NULL: snapshots are saved instead */
	bool passes_file; /* the service writes into the file; this process reads nothing */
	bool streams; /* the trace is streamed into the file */
	uint64_t max_bytes; /* of a file that is read into; 0: no limit */
	const char *snapshots; /* their path (cli/record/snapshots.h); NULL: the config has none */
	struct console *console;
};

/* The result. Zero-initialise; recording_result_deinit frees. */
struct recording_result {
	struct trace_scan scan;
	struct recording_sources sources;
	struct service_stats before;
	struct service_stats stats;
	bool has_before;
	bool has_stats;
	bool all_started; /* all data sources had started before the stop; true if unknown */
	bool flush_failed;
	uint64_t elapsed_ms; /* of tracing, by our clock */
	struct err_text end; /* why this process stopped it; "": this process did not stop it */
	bool ended_by_itself; /* the session ended, or the file reached max_bytes */
	int write_error; /* of the file; earlier packets are valid */
	struct snapshot_log snapshots;
};

/*
 * Returns 0 if all recorded data is in the file. Else -errno and sets why: -ECONNABORTED if the
 * service ended the session early (the data is in the file), -EINTR if the user discarded the
 * recording; with write_error set the file has a part of the data. SIGPIPE and SIGXFSZ are ignored
 * from here on.
 */
int recording_run(const struct recording_setup *setup, struct recording_result *ret,
		  struct err_text *why);
void recording_result_deinit(struct recording_result *r);
