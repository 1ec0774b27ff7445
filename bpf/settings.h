/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * What sonda-probes tells every object before it is loaded: the verifier knows the values, and what
 * they rule out is no part of the program that runs. Both sides include this file; it is the
 * section .rodata.sonda of each object.
 */

enum sonda_scope {
	SONDA_SCOPE_ALL,
	SONDA_SCOPE_PIDS, /* threads of the processes in the map sonda_pids */
};

/* A bit of switches that several families have: storage of tasks may be made in the scheduler (6.4,
 * which allocates without locks). */
#define SONDA_TASK_STORAGE (1u << 31)

struct sonda_settings {
	__u32 own_pid; /* the process that is left out: ours */
	__u32 scope; /* enum sonda_scope */
	__u32 switches; /* what this kernel has: bits of the family's own, from 0 on */
};
