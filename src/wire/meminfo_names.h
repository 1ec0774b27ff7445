/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Names of /proc/meminfo, by their number in MeminfoCounters (sys_stats_counters.proto). Number 0
 * is unused. */
static const char *const meminfo_names[] = {
	NULL,
	"MemTotal",
	"MemFree",
	"MemAvailable",
	"Buffers",
	"Cached",
	"SwapCached",
	"Active",
	"Inactive",
	"Active(anon)",
	"Inactive(anon)",
	"Active(file)",
	"Inactive(file)",
	"Unevictable",
	"Mlocked",
	"SwapTotal",
	"SwapFree",
	"Dirty",
	"Writeback",
	"AnonPages",
	"Mapped",
	"Shmem",
	"Slab",
	"SReclaimable",
	"SUnreclaim",
	"KernelStack",
	"PageTables",
	"CommitLimit",
	"Committed_AS",
	"VmallocTotal",
	"VmallocUsed",
	"VmallocChunk",
	"CmaTotal",
	"CmaFree",
	"Gpu",
	"Zram",
	"Misc",
	"ION_heap",
	"ION_heap_pool",
};
