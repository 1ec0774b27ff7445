/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/trace_stats.pb-c.h"

/*
 * The service's own counters: message TraceStats, from a packet of the trace or from the answer to
 * GetTraceStats.
 */

#define BUFFER_STATS_MAX 128 /* buffers of a session */

struct buffer_stats {
	uint64_t size; /* bytes */
	uint64_t bytes_written; /* including the buffer's own headers */
	uint64_t bytes_overwritten; /* overwritten before they were read */
	uint64_t chunks_overwritten;
	uint64_t chunks_written;
	uint64_t chunks_discarded; /* rejected by a full buffer that does not overwrite */
	uint64_t writer_packet_loss; /* packets that the producer dropped: shared memory was full */
	uint64_t patches_failed;
	uint64_t abi_violations;
};

/* A data source whose producer disconnected during the recording. Times are CLOCK_BOOTTIME. */
struct departure_stats {
	char source[64]; /* its name, cut and without control characters */
	char producer[64];
	int32_t pid; /* of the producer; 0 unknown */
	uint64_t gone_ns;
	uint64_t back_ns; /* when another producer replaced it; 0: none did */
	uint32_t times; /* how often a producer of the source disconnected */
};

#define DEPARTURE_STATS_MAX 32 /* further data sources are omitted */

struct service_stats {
	struct buffer_stats buffers[BUFFER_STATS_MAX]; /* in the order of the config */
	size_t n_buffers;
	uint64_t chunks_discarded; /* rejected before a buffer; since the service started */
	uint64_t patches_discarded; /* since the service started */
	uint64_t invalid_packets; /* invalid packets of this session */
	uint64_t filter_errors; /* packets that the trace filter could not read */
	uint64_t flushes_failed;
	bool final_flush_failed; /* the service's own flush at the end of the duration */
	bool final_flush_succeeded; /* both are false without such a flush */
	struct departure_stats departures[DEPARTURE_STATS_MAX];
	size_t n_departures;
	char end_reason[256]; /* why the session ended; "": it continues, or unknown */
};

/* Decodes a TraceStats message; missing fields are 0. Returns false if it violates protobuf's
 * rules; *ret then holds the fields before the error. Buffers past the limit are omitted. */
bool buffer_stats_decode(const uint8_t *data, size_t len, struct service_stats *ret);

/* Converts the answer to GetTraceStats to the same struct. All fields are 0 if memory runs out. */
void service_stats_from_message(const Pb__TraceStats *message, struct service_stats *ret);
