/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "service/buffer/buffer_store.h"
#include "service/buffer/copy_nontemporal.h"

/*
 * tb_chunk_copy() is the only code that reads the payload of a chunk in shared memory, which the
 * producer can change meanwhile.
 */

struct trace_buffer;

enum tb_copy_result {
	TB_COPY_OK,
	TB_COPY_SHORT, /* the source ends within the fragment */
	TB_COPY_ABORTED, /* the writer dropped the packet */
	TB_COPY_TOO_LARGE, /* the fragments do not fit into the ring */
	TB_COPY_FULL, /* TRACE_BUFFER_DISCARD: the buffer has no room left */
};

/*
 * The payload is copied part by part. The fragments are counted in the copy, and the copy stops
 * after the last one. So each byte of the source is read once, and its unused rest is neither
 * copied nor given space.
 *
 *      source    | size | fragment | size | fragment | size | frag...   unused ... |
 *                  copied ->   from ^   got ^    ^ counted up to here
 *      ring      | ... records | room | the copy      | old records
 *                              ^ wr
 *
 * Usually a part is copied directly into the ring. In a large ring that has wrapped, this memory
 * is in no cache: each line would be read before it is written, and the copy would take
 * twice the time. There a part is copied to a window on the stack, checked there, and copied from
 * there to the ring with non-temporal stores.
 *
 * If the copy reaches the end of the memory before it has all fragments, it is moved to the start
 * of the memory and continues there.
 */

/* Bytes of the first part. Each further part is as large as all earlier ones together, so that a
 * full chunk takes few copies, and at most twice the used bytes of a chunk are copied. In a small
 * ring parts are smaller, because the space for a part is taken from the oldest records. */
#define MAX_PART 4096u
#define MIN_PART 64u
#define PARTS_IN_RING 64u

#define MAX_SIZE_FIELD 10u

/* ---- the copy ---- */

struct chunk_copy {
	struct trace_buffer *b;
	const uint8_t *src; /* may change at any time: each byte is read once */
	size_t len;
	size_t from, got; /* range of the last part; earlier parts are in the ring */
	uint8_t *part; /* the last part: in the ring or in the window */
	uint8_t *window; /* window of MAX_PART bytes; NULL: none */
};

/* Returns where byte i of the source goes in the ring. */
static uint8_t *chunk_copy_address_of(const struct chunk_copy *c, size_t i)
{
	return c->b->ring.base + c->b->ring.wr + TB_RECORD_HEADER + i;
}

/* Wraps to the start of the memory and moves the copied bytes there. */
static void wrap_copied_bytes(struct chunk_copy *c)
{
	size_t stored = c->window ? c->from : c->got;
	uint8_t *before = chunk_copy_address_of(c, 0);

	tb_ring_wrap(c->b);
	tb_ring_make_room(c->b, TB_RECORD_HEADER + stored);
	memmove(chunk_copy_address_of(c, 0), before, stored);
}

/* Makes room for a record with the first n bytes. Returns TB_COPY_OK, or why there can be none. */
static enum tb_copy_result chunk_copy_reserve(struct chunk_copy *c, size_t n)
{
	struct tb_ring *r = &c->b->ring;

	if (n > r->size - TB_RECORD_HEADER)
		return TB_COPY_TOO_LARGE;
	if (c->b->policy == TRACE_BUFFER_DISCARD) {
		if (TB_RECORD_HEADER + n > tb_room_left(c->b))
			return TB_COPY_FULL;
	} else if (r->wr + TB_RECORD_HEADER + n > r->size) {
		wrap_copied_bytes(c);
	}
	tb_ring_make_room(c->b, r->wr + TB_RECORD_HEADER + n);
	return TB_COPY_OK;
}

/* Copies the bytes of the window, up to n, to the ring. */
static void write_window_to_ring(struct chunk_copy *c, size_t n)
{
	if (c->window && n > c->from)
		copy_nontemporal(chunk_copy_address_of(c, c->from), c->window, n - c->from);
}

/* Returns the size of the next part, so that it ends at a cache line of the ring. */
static size_t next_window_part_size(const struct chunk_copy *c)
{
	return MAX_PART - ((uintptr_t)chunk_copy_address_of(c, c->got) & (COPY_CACHE_LINE - 1));
}

