/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "cli/report/recording_sources.h"
#include "config/trace_config.pb-c.h"

/*
 * What stop, attach and snapshot learn of a session that another process has started, for the summary
 * that sonda record would print of it (cli/report/summary.h).
 */

/* Zero-initialise; verb_summary_deinit frees. */
struct verb_summary {
	Pb__TraceConfig *config; /* owned; NULL: the one in the trace */
	struct trace_scan scan;
	struct service_stats stats;
	bool has_stats; /* else those in the trace */
	struct recording_sources sources;
	bool goes_on; /* it is a snapshot */
	bool flush_failed;
	bool file_is_cut;
	bool unread; /* the trace is where this process cannot read it */
	struct err_text end; /* why it ended; "": not known */
	const char *output; /* borrowed: name for the user */
	uint64_t file_bytes;
	uint64_t elapsed_ms; /* used where the trace does not say */
};

void verb_summary_deinit(struct verb_summary *s);

/* The producers that are there now. Sources of the config that have none are missing; linux.ftrace
 * is reported as gone where the trace has its events. */
void verb_summary_sources(struct verb_summary *s, const Pb__TracingServiceState *state);

struct verb_summary_form {
	bool quiet; /* says nothing */
	bool json; /* on standard output; else for display, on standard error */
	bool strict;
};

/* Prints it. EXIT_GOOD, or with strict EXIT_LOSSY. */
int verb_summary_print(struct verb_summary *s, const struct verb_summary_form *form);
