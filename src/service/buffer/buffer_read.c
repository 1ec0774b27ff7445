/* SPDX-License-Identifier: Apache-2.0 */

#include "base/core/mem.h"
#include "service/buffer/buffer_store.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * A cursor walks the unread records in the order of the ring. At each record the sequence is read
 * from its head up to and including that record:
 *
 *      ring       | A6 | B1 | A7 ...            A's refs: 5 6 7 (5 came late and lies after A7)
 *                   ^ cursor: reads 5, then 6
 *
 * A record holds whole fragments, each with its size in front. The first one may end a packet of
 * the previous chunk (TB_FROM_PREV). The last one may continue in the next chunk (TB_ON_NEXT); then
 * the chunk ids that follow must have no gap:
 *
 *      | ... | start ON_NEXT |   | FROM_PREV middle ON_NEXT |   | FROM_PREV end | ... |
 *        head                      ref 1                          ref 2
 *
 * A sequence stalls if the end of its packet is missing, its chunk waits for a patch, or its
 * scraped chunk may be committed again. The cursor skips the records of a stalled sequence. New
 * data for the sequence ends the stall (tb_seq_wake()), and the next pass starts at its records
 * again. A gap in the chunk ids is a loss, not a stall.
 *
 * Sizes are checked again here, since a patch may have changed them.
 */

enum step {
	STEP_PACKET,
	STEP_ON, /* something was read or dropped, but no packet */
	STEP_STALL,
};

struct fragment {
	const uint8_t *data;
	size_t size;
	uint16_t end; /* offset of the next fragment */
};

/* Sets *ret to the fragment at an offset of the record's payload. Returns false if its size is
 * invalid. */
static NO_CANARY bool read_fragment_at(struct tb_record *rec, uint16_t off, struct fragment *ret)
{
	const uint8_t *p = tb_payload(rec) + off, *end = tb_payload(rec) + rec->used;
	uint64_t size;

	if (end - p >= SMB_PACKET_HEADER && tb_size_of_4(p, &size))
		p += SMB_PACKET_HEADER;
	else
		p = pb_get_varint(p, end, &size);
	if (!p || size > (uint64_t)(end - p))
		return false;
	ret->data = p;
	ret->size = (size_t)size;
	ret->end = (uint16_t)(p + size - tb_payload(rec));
	return true;
}

static enum step stall_sequence_until_commit(struct tb_seq *s, enum tb_stall why)
{
	s->stall = why;
	return STEP_STALL;
}

/* Moves the losses of the sequence to the complete packet at its head. */
static void move_loss_to_packet(struct tb_seq *s, const struct tb_record *head,
				struct trace_packet *ret)
{
	if (head->read == 0)
		tb_seq_enter_head(s, head);
	ret->loss = s->loss ? s->loss | DATA_LOSS_PRESENT : 0;
	s->loss = 0;
}

/* Marks the head's fragments up to `end` as read. */
static void mark_head_as_read(struct trace_buffer *b, struct tb_seq *s, struct tb_record *head,
			      uint16_t end)
{
	if (head->read == 0)
		tb_seq_enter_head(s, head);
	head->read = end;
	if (end == head->used)
		tb_seq_finish_head(b, s);
}

/* Drops the rest of the first n records, and adds the loss to those of the sequence. */
static enum step drop_first_records(struct trace_buffer *b, struct tb_seq *s, uint32_t n,
				    uint32_t loss)
{
	s->loss |= loss;
	b->work += n;
	while (n--)
		tb_seq_finish_head(b, s);
	return STEP_ON;
}

/* ---- packets over several chunks ---- */

/* The largest packet has fewer chunks than this, even if each is half of the smallest page. A
 * packet with more is dropped: the step that delivers or drops it would take too long. */
#define MAX_JOINED (TRACE_PACKET_MAX / (SMB_MIN_PAGE / 2))

/* How a record continues the packet that reaches to the end of the previous record. */
enum link {
	LINK_GOES_ON, /* with its only fragment, and the packet continues after it */
	LINK_ENDS, /* the packet ends in its first fragment */
	LINK_EMPTY, /* a chunk without fragments */
	LINK_MISSING, /* it is not of the next chunk */
	LINK_BROKEN, /* it does not begin with a continuation */
	LINK_UNPATCHED, /* its chunk waits for a patch */
};

