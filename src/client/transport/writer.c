/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder's range is always the rest of one chunk, after the size field of the open fragment:
 *
 *	payload                      size_field  enc.begin    enc.cur          enc.end
 *	v                            v           v            v                v
 *	| 3a | fragment | 0c | fragm.| ?  ?  ?  ?| fields ....|      free      |
 *
 * When a packet ends, its size is written into the field, either as one byte, with the packet moved
 * back over the other three, or as four bytes. A packet that fills the chunk continues in the next
 * one as a further fragment (flags on both chunks). Lengths of nested messages that are still open
 * are moved to the patch list. The next chunk is taken before the full one is returned: only the
 * full chunk can record that the rest of the packet is missing:
 *
 *	begin --> chunk --full--> next chunk --full--> ...
 *	  |         |                 |
 *	  |         +--- none free ---+--> size field = "drop this packet", chunk given,
 *	  |                                scratch until writer_end: dropped
 *	  +--- none free --> scratch until writer_end: dropped
 *
 * Scratch is a small private buffer that is overwritten repeatedly.
 *
 * The chunk's packet count includes the packet after the last complete one. So a service that
 * scrapes uncommitted chunks knows that the last one is complete. If no further packet follows, an
 * empty fragment is added for it.
 */
#include "client/transport/writer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "client/transport/arbiter.h"
#include "client/transport/patch_list.h"
#include "gen/fields.h"
#include "wire/smb.h"

/* A chunk with less room is full: a size field and the smallest useful packet. */
#define MIN_ROOM 12
/* For writer_begin_small(): the encoder asks for room for a whole field before each field. */
#define SMALL_ROOM (1 + WRITER_SMALL_PACKET + PB_SIMPLE_FIELD)
/* One less than the header's maximum: see above. */
#define MAX_PACKETS ((int)SMB_MAX_PACKETS - 1)
#define SCRATCH 256

/* TracePacket.previous_packet_dropped: data was lost, because the shared memory was full. */
#define DATA_LOSS_PRESENT 1u
#define DATA_LOSS_SMB_FULL 256u

/* State that the next packet must report. */
enum { PENDING_FIRST = 1, PENDING_LOSS = 2 };

struct writer {
	struct pb_enc enc; /* between packets, cur to end is the rest of the chunk */
	uint8_t *size_field; /* of the open fragment; NULL: none, or it is in scratch */
	struct smb_chunk chunk; /* payload NULL: none */
	struct smb_chunk_header header; /* our copy of the chunk's header */
	bool open; /* a packet is open */
	bool inflated; /* header.count includes a packet that has not begun */
	uint8_t pending; /* PENDING_* */
	uint32_t wait_ms; /* time that each packet may wait for a free chunk */
	uint32_t next_chunk_id;
	uint16_t id;
	uint16_t target_buffer;
	uint64_t dropped;
	uint64_t reported; /* how many of `dropped` were reported by a written packet */
	uint64_t packets;
	uint64_t bytes;
	struct arbiter *arbiter; /* borrowed, outlives us */
	bool yields;
	LIST_ENTRY(writer) link; /* in arbiter_get_yielding(), if it yields */
	struct patch_list patches;
	uint8_t lost_size[PB_SIZE_FIELD]; /* target for lengths of lost messages */
	uint8_t scratch[SCRATCH];
};
_Static_assert(SCRATCH >= PB_MIN_RANGE, "a range");

static void writer_refill(struct pb_enc *e);

struct writer *writer_new(struct arbiter *a, uint16_t target_buffer, enum writer_policy policy)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->id = arbiter_add_writer(a, target_buffer);
	if (!w->id) {
		free(w);
		return NULL;
	}
	w->arbiter = a;
	w->target_buffer = target_buffer;
	w->wait_ms = policy == WRITER_STALL ? ARBITER_STALL : 0;
	w->pending = PENDING_FIRST;
	return w;
}

void writer_yield(struct writer *w)
{
	w->yields = true;
	LIST_INSERT_HEAD(&arbiter_get_yielding(w->arbiter)->writers, w, link);
}

uint64_t writer_free(struct writer *w)
{
	uint64_t unreported;

	if (!w)
		return 0;
	writer_report_loss(w, 0);
	unreported = w->dropped - w->reported;
	writer_flush(w);
	arbiter_remove_writer(w->arbiter, w->id);
	if (w->yields)
		LIST_REMOVE(w, link);
	free(w);
	return unreported;
}

uint64_t writer_dropped(const struct writer *w)
{
	return w->dropped;
}

uint64_t writer_packets(const struct writer *w)
{
	return w->packets;
}

uint64_t writer_bytes(const struct writer *w)
{
	return w->bytes;
}

/* ---- chunks ---- */

/* Completes the chunks of writers that yield and are between two packets. */
static void flush_idle_writers(struct arbiter *a)
{
	struct writer *w;

	LIST_FOREACH (w, &arbiter_get_yielding(a)->writers, link)
		if (!w->open)
			writer_flush(w);
}

