/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/name_list.h"
#include "wire/pb_read.h"

/*
 * Losses and costs reported by the sources that poll /proc, /sys, the journal and BPF maps, and by
 * linux.perf.
 *
 * Format: SystemdJournaldEvent.num_failed and PerfSample.kernel_records_lost of Perfetto;
 * ProcessStats.unread_files and refused_tracks, SysStats.read_failures,
 * SystemdJournaldEvent.num_dropped, EbpfCountersStats, PolledCountersStats, WaitsStats,
 * SyscallsStats, LateSubject and SourceRefusal of sonda.
 */

/* Data sources whose refused tracks are counted; further sources are omitted. */
#define SOURCE_SCAN_SOURCES 8u

struct source_refusals {
	char source[64];
	uint64_t tracks;
};

/* Numbers of what the eBPF families lost or left out, by family and kind; further ones are
 * omitted. */
#define SOURCE_SCAN_COUNTED 32u

struct source_counted {
	char family[96]; /* or the name of a histogram */
	char what[160]; /* "waits that could not be counted: out of memory" */
	uint64_t n;
	bool is_limit; /* a limit of the config left them out: no loss */
};

/* Zero-initialise; source_scan_deinit frees. */
struct source_scan {
	struct name_list unread; /* files: "/proc/PID/io: Permission denied" */
	struct name_list refusals; /* "'linux.perf' recorded nothing: Permission denied" */
	/* eBPF families that do not run: "runq: the kernel has no BTF" */
	struct name_list uncounted;
	struct source_counted counted[SOURCE_SCAN_COUNTED];
	size_t n_counted;
	struct name_list ebpf_costs; /* "runq 0.212 %", of the machine's CPU time */
	uint64_t ebpf_ppm; /* share of the machine's CPU time, the sum over all families */
	uint64_t journal_dropped; /* lines beyond the recorded number per second */
	uint64_t journal_failed; /* lines that could not be read */
	uint64_t perf_dropped; /* records of linux.perf */
	uint64_t waits; /* waits that linux.waits has counted */
	struct {
		uint64_t evicted, refused, left_out, cut; /* files; as in UnwindStats */
	} unwind; /* what the tables for user stacks had no room for */
	uint64_t absent_texts; /* strings of linux.syscalls that were not in memory */
	uint64_t refused_tracks; /* tracks of tasks that linux.process_stats had no room for */
	struct source_refusals refused[SOURCE_SCAN_SOURCES]; /* by sources of polled counters */
	size_t n_refused;
};

void source_scan_deinit(struct source_scan *s);

/* Returns true if this scan reads the payload of a TracePacket with this field. */
bool source_scan_reads(uint32_t packet_field);
/* Scans one payload. Returns false if it violates protobuf's rules; fields before the error are
 * used. */
bool source_scan_payload(struct source_scan *s, const struct pb_field *payload);
