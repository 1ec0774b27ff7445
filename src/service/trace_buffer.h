/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "wire/smb_layout.h"

/*
 * One central buffer of a tracing session: chunks of many sequences (producer, writer) in the
 * order in which they were committed, and out of it whole packets, each once.
 *
 * Packets come whole or not at all; within a sequence in order; over sequences about in the order
 * of the writes. What is lost is counted, and the next packet of the sequence carries the
 * reasons. Every byte that comes in is hostile: nothing a producer commits can end worse than
 * with its own data dropped and counted.
 *
 * Memory: one anonymous mapping of `size` bytes, touched only as far as it was written, and the
 * bookkeeping of the sequences, whose number is bounded (empty ones are collected).
 */
struct trace_buffer;

enum trace_buffer_policy {
	TRACE_BUFFER_RING, /* full: the oldest chunks go */
	TRACE_BUFFER_DISCARD, /* full: refuse all that comes later */
};

/* Why packets are missing before this one: TracePacket.previous_packet_dropped. */
enum data_loss {
	DATA_LOSS_PRESENT = 1, /* with any other */
	DATA_LOSS_READ_GAP = 2,
	DATA_LOSS_CHUNK_CORRUPTED = 4,
	DATA_LOSS_ORPHAN_CONTINUATION = 8,
	DATA_LOSS_REASSEMBLY_GAP = 16,
	DATA_LOSS_REASSEMBLY_BROKEN_CHAIN = 32,
	DATA_LOSS_OVERWRITE = 64,
	DATA_LOSS_WRITER_ABORT = 128,
	DATA_LOSS_SMB_FULL = 256, /* set by producers */
};

/* BufferStats of the protocol, all since the buffer was made. */
struct trace_buffer_stats {
	uint64_t bytes_written, bytes_overwritten, bytes_read;
	uint64_t padding_bytes_written, padding_bytes_cleared;
	uint64_t chunks_written, chunks_rewritten, chunks_relocated, chunks_overwritten;
	uint64_t chunks_discarded, chunks_read, chunks_committed_out_of_order;
	uint64_t write_wrap_count;
	uint64_t patches_succeeded, patches_failed;
	uint64_t readaheads_succeeded, readaheads_failed;
	uint64_t abi_violations;
	uint64_t trace_writer_packet_loss;
};

/* Who wrote: from the connection, never from the shared memory. */
struct trace_buffer_writer {
	uint16_t producer_id; /* not 0 */
	uint16_t writer_id;
	uid_t uid;
	pid_t pid; /* 0: unknown */
};

/* size in bytes, 1..2^32-1. 0 or -ENOMEM / -EINVAL. */
int trace_buffer_new(size_t size, enum trace_buffer_policy policy, struct trace_buffer **ret);
void trace_buffer_free(struct trace_buffer *b); /* NULL is fine */

/*
 * Takes a copy of one chunk. payload may lie in shared memory: it is copied first and the copy is
 * checked. complete is false for a chunk that was scraped while its writer still holds it: its
 * last fragment is not counted on, and the same chunk may come again with more in it.
 */
void trace_buffer_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
			 const struct smb_chunk_header *header, const void *payload, size_t len,
			 bool complete);

/* Overwrites 4 bytes at an offset of a committed chunk's payload. more: further patches for it
 * will come. */
struct trace_buffer_patch {
	uint32_t offset;
	uint8_t data[4];
};
void trace_buffer_apply_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				uint32_t chunk_id, const struct trace_buffer_patch *patches,
				size_t n, bool more);

/* ---- reading: destructive, one reader ---- */

/* One packet; the slices point into the buffer until the next call on it. */
struct trace_packet {
	const struct iovec *slices;
	size_t n_slices;
	size_t size; /* sum of the slices */
	struct trace_buffer_writer writer;
	uint32_t loss; /* enum data_loss bits: what is missing before it in its sequence */
};

/* Starts a pass from the oldest data that is left. */
void trace_buffer_begin_read(struct trace_buffer *b);
/* The next packet that is whole now. False: no more in this pass. */
bool trace_buffer_next_packet(struct trace_buffer *b, struct trace_packet *ret);

const struct trace_buffer_stats *trace_buffer_stats(const struct trace_buffer *b);
size_t trace_buffer_size(const struct trace_buffer *b);

/* Calls fn for each sequence that the buffer knows: histogram of payload bytes of its chunks
 * (TraceStats.writer_stats; thresholds in trace_buffer_histogram_thresholds, one more bucket for
 * what is above the last). */
#define TRACE_BUFFER_HISTOGRAM_THRESHOLDS 10
#define TRACE_BUFFER_HISTOGRAM_BUCKETS (TRACE_BUFFER_HISTOGRAM_THRESHOLDS + 1)
extern const int64_t trace_buffer_histogram_thresholds[TRACE_BUFFER_HISTOGRAM_THRESHOLDS];
struct trace_buffer_histogram {
	uint64_t counts[TRACE_BUFFER_HISTOGRAM_BUCKETS];
	int64_t sums[TRACE_BUFFER_HISTOGRAM_BUCKETS];
};
void trace_buffer_each_writer(const struct trace_buffer *b,
			      void (*fn)(void *ctx, const struct trace_buffer_writer *writer,
					 const struct trace_buffer_histogram *histogram),
			      void *ctx);
