/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "fuzz_trace_buffer_writer.h"
#include "service/buffer/buffer_store.h"
#include "wire/smb.h"

/*
 * The bytes of the input are a program: each operation takes its operands from the bytes that
 * follow. One live buffer of one to four pages, with or without is_large, serves three kinds of
 * writers at the same time:
 *
 *   honest   (fuzz_trace_buffer_writer.h) numbered packets over as many chunks as it takes, which
 *            are committed early, late, twice, never, scraped at any moment, and patched
 *   hostile  any header with any payload, any patch
 *   raw      a shared memory that the input writes to, headers and all; its chunks are taken and
 *            scraped as the service does it
 *
 * Every byte of writer k is k mod 4, so that a byte shows its writer. What must hold:
 *
 *   - a packet has only bytes of its writer
 *   - an honest writer's packets come whole, patched, in order, none twice, and if some are
 *     missing, the next one says so
 *   - the counters agree with what is in the ring
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTILE_0, HOSTILE_1, HONEST, HOSTILE_3 }; /* mod 4 */
enum { SMB_PAGES = 4, MAX_HOSTILE_PAYLOAD = 9000 };

struct input {
	const uint8_t *cur, *end;
};

struct world {
	struct input in;
	struct trace_buffer *b;
	struct trace_buffer *clone; /* NULL, or of b */
	struct honest_writer honest[2];
	struct smb smb;
};

static uint8_t take8(struct input *in)
{
	return in->cur < in->end ? *in->cur++ : 0;
}

static uint32_t take32(struct input *in)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++)
		v = (uint32_t)v << 8 | take8(in);
	return v;
}

/* Mostly small, sometimes anything. */
static uint32_t take_number(struct input *in)
{
	uint8_t v = take8(in);

	return v < 0xf0	   ? v
	       : v < 0xf8  ? 0u - (v & 7)
	       : v == 0xff ? take32(in)
			   : (uint32_t)v << 8 | take8(in);
}

static uint8_t of_writer(uint8_t byte, unsigned mod)
{
	return (uint8_t)((byte & ~3u) | mod);
}

/* ---- what must hold ---- */

static void check_hostile_packet(const struct trace_packet *p)
{
	size_t size = 0;

	for (size_t i = 0; i < p->n_slices; i++) {
		const uint8_t *data = p->slices[i].iov_base;

		assert(p->slices[i].iov_len > 0);
		size += p->slices[i].iov_len;
		for (size_t k = 0; k < p->slices[i].iov_len; k++)
			assert((data[k] & 3) == (p->writer.producer_id & 3));
	}
	assert(size == p->size && size > 0);
}

static void check_packet(struct world *w, const struct trace_packet *p)
{
	assert(!p->loss || p->loss & DATA_LOSS_PRESENT);
	assert(p->loss != DATA_LOSS_PRESENT && !(p->loss & DATA_LOSS_SMB_FULL));
	check_hostile_packet(p);
	if ((p->writer.producer_id & 3) == HONEST)
		honest_check_packet(&w->honest[p->writer.producer_id >> 2], p);
}

struct ring_sum {
	uint64_t bytes, chunks; /* unread */
};

/* Goes over all records of a stretch, which must end where the stretch ends. */
static void check_stretch(const struct trace_buffer *b, size_t from, size_t end,
			  struct ring_sum *sum)
{
	while (from < end) {
		struct tb_record *rec = tb_record_at(&b->ring, from);

		if (!rec->seq) {
			from += (size_t)rec->chunk_id * TB_UNIT;
			continue;
		}
		assert(rec->seq < b->seqs.n_slots && tb_seq_of(b, rec)->slot == rec->seq);
		assert(tb_seq_of(b, rec)->refs.n > 0);
		assert(rec->read < rec->used || rec->used == 0);
		/* What is behind the reader waits, or will be gone back to. */
		assert(tb_ring_position(&b->ring, from) >= MIN(b->cursor, b->rewind) ||
		       tb_seq_of(b, rec)->stall != TB_READY);
		sum->bytes += tb_stride(rec->used);
		sum->chunks += rec->base == 0;
		from += tb_stride(rec->used);
	}
	assert(from == end);
}

