/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The counters of a trace buffer since its creation: BufferStats and WriterStats of the protocol's
 * TraceStats. Part of service/buffer/trace_buffer.h. */

/*
 * Bytes are those of records: payload and 16 bytes of header, rounded up to 16. The unread bytes in
 * use are
 *
 *	bytes_written - bytes_overwritten - bytes_read + padding_written - padding_cleared
 *
 * and the unread chunks are chunks_written - chunks_overwritten - chunks_read. A scraped chunk is
 * counted once, at its first commit. Each later commit with more of its data counts as rewritten
 * (the earlier part is unread) or relocated (the earlier part was read).
 */
struct trace_buffer_stats {
	uint64_t bytes_written, bytes_overwritten, bytes_read;
	/* The unused end of the memory at a wrap; and the room of sequences if there are very many
	 * (counted as cleared at once). */
	uint64_t padding_bytes_written, padding_bytes_cleared;
	uint64_t chunks_written, chunks_overwritten, chunks_read;
	uint64_t chunks_rewritten, chunks_relocated;
	uint64_t chunks_discarded; /* refused; a repetition of a stored chunk is not counted */
	uint64_t chunks_committed_out_of_order;
	uint64_t write_wrap_count;
	uint64_t patches_succeeded, patches_failed;
	/* Attempts to join a packet of several chunks; the same packet may fail many times before
	 * it is complete. */
	uint64_t readaheads_succeeded, readaheads_failed;
	uint64_t abi_violations;
	uint64_t trace_writer_packet_loss; /* packets that their writer marked as dropped */
};

/* Payload bytes of a writer's complete chunks: counts and sums of the values up to each threshold,
 * with one more bucket for larger values. */
#define TRACE_BUFFER_HISTOGRAM_THRESHOLDS 10
#define TRACE_BUFFER_HISTOGRAM_BUCKETS (TRACE_BUFFER_HISTOGRAM_THRESHOLDS + 1)
extern const int64_t trace_buffer_histogram_thresholds[TRACE_BUFFER_HISTOGRAM_THRESHOLDS];
struct trace_buffer_histogram {
	uint64_t counts[TRACE_BUFFER_HISTOGRAM_BUCKETS];
	int64_t sums[TRACE_BUFFER_HISTOGRAM_BUCKETS];
};
