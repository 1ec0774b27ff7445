/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CommitData: the producer asks the service to move chunks from the shared memory into buffers.
 *
 *	check	a request that does not parse is rejected before it has any effect
 *	moves	each chunk: Complete -> BeingRead, copied into its buffer, -> Free
 *	patches	of chunks that were moved before
 *	event	committed: a session with a file may begin to write
 *	reply	tells the producer that the chunks are free
 *	flush	the acknowledgement of a flush
 *
 * Each step walks the request in place. Nothing is allocated.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "service/buffer/trace_buffer.h"
#include "service/ipc/request_decode.h"
#include "service/producer/producer_port.h"
#include "service/producer/producers.h"
#include "wire/smb.h"

struct move {
	uint32_t page;
	uint32_t index;
	uint32_t target_buffer;
	bool incomplete;
	const uint8_t *data; /* the chunk, of a producer without shared memory; else NULL */
	size_t len;
};

/* ---- check ---- */

static bool message_parses(const struct pb_field *message)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		;
	return pb_dec_ok(&d);
}

static bool patch_parses(const struct pb_field *message)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES) &&
		    !message_parses(&f))
			return false;
	return pb_dec_ok(&d);
}

/* Returns true if the whole request is well-formed, and sets *ret_flush_id; 0: it acknowledges no
 * flush. */
static bool request_parses(const uint8_t *args, size_t len, uint64_t *ret_flush_id)
{
	uint64_t flush_id = 0;
	struct pb_field f;
	struct pb_dec d;
	bool good = true;

	pb_dec_init(&d, args, len);
	while (good && pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE):
			good = message_parses(&f);
			break;
		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH):
			good = patch_parses(&f);
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID):
			flush_id = f.u64;
			break;
		}
	if (!good || !pb_dec_ok(&d))
		return false;
	*ret_flush_id = flush_id;
	return true;
}

/* ---- moves ---- */

static struct move decode_move(const struct pb_field *message)
{
	struct move m = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE):
			m.page = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK):
			m.index = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER):
			m.target_buffer = (uint32_t)f.u64;
			break;
		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA):
			m.data = f.data;
			m.len = f.len;
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK_INCOMPLETE):
			m.incomplete = f.u64 != 0;
			break;
		}
	return m;
}

static void commit_chunk(struct producer_port *p, uint32_t target,
			 const struct smb_chunk_header *header, const uint8_t *payload, size_t len,
			 bool complete)
{
	struct trace_buffer_writer writer = producer_buffers_identity(p, header->writer_id);
	struct trace_buffer *buffer = producer_buffers_find(p, target);
	uint16_t registered = producer_buffers_registered_id(p, header->writer_id);

	if (!buffer || (registered && registered != target) || header->writer_id == 0 ||
	    header->writer_id > SMB_MAX_WRITER_ID) {
		p->producers->chunks_discarded++;
		return;
	}
	trace_buffer_commit(buffer, &writer, header, payload, len, complete);
}

/* Copies a chunk that is in the request itself: its 8-byte header, then the payload. */
static void move_inline(struct producer_port *p, const struct move *m)
{
	struct smb_chunk_header header;
	uint16_t writer_id, packets;
	uint32_t chunk_id;

	if (m->len < SMB_CHUNK_HEADER || m->len > UINT16_MAX) {
		p->producers->chunks_discarded++;
		return;
	}
	memcpy(&chunk_id, m->data, sizeof(chunk_id));
	memcpy(&writer_id, m->data + 4, sizeof(writer_id));
	memcpy(&packets, m->data + 6, sizeof(packets));
	packets = le16toh(packets);
	header = (struct smb_chunk_header){
		.chunk_id = le32toh(chunk_id),
		.writer_id = le16toh(writer_id),
		.count = packets & SMB_MAX_PACKETS,
		.flags = packets >> 10 & SMB_CHUNK_FLAGS,
	};
	commit_chunk(p, m->target_buffer, &header, m->data + SMB_CHUNK_HEADER,
		     m->len - SMB_CHUNK_HEADER, !m->incomplete);
}

/* Copies a chunk of the shared memory into its buffer, and frees the chunk. *left: bytes that the
 * request may still move, initially the size of the shared memory. Only a producer that completes
 * chunks again during the request can exceed it. */
static void move_shared(struct producer_port *p, const struct move *m, size_t *left)
{
	struct smb_chunk_header header;
	struct smb_chunk chunk;

	if (*left == 0) {
		p->producers->chunks_discarded++;
		return;
	}
	if (!smb_acquire_complete(&p->smb, m->page, m->index, &chunk))
		return;
	*left -= MIN(*left, chunk.payload_size);
	header = smb_header_load(chunk.header);
	commit_chunk(p, m->target_buffer, &header, chunk.payload, chunk.payload_size, true);
	/* Fails only if the producer rewrites the page meanwhile. Then the chunk is not freed. */
	smb_release_free(&p->smb, &chunk);
}

static void move_chunks(struct producer_port *p, const uint8_t *args, size_t len)
{
	size_t left = p->smb_size;
	struct pb_field f;
	struct pb_dec d;
	struct move m;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f)) {
		if (FIELD_KEY(f) != KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE))
			continue;
		m = decode_move(&f);
		if (m.data)
			move_inline(p, &m);
		else if (p->smb.base)
			move_shared(p, &m, &left);
		else
			p->producers->chunks_discarded++;
	}
}

/* ---- patches ---- */

