/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/contents.h"
#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "cli/report/recording_sources.h"
#include "config/trace_config.pb-c.h"

/*
 * Collects facts about a session that another process has started, for stop, attach, snapshot and
 * info. These verbs print the same summary as sonda record (cli/report/summary.h).
 */

/* Zero-initialise; verb_summary_deinit frees. */
struct verb_summary {
	Pb__TraceConfig *config; /* owned; NULL: the one in the trace */
	struct trace_scan scan;
	struct contents contents; /* filled if scan.contents points to it */
	struct service_stats stats;
	bool has_stats; /* false: the counters in the trace are used */
	struct recording_sources sources;
	bool goes_on; /* a snapshot: the session continues */
	bool flush_failed;
	bool file_is_cut;
	bool unread; /* this process cannot read the trace */
	struct err_text end; /* why the session ended; "": unknown */
	const char *output; /* borrowed: name for the user */
	const char *first_file; /* borrowed: the first of a rotation; NULL or "": one file */
	uint64_t file_bytes;
	uint64_t elapsed_ms; /* used if the trace has no duration */
};

void verb_summary_deinit(struct verb_summary *s);

/* Notes the producers that are connected now: data sources of the config without a producer are
 * missing. verb_summary_print() reports linux.ftrace as gone if the trace has events. */
void verb_summary_add_sources(struct verb_summary *s, const Pb__TracingServiceState *state);

struct verb_summary_form {
	bool quiet; /* print no text on standard error */
	bool to_stdout; /* print text on standard output, without the next step */
	bool json; /* print JSON on standard output; else text on standard error */
	bool strict; /* return EXIT_LOSSY if data was lost or is missing */
};

/* Prints the summary. Returns EXIT_GOOD; EXIT_LOSSY if `strict` is set and data was lost or is
 * missing; or EXIT_FAILED if standard output cannot be written. */
int verb_summary_print(struct verb_summary *s, const struct verb_summary_form *form);