/* Returns the size of the next part and makes room for it. It reaches at least byte `upto`. */
static size_t reserve_ring_part(struct chunk_copy *c, size_t upto)
{
	struct tb_ring *r = &c->b->ring;
	size_t first = MAX(MIN_PART, MIN(r->size / PARTS_IN_RING, MAX_PART));
	size_t n = MIN(MAX(upto - c->got, MAX(c->got, first)), c->len - c->got);

	n = MIN(n, r->size - r->wr - TB_RECORD_HEADER - c->got);
	tb_ring_make_room(c->b, r->wr + TB_RECORD_HEADER + c->got + n);
	return n;
}

/* Copies the next part of the source, into the window if there is one, else into the ring. */
static void copy_next_part(struct chunk_copy *c, size_t upto)
{
	size_t n = c->window ? MIN(next_window_part_size(c), c->len - c->got)
			     : reserve_ring_part(c, upto);

	write_window_to_ring(c, c->got);
	c->part = c->window ? c->window : chunk_copy_address_of(c, c->got);
	memcpy(c->part, c->src + c->got, n);
	/* The check must see the bytes that are stored, so the source is not read again. */
	__asm__ volatile("" ::: "memory");
	c->from = c->got;
	c->got += n;
}

/* Copies until at least `upto` bytes are copied. */
static enum tb_copy_result copy_bytes_up_to(struct chunk_copy *c, size_t upto)
{
	enum tb_copy_result r;

	if (upto > c->len)
		return TB_COPY_SHORT;
	r = chunk_copy_reserve(c, upto);
	while (r == TB_COPY_OK && c->got < upto)
		copy_next_part(c, upto);
	return r;
}

static inline enum tb_copy_result ensure_bytes_are_copied(struct chunk_copy *c, size_t upto)
{
	return upto <= c->got ? TB_COPY_OK : copy_bytes_up_to(c, upto);
}

/* ---- the fragments in the copy ---- */
/* The functions below read forward only, so byte *off is in the last part or not copied yet. */

/* Reads the size of a fragment at *off and advances *off. It accepts redundant forms of up to 10
 * bytes. */
static enum tb_copy_result read_fragment_size(struct chunk_copy *c, size_t *off, uint64_t *ret)
{
	uint64_t v = 0;

	if (*off + SMB_PACKET_HEADER <= c->got && tb_size_of_4(c->part + (*off - c->from), ret)) {
		*off += SMB_PACKET_HEADER;
		return TB_COPY_OK;
	}
	for (unsigned i = 0; i < MAX_SIZE_FIELD; i++) {
		enum tb_copy_result r = ensure_bytes_are_copied(c, *off + 1);
		uint8_t byte;

		if (r != TB_COPY_OK)
			return r;
		byte = c->part[(*off)++ - c->from];
		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80)) {
			*ret = i == MAX_SIZE_FIELD - 1 && byte > 1 ? UINT64_MAX : v;
			return TB_COPY_OK;
		}
	}
	return TB_COPY_SHORT;
}

/* Reads one whole fragment and advances *off. */
static enum tb_copy_result read_fragment(struct chunk_copy *c, size_t *off)
{
	size_t body = *off;
	uint64_t size;
	enum tb_copy_result r = read_fragment_size(c, &body, &size);

	if (r != TB_COPY_OK)
		return r;
	if (size == SMB_DROP_PACKET)
		return TB_COPY_ABORTED;
	if (size > c->len - body)
		return TB_COPY_SHORT;
	r = ensure_bytes_are_copied(c, body + (size_t)size);
	if (r == TB_COPY_OK)
		*off = body + (size_t)size;
	return r;
}

/* Copies n fragments to the write cursor, after room for a record header, and drops the old records
 * there. *ret_used is the number of bytes of whole fragments, even after TB_COPY_SHORT and
 * TB_COPY_ABORTED. The write cursor is not advanced, but the ring may have wrapped. */
static enum tb_copy_result tb_chunk_copy(struct trace_buffer *b, const void *untrusted_src,
					 size_t len, unsigned n, size_t *ret_used)
{
	uint8_t window[MAX_PART];
	struct chunk_copy c = {
		.b = b,
		.src = untrusted_src,
		.len = len,
		.window = tb_ring_is_uncached(&b->ring) ? window : NULL,
	};
	enum tb_copy_result r = TB_COPY_OK, room;
	size_t used = 0;

	for (unsigned i = 0; i < n && r == TB_COPY_OK; i++)
		r = read_fragment(&c, &used);
	*ret_used = used;
	if (r == TB_COPY_TOO_LARGE || r == TB_COPY_FULL)
		return r;
	room = chunk_copy_reserve(&c, used);
	if (room != TB_COPY_OK)
		return room;
	write_window_to_ring(&c, used);
	return r;
}

