/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * What sonda-probes tells every object before it is loaded: the verifier knows the values, and what
 * they rule out is no part of the program that runs. Both sides include this file; it is the
 * section .rodata.sonda of each object.
 */

/* Bits of scope. With none threads of all processes count, else those that one of them names. */
#define SONDA_SCOPE_ALL 0u
#define SONDA_SCOPE_PIDS 1u /* of the processes in the map sonda_pids */
#define SONDA_SCOPE_CGROUPS 2u /* of the control groups in the map sonda_cgroups, and below */

/* Bits of switches that several families have: storage of tasks may be made in the scheduler (6.4,
 * which allocates without locks); the running thread is given with its type (5.11). */
#define SONDA_TASK_STORAGE (1u << 31)
#define SONDA_TYPED_CURRENT (1u << 30)
/* The machine is an x86-64; where it matters, others are arm64. */
#define SONDA_ON_X86_64 (1u << 29)

/* Where the record of an event has a field, as its format file tells. */
struct sonda_field {
	__u16 offset;
	__u16 size; /* bytes; 0: there is none */
};

#define SONDA_FIELDS 20 /* of the events of a family; each family numbers its own */

struct sonda_settings {
	__u32 own_pid; /* the process that is left out: ours */
	__u32 scope; /* SONDA_SCOPE_... */
	__u32 switches; /* what this kernel has: bits of the family's own, from 0 on */
	__u32 outliers_per_second; /* of each CPU */
	__u64 outlier_ns; /* what takes so long is an event of its own; 0: nothing is */
	struct sonda_field fields[SONDA_FIELDS]; /* for programs of classic tracepoints */
};
