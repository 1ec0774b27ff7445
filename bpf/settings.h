/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "program_names.h"

/*
 * The settings of an object, written before it is loaded: the verifier knows the values and removes
 * the code that they exclude. Programs and readers include this file; it is the section
 * .rodata.sonda of each object.
 */

/* Bits of scope. Without any bit all threads count; otherwise those that one of the bits
 * selects. */
#define SONDA_SCOPE_ALL 0u
#define SONDA_SCOPE_PIDS 1u /* of the processes in the map sonda_pids */
#define SONDA_SCOPE_CGROUPS 2u /* of the control groups in the map sonda_cgroups, and below */
#define SONDA_SCOPE_PROGRAMS 4u /* of the processes with one of the names in programs */

/* Bits of switches that several families use: task storage can be created in the scheduler (6.4,
 * which allocates without locks); the pointer to the running thread is typed (5.11). */
#define SONDA_TASK_STORAGE (1u << 31)
#define SONDA_TYPED_CURRENT (1u << 30)
/* The machine is x86-64; otherwise it is arm64 where that matters. */
#define SONDA_ON_X86_64 (1u << 29)
/* Sums by process are sums by thread. */
#define SONDA_BY_THREAD (1u << 28)

/* The place of a field in the record of an event, from its format file. */
struct sonda_field {
	__u16 offset;
	__u16 size; /* bytes; 0: no such field */
};

#define SONDA_FIELDS 20 /* fields of the events of a family; each family has its own indices */

struct sonda_settings {
	__u32 own_pid; /* the pid of sonda-probes, which is not counted */
	__u32 scope; /* SONDA_SCOPE_... */
	__u32 switches; /* features of this kernel: bits of the family, from 0 */
	__u32 outliers_per_second; /* limit per CPU */
	__u32 n_programs;
	char programs[PROGRAM_NAMES_MAX][PROGRAM_NAME_SIZE];
	__u64 outlier_ns; /* threshold of slices; 0: none */
	struct sonda_field fields[SONDA_FIELDS]; /* for programs of classic tracepoints */
};