/* Returns how the record of ref i continues a packet that reaches to the end of ref i - 1. */
static enum link find_record_continuation(const struct trace_buffer *b, const struct tb_seq *s,
					  uint32_t i)
{
	struct tb_record *rec = tb_seq_record(b, s, i);
	struct fragment f;

	if (rec->chunk_id != tb_refs_at(&s->refs, i - 1)->chunk_id + 1)
		return LINK_MISSING;
	if (rec->used == 0 && rec->flags == TB_COMPLETE)
		return LINK_EMPTY;
	if (!(rec->flags & TB_FROM_PREV) || rec->used == 0 || !read_fragment_at(rec, 0, &f))
		return LINK_BROKEN;
	if (f.end < rec->used)
		return LINK_ENDS;
	if (rec->flags & TB_NEEDS_PATCHING)
		return LINK_UNPATCHED;
	return rec->flags & TB_ON_NEXT ? LINK_GOES_ON : LINK_ENDS;
}

/* Appends the fragment to the packet, whose slices have room for it. */
static void buffer_read_add_slice(struct trace_buffer *b, const struct fragment *f,
				  struct trace_packet *p)
{
	if (f->size == 0)
		return;
	b->slices[p->n_slices++] = (struct iovec){(void *)f->data, f->size};
	p->size += f->size;
}

/* Joins the head's last fragment and the first ones of refs 1..last. Returns false if there is no
 * memory or the packet is larger than the format allows. */
static bool buffer_read_join(struct trace_buffer *b, const struct tb_seq *s, uint32_t last,
			     struct trace_packet *ret, uint16_t *ret_end)
{
	ret->n_slices = ret->size = 0;
	if (array_reserve(&b->slices, &b->cap_slices, (size_t)last + 1, sizeof(*b->slices)))
		return false;
	for (uint32_t i = 0; i <= last; i++) {
		struct tb_record *rec = tb_seq_record(b, s, i);
		struct fragment f = {0};

		if (rec->used && !read_fragment_at(rec, rec->read, &f))
			return false;
		buffer_read_add_slice(b, &f, ret);
		*ret_end = f.end;
	}
	return ret->size <= TRACE_PACKET_MAX;
}

/* Returns the packet that ends in ref `last`, and marks its fragments as read. If they cannot be
 * joined, drops the records before `last` instead. */
static enum step return_joined_packet(struct trace_buffer *b, struct tb_seq *s, uint32_t last,
				      struct trace_packet *ret)
{
	uint16_t end = 0;

	if (!buffer_read_join(b, s, last, ret, &end)) {
		b->stats.readaheads_failed++;
		return drop_first_records(b, s, last, DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
	}
	b->stats.readaheads_succeeded++;
	if (ret->size)
		move_loss_to_packet(s, tb_seq_record(b, s, 0), ret);
	drop_first_records(b, s, last, 0);
	mark_head_as_read(b, s, tb_seq_record(b, s, 0), end);
	return ret->size ? STEP_PACKET : STEP_ON;
}

/* Reads a packet that begins in the head's last fragment and continues in the next chunk. */
static enum step read_joined_packet(struct trace_buffer *b, struct tb_seq *s,
				    struct trace_packet *ret)
{
	for (uint32_t i = MAX(s->begun, 1); i < s->refs.n; i++) {
		b->work++;
		if (i > MAX_JOINED) {
			b->stats.readaheads_failed++;
			return drop_first_records(b, s, i, DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
		}
		switch (find_record_continuation(b, s, i)) {
		case LINK_GOES_ON:
		case LINK_EMPTY:
			s->begun = i + 1;
			continue;
		case LINK_ENDS:
			return return_joined_packet(b, s, i, ret);
		case LINK_MISSING:
			b->stats.readaheads_failed++;
			return drop_first_records(b, s, i, DATA_LOSS_REASSEMBLY_GAP);
		case LINK_BROKEN:
			b->stats.readaheads_failed++;
			return drop_first_records(b, s, i, DATA_LOSS_REASSEMBLY_BROKEN_CHAIN);
		case LINK_UNPATCHED:
			b->stats.readaheads_failed++;
			return s->ended ? drop_first_records(b, s, i + 1, DATA_LOSS_WRITER_ABORT)
					: stall_sequence_until_commit(s, TB_WAITS_FOR_PATCH);
		}
	}
	b->stats.readaheads_failed++;
	return s->ended ? drop_first_records(b, s, s->refs.n, DATA_LOSS_WRITER_ABORT)
			: stall_sequence_until_commit(s, TB_WAITS_FOR_NEXT);
}

/* ---- one step at the head ---- */

/* Returns true if the previous chunk may be committed again with more data. */
static bool previous_chunk_may_grow(const struct trace_buffer *b, const struct tb_seq *s,
				    const struct tb_record *rec)
{
	return s->has_last && !s->last_complete && rec->chunk_id == s->last_id + 1 && !s->ended &&
	       !b->refusing;
}

/* Reads a packet that is one fragment. An empty fragment is no packet. */
static enum step read_whole_packet(struct trace_buffer *b, struct tb_seq *s, struct tb_record *head,
				   const struct fragment *f, struct trace_packet *ret)
{
	if (f->size) {
		b->slices[0] = (struct iovec){(void *)f->data, f->size};
		ret->n_slices = 1;
		ret->size = f->size;
		move_loss_to_packet(s, head, ret);
	}
	mark_head_as_read(b, s, head, f->end);
	return f->size ? STEP_PACKET : STEP_ON;
}

/* Reads, drops or stalls at the first unread fragment of the sequence. */
static enum step buffer_read_head(struct trace_buffer *b, struct tb_seq *s,
				  struct trace_packet *ret)
{
	struct tb_record *rec = tb_seq_record(b, s, 0);
	struct fragment f;
	bool is_last;

