/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/name_list.h"

/*
 * What the sources that poll /proc, /sys, the journal and maps of the kernel say of their own losses,
 * and of what they cost.
 *
 * Format: ProcessStats.unread_files and refused_tracks, SysStats.read_failures, SystemdJournaldEvent.num_dropped, our
 * own fields of those messages; EbpfCountersStats and PolledCountersStats, ours.
 */

/* Data sources whose refused tracks are kept apart; those of further ones are not told. */
#define SOURCE_SCAN_SOURCES 8u

struct source_refusals {
	char source[64];
	uint64_t tracks;
};

/* Of the eBPF counters, by family and kind; further ones are left out. */
#define SOURCE_SCAN_COUNTED 32u

struct source_counted {
	char family[32];
	char what[160]; /* "waits that could not be counted: no memory" */
	uint64_t n;
};

/* Zero-initialise; source_scan_deinit frees. */
struct source_scan {
	struct name_list unread; /* "/proc/PID/io: Permission denied" */
	struct name_list uncounted; /* "runq: the kernel has no BTF ..." */
	struct source_counted counted[SOURCE_SCAN_COUNTED]; /* what the eBPF counters lost */
	size_t n_counted;
	struct name_list ebpf_costs; /* "runq 0.212 %", of the machine */
	uint64_t ebpf_ppm; /* of all of them */
	uint64_t journal_dropped; /* lines */
	uint64_t refused_tracks; /* of tasks */
	struct source_refusals refused[SOURCE_SCAN_SOURCES]; /* of polled counters */
	size_t n_refused;
};

void source_scan_deinit(struct source_scan *s);

/* Is this payload of a TracePacket one of theirs? */
bool source_scan_reads(uint32_t packet_field);
/* One payload. Returns false if it breaks protobuf's rules; what could be read of it counts. */
bool source_scan_payload(struct source_scan *s, uint32_t packet_field, const uint8_t *data,
			 size_t len);
