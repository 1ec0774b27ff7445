/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A packet from a central buffer: its bytes, its writer, and the losses before it. */

/* Bytes of the largest packet (Perfetto's ABI); the chunks of a larger one are dropped. */
#define TRACE_PACKET_MAX (64u << 20)

/* Reasons why packets before this one are missing: TracePacket.previous_packet_dropped. */
enum data_loss {
	DATA_LOSS_PRESENT = 1, /* set with any other bit */
	DATA_LOSS_READ_GAP = 2, /* a chunk was missing when later ones were read */
	DATA_LOSS_CHUNK_CORRUPTED = 4, /* a chunk is malformed: its rest was dropped */
	DATA_LOSS_ORPHAN_CONTINUATION = 8, /* the end of a packet whose start is missing */
	DATA_LOSS_REASSEMBLY_GAP = 16, /* the start of a packet whose next chunk is missing */
	DATA_LOSS_REASSEMBLY_BROKEN_CHAIN = 32, /* a packet whose next chunk does not continue it */
	DATA_LOSS_OVERWRITE = 64, /* overwritten before it was read */
	DATA_LOSS_WRITER_ABORT = 128, /* the writer gave up, or ended, inside a packet */
	DATA_LOSS_SMB_FULL = 256, /* set by producers */
};

/* The writer of a packet. All members come from the connection, except writer_id, which comes from
 * the chunk's header. */
struct trace_buffer_writer {
	uint16_t producer_id; /* not 0 */
	uint16_t writer_id; /* 1..SMB_MAX_WRITER_ID, else the chunk is an abi_violation */
	uid_t uid;
	pid_t pid; /* 0: unknown */
	uint32_t machine_id; /* 0: this one */
};

/* One packet, never empty. The array of slices is valid until the next call on the buffer, the
 * bytes that they point to until the next commit or patch. */
struct trace_packet {
	const struct iovec *slices;
	size_t n_slices;
	size_t size; /* sum of the slices */
	struct trace_buffer_writer writer;
	uint32_t loss; /* enum data_loss bits: what is missing before it in its sequence */
};