/*
 * Earlier records of the same chunk determine whether a commit has new data, and from which byte
 * on. That part is copied to the write cursor of the ring, after room for a record header
 * (buffer_write.c). Only then is the record header written, and the record added to its sequence.
 *
 *      ring       | ... records | room | whole fragments | free    | old records
 *                               ^ wr: the record goes here
 *
 * A chunk that was scraped while it was being written may be committed again with more fragments;
 * the fragments that were counted before never change. The new ones become a record of their own,
 * after everything that was written in between. The earlier record stays as it is.
 *
 *      chunk      | fragment | fragment | fragment | fragment | unused |
 *      records     scraped: base 0       later: base = bytes of the first
 */

/* A late chunk is inserted between others only if that moves at most this many refs. Chunks of a
 * correct producer are late only when the service scrapes its memory. There the ids rise from page
 * to page, except at the one page where the writer started again. So the ids are two rising runs,
 * and the shorter run has at most this many chunks. */
#define MAX_REORDER (SMB_MAX_SIZE / SMB_MIN_PAGE / 2)

/* ---- what a commit of a chunk means ---- */

/* The data that earlier commits of the chunk have stored. */
struct known {
	struct tb_record *rec; /* its last record, if unread */
	uint16_t frags, bytes;
	uint8_t flags; /* SMB_CHUNK_FLAGS that must still be set */
	bool complete;
};

/* Returns true and sets *ret if the chunk was committed before, and is unread or was the last one
 * that was read or dropped. */
