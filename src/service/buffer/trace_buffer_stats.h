/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* What a trace buffer counts: BufferStats and WriterStats of the protocol's TraceStats, since the
 * buffer was made. Part of service/buffer/trace_buffer.h. */

/*
 * Bytes are those of records: payload, 16 bytes of header, rounded up to 16. In use and unread are
 *
 *	bytes_written - bytes_overwritten - bytes_read + padding_written - padding_cleared
 *
 * and likewise chunks_written - chunks_overwritten - chunks_read. A chunk that was scraped and
 * grows is one chunk, counted with its first bytes, and in each of its growths as rewritten (what
 * was taken before is unread) or relocated (it has been read).
 */
struct trace_buffer_stats {
	uint64_t bytes_written, bytes_overwritten, bytes_read;
	/* the end of the memory that was too short for the chunk at which the writing wrapped; and
	 * what sequences take where there are very many, cleared at once */
	uint64_t padding_bytes_written, padding_bytes_cleared;
	uint64_t chunks_written, chunks_overwritten, chunks_read;
	uint64_t chunks_rewritten, chunks_relocated;
	uint64_t chunks_discarded; /* refused; a repetition of a stored chunk is not counted */
	uint64_t chunks_committed_out_of_order;
	uint64_t write_wrap_count;
	uint64_t patches_succeeded, patches_failed;
	/* tries to join a packet that goes over chunks; the same packet may fail many times before
	 * it is whole */
	uint64_t readaheads_succeeded, readaheads_failed;
	uint64_t abi_violations;
	uint64_t trace_writer_packet_loss; /* packets that their writer marked as dropped */
};

/* Payload bytes of a writer's complete chunks: counts and sums for values up to each threshold, and
 * one more bucket for what is above the last. */
#define TRACE_BUFFER_HISTOGRAM_THRESHOLDS 10
#define TRACE_BUFFER_HISTOGRAM_BUCKETS (TRACE_BUFFER_HISTOGRAM_THRESHOLDS + 1)
extern const int64_t trace_buffer_histogram_thresholds[TRACE_BUFFER_HISTOGRAM_THRESHOLDS];
struct trace_buffer_histogram {
	uint64_t counts[TRACE_BUFFER_HISTOGRAM_BUCKETS];
	int64_t sums[TRACE_BUFFER_HISTOGRAM_BUCKETS];
};
