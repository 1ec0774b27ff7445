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
 * The packet sequences of a trace (one a writer), and where packets of each are missing. A gap is
 * told by previous_packet_dropped of the packet after it; newer services and writers give reasons
 * as bits, older ones just 1.
 */

#define SEQUENCE_TABLE_MAX 65536 /* sequences; packets of others are not looked at */

/* Bits of TracePacket.previous_packet_dropped. */
enum gap_reason {
	GAP_PRESENT, /* told, and nothing else known */
	GAP_READ_GAP, /* chunks are missing in the central buffer */
	GAP_CHUNK_CORRUPTED,
	GAP_ORPHAN_CONTINUATION,
	GAP_REASSEMBLY_GAP,
	GAP_REASSEMBLY_BROKEN_CHAIN,
	GAP_OVERWRITE, /* the central buffer wrapped */
	GAP_WRITER_ABORT, /* the writer gave a packet up */
	GAP_SMB_FULL, /* the shared memory was full */
	GAP_REASONS
};

struct sequence {
	uint32_t id; /* trusted_packet_sequence_id */
	int32_t pid; /* of the writing process; 0 unknown */
	uint64_t packets;
	uint64_t gaps; /* packets after which something is missing before them */
	uint64_t by_reason[GAP_REASONS]; /* a gap may have several */
};

struct sequence_node;

/* Zero-initialise; sequence_table_deinit frees. */
struct sequence_table {
	struct sequence_node *by_id; /* hash */
	uint64_t left_out; /* packets of sequences past the limit */
};

void sequence_table_deinit(struct sequence_table *t);

/*
 * One packet. first: it is its writer's first (first_packet_on_sequence). A bare 1 on the first
 * packet of a sequence says nothing: one kind of buffer puts it on each, and what a ring overwrote
 * is in the buffer's own counters.
 */
void sequence_table_packet(struct sequence_table *t, uint32_t id, int32_t pid, uint32_t dropped,
			   bool first);

/* Calls fn for each sequence in the order of first use. */
void sequence_table_each(const struct sequence_table *t,
			 void (*fn)(void *ctx, const struct sequence *s), void *ctx);

/* How many packets a trace has of what is polled or counted, and of what programs say themselves:
 * for recordings that are not about the kernel's events. */

enum sample_kind {
	SAMPLES_SYS_STATS, /* polls of linux.sys_stats */
	SAMPLES_PROCESS_STATS, /* polls of linux.process_stats */
	SAMPLES_BATTERY, /* polls of linux.sysfs_power */
	SAMPLES_JOURNAL, /* lines of linux.systemd_journald */
	SAMPLES_COUNTERS, /* values of counter tracks: eBPF, control groups, network, programs */
	SAMPLES_SLICES, /* other track events, of programs */
	SAMPLES_KINDS
};

struct sample_counts {
	uint64_t of[SAMPLES_KINDS];
};

/* Is this payload of a TracePacket one of them? */
bool sample_counts_reads(uint32_t packet_field);
/* One payload of any kind. */
void sample_counts_add(struct sample_counts *c, uint32_t packet_field, const uint8_t *data,
		       size_t len);
uint64_t sample_counts_total(const struct sample_counts *c);
/* "sys_stats", for display and programs. */
const char *sample_counts_name(enum sample_kind kind);

/*
 * What a trace holds and what it lost, gathered packet by packet while the packets pass by, in
 * memory that does not grow with the trace. Packets may be anything: nothing in them makes a call
 * fail, a broken one is counted.
 */

/* Zero-initialise; trace_scan_deinit frees. */
struct trace_scan {
	uint64_t packets; /* those in compressed ones too, instead of these */
	uint64_t bytes; /* of the packets, without the file's framing */
	uint64_t bad_packets; /* break protobuf's rules; what could be read of them counts */
	uint64_t compressed_packets; /* too large to be looked into, or inside of another */
	uint64_t started_ns; /* the service's word on when tracing began and ended; 0 unknown */
	uint64_t disabled_ns;
	bool has_uuid;
	uint64_t uuid_lsb; /* of the last TraceUuid: the same in all files of a session */
	uint32_t processes; /* distinct pids that were given a name */
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
	struct strbuf unpacked; /* owned: what the compressed packet at hand holds */
	bool is_unpacking;
};

void trace_scan_deinit(struct trace_scan *s);

/* One whole TracePacket. */
void trace_scan_packet(struct trace_scan *s, const uint8_t *data, size_t len);

/* A serialized Trace, as in a file. Returns 0, or -EBADMSG when it is not a sequence of Trace.packet; the
 * packets before that count. */
int trace_scan_file(struct trace_scan *s, const uint8_t *data, size_t len);
