/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service_peer_producer.h"

/*
 * A raw peer as a producer or a relay of another machine: it says who it is, and sends its chunks
 * in CommitData.
 */

#define PEER_RELAY 2 /* the number of RelayPort, where it is offered */
enum { R_INIT = 1, R_SYNC };

static inline void peer_identify(struct peer *p, int32_t uid, int32_t pid, const char *hint,
				 const char *machine_name)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_IPC_FRAME_REQUEST_ID, 0);
	pb_enc_open(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY);
	pb_enc_i64(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_PID, pid);
	pb_enc_i64(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_UID, uid);
	pb_enc_str(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT, hint);
	pb_enc_str(&m.enc, PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME, machine_name);
	pb_enc_close(&m.enc);
	peer_send_frame(p, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
}

/* One ChunksToMove with the chunk in it. */
static inline void peer_put_inline(struct pb_enc *e, uint32_t buffer, const void *data, size_t len,
				   bool incomplete)
{
	pb_enc_open(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER, buffer);
	pb_enc_bytes(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA, data, len);
	if (incomplete)
		pb_enc_bool(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK_INCOMPLETE, true);
	pb_enc_close(e);
}

/* The bytes of a chunk with one packet of one field, PEER_FIELD. Gives their number. */
static inline size_t peer_make_chunk(uint8_t buf[static 256], uint16_t writer, uint32_t chunk_id,
				     const char *text)
{
	size_t len = strlen(text);
	uint16_t packets = 1;
	uint8_t *p = buf + SMB_CHUNK_HEADER;

	assert(len < 200);
	memcpy(buf, &chunk_id, 4);
	memcpy(buf + 4, &writer, 2);
	memcpy(buf + 6, &packets, 2);
	pb_put_varint4(p, (uint32_t)(2 + pb_varint_len(len) + len));
	p = pb_put_varint(p + 4, pb_tag(PEER_FIELD, PB_WIRE_BYTES));
	p = pb_put_varint(p, len);
	memcpy(p, text, len);
	return (size_t)(p + len - buf);
}

static inline uint64_t peer_commit_bytes(struct peer *p, uint32_t buffer, const void *data,
					 size_t len, bool incomplete)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	peer_put_inline(&m.enc, buffer, data, len, incomplete);
	return peer_call_mem(p, P_COMMIT, &m);
}

static inline uint64_t peer_commit_text(struct peer *p, uint32_t buffer, uint16_t writer,
					uint32_t chunk_id, const char *text)
{
	uint8_t chunk[256];
	size_t len = peer_make_chunk(chunk, writer, chunk_id, text);

	return peer_commit_bytes(p, buffer, chunk, len, false);
}

/* The next commands set up, without memory, and start the one data source. */
static inline bool peer_await_emulated(struct peer *p, uint64_t stream, struct peer_session *s)
{
	struct pb_field f, config;

	if (!peer_command(p, stream, CMD(SETUP_TRACING), &f) || p->got_fd >= 0 ||
	    !peer_number(&f, CMD(SETUP_TRACING_SHARED_BUFFER_PAGE_SIZE_KB)))
		return false;
	if (!peer_command(p, stream, CMD(SETUP_DATA_SOURCE), &f) ||
	    !peer_subfield(&f, CMD(SETUP_DATA_SOURCE_CONFIG), &config))
		return false;
	s->instance = peer_number(&f, CMD(SETUP_DATA_SOURCE_NEW_INSTANCE_ID));
	s->buffer = (uint16_t)peer_number(&config, PB_DATA_SOURCE_CONFIG_TARGET_BUFFER);
	return peer_command(p, stream, CMD(START_DATA_SOURCE), &f);
}

/* ---- a relay ---- */

static inline uint64_t peer_init_relay(struct peer *p, const void *system_info, size_t len)
{
	struct pb_mem m;
	uint64_t id;

	assert(pb_mem_init(&m) == 0);
	pb_enc_bytes(&m.enc, PB_INIT_RELAY_REQUEST_SYSTEM_INFO, system_info, len);
	id = peer_call_as(p, PEER_RELAY, R_INIT, false, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
	return id;
}

/* n clocks with the numbers first, first + 1 ..., all of which show time. */
static inline uint64_t peer_sync_clock(struct peer *p, uint32_t phase, uint32_t first, unsigned n,
				       uint64_t time)
{
	struct pb_mem m;
	uint64_t id;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_PHASE, phase);
	for (unsigned i = 0; i < n; i++) {
		pb_enc_open(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCKS);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID, first + i);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP, time);
		pb_enc_close(&m.enc);
	}
	id = peer_call_as(p, PEER_RELAY, R_SYNC, false, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
	return id;
}
