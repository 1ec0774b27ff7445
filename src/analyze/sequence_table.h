/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
