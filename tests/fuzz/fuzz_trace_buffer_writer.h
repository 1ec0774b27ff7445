/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "service/buffer/trace_buffer.h"
#include "wire/pb_varint.h"

/*
 * A writer that keeps to the rules, for fuzz_trace_buffer.c. Its packets can be recognised: every
 * byte is 2 mod 4.
 *
 *      packet    | n, 6 bits in each of 4 bytes | 4 bytes that are patched | filling, from n |
 *
 * A packet goes over as many chunks as it takes. A chunk that is full waits in a queue, from where
 * it is committed, or lost. A packet whose patch comes late has PATCH_ME in its place until then.
 */

enum {
	HONEST_HEAD = 8,
	HONEST_QUEUE = 64,
	HONEST_PATCHES = 64,
	HONEST_STARTS = 16,
	HONEST_MAX_ROOM = 700
};

struct honest_chunk {
	struct smb_chunk_header h;
	bool committed; /* at least once */
	size_t len;
	uint8_t payload[HONEST_MAX_ROOM];
};

struct honest_patch {
	uint32_t chunk_id;
	struct trace_buffer_patch patch;
};

struct honest_writer {
	struct trace_buffer_writer id;
	struct honest_chunk now; /* being written */
	struct honest_chunk *queue[HONEST_QUEUE]; /* owned; oldest first */
	size_t n_queue;
	struct honest_patch patches[HONEST_PATCHES]; /* oldest first */
	size_t n_patches;
	uint32_t next_number;
	uint32_t read_number; /* of the next packet to be read, if none is missing */
	uint32_t starts[HONEST_STARTS]; /* first numbers of writers with this id */
	size_t n_starts;
};

static inline void honest_start_chunk(struct honest_writer *h, uint32_t chunk_id, uint8_t flags)
{
	h->now.h = (struct smb_chunk_header){
		.chunk_id = chunk_id, .writer_id = h->id.writer_id, .flags = flags};
	h->now.len = 0;
	h->now.committed = false;
}

static inline void honest_init(struct honest_writer *h, uint16_t producer_id, uint32_t chunk_id)
{
	memset(h, 0, sizeof(*h));
	h->id = (struct trace_buffer_writer){
		.producer_id = producer_id, .writer_id = 1, .uid = 3, .pid = 5};
	honest_start_chunk(h, chunk_id, 0);
	h->n_starts = 1;
}

static inline void honest_drop_from_queue(struct honest_writer *h, size_t i)
{
	free(h->queue[i]);
	h->n_queue--;
	memmove(&h->queue[i], &h->queue[i + 1], (h->n_queue - i) * sizeof(h->queue[0]));
}

static inline void honest_deinit(struct honest_writer *h)
{
	while (h->n_queue)
		honest_drop_from_queue(h, 0);
}

/* ---- writing ---- */

static inline size_t honest_room(const struct honest_writer *h)
{
	/* Chunks of different sizes, so that records do not fall into a rhythm. */
	return 40 + h->now.h.chunk_id * 37 % (HONEST_MAX_ROOM - 40);
}

/* The chunk is full, or its writer thinks so. */
static inline void honest_finish_chunk(struct honest_writer *h, uint8_t flags)
{
	struct honest_chunk *c = malloc(sizeof(*c));

	assert(c);
	if (h->n_queue == HONEST_QUEUE)
		honest_drop_from_queue(h, 0); /* a loss, as by honest_lose */
	h->now.h.flags |= flags & ~SMB_CONTINUES_FROM_PREV;
	*c = h->now;
	h->queue[h->n_queue++] = c;
	honest_start_chunk(h, c->h.chunk_id + 1,
			   flags & SMB_CONTINUES_ON_NEXT ? SMB_CONTINUES_FROM_PREV : 0);
}

static inline uint8_t honest_byte(uint32_t number, size_t i)
{
	if (i < 4)
		return (uint8_t)((number >> 6 * i & 63) << 2 | 2);
	return (uint8_t)((number * 7 + i) << 2 | 2);
}

/* The fragment of packet bytes [from, to). */
static inline void honest_fragment(struct honest_writer *h, uint32_t number, size_t from, size_t to,
				   bool late)
{
	struct honest_chunk *c = &h->now;

	pb_put_varint4(c->payload + c->len, (uint32_t)(to - from));
	c->len += 4;
	c->h.count++;
	for (size_t i = from; i < to; i++)
		c->payload[c->len++] =
			late && i >= 4 && i < HONEST_HEAD ? 2 : honest_byte(number, i);
}

static inline bool honest_patch_fits(const struct honest_writer *h, size_t room, size_t len)
{
	return h->n_patches < HONEST_PATCHES && room >= HONEST_HEAD && room < len;
}

static inline void honest_note_patch(struct honest_writer *h, uint32_t number)
{
	struct honest_patch *p = &h->patches[h->n_patches++];

	p->chunk_id = h->now.h.chunk_id;
	p->patch.offset = (uint32_t)h->now.len + 4 + 4;
	for (size_t i = 0; i < 4; i++)
		p->patch.data[i] = honest_byte(number, 4 + i);
}

