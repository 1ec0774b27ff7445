/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace_buffer_seq.h"

#include <assert.h>
#include <string.h>

/*
 * How it works: what is already known of the chunk decides whether anything of it is wanted, and
 * from which byte on. From there it is copied behind the write cursor of the ring, and the
 * fragments are counted in the copy, which stops where they stop: so the source is passed over
 * once, and what trails in it is neither copied nor given space.
 *
 *      source    | size | fragment | size | fragment | size | frag...   unused ... |
 *                  copied in blocks ->   got ^    ^ counted up to here
 *      ring      | ... records | room |  dst: the copy       | old records
 *                              ^ wr
 *
 * Only then is the record written in front of the copy, and it becomes part of its sequence. When
 * the copy comes to the end of the memory before the fragments are all there, it moves to the
 * start of the memory and goes on.
 *
 * A chunk that was scraped while it was being written may come again with more fragments, since
 * those that were counted never change. They become a record of their own, behind all that was
 * written meanwhile; what was taken before stays as it was.
 */

/* How far a late chunk may be inserted in front of others, in records. A chunk that is not
 * committed holds a place in the shared memory, so a sane producer cannot come near. */
#define MAX_REORDER (SMB_MAX_SIZE / SMB_MIN_PAGE * SMB_MAX_CHUNKS)

/* Bytes copied at first; then as much again as was copied, so that few large copies make a full
 * chunk, and of an empty one not more than twice what is there is touched. In a small ring less:
 * the space is taken from the oldest records, needed or not. */
#define MAX_BLOCK 4096u
#define MIN_BLOCK 64u
#define BLOCKS_IN_RING 64u

#define MAX_SIZE_FIELD 10u

/* ---- what is known of a chunk ---- */

struct known {
	struct tb_record *rec; /* its last record, if unread */
	uint16_t frags, bytes; /* taken before */
	uint8_t flags; /* SMB_CHUNK_FLAGS that may not vanish */
	bool complete;
};

static bool find_known(const struct trace_buffer *b, const struct tb_seq *s, uint32_t chunk_id,
		       struct known *ret)
{
	uint32_t i = tb_refs_upper(&s->refs, chunk_id);

	if (i > 0 && tb_refs_at(&s->refs, i - 1)->chunk_id == chunk_id) {
		struct tb_record *rec = tb_seq_record(b, s, i - 1);

		*ret = (struct known){.rec = rec,
				      .frags = rec->frags,
				      .bytes = (uint16_t)(rec->base + rec->used),
				      .flags = rec->flags & SMB_CHUNK_FLAGS,
				      .complete = rec->flags & TB_COMPLETE};
		return true;
	}
	if (s->has_last && s->last_id == chunk_id) {
		*ret = (struct known){.frags = s->last_frags,
				      .bytes = s->last_bytes,
				      .complete = s->last_complete};
		return true;
	}
	return false;
}

/* How many of its fragments cannot grow any more. */
static uint16_t whole_fragments(const struct smb_chunk_header *h, bool complete)
{
	return complete || h->count == 0 ? h->count : h->count - 1;
}

static bool is_past(const struct tb_seq *s, uint32_t chunk_id)
{
	return s->has_last && (int32_t)(chunk_id - s->last_id) < 0;
}

static void complete_known(struct trace_buffer *b, struct tb_seq *s, const struct known *k)
{
	if (k->rec)
		k->rec->flags |= TB_COMPLETE;
	else
		s->last_complete = true;
	tb_seq_wake(b, s);
}

/* The chunk comes again: with more in it? */
static bool wants_rest(struct trace_buffer *b, struct tb_seq *s, const struct known *k,
		       const struct smb_chunk_header *h, size_t len, bool complete)
{
	uint16_t frags = whole_fragments(h, complete);

	if (frags < k->frags || (k->complete && frags > k->frags) || len < k->bytes ||
	    (k->flags & ~h->flags)) {
		b->stats.abi_violations++;
		return false;
	}
	if (frags == k->frags) {
		if (complete && !k->complete)
			complete_known(b, s, k);
		return false;
	}
	return true;
}

/* The chunk comes for the first time, as it seems: may it be put in its place? */
static bool wants_new(struct trace_buffer *b, const struct tb_seq *s, uint32_t chunk_id)
{
	if (is_past(s, chunk_id)) {
		/* Scraped and read, or overwritten, it is nothing new. */
		b->stats.chunks_discarded += s->last_id - chunk_id > s->last_id - s->run_start;
		return false;
	}
	if (!tb_refs_admits(&s->refs, chunk_id) ||
	    s->refs.n - tb_refs_upper(&s->refs, chunk_id) > MAX_REORDER) {
		b->stats.abi_violations++;
		return false;
	}
	return true;
}

