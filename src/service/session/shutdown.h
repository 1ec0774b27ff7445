/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/event_loop/loop_timer.h"

struct sessions;

/* The end of the service after a signal. All sessions are flushed and end with the reason
 * SERVICE_STOPPED. Files are completed, and consumers may read the buffers. The loop ends when all
 * sessions have ended and nothing is left to read, or at a timeout (SHUTDOWN_READER_MS ... in
 * service/ipc/limits.h). */
struct shutdown {
	struct sessions *sessions; /* borrowed */
	struct loop_timer tick;
	uint64_t progress; /* a sum that changes when a session changes its state or is read */
	uint64_t begin_ns,
		progress_ns; /* CLOCK_MONOTONIC: when it began, and when progress last changed */
};

/* Returns 0 or -ENOMEM. deinit may be called on zeroed memory. */
int shutdown_init(struct shutdown *d, struct sessions *sessions);
void shutdown_deinit(struct shutdown *d);

/* Begins the shutdown; call it from the loop. A second call ends the loop at once. */
void shutdown_begin(struct shutdown *d);