static bool find_earlier_commits(const struct trace_buffer *b, const struct tb_seq *s,
				 uint32_t chunk_id, struct known *ret)
{
	uint32_t i = tb_refs_upper_bound(&s->refs, chunk_id);

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

/* Returns how many fragments of the chunk cannot grow any more. */
static uint16_t count_whole_fragments(const struct smb_chunk_header *h, bool complete)
{
	return complete || h->count == 0 ? h->count : h->count - 1;
}

static bool chunk_is_before_last(const struct tb_seq *s, uint32_t chunk_id)
{
	return s->has_last && (int32_t)(chunk_id - s->last_id) < 0;
}

enum verdict {
	VERDICT_STORE, /* the chunk has new fragments */
	VERDICT_COMPLETE, /* the stored part is all of it */
	VERDICT_NOTHING_NEW,
	VERDICT_TOO_LATE,
	VERDICT_VIOLATION,
};

/* Returns the verdict on a chunk that was committed before. */
static enum verdict check_recommitted_chunk(const struct tb_seq *s, const struct known *k,
					    const struct smb_chunk_header *h, size_t len,
					    bool complete)
{
	uint16_t frags = count_whole_fragments(h, complete);

	if (frags < k->frags || (k->complete && frags > k->frags) || len < k->bytes ||
	    (k->flags & ~h->flags))
		return VERDICT_VIOLATION;
	if (frags == k->frags)
		return complete && !k->complete ? VERDICT_COMPLETE : VERDICT_NOTHING_NEW;
	if (tb_refs_count_moves(&s->refs, tb_refs_upper_bound(&s->refs, h->chunk_id)) > MAX_REORDER)
		return VERDICT_VIOLATION;
	return VERDICT_STORE;
}

/* Returns the verdict on a chunk that was never committed, or of which nothing is stored any
 * more. */
static enum verdict check_first_commit(const struct tb_seq *s, uint32_t chunk_id)
{
	/* A chunk that was scraped and read, or overwritten, has no new data. */
	if (chunk_is_before_last(s, chunk_id))
		return s->last_id - chunk_id > s->last_id - s->run_start ? VERDICT_TOO_LATE
									 : VERDICT_NOTHING_NEW;
	if (!tb_refs_can_insert(&s->refs, chunk_id) ||
	    tb_refs_count_moves(&s->refs, tb_refs_upper_bound(&s->refs, chunk_id)) > MAX_REORDER)
		return VERDICT_VIOLATION;
	return VERDICT_STORE;
}

/* ---- the record ---- */

const int64_t trace_buffer_histogram_thresholds[TRACE_BUFFER_HISTOGRAM_THRESHOLDS] = {
	8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384,
};

static void histogram_add(struct trace_buffer_histogram *h, int64_t value)
{
	unsigned i = 0;

	while (i < TRACE_BUFFER_HISTOGRAM_THRESHOLDS &&
	       value > trace_buffer_histogram_thresholds[i])
		i++;
	h->counts[i]++;
	h->sums[i] += value;
}

static void count_stored_record(struct trace_buffer *b, struct tb_seq *s, const struct known *k,
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
		histogram_add(&s->histogram, rec->base + rec->used);
}

static uint16_t record_flags(const struct smb_chunk_header *h, bool complete, enum tb_copy_result r)
{
	uint16_t flags = h->flags & TB_FROM_PREV;

	/* The bytes after the invalid fragment cannot be split into packets. Later copies of this
	 * chunk do not change that. */
	if (r == TB_COPY_SHORT)
		return flags | TB_COMPLETE | TB_CORRUPTED;
	if (r == TB_COPY_ABORTED)
		return flags | TB_COMPLETE | TB_ABORTED;
	if (complete)
		flags |= TB_COMPLETE | (h->flags & (TB_ON_NEXT | TB_NEEDS_PATCHING));
	return flags;
}

/*
 * Memory: a record of 16 bytes can create a sequence of about 500 bytes, and a hostile producer can
 * have any number of writers. So if there are more than FREE_SEQS sequences, each also takes its
 * size in the ring, once per lap, as a free run in place of older records. No writer is refused,
 * and all sequences together take less memory than twice the size of the buffer.
 *
 * Time: some calls walk over all sequences (trace_buffer_free(), trace_buffer_each_writer()). So
 * above MANY_SEQS a sequence takes at least 1 / MANY_SEQS of the ring: there are about 2 *
 * MANY_SEQS at most, in a ring of any size.
 */
#define FREE_SEQS 4096u
#define MANY_SEQS 32768u
/* Memory of a sequence: itself, its first refs, its slot, its share of the hash table. */
#define SEQ_COST ((sizeof(struct tb_seq) + 8 * sizeof(struct tb_ref) + 32) / TB_UNIT * TB_UNIT)

/* If there are many sequences, takes the size of this one in the ring, at the write cursor. */
static void charge_ring_for_sequence(struct trace_buffer *b, struct tb_seq *s)
{
	struct tb_ring *r = &b->ring;
	tb_position here;
	size_t left, share, room;

	if (b->seqs.n <= FREE_SEQS)
		return;
	here = tb_ring_position(r, r->wr);
	/* Once for each lap of writing; with TRACE_BUFFER_DISCARD only once. */
	if (s->room_at && (b->policy == TRACE_BUFFER_DISCARD || here - s->room_at < r->size))
		return;
	left = b->policy == TRACE_BUFFER_DISCARD ? tb_room_left(b) : r->size - r->wr;
	share = b->seqs.n > MANY_SEQS ? r->size / MANY_SEQS / TB_UNIT * TB_UNIT : 0;
	room = MIN(MAX(SEQ_COST, share), left);
	if (room == 0)
		return;
	tb_ring_make_room(b, r->wr + room);
	*tb_record_at(r, r->wr) = (struct tb_record){.chunk_id = (uint32_t)(room / TB_UNIT)};
	r->wr += room;
	s->room_at = here;
	b->stats.padding_bytes_written += room;
	b->stats.padding_bytes_cleared += room;
}

/* Makes the copy at wr a record of the sequence. Discards it if it is now before the last record
 * that was read or dropped, or if memory runs out. */
static void add_record(struct trace_buffer *b, struct tb_seq *s, uint32_t chunk_id,
		       const struct known *k, const struct tb_record *header)
{
	struct tb_ring *r = &b->ring;
	uint32_t i = tb_refs_upper_bound(&s->refs, chunk_id), n = s->refs.n;

	/* Making room may have dropped later records of the sequence. */
	if (chunk_is_before_last(s, chunk_id) || tb_seq_insert(b, s, i, chunk_id, r->wr)) {
		b->stats.chunks_discarded++;
		return;
	}
	b->stats.chunks_committed_out_of_order += i < n;
	*tb_record_at(r, r->wr) = *header;
	b->n_unread++;
	count_stored_record(b, s, k, header);
	r->wr += tb_stride(header->used);
	charge_ring_for_sequence(b, s);
	if (r->wr == r->size && b->policy == TRACE_BUFFER_RING)
		tb_ring_wrap(b);
}

/* Stops storing chunks (TRACE_BUFFER_DISCARD). No sequence waits for more of them from then on;
 * only patches can still come. */
static void refuse_further_chunks(struct trace_buffer *b)
{
	b->refusing = true;
	for (struct tb_seq *s = b->seqs.by_key; s; s = s->hh.next)
		tb_seq_wake(b, s);
}

/* Commits a chunk, or the part of it that begins at byte `base`; payload points to that part. len
 * counts from the start of the chunk. flags: those of the record, if it comes from a buffer that is
 * appended; NULL: they are derived from the chunk. */
static void commit_chunk_to_sequence(struct trace_buffer *b, struct tb_seq *s,
				     const struct smb_chunk_header *h, const uint8_t *payload,
				     size_t base, size_t len, bool complete, const uint16_t *flags)
{
	struct known k = {0};
	bool is_known = find_earlier_commits(b, s, h->chunk_id, &k);
	uint16_t frags = count_whole_fragments(h, complete);
	enum tb_copy_result r;
	uint16_t new_flags;
	size_t used;

	if (k.bytes < base) {
		b->stats.chunks_discarded++;
		return;
	}
	switch (is_known ? check_recommitted_chunk(s, &k, h, len, complete)
			 : check_first_commit(s, h->chunk_id)) {
	case VERDICT_STORE:
		break;
	case VERDICT_COMPLETE:
		if (k.rec)
			k.rec->flags |= TB_COMPLETE;
		else
			s->last_complete = true;
		tb_seq_wake(b, s);
		return;
	case VERDICT_NOTHING_NEW:
		return;
	case VERDICT_TOO_LATE:
		b->stats.chunks_discarded++;
		return;
	case VERDICT_VIOLATION:
		b->stats.abi_violations++;
		return;
	}
	r = tb_chunk_copy(b, payload + (k.bytes - base), len - k.bytes, frags - k.frags, &used);
	if (r == TB_COPY_TOO_LARGE) {
		b->stats.abi_violations++;
		return;
	}
	if (r == TB_COPY_FULL) {
		refuse_further_chunks(b);
		b->stats.chunks_discarded++;
		return;
	}
	new_flags = flags ? *flags : record_flags(h, complete, r);
	if (k.bytes > 0) /* only the first fragment of a chunk continues a packet */
		new_flags &= (uint16_t)~TB_FROM_PREV;
	add_record(b, s, h->chunk_id, &k,
		   &(struct tb_record){
			   .chunk_id = h->chunk_id,
			   .seq = s->slot,
			   .used = (uint16_t)used,
			   .base = k.bytes,
			   .frags = frags & SMB_MAX_PACKETS,
			   .flags = new_flags & TB_ALL_FLAGS,
		   });
}

void trace_buffer_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
			 const struct smb_chunk_header *header, const void *payload, size_t len,
			 bool complete)
{
	struct tb_seq *s;

	assert(writer->producer_id);
	if (!writer->writer_id || writer->writer_id > SMB_MAX_WRITER_ID ||
	    header->count > SMB_MAX_PACKETS || len > UINT16_MAX) {
		b->stats.abi_violations++;
		return;
	}
	if (!complete && header->count < 2)
		return; /* no fragment in it is known to be complete */
	tb_ring_restart(b);
	s = b->refusing ? NULL : tb_seq_get(b, writer);
	if (!s) {
		b->stats.chunks_discarded++;
		return;
	}
	commit_chunk_to_sequence(b, s, header, payload, 0, len, complete, NULL);
	tb_seqs_evict_empty(&b->seqs);
}