/* ---- the copy ---- */

struct intake {
	struct trace_buffer *b;
	const uint8_t *src; /* hostile, may change at any time: read once */
	size_t len;
	uint8_t *dst; /* in the ring, one record header after wr */
	size_t got; /* bytes of dst */
	size_t block;
};

enum intake_result {
	INTAKE_OK,
	INTAKE_SHORT, /* the source ends before the fragment does */
	INTAKE_ABORTED, /* the writer dropped the packet */
	INTAKE_TOO_LARGE, /* for the ring */
	INTAKE_FULL, /* TRACE_BUFFER_DISCARD */
};

static void intake_init(struct intake *in, struct trace_buffer *b, const void *src, size_t len)
{
	size_t block = b->ring.size / BLOCKS_IN_RING;

	*in = (struct intake){
		.b = b,
		.src = src,
		.len = len,
		.dst = b->ring.base + b->ring.wr + TB_RECORD_HEADER,
		.block = MAX(MIN_BLOCK, MIN(block, MAX_BLOCK)),
	};
}

/* Moves what was copied to the start of the memory. */
static void move_to_start(struct intake *in)
{
	struct tb_ring *r = &in->b->ring;
	uint8_t *from = in->dst;

	tb_ring_wrap(in->b);
	tb_ring_make_room(in->b, TB_RECORD_HEADER + in->got);
	in->dst = r->base + TB_RECORD_HEADER;
	memmove(in->dst, from, in->got);
}

/* Copies until at least `upto` bytes are there. */
static enum intake_result pull(struct intake *in, size_t upto)
{
	struct tb_ring *r = &in->b->ring;
	size_t want = MAX(upto, in->got + MAX(in->got, in->block)), room;

	if (upto > in->len)
		return INTAKE_SHORT;
	if (upto > r->size - TB_RECORD_HEADER)
		return INTAKE_TOO_LARGE;
	if (r->wr + TB_RECORD_HEADER + upto > r->size) {
		if (in->b->policy == TRACE_BUFFER_DISCARD)
			return INTAKE_FULL;
		move_to_start(in);
	}
	room = r->size - r->wr - TB_RECORD_HEADER;
	want = MIN(MIN(want, in->len), room);
	tb_ring_make_room(in->b, r->wr + TB_RECORD_HEADER + want);
	memcpy(in->dst + in->got, in->src + in->got, want - in->got);
	/* What is checked must be what was stored: nothing may be read from the source again. */
	__asm__ volatile("" ::: "memory");
	in->got = want;
	return INTAKE_OK;
}

static inline enum intake_result need(struct intake *in, size_t upto)
{
	return upto <= in->got ? INTAKE_OK : pull(in, upto);
}

/* ---- the fragments in the copy ---- */

/* The size in front of a fragment at *off, and *off goes behind it. Up to 10 bytes, so that
 * redundant forms are understood. */
static enum intake_result take_size(struct intake *in, size_t *off, uint64_t *ret)
{
	uint64_t v = 0;

	if (*off + SMB_PACKET_HEADER <= in->got && tb_size_of_4(in->dst + *off, ret)) {
		*off += SMB_PACKET_HEADER;
		return INTAKE_OK;
	}
	for (unsigned i = 0; i < MAX_SIZE_FIELD; i++) {
		enum intake_result r = need(in, *off + 1);
		uint8_t byte;

		if (r != INTAKE_OK)
			return r;
		byte = in->dst[(*off)++];
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*ret = i == MAX_SIZE_FIELD - 1 && byte > 1 ? UINT64_MAX : v;
			return INTAKE_OK;
		}
	}
	return INTAKE_SHORT;
}

/* Moves *off over one whole fragment. */
static enum intake_result take_fragment(struct intake *in, size_t *off)
{
	size_t body = *off;
	uint64_t size;
	enum intake_result r = take_size(in, &body, &size);

	if (r != INTAKE_OK)
		return r;
	if (size == SMB_DROP_PACKET)
		return INTAKE_ABORTED;
	if (size > in->len - body)
		return INTAKE_SHORT;
	r = need(in, body + (size_t)size);
	if (r == INTAKE_OK)
		*off = body + (size_t)size;
	return r;
}

/* Copies n fragments. *ret_used: the bytes of those that are whole. */
static enum intake_result take_fragments(struct intake *in, unsigned n, size_t *ret_used)
{
	enum intake_result r = pull(in, 0);

