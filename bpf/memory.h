/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* The family "memory": what memory.bpf.c counts and src/ebpf/families/memory.c reads. */

/* A bit of sonda_settings.switches: events where reclaim begins have the order as their second argument. */
#define MEMORY_ORDER_IS_SECOND 1u

/* Of sonda_settings.fields; events of control groups have them at the same places. */
#define MEMORY_ORDER 0 /* of vmscan/mm_vmscan_direct_reclaim_begin */
#define MEMORY_PAGES 1 /* of vmscan/mm_vmscan_direct_reclaim_end */

enum memory_stall {
	MEMORY_DIRECT_RECLAIM, /* a thread that wants memory looks for some to free */
	MEMORY_CGROUP_RECLAIM, /* the same where a control group is at its limit */
	MEMORY_COMPACTION, /* a thread moves pages to have large ones, also by order of a person */
	MEMORY_BACKGROUND_COMPACTION, /* kcompactd does */
	MEMORY_STALLS,
};

/* The only value of the per-CPU array "cpus". */
struct memory_cpu {
	struct {
		__u64 ns, count;
	} stalls[MEMORY_STALLS];
	__u64 oom_kills;
	__u64 lost; /* stalls that are not counted: the map of those that go on was full */
};
