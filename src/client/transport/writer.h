/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/pb_enc.h"

/*
 * A trace writer: one packet sequence of this producer, written in place into chunks of the shared
 * memory.
 *
 *	struct pb_enc *e = writer_begin(w);
 *	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
 *	...
 *	writer_end(w);
 *
 * One thread at a time. No function allocates or fails after writer_new(). If the memory is
 * full, the packet is dropped (or the caller waits, by the writer's policy) and counted, and the
 * next packet reports it (previous_packet_dropped, packets_dropped). A packet may be larger than a
 * chunk, and larger than the whole memory.
 */
struct writer;
struct arbiter;

enum writer_policy {
	WRITER_DROP, /* no free chunk: drop the packet at once */
	WRITER_STALL, /* wait for the service to free one; after a limited time drop, and then
		       * drop without waiting until a chunk is free again */
};

/* Creates a writer, with a new sequence, for target_buffer. Returns NULL if memory or writer ids
 * run out. */
struct writer *writer_new(struct arbiter *a, uint16_t target_buffer, enum writer_policy policy);
/* Makes the writer yield to writers that do not yield (struct arbiter_yielding). One thread must
 * use all writers that yield, and all others of the arbiter that need a chunk. */
void writer_yield(struct writer *w);
/* Commits the written data and frees the writer. No packet may be open. Returns the number of
 * dropped packets that no packet reports, because there is still no room; 0 for NULL. */
uint64_t writer_free(struct writer *w);

/* Opens a packet; the encoder takes the fields of one TracePacket. No other packet of this writer
 * may be open. */
struct pb_enc *writer_begin(struct writer *w);
void writer_end(struct writer *w);

#define WRITER_SMALL_PACKET 127
/* Like writer_begin(), for a packet of at most WRITER_SMALL_PACKET bytes, which writer_end() does
 * not have to move. Returns NULL and opens no packet if the chunk has too little room, or if the
 * next packet is the first or must report a loss: use writer_begin() then. */
struct pb_enc *writer_begin_small(struct writer *w);

/* Completes the open chunk, so that the service can read everything written so far. The next
 * CommitData announces it: ds_flushed() or the next iteration of the loop sends it. */
void writer_flush(struct writer *w);

/* Returns true if a packet is open. */
bool writer_is_open(const struct writer *w);
/* Returns true if the last packet was dropped: the next one will report it. */
bool writer_has_lost(const struct writer *w);
/* Call before a packet. Takes a chunk if the last packet was dropped because none was free. Returns
 * false, and counts a dropped packet, if there is still no free chunk: the caller then need not
 * encode the packet. */
bool writer_recover(struct writer *w);

/* Adds packets that another writer has dropped and could not report. */
void writer_adopt_loss(struct writer *w, uint64_t packets);
/* If the last packet was dropped: writes an empty packet that reports the loss. Waits at most
 * wait_ms for a free chunk. Returns false if no chunk was free. */
bool writer_report_loss(struct writer *w, uint32_t wait_ms);

/* Returns the number of packets dropped since writer_new because no chunk was free. */
uint64_t writer_dropped(const struct writer *w);
/* Returns the number of packets written since writer_new, without dropped ones. */
uint64_t writer_packets(const struct writer *w);
/* Returns the bytes of packets written since writer_new, without dropped ones. */
uint64_t writer_bytes(const struct writer *w);
