/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include "gen/fields.h"
#include "service_peer.h"
#include "wire/smb.h"

#define PEER_LARGE_CHUNK 32752 /* bytes of a chunk that fills a page of 32 KiB */

/* A raw peer as a producer: its requests, the commands it gets, and chunks in its shared memory. */

/* Methods by their place in ProducerPort. */
enum {
	P_INITIALIZE = 1,
	P_REGISTER_SOURCE,
	P_UNREGISTER_SOURCE,
	P_COMMIT,
	P_GET_ASYNC,
	P_REGISTER_WRITER,
	P_UNREGISTER_WRITER,
	P_STARTED,
	P_STOPPED,
	P_TRIGGERS,
	P_SYNC,
	P_UPDATE_SOURCE,
};
static inline uint64_t peer_initialize(struct peer *p, const char *name, bool scraping)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, name);
	if (scraping)
		pb_enc_u64(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_SMB_SCRAPING_MODE, 1);
	return peer_call_mem(p, P_INITIALIZE, &m);
}

static inline uint64_t peer_trigger(struct peer *p, const char *name)
{
	return peer_call_text(p, P_TRIGGERS, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, name);
}

/* Flags of a data source. */
enum { DS_NOTIFY_START = 1, DS_NOTIFY_STOP = 2, DS_NO_FLUSH = 4, DS_CLEARS = 8 };

static inline void peer_put_descriptor(struct pb_enc *e, const char *name, unsigned flags,
				       uint64_t id)
{
	pb_enc_open(e, PB_REGISTER_DATA_SOURCE_REQUEST_DATA_SOURCE_DESCRIPTOR);
	pb_enc_str(e, PB_DATA_SOURCE_DESCRIPTOR_NAME, name);
	if (flags & DS_NOTIFY_START)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START, true);
	if (flags & DS_NOTIFY_STOP)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP, true);
	if (flags & DS_NO_FLUSH)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_NO_FLUSH, true);
	if (flags & DS_CLEARS)
		pb_enc_bool(e, PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR, true);
	if (id)
		pb_enc_u64(e, PB_DATA_SOURCE_DESCRIPTOR_ID, id);
	pb_enc_close(e);
}

static inline uint64_t peer_register(struct peer *p, const char *name, unsigned flags)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	peer_put_descriptor(&m.enc, name, flags, 0);
	return peer_call_mem(p, P_REGISTER_SOURCE, &m);
}

/* Introduced, with its command stream open and one data source; gives the id of the stream. */
static inline uint64_t peer_become_producer(struct peer *p, const char *name, const char *source,
					    unsigned flags, bool scraping)
{
	uint64_t commands;
	bool good = peer_accepted(p, peer_initialize(p, name, scraping));

	commands = peer_call(p, P_GET_ASYNC, NULL, 0);
	good = good && peer_accepted(p, peer_register(p, source, flags));
	assert(good);
	(void)good;
	return commands;
}

/* The next frame is this command on the stream; *ret_command is its content. */
static inline bool peer_command(struct peer *p, uint64_t stream, uint32_t command,
				struct pb_field *ret_command)
{
	*ret_command = (struct pb_field){0};
	return peer_reply(p, stream) && p->f.success && p->f.has_more &&
	       peer_field(p, command, ret_command);
}

#define CMD(name) PB_GET_ASYNC_COMMAND_RESPONSE_##name

static inline uint64_t peer_number(const struct pb_field *of, uint32_t id)
{
	struct pb_field f;

	return peer_subfield(of, id, &f) ? f.u64 : 0;
}

/* What a producer learns when a session begins. */
struct peer_session {
	uint64_t id; /* tracing_session_id */
	uint64_t instance;
	uint16_t buffer;
	struct smb smb; /* mapped by peer_map */
	size_t smb_size;
};

/* Takes the descriptor that came with setup_tracing. */
static inline bool peer_map(struct peer *p, const struct pb_field *setup_tracing,
			    struct peer_session *s)
{
	uint64_t page_kb =
		peer_number(setup_tracing, CMD(SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB));
	struct stat st;
	void *addr;

	if (p->got_fd < 0 || fstat(p->got_fd, &st) < 0)
		return false;
	addr = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, p->got_fd, 0);
	close(p->got_fd);
	p->got_fd = -1;
	s->smb_size = (size_t)st.st_size;
	return addr != MAP_FAILED &&
	       smb_init(&s->smb, addr, s->smb_size, (uint32_t)page_kb * 1024) == 0;
}

static inline void peer_unmap(struct peer_session *s)
{
	munmap(s->smb.base, s->smb_size);
	s->smb.base = NULL;
}

/* The next commands set up (and map) and, if start, start the one data source. */
static inline bool peer_await_session(struct peer *p, uint64_t stream, bool start,
				      struct peer_session *s)
{
	struct pb_field f, config;

	if (!s->smb.base &&
	    (!peer_command(p, stream, CMD(SETUP_TRACING), &f) || !peer_map(p, &f, s)))
		return false;
	if (!peer_command(p, stream, CMD(SETUP_DATA_SOURCE), &f) ||
	    !peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config))
		return false;
	s->instance = peer_number(&f, CMD(SETUP_DATA_SOURCE_NEW_INSTANCE_ID));
	s->id = peer_number(&config, PB_DATA_SOURCE_CONFIG_TRACING_SESSION_ID);
	s->buffer = (uint16_t)peer_number(&config, PB_DATA_SOURCE_CONFIG_TARGET_BUFFER);
	if (!start)
		return true;
	return peer_command(p, stream, CMD(START_DATA_SOURCE), &f) &&
	       peer_number(&f, CMD(START_DATA_SOURCE_NEW_INSTANCE_ID)) == s->instance;
}

