/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/*
 * A trace writer: one sequence of packets of this producer, written in place into chunks of the
 * shared memory.
 *
 *	struct pb_enc *e = writer_begin(w);
 *	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
 *	...
 *	writer_end(w);
 *
 * One thread: the one that runs the producer. Nothing here allocates or fails: when the memory is
 * full the packet is dropped (or the caller waits, by the writer's policy), counted, and the next
 * packet says so (previous_packet_dropped). Packets may be larger than a chunk and than the whole
 * memory.
 */
struct writer;
struct arbiter;

enum writer_policy {
	WRITER_DROP, /* no free chunk: drop the packet at once */
	WRITER_STALL, /* wait for the service to free one; after a bounded time drop all the same,
		       * and drop without waiting until a chunk is free again */
};

/* A new sequence that goes to target_buffer. Returns NULL if memory or writer ids are out. */
struct writer *writer_new(struct arbiter *a, uint16_t target_buffer, enum writer_policy policy);
/* Hands over what is written and forgets the sequence. No-op for NULL. No packet may be open. */
void writer_free(struct writer *w);

/* Opens a packet; the encoder takes the fields of one TracePacket. No other packet of this writer
 * may be open. */
struct pb_enc *writer_begin(struct writer *w);
void writer_end(struct writer *w);

/*
 * Hands the open chunk over to the service, so that everything written so far can be read. It goes
 * with the next CommitData: ds_flushed(), producer_commit() or the next turn of the loop sends it.
 */
void writer_flush(struct writer *w);

/* Packets lost for want of a chunk since writer_new. */
uint64_t writer_dropped(const struct writer *w);
/* Bytes of packets since writer_new, dropped ones not counted. */
uint64_t writer_bytes(const struct writer *w);