void trace_buffer_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id)
{
	struct tb_seq *s = tb_seq_find(b, producer_id, writer_id);

	if (!s)
		return;
	s->ended = true;
	tb_seq_wake(b, s);
}

/* ---- appending one buffer to another ---- */

/* Appends a record of the sequence `from` to `to`, or counts it as discarded. The records of a
 * chunk are appended in their order, so its first part is stored when the rest follows. */
static void append_record_of_clone(struct trace_buffer *to, const struct tb_seq *from,
				   struct tb_record *rec)
{
	bool complete = rec->flags & TB_COMPLETE;
	const struct smb_chunk_header h = {
		.chunk_id = rec->chunk_id,
		.writer_id = from->writer.writer_id,
		.count = (uint16_t)(rec->frags + !complete),
		.flags = (rec->flags | (rec->base ? TB_FROM_PREV : 0)) & SMB_CHUNK_FLAGS,
	};
	struct tb_seq *s = to->refusing ? NULL : tb_seq_get(to, &from->writer);
	const uint16_t flags = rec->flags;

	if (!s || rec->read) {
		to->stats.chunks_discarded++;
		return;
	}
	commit_chunk_to_sequence(to, s, &h, tb_payload(rec), rec->base,
				 (size_t)rec->base + rec->used, complete, &flags);
}