/* Writes a chunk (page divided in one) with one packet for each text: TracePackets with a single
 * field, PEER_FIELD. Left BeingWritten unless complete. */
static inline void peer_write_chunk(const struct smb *m, uint32_t page, uint16_t writer,
				    uint32_t chunk_id, const char *const *texts, size_t n,
				    bool complete)
{
	struct smb_chunk_header h = {.writer_id = writer, .chunk_id = chunk_id};
	struct smb_chunk c;
	uint8_t *p;
	bool good = smb_partition(m, page, SMB_DIV1) && smb_acquire_free(m, page, 0, &h, &c);

	assert(good);
	p = c.payload;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(texts[i]);

		pb_put_varint4(p, (uint32_t)(2 + pb_varint_len(len) + len));
		p = pb_put_varint(p + 4, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
		p = pb_put_varint(p, len);
		memcpy(p, texts[i], len);
		p += len;
	}
	smb_header_store_packets(c.header, (uint16_t)n, 0);
	if (complete)
		good = smb_release_complete(m, page, 0);
	assert(good);
	(void)good;
}

/* A complete chunk in a free page that is divided in one, with a header and a payload of any
 * kind. */
static inline void peer_write_raw(const struct smb *m, uint32_t page,
				  const struct smb_chunk_header *h, const void *payload, size_t len)
{
	struct smb_chunk c;
	bool good = smb_partition(m, page, SMB_DIV1) && smb_acquire_free(m, page, 0, h, &c);

	assert(good && len <= c.payload_size);
	memset(c.payload, 0, c.payload_size);
	memcpy(c.payload, payload, len);
	smb_header_store_packets(c.header, h->count, h->flags);
	good = smb_release_complete(m, page, 0);
	assert(good);
	(void)good;
}

static inline void peer_put_move(struct pb_enc *e, uint32_t page, uint32_t chunk, uint32_t buffer)
{
	pb_enc_open(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE, page);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK, chunk);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER, buffer);
	pb_enc_close(e);
}

static inline uint64_t peer_commit(struct peer *p, uint32_t page, uint32_t chunk, uint32_t buffer,
				   uint64_t flush_id)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	peer_put_move(&m.enc, page, chunk, buffer);
	if (flush_id)
		pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, flush_id);
	return peer_call_mem(p, P_COMMIT, &m);
}

/* Writes one packet of n chunks that fill their pages of 32 KiB, and commits them. Its contents are
 * the bytes of `fill`, again and again. *chunk_id: of the first chunk; then of the next packet.
 * Returns false if the service does not accept a chunk. */
static inline bool peer_write_large(struct peer *p, const struct peer_session *s,
				    uint32_t *chunk_id, uint32_t n, const char *fill,
				    size_t fill_len)
{
	static uint8_t payload[PEER_LARGE_CHUNK];
	uint32_t n_pages = (uint32_t)s->smb.n_pages, end = *chunk_id + n;
	struct smb_chunk_header h = {.writer_id = 1, .count = 1};

	pb_put_varint4(payload, sizeof(payload) - 4);
	for (size_t i = 4; i < sizeof(payload); i++)
		payload[i] = (uint8_t)fill[(i - 4) % fill_len];
	while (*chunk_id < end) {
		struct pb_mem m;

		assert(pb_mem_init(&m) == 0);
		for (uint32_t k = 0; k < n_pages && *chunk_id < end; k++, ++*chunk_id) {
			h.chunk_id = *chunk_id;
			h.flags = (*chunk_id > end - n ? SMB_CONTINUES_FROM_PREV : 0) |
				  (*chunk_id < end - 1 ? SMB_CONTINUES_ON_NEXT : 0);
			peer_write_raw(&s->smb, k, &h, payload, sizeof(payload));
			peer_put_move(&m.enc, k, 0, s->buffer);
		}
		if (!peer_accepted(p, peer_call_mem(p, P_COMMIT, &m)))
			return false;
	}
	return true;
}

struct peer_patch {
	uint32_t offset;
	const char *data;
	size_t len; /* of a good one: 4 */
};

/* CommitData with one ChunkToPatch: n patches, all like patch. */
static inline uint64_t peer_patch(struct peer *p, uint32_t buffer, uint32_t writer,
				  uint32_t chunk_id, const struct peer_patch *patch, size_t n,
				  bool more)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER, buffer);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, writer);
	pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID, chunk_id);
	for (size_t i = 0; i < n; i++) {
		pb_enc_open(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES);
		pb_enc_u64(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET,
			   patch->offset);
		pb_enc_bytes(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA, patch->data,
			     patch->len);
		pb_enc_close(&m.enc);
	}
	pb_enc_bool(&m.enc, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES, more);
	pb_enc_close(&m.enc);
	return peer_call_mem(p, P_COMMIT, &m);
}

static inline uint64_t peer_ack_flush(struct peer *p, uint64_t flush_id)
{
	return peer_call_number(p, P_COMMIT, PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, flush_id);
}

static inline uint64_t peer_register_writer(struct peer *p, uint32_t writer, uint32_t buffer)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_REGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer);
	pb_enc_u64(&m.enc, PB_REGISTER_TRACE_WRITER_REQUEST_TARGET_BUFFER, buffer);
	return peer_call_mem(p, P_REGISTER_WRITER, &m);
}

static inline uint64_t peer_unregister_writer(struct peer *p, uint32_t writer)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_UNREGISTER_TRACE_WRITER_REQUEST_TRACE_WRITER_ID, writer);
	return peer_call_mem(p, P_UNREGISTER_WRITER, &m);
}
