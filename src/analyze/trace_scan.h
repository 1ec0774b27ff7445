/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/buffer_stats.h"
#include "analyze/ftrace_scan.h"
#include "analyze/source_scan.h"
#include "base/text/str.h"

/*
 * The packet sequences of a trace (one per writer), and their gaps. The packet after a gap has
 * previous_packet_dropped. Newer services and writers set a bit for each reason in it, older ones
 * only write 1.
 */

#define SEQUENCE_TABLE_MAX 65536 /* further sequences are not listed */

/* Bits of TracePacket.previous_packet_dropped. */
enum gap_reason {
	GAP_PRESENT, /* marked without a reason, or with an unknown one */
	GAP_READ_GAP, /* chunks are missing in the central buffer */
	GAP_CHUNK_CORRUPTED,
	GAP_ORPHAN_CONTINUATION,
	GAP_REASSEMBLY_GAP,
	GAP_REASSEMBLY_BROKEN_CHAIN,
	GAP_OVERWRITE, /* the central buffer wrapped */
	GAP_WRITER_ABORT, /* the writer aborted a packet */
	GAP_SMB_FULL, /* the shared memory was full */
	GAP_REASONS
};

struct sequence {
	uint32_t id; /* trusted_packet_sequence_id */
	int32_t pid; /* of the writing process; 0 unknown */
	uint64_t packets;
	uint64_t gaps; /* packets with missing packets before them */
	uint64_t by_reason[GAP_REASONS]; /* a gap may have several */
	uint64_t counted_gaps; /* gaps for which the writer reports the number of dropped packets */
	uint64_t dropped; /* packets that the writer dropped at counted_gaps */
};

struct contents;
struct sequence_node;

/* Zero-initialise; trace_scan_deinit frees. */
struct sequence_table {
	struct sequence_node *by_id; /* hash */
	uint64_t left_out; /* packets of sequences past the limit, or when out of memory */
};

/* Calls fn for each sequence in the order of first use. */
void sequence_table_each(const struct sequence_table *t,
			 void (*fn)(void *ctx, const struct sequence *s), void *ctx);

/* Numbers of samples and of track events: the summary of a recording without kernel events. */

enum sample_kind {
	SAMPLES_SYS_STATS, /* polls of linux.sys_stats */
	SAMPLES_PROCESS_STATS, /* polls of linux.process_stats */
	SAMPLES_BATTERY, /* polls of linux.sysfs_power */
	SAMPLES_JOURNAL, /* lines of linux.systemd_journald */
	SAMPLES_COUNTERS, /* values of counter tracks: eBPF, control groups, network, programs */
	SAMPLES_SLICES, /* other track events, of programs */
	SAMPLES_STACKS, /* samples of linux.perf */
	SAMPLES_PROCESS_ROWS, /* packets of rows of linux.ebpf_counters */
	SAMPLES_HISTOGRAMS, /* packets of histograms of linux.ebpf_counters */
	SAMPLES_KINDS
};

struct sample_counts {
	uint64_t of[SAMPLES_KINDS];
};

/* Returns the sum over all kinds. */
uint64_t sample_counts_total(const struct sample_counts *c);
/* Returns a name such as "sys_stats", for display and programs. */
const char *sample_counts_name(enum sample_kind kind);

/*
 * Contents and losses of a trace, collected packet by packet in memory that does not grow with the
 * trace. Packets are untrusted: no content makes a call fail, and invalid packets are counted.
 */

/* Zero-initialise; trace_scan_deinit frees. */
struct trace_scan {
	uint64_t packets; /* a compressed packet counts as the packets in it */
	uint64_t bytes; /* of the packets, without the file's framing */
	uint64_t bad_packets; /* violate protobuf's rules; fields before the error are used */
	uint64_t compressed_packets; /* not scanned: too large, nested, or no memory */
	uint64_t started_ns; /* start and end of tracing as reported by the service; 0 unknown */
	uint64_t disabled_ns;
	uint64_t all_started_ns; /* all data sources have answered their start; 0 unknown */
	/* Time span of process trees, polls of /proc and service events; 0: there are none. */
	uint64_t oldest_ns;
	uint64_t newest_ns;
	/* Of a snapshot of the recorder: between its sessions nothing was recorded. */
	uint64_t session_gaps, session_gaps_ns; /* number, and sum of lengths */
	bool has_uuid;
	uint64_t uuid_lsb; /* the last TraceUuid, the same in all files of a session */
	uint32_t processes; /* distinct pids in process trees */
	struct ftrace_scan ftrace;
	struct source_scan sources;
	struct sample_counts samples;
	struct sequence_table sequences;
	bool has_stats;
	struct service_stats stats; /* the last TraceStats in the trace */
	uint8_t *pids_seen; /* owned: one bit a pid */
	size_t pids_cap; /* bytes */
	struct strbuf
		config; /* owned: the first TraceConfig in the trace, serialized; empty: none */
	struct contents *contents; /* borrowed: gets each packet, to count its bytes; may be NULL */
	struct strbuf unpacked; /* owned: contents of the current compressed packet */
	bool is_unpacking;
};

void trace_scan_deinit(struct trace_scan *s);

/* Scans one whole TracePacket. */
void trace_scan_packet(struct trace_scan *s, const uint8_t *data, size_t len);

/* Scans a serialized Trace, as in a file. Returns 0, or -EBADMSG if it is not a sequence of
 * Trace.packet; the packets before the error are used. */
int trace_scan_file(struct trace_scan *s, const uint8_t *data, size_t len);