	*ret_used = 0;
	for (unsigned i = 0; i < n && r == INTAKE_OK; i++)
		r = take_fragment(in, ret_used);
	return r;
}

/* ---- the record ---- */

static void count_record(struct trace_buffer *b, struct tb_seq *s, const struct known *k,
			 const struct tb_record *rec)
{
	struct trace_buffer_stats *st = &b->stats;

	st->bytes_written += tb_stride(rec->used);
	st->chunks_written += rec->base == 0;
	st->chunks_rewritten += rec->base && k->rec;
	st->chunks_relocated += rec->base && !k->rec;
	st->abi_violations += !!(rec->flags & TB_CORRUPTED);
	st->trace_writer_packet_loss += !!(rec->flags & TB_ABORTED);
	if (rec->flags & TB_COMPLETE)
		tb_histogram_add(&s->histogram, rec->base + rec->used);
}

static uint16_t record_flags(const struct smb_chunk_header *h, const struct known *k, bool complete,
			     enum intake_result r)
{
	uint16_t flags = k->bytes == 0 ? h->flags & TB_FROM_PREV : 0;

	/* What comes behind the break cannot be told apart, in this chunk for good. */
	if (r == INTAKE_SHORT)
		return flags | TB_COMPLETE | TB_CORRUPTED;
	if (r == INTAKE_ABORTED)
		return flags | TB_COMPLETE | TB_ABORTED;
	if (complete)
		flags |= TB_COMPLETE | (h->flags & (TB_ON_NEXT | TB_NEEDS_PATCHING));
	return flags;
}

/* The copy behind wr becomes a record. */
static void publish(struct trace_buffer *b, struct tb_seq *s, uint32_t chunk_id,
		    const struct known *k, const struct tb_record *header)
{
	struct tb_ring *r = &b->ring;
	uint32_t i = tb_refs_upper(&s->refs, chunk_id), n = s->refs.n;

	/* Making room may have dropped what belongs after it. */
	if (is_past(s, chunk_id) || tb_seq_insert(b, s, i, chunk_id, r->wr)) {
		b->stats.chunks_discarded++;
		return;
	}
	b->stats.chunks_committed_out_of_order += i < n;
	*tb_record_at(r, r->wr) = *header;
	count_record(b, s, k, header);
	r->wr += tb_stride(header->used);
	if (r->wr == r->size && b->policy == TRACE_BUFFER_RING)
		tb_ring_wrap(b);
}

/* Stores what of a chunk is not known yet. */
static void store(struct trace_buffer *b, struct tb_seq *s, const struct smb_chunk_header *h,
		  const struct known *k, const uint8_t *payload, size_t len, bool complete)
{
	uint16_t frags = whole_fragments(h, complete);
	struct intake in;
	size_t used;
	enum intake_result r;

	intake_init(&in, b, payload + k->bytes, len - k->bytes);
	r = take_fragments(&in, frags - k->frags, &used);
	if (r == INTAKE_TOO_LARGE) {
		b->stats.abi_violations++;
		return;
	}
	if (r == INTAKE_FULL) {
		b->refusing = true;
		b->stats.chunks_discarded++;
		return;
	}
	publish(b, s, h->chunk_id, k,
		&(struct tb_record){
			.chunk_id = h->chunk_id,
			.seq = s->slot,
			.used = (uint16_t)used,
			.base = k->bytes,
			.frags = frags & SMB_MAX_PACKETS,
			.flags = record_flags(h, k, complete, r) & TB_ALL_FLAGS,
		});
}

static bool is_valid(const struct trace_buffer_writer *writer, const struct smb_chunk_header *h,
		     size_t len)
{
	return writer->writer_id && writer->writer_id <= SMB_MAX_WRITER_ID &&
	       h->count <= SMB_MAX_PACKETS && len <= UINT16_MAX;
}

void trace_buffer_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
			 const struct smb_chunk_header *header, const void *payload, size_t len,
			 bool complete)
{
	struct known k = {0};
	struct tb_seq *s;

	assert(writer->producer_id);
	if (!is_valid(writer, header, len)) {
		b->stats.abi_violations++;
		return;
	}
	if (!complete && header->count < 2)
		return; /* nothing in it is sure to be whole */
	s = b->refusing ? NULL : tb_seq_get(b, writer);
	if (!s) {
		b->stats.chunks_discarded++;
		return;
	}
	if (find_known(b, s, header->chunk_id, &k) ? wants_rest(b, s, &k, header, len, complete)
						   : wants_new(b, s, header->chunk_id))
		store(b, s, header, &k, payload, len, complete);
	tb_seqs_collect(b);
}
