/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"
#include "cli/record/recording_setup.h"
#include "cli/terminal/console.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Progress line of a recording: the size of the data from the service's counters, the number of
 * events from the kernel's ring buffers if they can be read.
 */

#define RECORDING_PROGRESS_MAX_PROBES 8

/* The progress of a recording. Zero-initialise; recording_progress_deinit() frees the members. */
struct recording_progress {
	/* The figures of the line. */
	uint64_t elapsed_ms;
	uint64_t duration_ms; /* set by the owner; 0: until Ctrl-C */
	bool has_bytes;
	uint64_t bytes; /* in the central buffer, overwritten ones included */
	bool has_events;
	uint64_t events; /* events in the kernel's rings */
	uint64_t lost; /* so far: of these events, and chunks of the service's buffers */
	uint64_t rate; /* events in a second, since the previous line */
	bool has_fill;
	unsigned fill; /* percent of the fullest buffer: a ring of the kernel, or the service's */
	/* Where the figures come from. */
	pid_t probes
		[RECORDING_PROGRESS_MAX_PROBES]; /* producers that may read the kernel's rings */
	size_t n_probes;
	char *instance; /* owned: the tracefs instance of one of them; NULL unknown */
	uint64_t ring_kb; /* of each CPU; 0: unknown */
	uint64_t last_ms; /* when the previous line was shown */
	unsigned buffer_fill; /* percent of the fullest buffer of the service */
	uint64_t chunks_lost; /* chunks that these buffers have lost */
	bool reported_rings, reported_buffer;
};

void recording_progress_deinit(struct recording_progress *p);
void recording_progress_update_state(struct recording_progress *p,
				     const Pb__TracingServiceState *state);
/* tracefs_root: NULL if tracefs cannot be read. */
void recording_progress_update_stats(struct recording_progress *p, const char *tracefs_root,
				     const Pb__TraceStats *stats);

/* Appends a message, once for each cause: the kernel's rings lose events, or a buffer that does not
 * wrap is nearly full. The message names a size that would suffice. Returns false if there is no
 * message. */
bool recording_progress_put_warning(struct recording_progress *p,
				    const struct recording_setup *setup,
				    const Pb__TraceStats *stats, uint64_t elapsed_ms,
				    struct strbuf *note);
/* Prints what the recording waits for, and the effect of Ctrl-C; nothing without triggers. */
void recording_progress_print_triggers(const Pb__TraceConfig *config, struct console *console);
void recording_progress_show(struct recording_progress *p, uint64_t elapsed_ms,
			     struct console *console);