static void check_seq(const struct trace_buffer *b, const struct tb_seq *s)
{
	for (uint32_t i = 0; i < s->refs.n; i++) {
		struct tb_record *rec = tb_seq_record(b, s, i);

		assert(rec->seq == s->slot && rec->chunk_id == tb_refs_at(&s->refs, i)->chunk_id);
		assert(!s->has_last || rec->chunk_id - s->last_id < 1u << 31);
		if (i > 0)
			assert(rec->chunk_id - tb_refs_at(&s->refs, i - 1)->chunk_id < 1u << 31);
	}
}

/* The counters agree with what lies in the ring. */
static void check_buffer(const struct trace_buffer *b)
{
	const struct trace_buffer_stats *st = &b->stats;
	const struct tb_ring *r = &b->ring;
	struct ring_sum sum = {0};

	assert(r->old <= r->old_end && r->old_end <= r->size);
	assert(r->wr <= r->size && (r->old == r->old_end || r->wr <= r->old));
	check_stretch(b, 0, r->wr, &sum);
	check_stretch(b, r->old, r->old_end, &sum);
	for (const struct tb_seq *s = b->seqs.by_key; s; s = s->hh.next)
		check_seq(b, s);
	assert(st->padding_bytes_written - st->padding_bytes_cleared == r->size - r->old_end);
	assert(st->bytes_written - st->bytes_read - st->bytes_overwritten == sum.bytes);
	assert(st->chunks_written - st->chunks_read - st->chunks_overwritten == sum.chunks);
	/* DISCARD: what was read makes memory free, but no room for more. */
	if (b->policy == TRACE_BUFFER_DISCARD)
		assert(st->bytes_written + st->padding_bytes_written <= r->size &&
		       r->wr <= st->bytes_written + st->padding_bytes_written &&
		       st->bytes_overwritten == 0);
}

/* ---- honest writers ---- */

static struct honest_writer *take_honest(struct world *w)
{
	return &w->honest[take8(&w->in) & 1];
}

static void do_honest_write(struct world *w)
{
	struct honest_writer *h = take_honest(w);
	uint8_t how = take8(&w->in);
	size_t len = take8(&w->in);

	honest_write(h, how & 1 ? len * 16 : len, how & 2);
}

static void do_honest_commit(struct world *w)
{
	struct honest_writer *h = take_honest(w);

	honest_commit(h, w->b, take8(&w->in), true);
}

static void do_honest_commit_twice(struct world *w)
{
	struct honest_writer *h = take_honest(w);

	honest_commit(h, w->b, take8(&w->in), false);
}

static void do_honest_scrape(struct world *w)
{
	honest_scrape(take_honest(w), w->b);
}

static void do_honest_lose(struct world *w)
{
	struct honest_writer *h = take_honest(w);

	honest_lose(h, take8(&w->in));
}

static void do_honest_patch(struct world *w)
{
	honest_patch(take_honest(w), w->b);
}

static void do_honest_end(struct world *w)
{
	honest_end(take_honest(w), w->b);
}

/* ---- hostile ones ---- */

static uint16_t take_hostile_producer(struct input *in)
{
	static const uint16_t ids[] = {4 + HOSTILE_0, HOSTILE_1, HOSTILE_3, 4 + HOSTILE_1};

	return ids[take8(in) & 3];
}

