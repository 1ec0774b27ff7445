/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/event_loop/loop_timer.h"

struct sessions;

/*
 * The service has been told to end. Its sessions are flushed and end with SERVICE_STOPPED as the
 * reason; files are written to their end, and consumers may read what is in the buffers. The loop
 * is broken when nothing is left to be read, or when nobody has read anything for some time.
 */
struct shutdown {
	struct sessions *sessions; /* borrowed; NULL: it goes on */
	struct loop_timer tick;
	uint64_t progress; /* changes while sessions end and are read */
	uint64_t begun_ns,
		moved_ns; /* CLOCK_MONOTONIC: when it began, and when progress last changed */
};

/* 0 or -ENOMEM. deinit may be called on zeroed memory. */
int shutdown_init(struct shutdown *d, struct sessions *sessions);
void shutdown_deinit(struct shutdown *d);

/* From the loop. The second call breaks it at once. */
void shutdown_begin(struct shutdown *d);
