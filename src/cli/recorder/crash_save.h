/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/terminal/crash_ring.h"

/*
 * Arms the ring that survives a crash, and saves what it held in the boot before (crash_boots.h).
 *
 * Its clock is the kernel's default, "local": Linux 7.2 empties the ring of CPU 0 while it boots if
 * another clock was set.
 */

/* Starts the ring, and notes its boot in the directory of the recorder; what the ring held is lost.
 * Does nothing if it was armed in this boot and still records. Returns 0, or -errno and sets e. */
int crash_save_arm(const struct crash_ring *ring, const char *dir, struct err_text *e);
/* Stops the ring. Returns 0 or -errno. */
int crash_save_disarm(const struct crash_ring *ring);

struct crash_saved {
	char path[PATH_MAX]; /* the trace; "": none */
	char id[40]; /* of its boot */
	char why[256]; /* why an armed ring has no trace; "": it has one, or no ring was armed */
	uint64_t events, lost, unread;
	uint32_t cpus, cpus_with_events;
};

/* Returns true if an earlier boot armed the ring, and nothing was saved of it yet. */
bool crash_save_is_due(const char *dir);
/* Saves what the ring holds of the boot that armed it last, unless that is the running one. Call it
 * while the process has one thread. Returns 0, or -errno and sets e if the ring should be saved
 * later, because the file system has no room. */
int crash_save_last(const struct crash_ring *ring, const char *dir, struct crash_saved *ret,
		    struct err_text *e);
