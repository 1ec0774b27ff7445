/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/transport/writer.h"
#include "ftrace/session/ftrace_session.h"

/*
 * The FtraceStats of one session. They come as a pair, the counters at the start and those of now,
 * with every flush: a trace that is cut short still knows its losses up to there.
 */
struct session_stats {
	struct ring_stats_all start; /* owned */
	struct ftrace_stats_extra start_extra;
	uint64_t written_sum; /* of what the last pair said */
	bool written;
};

/* Remembers the counters, before anything is recorded. st is zeroed. Readers of traces drop what is
 * older than the start, unless they are told that it was preserved, which this writes. */
void session_stats_begin(struct session_stats *st, struct ftrace_session *s, struct writer *w);
/* always: though it says nothing new. */
void session_stats_write(struct session_stats *st, struct ftrace_session *s, struct writer *w,
			 bool always);
void session_stats_deinit(struct session_stats *st);
