/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The family "memory": what memory.bpf.c counts and src/ebpf/families/memory.c reads. */

/* A bit of sonda_settings.switches: events where reclaim begins have the order as their second
 * argument. */
#define MEMORY_ORDER_IS_SECOND 1u

/* Indices in sonda_settings.fields; events of control groups have the same offsets. */
#define MEMORY_ORDER 0 /* of vmscan/mm_vmscan_direct_reclaim_begin */
#define MEMORY_PAGES 1 /* of vmscan/mm_vmscan_direct_reclaim_end */

enum memory_stall {
	MEMORY_DIRECT_RECLAIM, /* direct reclaim: a thread that allocates frees memory */
	MEMORY_CGROUP_RECLAIM, /* direct reclaim at the limit of a control group */
	MEMORY_COMPACTION, /* direct compaction, also on request of a user */
	MEMORY_BACKGROUND_COMPACTION, /* compaction by kcompactd */
	MEMORY_STALLS,
};

/* The single value of the per-CPU array "cpus". */
struct memory_cpu {
	struct {
		__u64 ns, count;
	} stalls[MEMORY_STALLS];
	__u64 oom_kills;
	__u64 lost; /* stalls that are not counted: the map of active stalls was full */
};
