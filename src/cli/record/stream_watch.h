/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/terminal/console.h"
#include "common/trace_stats.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Detects that the output of a streaming recording does not keep up, from the service's counters,
 * which are requested once a second.
 */

/* Zero-initialise. */
struct stream_watch {
	uint64_t lost; /* chunks overwritten or discarded at the last check */
	bool is_behind; /* the output does not keep up, which was reported */
};

/* Checks the counters of a session with one buffer. Prints a message, also with --quiet, if data is
 * lost, or if the output falls behind or catches up. */
void stream_watch_check(struct stream_watch *w, const Pb__TraceStats *stats,
			const Pb__TraceConfig *config, struct console *console);
/* Callback for trace_file_watch_stalls(): prints to the console (struct console). */
void stream_watch_report_stall(void *console, bool stalled);