static void do_hostile_commit(struct world *w)
{
	struct input *in = &w->in;
	struct trace_buffer_writer id = {.producer_id = take_hostile_producer(in)};
	uint8_t how = take8(in);
	struct smb_chunk_header h = {.flags = how & SMB_CHUNK_FLAGS};
	size_t len, fill;
	uint8_t *payload;

	h.writer_id = id.writer_id = how & 8 ? (uint16_t)take_number(in) : 1;
	id.uid = how & 16;
	h.chunk_id = take_number(in);
	h.count = (uint16_t)take_number(in);
	len = take_number(in) % MAX_HOSTILE_PAYLOAD;
	fill = take8(in);
	payload = malloc(len ? len : 1);
	assert(payload);
	for (size_t i = 0; i < len; i++)
		payload[i] = of_writer(i < fill ? take8(in) : (uint8_t)i, id.producer_id & 3);
	trace_buffer_commit(w->b, &id, &h, payload, len, how & 32);
	free(payload);
}

static void do_hostile_patch(struct world *w)
{
	struct input *in = &w->in;
	uint16_t producer_id = take_hostile_producer(in);
	struct trace_buffer_patch patches[4];
	uint8_t how = take8(in);
	uint32_t chunk_id = take_number(in);

	for (unsigned i = 0; i < (how & 3); i++) {
		patches[i].offset = take_number(in);
		for (unsigned k = 0; k < sizeof(patches[i].data); k++)
			patches[i].data[k] = of_writer(take8(in), producer_id & 3);
	}
	trace_buffer_apply_patches(w->b, producer_id, 1, chunk_id, patches, how & 3, how & 4);
}

static void do_hostile_end(struct world *w)
{
	trace_buffer_end_writer(w->b, take_hostile_producer(&w->in), 1);
}

/* ---- a shared memory; its payload bytes are 3 mod 4, its headers anything ---- */

static void do_raw_write(struct world *w)
{
	size_t size = SMB_PAGES * SMB_MIN_PAGE;
	size_t at = take32(&w->in) % size;
	size_t n = take8(&w->in) % 64u;

	for (size_t i = 0; i < n && at + i < size; i++)
		w->smb.base[at + i] = take8(&w->in);
}

static void do_raw_page(struct world *w)
{
	uint32_t page = take8(&w->in) % SMB_PAGES;

	smb_page(&w->smb, page)->word = take32(&w->in);
}

/* Copies the payload, so that a sanitizer detects reads past its end. The bytes show the writer. */
static void commit_raw(struct world *w, const struct smb_chunk *chunk, bool complete)
{
	struct smb_chunk_header h = smb_header_load(chunk->header);
	struct trace_buffer_writer id = {.producer_id = 4 + HOSTILE_3, .writer_id = h.writer_id};
	uint8_t *payload = malloc(chunk->payload_size);

	assert(payload);
	for (size_t i = 0; i < chunk->payload_size; i++)
		payload[i] = of_writer(chunk->payload[i], HOSTILE_3);
	trace_buffer_commit(w->b, &id, &h, payload, chunk->payload_size, complete);
	free(payload);
}

static void do_raw_commit(struct world *w)
{
	uint32_t page = take8(&w->in) % (SMB_PAGES + 1), index = take8(&w->in) % 16;
	struct smb_chunk chunk;

	if (!smb_acquire_complete(&w->smb, page, index, &chunk))
		return;
	commit_raw(w, &chunk, true);
	smb_release_free(&w->smb, &chunk);
}

static void do_raw_scrape(struct world *w)
{
	for (uint32_t page = 0; page < w->smb.n_pages; page++) {
		uint32_t word = smb_load_word(&w->smb, page), layout = smb_word_layout(word);

		for (uint32_t i = 0; i < smb_layout_chunks(layout); i++) {
			struct smb_chunk chunk = smb_chunk_at(&w->smb, page, layout, i);
			enum smb_state state = smb_word_state(word, i);

			if (state != SMB_FREE)
				commit_raw(w, &chunk, state == SMB_COMPLETE);
		}
	}
}

/* ---- reading ---- */

static void do_begin_read(struct world *w)
{
	trace_buffer_begin_read(w->b);
}

static void do_read(struct world *w)
{
	struct trace_packet p;

	for (unsigned n = take8(&w->in); n > 0 && trace_buffer_next_packet(w->b, NULL, &p); n--)
		check_packet(w, &p);
}