/* Takes a free chunk, if necessary after the chunks of idle writers that yield were completed.
 * Waits at most wait_ms, or not at all if the writer must leave a reserve to those of root. Returns
 * false if there is no chunk for it. */
static bool acquire_free_chunk(struct writer *w, const struct smb_chunk_header *header,
			       struct smb_chunk *ret)
{
	if (w->yields && arbiter_get_yielding(w->arbiter)->reserves) {
		if (!arbiter_has_reserve(w->arbiter))
			flush_idle_writers(w->arbiter);
		return arbiter_has_reserve(w->arbiter) &&
		       arbiter_acquire_chunk(w->arbiter, header, 0, ret);
	}
	if (arbiter_acquire_chunk(w->arbiter, header, 0, ret))
		return true;
	flush_idle_writers(w->arbiter);
	return arbiter_acquire_chunk(w->arbiter, header, w->wait_ms, ret);
}

/* Takes a free chunk for the next chunk id of the writer. Returns false if there is none; then
 * nothing has changed. */
static bool acquire_next_chunk(struct writer *w, uint8_t flags, struct smb_chunk_header *ret_header,
			       struct smb_chunk *ret)
{
	struct smb_chunk_header h = {
		.chunk_id = w->next_chunk_id, .writer_id = w->id, .flags = flags};

	if (!acquire_free_chunk(w, &h, ret))
		return false;
	w->next_chunk_id++;
	*ret_header = h;
	return true;
}

static void release_full_chunk(struct writer *w)
{
	smb_header_store_packets(w->chunk.header, w->header.count, w->header.flags);
	arbiter_release_chunk(w->arbiter, &w->chunk, &w->header, w->target_buffer);
	w->chunk.payload = NULL;
}

/* Closes the chunk; no packet is open. */
static void close_chunk(struct writer *w)
{
	if (w->inflated) {
		*w->enc.cur = 0; /* the empty fragment; inflated means that it has room */
		w->inflated = false;
	}
	release_full_chunk(w);
	w->enc.cur = w->enc.end = NULL;
}

/* Counts a fragment at p. Returns the address after its size field. */
static uint8_t *begin_fragment(struct writer *w, uint8_t *p)
{
	w->size_field = p;
	if (w->inflated) {
		w->inflated = false;
	} else {
		w->header.count++;
		smb_header_store_packets(w->chunk.header, w->header.count, w->header.flags);
	}
	return p + SMB_PACKET_HEADER;
}

static void send_patches(struct writer *w)
{
	struct chunk_patch p;

	while (patch_list_pop_finished(&w->patches, &p))
		arbiter_add_patch(w->arbiter, &p);
}

/* ---- packets ---- */

static void write_pending_marks(struct writer *w)
{
	if (w->pending & PENDING_FIRST)
		pb_enc_bool(&w->enc, PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, true);
	if (!(w->pending & PENDING_LOSS))
		return;
	pb_enc_u64(&w->enc, PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
		   DATA_LOSS_PRESENT | DATA_LOSS_SMB_FULL);
	pb_enc_u64(&w->enc, PB_TRACE_PACKET_PACKETS_DROPPED, w->dropped - w->reported);
}

/* Takes a new chunk, because the old one has no room for a packet, or there is no chunk. Closes the
 * old one. If no chunk is free, the writer has none afterwards. */
static void change_chunk(struct writer *w)
{
	struct smb_chunk chunk;

	if (w->chunk.payload)
		close_chunk(w);
	if (!acquire_next_chunk(w, 0, &w->header, &chunk))
		return;
	w->chunk = chunk;
	w->enc.cur = chunk.payload;
	w->enc.end = chunk.payload + chunk.payload_size;
}

bool writer_is_open(const struct writer *w)
{
	return w->open;
}

bool writer_has_lost(const struct writer *w)
{
	return w->pending & PENDING_LOSS;
}

static bool writer_ensure_chunk(struct writer *w)
{
	assert(!w->open);
	if (!w->chunk.payload)
		change_chunk(w);
	return w->chunk.payload;
}

bool writer_recover(struct writer *w)
{
	if (!(w->pending & PENDING_LOSS) || writer_ensure_chunk(w))
		return true;
	w->dropped++;
	return false;
}

void writer_adopt_loss(struct writer *w, uint64_t packets)
{
	w->dropped += packets;
	w->pending |= PENDING_LOSS;
}

bool writer_report_loss(struct writer *w, uint32_t wait_ms)
{
	uint32_t usual = w->wait_ms;
	bool room;

	if (!(w->pending & PENDING_LOSS))
		return true;
	w->wait_ms = wait_ms;
	room = writer_ensure_chunk(w);
	w->wait_ms = usual;
	if (!room)
		return false;
	writer_begin(w);
	writer_end(w);
	return true;
}

