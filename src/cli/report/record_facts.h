/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/name_list.h"
#include "analyze/trace_scan.h"
#include "base/text/str.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "config/trace_config.pb-c.h"

struct snapshot_log;

/* The facts about a recording or a snapshot at its end. All pointers are borrowed. */

struct record_facts {
	const Pb__TraceConfig *config;
	const struct contents *contents; /* NULL: not counted */
	const struct trace_scan *scan;
	const struct service_stats *stats; /* at the end; NULL: those in the trace */
	const struct service_stats *before; /* at the beginning; NULL unknown */
	const struct tracefs_events *events; /* of this machine's kernel; NULL unknown */
	const struct name_list *sources; /* data sources that are requested, but never registered */
	const struct name_list *left_out; /* data sources that are filtered out; sentences */
	const struct name_list *skipped; /* fields that a producer does not know; sentences */
	const struct event_requests *idle; /* patterns with '!' that excluded nothing */
	const struct name_list *offered; /* data sources that are registered; NULL unknown */
	const struct name_list *gone; /* producers that disconnected during it; NULL unknown */
	bool from_words; /* advice names options of the command line, not fields of a config */
	bool origin_unknown; /* the advice names both */
	bool unread; /* this process cannot read the trace that the service has written */
	bool goes_on; /* a snapshot of a session that continues */
	const char *end; /* why the recording ended; NULL: unknown */
	bool not_started; /* some data sources had not started at the end */
	bool flush_failed; /* the last flush failed */
	bool file_is_cut; /* the file has no room for the whole trace */
	const struct snapshot_log *snapshots; /* saved snapshots; NULL: one trace was saved */
	const char *command_end; /* how the command ended; NULL: there was none */
	const char *output; /* name for the user */
	const char *first_file; /* path of the first file of a rotation; NULL or "": one file */
	uint64_t file_bytes;
	/* By our clock; used if the trace has no duration. */
	uint64_t set_up_ms; /* from the start of tracing until all data sources had started */
	uint64_t elapsed_ms; /* after the set-up; 0 unknown */
	unsigned cpus; /* 0 unknown */
	uint64_t private_cpu_ns; /* CPU time of a private sondad and sonda-probes; 0: none ran */
	bool has_priority; /* the private daemons ran with SCHED_FIFO 1 */
};

/* Returns the service's counters: those at the end, else those in the trace, else NULL. */
const struct service_stats *record_find_stats(const struct record_facts *f);
/* Returns true if a trace file lacks the end of the recording: it was cut off, or the recording
 * continues in another file. */
bool record_is_end_missing(const struct record_facts *f);

/* The durations of a recording, in seconds. */

/* Returns the time from the moment when all data sources had started (if that is unknown, from the
 * start of tracing) to the end of tracing. If the trace lacks its end, the end of the data is
 * used. */
double record_seconds(const struct record_facts *f);
/* Returns the same time from the start of tracing: it includes the start of the data sources. */
double record_tracing_seconds(const struct record_facts *f);
/* Returns the time from the start of tracing until all data sources had started; 0 if unknown. */
double record_set_up_seconds(const struct trace_scan *s);
/* Returns the duration that the config asks for; 0 if it has none, or triggers. */
double record_requested_seconds(const Pb__TraceConfig *config);
/* Returns the time from the first kernel event to the last one; 0 without two of them. */
double record_event_seconds(const struct record_facts *f);
/* Appends the durations that differ noticeably from record_seconds(): " (asked for 5 s; events
 * cover 6.16 s)". */
void record_put_other_durations(const struct record_facts *f, struct strbuf *out);

/* Converts a time of the events' clock to seconds since the start of tracing, or since the first
 * event if the start is unknown. */
double record_seconds_at(const struct trace_scan *s, uint64_t ns);
/* Returns true if there may be losses that are not known: the trace was not read or lacks its end,
 * or the kernel's rings were requested and their last counters are not in the trace. */
bool record_losses_are_unknown(const struct record_facts *f);

/* The triggers of a trace config. */

/* Returns true if each trigger requests a snapshot from the consumer (CLONE_SNAPSHOT). */
bool config_triggers_take_snapshots(const Pb__TraceConfig *config);
/* Returns true if the buffers are meant to wrap until a trigger is hit; then overwritten data is
 * not a loss. */
bool config_triggers_end_ring(const Pb__TraceConfig *config);

/* Appends what the recording waits for, without a newline; nothing without triggers. */
void config_triggers_put_text(const Pb__TraceConfig *config, struct strbuf *out);
