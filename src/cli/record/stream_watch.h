/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/terminal/console.h"
#include "common/trace_stats.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Does the file of a trace that is written while it is recorded keep up? Watches the service's
 * counters, which are asked for once a second.
 */

/* Zero-initialise. */
struct stream_watch {
	uint64_t read; /* bytes that left the buffers until the last time */
	uint64_t lost; /* chunks that were overwritten or discarded until then */
	unsigned still; /* times in a row that something waited and nothing left */
	bool is_behind; /* that was told */
};

#define STREAM_WATCH_TEXT 160
/* buffer_bytes: what may wait. Has something changed that the user should know? Then ret says it. */
bool stream_watch_note(struct stream_watch *w, const Pb__TraceStats *stats, uint64_t buffer_bytes,
		       char ret[static STREAM_WATCH_TEXT]);
/* The same, of a session of one buffer; says it, also when quiet. */
void stream_watch_say(struct stream_watch *w, const Pb__TraceStats *stats,
		      const Pb__TraceConfig *config, struct console *console);
/* For trace_file_watch_stalls: says it on the console (struct console). */
void stream_watch_stall(void *console, bool stalled);
