/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "cli/terminal/console.h"
#include "cli/record/progress.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"

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
