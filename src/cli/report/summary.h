/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/text/str.h"
#include "cli/report/snapshot_report.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "config/trace_config.pb-c.h"

/* The triggers of a trace config. */

/* Returns true if each trigger requests a snapshot from the consumer (CLONE_SNAPSHOT). */
bool triggers_take_snapshots(const Pb__TraceConfig *config);
/* Returns true if the buffers are meant to wrap until a trigger is hit; then overwritten data is not a loss. */
bool triggers_end_a_ring(const Pb__TraceConfig *config);

/* Appends what the recording waits for, without a newline; nothing without triggers. */
void trigger_text(const Pb__TraceConfig *config, struct strbuf *out);

/* The summary of a recording or a snapshot: content, losses and their places, missing data, reason of the end. */

struct record_facts {
	const Pb__TraceConfig *config;
	const struct trace_scan *scan;
	const struct service_stats *stats; /* at the end; NULL: those in the trace */
	const struct service_stats *before; /* at the beginning; NULL unknown */
	const struct tracefs_events *events; /* of this machine's kernel; NULL unknown */
	const struct name_list *sources; /* asked for, never registered */
	const struct name_list *left_out; /* registered, but filtered out; sentences */
	const struct name_list *skipped; /* fields that a producer does not know; sentences */
	const struct event_requests *idle; /* patterns with '!' that excluded nothing */
	const struct name_list *offered; /* data sources that are; NULL unknown */
	const struct name_list *gone; /* producers that disconnected meanwhile; NULL unknown */
	bool from_words; /* advice names options of the command line, not fields of a config */
	bool origin_unknown; /* it names both */
	bool unread; /* the service has written the trace where this process cannot read it */
	bool goes_on; /* a snapshot of a session that runs on */
	const char *end; /* why it ended; NULL: not told */
	bool not_started; /* some data sources had not when it ended */
	bool flush_failed; /* the one before the end */
	bool file_is_cut; /* there was no room for all of it */
	const struct snapshot_log *snapshots; /* what was saved instead of one trace; NULL: that */
	const char *command_end; /* how the command ended; NULL: there was none */
	const char *output; /* name for the user */
	uint64_t file_bytes;
	uint64_t elapsed_ms; /* by our clock; used when the trace does not say */
	unsigned cpus; /* 0 unknown */
};

struct record_verdict {
	bool lost; /* something is not in the trace that was recorded or should have been */
	bool missing; /* something asked for does not exist */
};

/* Appends the summary: a few lines for a person, each ended; */
void record_summary_write(const struct record_facts *f, struct strbuf *out,
			  struct record_verdict *ret);
/* or one line of JSON for a program. Its keys are in docs/record.md. */
void record_summary_json(const struct record_facts *f, struct strbuf *out,
			 struct record_verdict *ret);

/* ---- for the two forms ---- */

/* Of tracing. */
double record_seconds(const struct record_facts *f);
/* A time of the events' clock, from the start of tracing on, or from the first event where that is
 * not known. 0 is the start. */
double record_hole_seconds(const struct trace_scan *s, uint64_t ns);
/* The kernel's rings were requested, and their counters are not in the trace. */
bool record_losses_unknown(const struct record_facts *f);
/* Appends a line for each thing that was requested and not had, ended; those that begin with a blank
 * continue with the one before. Returns how many things. */
size_t record_missing(const struct record_facts *f, struct strbuf *ret);