struct pb_enc *writer_begin(struct writer *w)
{
	struct pb_enc *e = &w->enc;

	assert(!w->open);
	w->open = true;
	if (e->end - e->cur < MIN_ROOM || w->header.count - w->inflated >= MAX_PACKETS)
		change_chunk(w);
	if (w->chunk.payload)
		pb_enc_init(e, begin_fragment(w, e->cur), e->end, writer_refill);
	else
		pb_enc_init(e, w->scratch, w->scratch + SCRATCH, writer_refill);
	if (w->pending)
		write_pending_marks(w);
	return e;
}

struct pb_enc *writer_begin_small(struct writer *w)
{
	struct pb_enc *e = &w->enc;

	assert(!w->open);
	if (e->end - e->cur < SMALL_ROOM || w->pending || !w->chunk.payload ||
	    w->header.count - w->inflated >= MAX_PACKETS)
		return NULL;
	w->open = true;
	pb_enc_init(e, begin_fragment(w, e->cur) - SMB_PACKET_HEADER + 1, e->end, writer_refill);
	return e;
}

static void end_fragment(struct writer *w)
{
	struct pb_enc *e = &w->enc;
	size_t size = (size_t)(e->cur - e->begin);

	if (e->begin == w->size_field + 1) {
		assert(size < 0x80);
		w->size_field[0] = (uint8_t)size;
	} else if (size < 0x80) {
		w->size_field[0] = (uint8_t)size;
		memmove(w->size_field + 1, e->begin, size);
		e->cur -= SMB_PACKET_HEADER - 1;
	} else {
		pb_put_varint4(w->size_field, (uint32_t)size);
	}
	w->size_field = NULL;
}

void writer_end(struct writer *w)
{
	struct pb_enc *e = &w->enc;

	assert(w->open && e->depth == 0);
	w->open = false;
	if (w->patches.used)
		send_patches(w);
	if (!w->size_field) {
		w->dropped++;
		w->pending |= PENDING_LOSS;
		e->cur = e->end = NULL;
		return;
	}
	w->pending = 0;
	w->reported = w->dropped;
	w->packets++;
	w->bytes += pb_enc_pos(e);
	end_fragment(w);
	if (e->cur == e->end) {
		close_chunk(w);
		return;
	}
	w->inflated = true;
	w->header.count++;
	smb_header_store_packets(w->chunk.header, w->header.count, w->header.flags);
}

void writer_flush(struct writer *w)
{
	assert(!w->open);
	if (w->chunk.payload)
		close_chunk(w);
}

/* ---- the next chunk of a packet ---- */

/* Redirects the lengths of lost messages, so that they are not written into shared memory. */
static void redirect_lengths_of_lost_messages(struct writer *w)
{
	struct pb_enc *e = &w->enc;

	for (unsigned i = 0; i < e->depth; i++) {
		uint8_t *f = e->nest[i].size_field;

		if (f >= e->begin && f < e->cur)
			e->nest[i].size_field = w->lost_size;
	}
}

/* Drops the packet, because no chunk is free for its rest. The size field makes the service discard
 * the first part. */
static void drop_packet(struct writer *w)
{
	redirect_lengths_of_lost_messages(w);
	pb_put_varint4(w->size_field, SMB_DROP_PACKET);
	w->size_field = NULL;
	release_full_chunk(w);
	pb_enc_set_range(&w->enc, w->scratch, w->scratch + SCRATCH);
}

static void continue_in_chunk(struct writer *w, const struct smb_chunk *next,
			      const struct smb_chunk_header *header)
{
	const struct chunk_patch ids = {
		.chunk_id = w->header.chunk_id,
		.writer_id = w->id,
		.target_buffer = w->target_buffer,
	};
	struct pb_enc *e = &w->enc;

	pb_put_varint4(w->size_field, (uint32_t)(e->cur - e->begin));
	w->header.flags |= SMB_CONTINUES_ON_NEXT;
	if (patch_list_detach(&w->patches, e, &ids, w->chunk.payload))
		w->header.flags |= SMB_NEEDS_PATCHING;
	release_full_chunk(w);
	w->chunk = *next;
	w->header = *header;
	pb_enc_set_range(e, begin_fragment(w, next->payload), next->payload + next->payload_size);
}

static void writer_refill(struct pb_enc *e)
{
	struct writer *w = container_of(e, struct writer, enc);
	struct smb_chunk_header header;
	struct smb_chunk next;

	if (!w->size_field) {
		redirect_lengths_of_lost_messages(w);
		pb_enc_set_range(e, w->scratch, w->scratch + SCRATCH);
		return;
	}
	send_patches(w); /* frees the slots of the patches, too */
	if (acquire_next_chunk(w, SMB_CONTINUES_FROM_PREV, &header, &next))
		continue_in_chunk(w, &next, &header);
	else
		drop_packet(w);
}
