/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/buffer/trace_buffer_stats.h"
#include "service/buffer/trace_packet.h"
#include "wire/smb_layout.h"

/*
 * One central buffer of a tracing session: chunks of many sequences (producer, writer) in the
 * order in which they were committed, and out of it whole packets, each once.
 *
 * Packets come whole or not at all; within a sequence in order; over sequences about in the order
 * of the writes. What is lost is counted, and the next packet of the sequence carries the
 * reasons. Every byte that comes in is hostile: nothing a producer commits can end worse than
 * with its own data dropped and counted. Nothing here fails for want of memory: the chunk is
 * dropped and counted as discarded. One thread.
 *
 * Memory: one anonymous mapping of `size` bytes, touched only as far as it was written (behind
 * the first 4 MB in steps of 2 MB, where the kernel has huge pages); 8 to 22 bytes for each unread
 * chunk; and some 500 bytes for each sequence with unread chunks, and for the 1024 to 1152 that
 * were emptied last (the others are freed by the next commit). Where there are more than 4096, each
 * takes as much room in the buffer too.
 */
struct trace_buffer;

enum trace_buffer_policy {
	TRACE_BUFFER_RING, /* full: the oldest chunks go */
	TRACE_BUFFER_DISCARD, /* full: refuse all that comes later */
};

/* size in bytes, 1..2^32-1, is rounded up to 4096. 0 or -ENOMEM / -EINVAL. */
int trace_buffer_new(size_t size, enum trace_buffer_policy policy, struct trace_buffer **ret);
/* No-op for NULL. */
void trace_buffer_free(struct trace_buffer *b);
/* An empty one of the same size and policy. 0 or -ENOMEM. */
int trace_buffer_new_like(const struct trace_buffer *b, struct trace_buffer **ret);
/*
 * Makes a copy of what is in the buffer, as far as it is read, and of what is counted; only the
 * counters of readaheads begin anew. The copy is of this moment, but is made in time slices: by
 * readings of both buffers, by commits into b (four times as many bytes as they bring) and by
 * trace_buffer_settle(). Until then both buffers are held:
 *
 *	b       frozen; operations on it wait, and are done in their order when the copy is
 * complete. Its statistics are of the moment of the clone. They take at most a quarter of the memory
 * that is copied. *ret    not to be read yet; its statistics and writers are complete
 *
 * Either buffer may be freed at any time: if b is freed first, the copy takes over its memory. If
 * memory runs out in the middle, all that is in the copy is dropped and counted as overwritten. b
 * must not be held. Returns 0 or -ENOMEM.
 */
int trace_buffer_clone(struct trace_buffer *b, struct trace_buffer **ret);

/* Appends what came into `from` while it stood in for `to`, as if it had come there in the first
 * place. The counters of `from`, and what was read from it, are dropped. Takes `from`; what is a
 * lot is appended in time slices, as above. */
void trace_buffer_append(struct trace_buffer *to, struct trace_buffer *from);

/* Returns true while operations on the buffer wait for a clone or an append. */
bool trace_buffer_is_held(const struct trace_buffer *b);
/* Goes on with what the buffer is held for. Counts down *steps, of about 100 ns, to 0 at least;
 * NULL: no limit. Returns true if the buffer is not held any more. */
bool trace_buffer_settle(struct trace_buffer *b, size_t *steps);

/*
 * Takes a copy of one chunk, as far as its fragments reach. payload may lie in shared memory: it is
 * copied first and the copy is checked. complete is false for a chunk that was scraped while its
 * writer still holds it: its last fragment is not counted on, and the same chunk may come again
 * with more in it, of which then only what is new is taken.
 */
void trace_buffer_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
			 const struct smb_chunk_header *header, const void *payload, size_t len,
			 bool complete);

/* Overwrites 4 bytes at an offset of a committed chunk's payload. more: further patches for it
 * will come. At the first patch that does not fit the rest is given up. */
struct trace_buffer_patch {
	uint32_t offset;
	uint8_t data[4];
};
void trace_buffer_apply_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				uint32_t chunk_id, const struct trace_buffer_patch *patches,
				size_t n, bool more);

/* This writer commits and patches no more (it was unregistered, or its producer has gone and was
 * scraped): what it left unfinished is not waited for, and a later writer with the same id starts a
 * sequence with chunk ids of its own. Optional. */
void trace_buffer_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id);

/* ---- reading: destructive, one reader ---- */

/* Starts a pass from the oldest data that is left. A pass may be broken off at any packet. */
void trace_buffer_begin_read(struct trace_buffer *b);
/*
 * The next packet that is whole now. False: no more in this pass; or *steps, which is counted down,
 * is 0: the caller's share of work is done, and the pass goes on when it calls with more. A step is
 * a fragment or a chunk that was looked at, or 256 bytes that were copied for a clone, and one
 * packet may take more than are left: as many as it has chunks. NULL: no limit.
 */
bool trace_buffer_next_packet(struct trace_buffer *b, size_t *steps, struct trace_packet *ret);

const struct trace_buffer_stats *trace_buffer_stats(const struct trace_buffer *b);
size_t trace_buffer_size(const struct trace_buffer *b);

/* Calls fn for each writer that the buffer knows. */
void trace_buffer_each_writer(const struct trace_buffer *b,
			      void (*fn)(void *ctx, const struct trace_buffer_writer *writer,
					 const struct trace_buffer_histogram *histogram),
			      void *ctx);