/* One packet of a number and `len` bytes of filling. late: patched after its first chunk has gone,
 * if it goes over more than one. */
static inline void honest_write(struct honest_writer *h, size_t len, bool late)
{
	uint32_t number = h->next_number++ & 0xffffff;

	len += HONEST_HEAD;
	if (honest_room(h) < h->now.len + 12)
		honest_finish_chunk(h, 0);
	for (size_t from = 0;;) {
		size_t room = honest_room(h) - h->now.len - 4;
		bool patch = late && from == 0 && honest_patch_fits(h, room, len);
		size_t to = len - from > room ? from + room : len;

		if (patch)
			honest_note_patch(h, number);
		honest_fragment(h, number, from, to, patch);
		if (to == len)
			return;
		honest_finish_chunk(h, SMB_CONTINUES_ON_NEXT | (patch ? SMB_NEEDS_PATCHING : 0));
		from = to;
	}
}

/* ---- sending ---- */

static inline void honest_send(struct honest_writer *h, struct trace_buffer *b,
			       struct honest_chunk *c, bool complete)
{
	trace_buffer_commit(b, &h->id, &c->h, c->payload, c->len, complete);
	c->committed |= complete;
}

/* Commits one of the queue, mostly the first. keep: it will come again. */
static inline void honest_commit(struct honest_writer *h, struct trace_buffer *b, uint8_t which,
				 bool done)
{
	size_t i = which < 0xe0 ? 0 : which & 0x1f;

	if (h->n_queue == 0)
		return;
	i %= h->n_queue;
	honest_send(h, b, h->queue[i], true);
	if (done)
		honest_drop_from_queue(h, i);
}

static inline void honest_lose(struct honest_writer *h, uint8_t which)
{
	if (h->n_queue)
		honest_drop_from_queue(h, which % h->n_queue);
}

/* All that is in the shared memory, committed or not. */
static inline void honest_scrape(struct honest_writer *h, struct trace_buffer *b)
{
	for (size_t i = 0; i < h->n_queue; i++)
		honest_send(h, b, h->queue[i], true);
	honest_send(h, b, &h->now, false);
}

/* Sends the oldest patch, unless its chunk waits still. */
static inline void honest_patch(struct honest_writer *h, struct trace_buffer *b)
{
	const struct honest_patch *p = h->patches;

	if (h->n_patches == 0)
		return;
	for (size_t i = 0; i < h->n_queue; i++) {
		if (h->queue[i]->h.chunk_id == p->chunk_id && !h->queue[i]->committed)
			return;
	}
	trace_buffer_apply_patches(b, h->id.producer_id, h->id.writer_id, p->chunk_id, &p->patch, 1,
				   false);
	h->n_patches--;
	memmove(h->patches, h->patches + 1, h->n_patches * sizeof(h->patches[0]));
}

/* The writer ends, and another one gets its id. */
static inline void honest_end(struct honest_writer *h, struct trace_buffer *b)
{
	if (h->n_starts == HONEST_STARTS)
		return;
	if (h->now.h.count)
		honest_finish_chunk(h, 0);
	while (h->n_queue)
		honest_commit(h, b, 0, true);
	while (h->n_patches)
		honest_patch(h, b);
	trace_buffer_end_writer(b, h->id.producer_id, h->id.writer_id);
	honest_start_chunk(h, 0, 0);
	h->starts[h->n_starts++] = h->next_number;
}

/* ---- reading ---- */

static inline uint8_t honest_packet_byte(const struct trace_packet *p, size_t at)
{
	size_t i = 0;

	for (; at >= p->slices[i].iov_len; i++)
		at -= p->slices[i].iov_len;
	return ((const uint8_t *)p->slices[i].iov_base)[at];
}

/* Returns true if the loss has no report: it is before the first packet that was read. */
static inline bool honest_may_be_silent(const struct honest_writer *h, uint32_t number)
{
	for (size_t i = 0; i < h->n_starts; i++) {
		if (h->read_number <= h->starts[i] && h->starts[i] <= number)
			return true;
	}
	return number == h->read_number;
}

static inline void honest_check_packet(struct honest_writer *h, const struct trace_packet *p)
{
	uint32_t number = 0;

	assert(p->writer.writer_id == h->id.writer_id && p->writer.uid == h->id.uid &&
	       p->writer.pid == h->id.pid);
	assert(p->size >= HONEST_HEAD);
	for (size_t i = 0; i < 4; i++)
		number |= (uint32_t)(honest_packet_byte(p, i) >> 2) << 6 * i;
	for (size_t i = 0; i < p->size; i++)
		assert(honest_packet_byte(p, i) == honest_byte(number, i));
	assert(number >= h->read_number && number < h->next_number);
	assert(p->loss || honest_may_be_silent(h, number));
	h->read_number = number + 1;
}
