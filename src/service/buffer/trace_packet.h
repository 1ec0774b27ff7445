/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A packet as it comes out of a central buffer: its bytes, who wrote them, and what is missing
 * before it. */

/* Why packets are missing before this one: TracePacket.previous_packet_dropped. */
enum data_loss {
	DATA_LOSS_PRESENT = 1, /* with any other */
	DATA_LOSS_READ_GAP = 2, /* a chunk was not there when later ones were read */
	DATA_LOSS_CHUNK_CORRUPTED = 4, /* a chunk broke the format: the rest of it */
	DATA_LOSS_ORPHAN_CONTINUATION = 8, /* the end of a packet whose start is missing */
	DATA_LOSS_REASSEMBLY_GAP = 16, /* the start of a packet whose next chunk is missing */
	DATA_LOSS_REASSEMBLY_BROKEN_CHAIN = 32, /* ... whose next chunk does not continue it */
	DATA_LOSS_OVERWRITE = 64, /* not read before the space was needed */
	DATA_LOSS_WRITER_ABORT = 128, /* the writer gave up, or ended, inside of a packet */
	DATA_LOSS_SMB_FULL = 256, /* set by producers */
};

/* Who wrote. All from the connection, but for writer_id, which is the one in the chunk's header. */
struct trace_buffer_writer {
	uint16_t producer_id; /* not 0 */
	uint16_t writer_id; /* 1..SMB_MAX_WRITER_ID, else the chunk is an abi_violation */
	uid_t uid;
	pid_t pid; /* 0: unknown */
	uint32_t machine_id; /* 0: this one */
};

/* One packet, never empty. The array of slices is there until the next call on the buffer, the
 * bytes that they point to until the next commit or patch. */
struct trace_packet {
	const struct iovec *slices;
	size_t n_slices;
	size_t size; /* sum of the slices */
	struct trace_buffer_writer writer;
	uint32_t loss; /* enum data_loss bits: what is missing before it in its sequence */
};
