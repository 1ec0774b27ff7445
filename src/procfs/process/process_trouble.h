/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procfs/process/process_packet.h"
#include "procfs/process/proc_files.h"

/*
 * Files that cannot be read, and counter tracks that there is no room for: a kind of file is told on
 * the log when it is met for the first time, and all are counted in the trace.
 */

/* Zero-initialise. */
struct process_trouble {
	uint64_t refused_tracks; /* so far; the owner sets it */
	bool told_refused;
	uint32_t told; /* bits by enum proc_file */
	uint64_t written; /* troubles, of all kinds, when they were written last */
};

/* Says what has not been said yet. */
void process_trouble_tell(struct process_trouble *t, const struct proc_files *f);
/* A ProcessStats with unread_files and refused_tracks, if there are more than in the one before. */
void process_trouble_write(struct process_trouble *t, const struct proc_files *f,
			   struct process_packet *p);