void trace_buffer_append(struct trace_buffer *to, struct trace_buffer *from)
{
	tb_position position = 0;
	struct tb_record *rec;

	while ((rec = tb_ring_find_unread(&from->ring, &position))) {
		append_record_of_clone(to, tb_seq_of(from, rec), rec);
		position += tb_stride(rec->used);
	}
	for (const struct tb_seq *s = from->seqs.by_key; s; s = s->hh.next) {
		struct tb_seq *same = tb_seq_find(to, s->writer.producer_id, s->writer.writer_id);

		if (same)
			same->loss |= s->loss;
		if (same && s->ended)
			trace_buffer_end_writer(to, s->writer.producer_id, s->writer.writer_id);
	}
	tb_seqs_evict_empty(&to->seqs);
	trace_buffer_free(from);
}

/* ---- patches ---- */

/*
 * Patches: a producer sends the lengths of nested messages after the chunk that contains them. The
 * offset counts from the start of the chunk's payload. A record may hold only a part of the
 * payload, because the chunk was scraped while it grew:
 *
 *      chunk      0 ............ base ............. base + used
 *      records    | header | ... | header | ... ^^^^ patch |
 *
 * A patch may overwrite the size of a fragment as well as its contents, so the reader checks both
 * again.
 */

#define PATCH_SIZE sizeof(((struct trace_buffer_patch *)0)->data)

/* Returns the bytes to patch, or NULL if they are not in an unread record of the chunk. i: ref of
 * its last record. */
static uint8_t *find_bytes_to_patch(const struct trace_buffer *b, const struct tb_seq *s,
				    uint32_t i, uint32_t offset)
{
	uint32_t chunk_id = tb_refs_at(&s->refs, i)->chunk_id;

	for (;; i--) {
		struct tb_record *rec = tb_seq_record(b, s, i);

		if (offset >= rec->base) {
			uint64_t end = (uint64_t)offset - rec->base + PATCH_SIZE;

			return end <= rec->used ? tb_payload(rec) + (offset - rec->base) : NULL;
		}
		if (i == 0 || tb_refs_at(&s->refs, i - 1)->chunk_id != chunk_id)
			return NULL;
	}
}

static bool patch_chunk(const struct trace_buffer *b, const struct tb_seq *s, uint32_t i,
			const struct trace_buffer_patch *patches, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		uint8_t *p = find_bytes_to_patch(b, s, i, patches[k].offset);

		if (!p)
			return false;
		memcpy(p, patches[k].data, PATCH_SIZE);
	}
	return true;
}

void trace_buffer_apply_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				uint32_t chunk_id, const struct trace_buffer_patch *patches,
				size_t n, bool more)
{
	struct tb_seq *s;
	uint32_t i;

	/* A writer that ended sends no patches. These are from a later writer with the same id, and
	 * no chunk of that writer was stored. */
	s = tb_seq_find(b, producer_id, writer_id);
	i = s && !s->ended ? tb_refs_upper_bound(&s->refs, chunk_id) : 0;
	if (i == 0 || tb_refs_at(&s->refs, i - 1)->chunk_id != chunk_id) {
		b->stats.patches_failed++;
		return;
	}
	s->begun = 0;
	if (!patch_chunk(b, s, i - 1, patches, n)) {
		b->stats.patches_failed++;
		return;
	}
	b->stats.patches_succeeded += n;
	if (!more) {
		tb_seq_record(b, s, i - 1)->flags &= (uint16_t)~TB_NEEDS_PATCHING & TB_ALL_FLAGS;
		tb_seq_wake(b, s);
	}
}
