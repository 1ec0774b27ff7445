/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* The CPUs of machines: their states while a trace is imported, CpuInfo, and the table `cpu`. */

/* The scheduler of one CPU. */
struct cpu_sched {
	bool has_last; /* a switch was seen */
	uint32_t slice; /* the open row of sched; NULL_U32: none */
	uint32_t utid; /* the thread that the last switch switched to, as tid and prio */
	int32_t tid;
	int32_t prio;
};

struct cpu_state {
	uint32_t queues[QUEUE_KINDS]; /* numbers of queues; those below machine.n_queues exist */
	bool seen; /* has a row of the table `cpu` */
	bool has_first_bundle;
	uint32_t processor, capacity; /* as in CpuInfo; processor is a string */
	uint32_t max_khz, cluster, args; /* args: id of a set */
	struct cpu_sched sched;
};

/* Returns the state of a CPU, valid until the next call; NULL: number too large, or no memory. */
struct cpu_state *import_get_cpu(struct import *im, struct machine *m, uint32_t cpu);
void tokenize_cpu_info(struct import *im, struct machine *m, const struct pb_field *f);
/* At the end: adds the rows of the table. */
void import_cpus(struct import *im);