	b->work++;
	if (previous_chunk_may_grow(b, s, rec))
		return stall_sequence_until_commit(s, TB_WAITS_FOR_MORE);
	if (rec->used == 0)
		return drop_first_records(b, s, 1, 0);
	if (!read_fragment_at(rec, rec->read, &f)) {
		b->stats.abi_violations++;
		return drop_first_records(b, s, 1, DATA_LOSS_CHUNK_CORRUPTED);
	}
	if (rec->read == 0 && rec->flags & TB_FROM_PREV) {
		s->loss |= DATA_LOSS_ORPHAN_CONTINUATION;
		mark_head_as_read(b, s, rec, f.end);
		return STEP_ON;
	}
	is_last = f.end == rec->used;
	if (is_last && rec->flags & TB_NEEDS_PATCHING)
		return s->ended ? drop_first_records(b, s, 1, DATA_LOSS_WRITER_ABORT)
				: stall_sequence_until_commit(s, TB_WAITS_FOR_PATCH);
	if (is_last && rec->flags & TB_ON_NEXT)
		return read_joined_packet(b, s, ret);
	return read_whole_packet(b, s, rec, &f, ret);
}

/* ---- the pass ---- */

void trace_buffer_begin_read(struct trace_buffer *b)
{
	b->cursor = MIN(b->cursor, b->rewind);
	b->rewind = UINT64_MAX;
}

/* Finds the next whole packet. Returns false if there is none, or after max_work steps. */
static bool find_next_packet(struct trace_buffer *b, size_t max_work, struct trace_packet *ret)
{
	struct tb_record *rec;

	b->work = 0;
	while (b->work < max_work && (rec = tb_ring_find_unread(&b->ring, &b->cursor))) {
		struct tb_seq *s = tb_seq_of(b, rec);
		struct trace_packet packet = {.writer = s->writer};
		enum step step = s->stall == TB_READY ? STEP_ON : STEP_STALL;

		while (step == STEP_ON && rec->seq && b->work < max_work)
			step = buffer_read_head(b, s, &packet);
		if (step == STEP_PACKET) {
			packet.slices = b->slices;
			*ret = packet;
			return true;
		}
		if (step == STEP_STALL) {
			b->cursor += tb_stride(rec->used);
			b->work++;
		}
	}
	return false;
}

NO_CANARY bool trace_buffer_next_packet(struct trace_buffer *b, size_t *steps,
					struct trace_packet *ret)
{
	bool found;

	found = find_next_packet(b, steps ? *steps : SIZE_MAX, ret);
	if (steps)
		*steps -= MIN(*steps, b->work);
	return found;
}
