/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/trace_stats.pb-c.h"

/* The service's own counters: message TraceStats, as a packet of the trace or as the answer of
 * GetTraceStats. */

#define BUFFER_STATS_MAX 128 /* buffers of a session */

struct buffer_stats {
	uint64_t size; /* bytes */
	uint64_t bytes_written; /* with the buffer's own headers */
	uint64_t bytes_overwritten; /* before anybody read them */
	uint64_t chunks_overwritten;
	uint64_t chunks_discarded; /* a full buffer that does not overwrite */
	uint64_t writer_packet_loss; /* packets that the producer gave up: shared memory was full */
	uint64_t patches_failed;
	uint64_t abi_violations;
};

/* A data source whose producer disconnected while it recorded. Times of CLOCK_BOOTTIME. */
struct departure_stats {
	char source[64]; /* its name; texts are cut and plain */
	char producer[64];
	int32_t pid; /* of the producer; 0 unknown */
	uint64_t gone_ns;
	uint64_t back_ns; /* when another producer took its place; 0: none has */
	uint32_t times;
};

#define DEPARTURE_STATS_MAX 32 /* those of further data sources are left out */

struct service_stats {
	struct buffer_stats buffers[BUFFER_STATS_MAX]; /* in the order of the config */
	size_t n_buffers;
	uint64_t chunks_discarded; /* refused before a buffer; since the service began */
	uint64_t patches_discarded; /* likewise */
	uint64_t invalid_packets; /* of this session */
	uint64_t filter_errors; /* packets that the trace filter could not read */
	uint64_t flushes_failed;
	bool final_flush_failed; /* the service's own, when a time was over; */
	bool final_flush_succeeded; /* neither when there was none */
	struct departure_stats departures[DEPARTURE_STATS_MAX];
	size_t n_departures;
	char end_reason
		[256]; /* why the session ended, plain; "": it continues, or the service is silent */
};

/* Decodes; everything that the message lacks is 0. Returns false if it breaks protobuf's rules, *ret holds
 * what came before. Buffers past the limit are left out. */
bool service_stats_decode(const uint8_t *data, size_t len, struct service_stats *ret);

/* The answer of GetTraceStats as what the packets of a trace are decoded to. All 0 without memory. */
void stats_message_decode(const Pb__TraceStats *message, struct service_stats *ret);
