/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/buffer_stats.h"
#include "analyze/ftrace_scan.h"
#include "analyze/sample_counts.h"
#include "analyze/sequence_table.h"
#include "analyze/source_scan.h"
#include "base/text/str.h"

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

/* A serialized Trace, as in a file. 0, or -EBADMSG when it is no sequence of Trace.packet; the
 * packets before that count. */
int trace_scan_file(struct trace_scan *s, const uint8_t *data, size_t len);
