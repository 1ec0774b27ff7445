/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * The tracefs instance whose ring the kernel keeps in reserved memory (Linux 6.12 and later), so
 * that what it held survives a panic, a hang or any other warm reboot. Two words of the kernel's
 * command line make it:
 *
 *	reserve_mem=32M:2M:sonda_crash trace_instance=sonda_crash^traceoff@sonda_crash
 *
 *	boot N:		armed: records sched_switch and others, overwriting the oldest
 *	reboot:		the kernel finds the ring, checks it, and keeps it stopped (^traceoff)
 *	boot N + 1:	the recorder saves what it held, clears it and starts it again
 *			(cli/recorder/crash_save.h)
 */
#define CRASH_RING_NAME "sonda_crash"

enum crash_ring_state {
	CRASH_RING_OLD_KERNEL,
	CRASH_RING_NOT_MADE, /* the kernel's command line does not have it */
	CRASH_RING_LINE_ONLY, /* the command line has it, but there is no such instance */
	CRASH_RING_HIDDEN, /* this user may not see the instances of tracefs */
	CRASH_RING_NOT_KEPT, /* an instance of that name is in ordinary memory */
	CRASH_RING_STOPPED, /* it does not record */
	CRASH_RING_RECORDS,
};

struct crash_ring {
	enum crash_ring_state state;
	char tracefs[PATH_MAX]; /* "": not found */
	char path[PATH_MAX]; /* of the instance; set unless it was not found */
	uint64_t bytes; /* of the rings of all CPUs */
};

/* Finds the ring. proc: "/proc"; roots: mount points of tracefs, ends with NULL. */
void crash_ring_find(const char *proc, const char *const *roots, struct crash_ring *ret);
/* Returns why the ring does not record, for the user; "" if it does. */
const char *crash_ring_state_text(enum crash_ring_state state);
