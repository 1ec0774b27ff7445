/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "procfs/process/proc_files.h"

/*
 * Tells of a process whether its memory can have changed since it was last looked at. Most processes
 * sleep from one poll to the next, and to learn that costs a third of reading their status again.
 */

/* The text of statm, seven numbers of pages; with more digits than these nothing is quiet. */
#define PROCESS_QUIET_STATM 56

/* Starts as PROCESS_QUIET_NONE. */
struct process_quiet {
	struct proc_kept statm; /* owned */
	uint32_t threads; /* of the process, set by the owner; 0: not known */
	uint64_t ran_ns; /* CPU time of all its threads, when last looked at */
	uint8_t asked; /* how many times */
	uint8_t len; /* of text; 0: not read since it ran */
	char text[PROCESS_QUIET_STATM];
};
#define PROCESS_QUIET_NONE ((struct process_quiet){.statm = PROC_KEPT_NONE})

/* As often at most it is said in a row, for what nobody thought of. */
#define PROCESS_QUIET_TIMES 16

void process_quiet_deinit(struct process_quiet *q);
/*
 * True: what status said of its memory, read after the last call of this, still holds. False: it may
 * not, and status is to be read. At most as late as the kernel's own account of a thread that runs
 * at this moment: until the next tick of its CPU.
 */
bool process_is_quiet(struct process_quiet *q, struct proc_files *f, int32_t pid);
