/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/terminal/console.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/* One line about a recording that continues. */

struct progress {
	uint64_t elapsed_ms;
	uint64_t duration_ms; /* 0: until Ctrl-C */
	bool has_bytes;
	uint64_t bytes; /* in the central buffer, overwritten ones included */
	bool has_events;
	uint64_t events; /* of the kernel's rings */
	uint64_t lost;
};

#define PROGRESS_MAX 160

/*
 * Does the file of a trace that is written while it is recorded keep up? Watches the service's
 * counters, which are requested once a second.
 */

/* Zero-initialise. */
struct stream_watch {
	uint64_t read; /* bytes that left the buffers until the last time */
	uint64_t lost; /* chunks that were overwritten or discarded until then */
	unsigned still; /* times in a row that something waited and nothing left */
	bool is_behind; /* that was reported */
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

/*
 * The line of progress of a recording: the service tells how much it holds, and the kernel's rings
 * how many events there were, where they can be found.
 */

#define RECORDING_PROGRESS_MAX_PROBES 8

/* Zero-initialise; recording_progress_deinit frees. */
struct recording_progress {
	struct progress shown;
	pid_t probes[RECORDING_PROGRESS_MAX_PROBES]; /* who may be reading the kernel's rings */
	size_t n_probes;
	char *instance; /* owned: the tracefs instance of one of them; NULL unknown */
};

void recording_progress_deinit(struct recording_progress *p);
void recording_progress_note_state(struct recording_progress *p,
				   const Pb__TracingServiceState *state);
/* tracefs_root: NULL where we may not look. */
void recording_progress_note_stats(struct recording_progress *p, const char *tracefs_root,
				   const Pb__TraceStats *stats);
void recording_progress_show(struct recording_progress *p, uint64_t elapsed_ms,
			     struct console *console);
