/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/transport/writer.h"
#include "ftrace/session/ftrace_session.h"

/* The FtraceStats of one session. The counters at the start and the setup errors are written before
 * the first event, so that an unfinished trace has them. Each flush writes a pair: the counters at
 * the start and the current ones. So a truncated trace contains its losses up to the flush. */
struct session_stats {
	struct ring_stats_all start; /* owned */
	struct ftrace_stats_extra start_extra;
	uint64_t written_sum; /* sum of counters at the latest pair, to detect changes */
	bool written;
};

/* Stores the counters before anything is recorded. st must be zeroed. If the rings were preserved,
 * writes that to the trace: otherwise trace readers drop records from before the start. */
void session_stats_begin(struct session_stats *st, struct ftrace_session *s, struct writer *w);
/* Writes the counters at the start, and the errors until now. */
void session_stats_write_start(struct session_stats *st, struct ftrace_session *s,
			       struct writer *w);
/* Writes the counters at the start and the current ones. always: write even if nothing has changed
 * since the latest call. */
void session_stats_write(struct session_stats *st, struct ftrace_session *s, struct writer *w,
			 bool always);
void session_stats_deinit(struct session_stats *st);