static void read_all(struct world *w)
{
	struct trace_packet p;

	trace_buffer_begin_read(w->b);
	while (trace_buffer_next_packet(w->b, NULL, &p))
		check_packet(w, &p);
	check_buffer(w->b);
}

/* Clones the buffer, or frees the clone. */
static void do_clone(struct world *w)
{
	if (w->clone) {
		check_buffer(w->clone);
		trace_buffer_free(TAKE_PTR(w->clone));
	} else {
		size_t offset = 0;

		assert(trace_buffer_new_like(w->b, &w->clone) == 0);
		trace_buffer_clone_prepare(w->b, w->clone, &offset, 4096);
		assert(trace_buffer_clone(w->b, w->clone) == 0);
		check_buffer(w->clone);
	}
}

/* ---- the program ---- */

static void (*const operations[])(struct world *w) = {
	do_honest_write,	do_honest_write,  do_honest_commit,  do_honest_commit,
	do_honest_commit_twice, do_honest_scrape, do_honest_lose,    do_honest_patch,
	do_honest_patch,	do_honest_end,	  do_hostile_commit, do_hostile_commit,
	do_hostile_patch,	do_hostile_end,	  do_raw_write,	     do_raw_page,
	do_raw_commit,		do_raw_scrape,	  do_begin_read,     do_read,
};

/* For some operations another buffer takes the place of the live one, and is appended to it
 * then. */
static void stand_in(struct world *w, unsigned n)
{
	static void (*const for_a_while[])(struct world * w) = {
		do_honest_write,   do_honest_commit, do_honest_scrape, do_hostile_commit,
		do_hostile_commit, do_hostile_patch, do_raw_commit,    do_raw_scrape,
	};
	struct trace_buffer *live = w->b;

	assert(trace_buffer_new_like(live, &w->b) == 0);
	while (n--)
		for_a_while[take8(&w->in) % ARRAY_SIZE(for_a_while)](w);
	trace_buffer_append(live, w->b);
	w->b = live;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(SMB_MIN_PAGE) uint8_t memory[SMB_PAGES * SMB_MIN_PAGE];
	struct world w = {.in = {data, data + size}};
	uint8_t how = take8(&w.in);

	memset(memory, 0, sizeof(memory));
	assert(smb_init(&w.smb, memory, sizeof(memory), SMB_MIN_PAGE) == 0);
	assert(trace_buffer_new(4096u * (1 + (how & 3)),
				how & 4 ? TRACE_BUFFER_DISCARD : TRACE_BUFFER_RING, &w.b) == 0);
	w.b->ring.is_large = how & 32;
	for (unsigned i = 0; i < ARRAY_SIZE(w.honest); i++)
		honest_init(&w.honest[i], (uint16_t)(i << 2 | HONEST), how & 8 ? 0xfffffff0 : 0);
	while (w.in.cur < w.in.end) {
		uint8_t operation = take8(&w.in);

		if (how & 16 && operation >= 240)
			stand_in(&w, operation & 15);
		else if (how & 64 && operation >= 192 && operation < 240)
			do_clone(&w);
		else
			operations[operation % ARRAY_SIZE(operations)](&w);
		check_buffer(w.b);
	}
	read_all(&w);
	/* When all writers have ended, the buffer returns all packets. */
	for (const struct tb_seq *s = w.b->seqs.by_key; s; s = s->hh.next)
		trace_buffer_end_writer(w.b, s->writer.producer_id, s->writer.writer_id);
	read_all(&w);
	assert(w.b->stats.chunks_written == w.b->stats.chunks_read + w.b->stats.chunks_overwritten);
	for (unsigned i = 0; i < ARRAY_SIZE(w.honest); i++)
		honest_deinit(&w.honest[i]);
	trace_buffer_free(w.b);
	if (w.clone)
		check_buffer(w.clone);
	trace_buffer_free(w.clone);
	return 0;
}