struct patches {
	uint32_t target_buffer;
	uint32_t writer_id;
	uint32_t chunk_id;
	bool more;
	size_t n; /* valid patches */
	size_t n_bad; /* patches of another size */
	struct trace_buffer_patch list[LIMIT_PATCHES_PER_CHUNK];
};

/* Adds a patch to the list, or counts it as bad. */
static void decode_patch(struct patches *p, const struct pb_field *message)
{
	struct trace_buffer_patch patch = {0};
	struct pb_field f;
	struct pb_dec d;
	bool good = false;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET):
			patch.offset = (uint32_t)f.u64;
			break;
		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA):
			good = f.len == sizeof(patch.data);
			if (good)
				memcpy(patch.data, f.data, sizeof(patch.data));
			break;
		}
	if (!good) {
		p->n_bad++;
		return;
	}
	/* Patches above the limit are counted, too, so that apply_patches() refuses all. */
	if (p->n < LIMIT_PATCHES_PER_CHUNK)
		p->list[p->n] = patch;
	p->n++;
}

static void decode_patches(const struct pb_field *message, struct patches *p)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER):
			p->target_buffer = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID):
			p->writer_id = (uint32_t)f.u64;
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID):
			p->chunk_id = (uint32_t)f.u64;
			break;
		case KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES):
			decode_patch(p, &f);
			break;
		case KEY_VARINT(PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES):
			p->more = f.u64 != 0;
			break;
		}
}

static void apply_patches(struct producer_port *port, const struct patches *p)
{
	struct trace_buffer *buffer = producer_buffers_find(port, p->target_buffer);

	if (!buffer || p->writer_id == 0 || p->writer_id > SMB_MAX_WRITER_ID ||
	    p->n + p->n_bad > LIMIT_PATCHES_PER_CHUNK) {
		port->producers->patches_discarded += p->n + p->n_bad;
		return;
	}
	port->producers->patches_discarded += p->n_bad;
	/* port->id: a producer can patch only its own chunks. */
	trace_buffer_apply_patches(buffer, port->id, (uint16_t)p->writer_id, p->chunk_id, p->list,
				   p->n, p->more);
}

static void patch_chunks(struct producer_port *port, const uint8_t *args, size_t len)
{
	struct patches p;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f)) {
		if (FIELD_KEY(f) != KEY_BYTES(PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH))
			continue;
		/* The list need not be cleared: only its first n entries are read. */
		memset(&p, 0, offsetof(struct patches, list));
		decode_patches(&f, &p);
		apply_patches(port, &p);
	}
}

int producer_commit_data(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			 size_t len)
{
	struct producer_port *p = endpoint;
	struct producers *ps = p->producers;
	uint64_t flush_id;

	if (!producer_memory_is_ready(p))
		return -EPERM;
	if (!request_parses(args, len, &flush_id))
		return -EBADMSG;
	move_chunks(p, args, len);
	patch_chunks(p, args, len);
	ps->events->committed(ps->ctx);
	ipc_reply_empty(p->conn, call);
	if (flush_id)
		ps->events->flush_done(ps->ctx, p, flush_id);
	return 0;
}

/*
 * Scraping commits the chunks of the shared memory that the producer has not committed. The buffer
 * of a chunk is the one registered by its writer, which the chunk's header names. The producer may
 * change the header meanwhile, so it is read once, and the values are checked.
 */

/* The last fragment of an incomplete chunk may be incomplete, and is not read. */
#define MIN_FRAGMENTS_INCOMPLETE 2

/* The buffers to scrape. */
struct scrape {
	bool (*includes)(void *ctx, uint16_t buffer_id); /* NULL: all */
	void *ctx;
};

static bool scrape_includes(const struct scrape *s, uint16_t buffer_id)
{
	return !s->includes || s->includes(s->ctx, buffer_id);
}

static void scrape_chunk(const struct scrape *s, const struct producer_port *p,
			 const struct smb_chunk *chunk, bool complete)
{
	struct smb_chunk_header header = smb_header_load(chunk->header);
	struct trace_buffer_writer writer = producer_buffers_identity(p, header.writer_id);
	uint16_t buffer_id = producer_buffers_registered_id(p, header.writer_id);
	struct trace_buffer *buffer = producer_buffers_find(p, buffer_id);

	if (!complete && header.count < MIN_FRAGMENTS_INCOMPLETE)
		return;
	if (!buffer || !scrape_includes(s, buffer_id))
		return;
	trace_buffer_commit(buffer, &writer, &header, chunk->payload, chunk->payload_size,
			    complete);
}

static void scrape_page(const struct scrape *s, const struct producer_port *p, uint32_t page)
{
	uint32_t word = smb_load_word(&p->smb, page), layout = smb_word_layout(word);

	for (uint32_t i = 0; i < smb_layout_chunks(layout); i++) {
		enum smb_state state = smb_word_state(word, i);
		struct smb_chunk chunk;

		if (state == SMB_FREE)
			continue;
		chunk = smb_chunk_at(&p->smb, page, layout, i);
		scrape_chunk(s, p, &chunk, state == SMB_COMPLETE);
	}
}

void producer_commit_scrape(const struct producer_port *p,
			    bool (*fn)(void *ctx, uint16_t buffer_id), void *ctx)
{
	const struct scrape s = {.includes = fn, .ctx = ctx};
	bool any = false;

	for (size_t i = 0; i < p->n_grants; i++)
		any |= scrape_includes(&s, p->grants[i].buffer_id);
	if (!any || !p->wants_scraping || !p->smb.base || p->n_writers == 0)
		return;
	for (uint32_t page = 0; page < p->smb.n_pages; page++)
		scrape_page(&s, p, page);
}
