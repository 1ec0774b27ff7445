/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/buffer/trace_packet.h"
#include "wire/smb_layout.h"

/*
 * One central buffer of a tracing session: stores the chunks of many sequences (producer, writer)
 * in the order of their commits, and returns whole packets, each once.
 *
 * A packet is returned whole or not at all. Packets of a sequence are in order; those of different
 * sequences are approximately in the order of the writes. Losses are counted, and the next packet
 * of the sequence carries the reasons. All input is treated as hostile: at worst, a producer makes
 * the buffer drop data of that producer, which is counted. No function fails for lack of memory:
 * the chunk is dropped and counted as discarded. One thread.
 *
 * Memory: one anonymous mapping of `size` bytes, touched only as far as it was written (after the
 * first 4 MB in steps of 2 MB, if the kernel has huge pages); 8 to 22 bytes for each unread chunk;
 * about 500 bytes for each sequence with unread chunks, and for the 1024 to 1152 sequences that
 * became empty last (the next commit frees the others). Above 4096 sequences, each also takes as
 * much room in the buffer.
 */
struct trace_buffer;

/*
 * The counters of a buffer since its creation, as in BufferStats and WriterStats of the protocol.
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
	/* The unused end of the memory at a wrap; and the room that sequences take if there are
	 * very many (counted as cleared at once). */
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

enum trace_buffer_policy {
	TRACE_BUFFER_RING, /* if full, drops the oldest chunks */
	TRACE_BUFFER_DISCARD, /* if full, refuses all later chunks */
};

/* size in bytes, 1..2^32-1, is rounded up to a multiple of 4096. Returns 0, -ENOMEM or -EINVAL. */
int trace_buffer_new(size_t size, enum trace_buffer_policy policy, struct trace_buffer **ret);
/* No-op for NULL. */
void trace_buffer_free(struct trace_buffer *b);
/* Creates an empty buffer of the same size and policy. Returns 0 or -ENOMEM. */
int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret);
/* Copies the unread data of the buffer and its counters into `to`, which trace_buffer_new_like(b)
 * has created. The counters of readaheads begin at 0. Takes about 80 us for each MB of data if the
 * memory was prepared. Returns 0, or -ENOMEM; then `to` can only be freed. */
int trace_buffer_clone(const struct trace_buffer *b, struct trace_buffer *to);
/* Makes the kernel provide the next part, of up to `bytes`, of the memory that a copy of b needs.
 * *offset, initially 0, is how much of the memory is provided. Returns true when all of it is
 * provided. Optional. */
bool trace_buffer_clone_prepare(const struct trace_buffer *b, struct trace_buffer *to,
				size_t *offset, size_t bytes);

/* Appends the data of `from`, which replaced `to` for a time, as if it had been committed to `to`.
 * The counters of `from`, and data that was read from it, are dropped. Takes ownership of
 * `from`. */
void trace_buffer_append(struct trace_buffer *to, struct trace_buffer *from);

/* Copies the fragments of one chunk into the buffer. payload may be in shared memory: it is copied
 * first, and the copy is checked. complete is false for a chunk that was scraped while its writer
 * still holds it: its last fragment is ignored. The same chunk may be committed again with more
 * data; then only the new part is copied. */
void trace_buffer_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
			 const struct smb_chunk_header *header, const void *payload, size_t len,
			 bool complete);

/* Overwrites 4 bytes at an offset of a committed chunk's payload. more: further patches of this
 * chunk will follow. The first invalid patch drops the rest. */
struct trace_buffer_patch {
	uint32_t offset;
	uint8_t data[4];
};
void trace_buffer_apply_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				uint32_t chunk_id, const struct trace_buffer_patch *patches,
				size_t n, bool more);

/* Call when the writer can commit no more: it was unregistered, or its producer disconnected and
 * was scraped. Reading does not wait for its unfinished packet, and a later writer with the same id
 * begins a new sequence with its own chunk ids. Optional. */
void trace_buffer_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id);

/* ---- reading: destructive, one reader ---- */

/* Starts a pass at the oldest data. A pass may be ended at any packet. */
void trace_buffer_begin_read(struct trace_buffer *b);
/* Returns true and the next packet that is complete. Returns false at the end of the pass, or if
 * *steps is 0; then a call with more steps continues the pass. A step is one fragment or chunk that
 * was examined; *steps is reduced by the steps taken. One packet may take more than the remaining
 * steps: one for each of its chunks. steps NULL: no limit. */
bool trace_buffer_next_packet(struct trace_buffer *b, size_t *steps, struct trace_packet *ret);

const struct trace_buffer_stats *trace_buffer_stats(const struct trace_buffer *b);
size_t trace_buffer_size(const struct trace_buffer *b);

/* Calls fn for each writer with a sequence in the buffer. */
void trace_buffer_each_writer(const struct trace_buffer *b,
			      void (*fn)(void *ctx, const struct trace_buffer_writer *writer,
					 const struct trace_buffer_histogram *histogram),
			      void *ctx);
