/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/commit_batch.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gen/fields.h"

/*
 * Three arrays that are filled and then sent and emptied together. A CommitDataRequest is encoded
 * by hand into a separate buffer:
 *
 *	| move | move | ... | patches of a chunk | ... | flush id |
 *
 * Without shared memory a move contains its chunk.
 *
 * Before each element the room is checked against its maximum size. If it does not fit, the request
 * is sent and the next one begins.
 */

#define MOVE_ROOM 32u /* room that a move needs in addition to the chunk itself */
#define PATCH_ROOM 24u
#define FLUSH_ROOM 16u
/* Patches in one ChunkToPatch; the service accepts up to 1024. */
#define GROUP_MAX PB_MAX_DEPTH
#define GROUP_ROOM (40u + GROUP_MAX * PATCH_ROOM)

int commit_batch_init(struct commit_batch *b, uint32_t max_moves, size_t max_request)
{
	struct commit_batch n = {.max_moves = max_moves, .buf_size = max_request};

	assert(max_moves > 0 && max_request >= 1024);
	n.moves = calloc(max_moves, sizeof(*n.moves));
	n.patches = calloc(COMMIT_MAX_PATCHES, sizeof(*n.patches));
	n.buf = malloc(max_request);
	if (!n.moves || !n.patches || !n.buf) {
		commit_batch_deinit(&n);
		return -ENOMEM;
	}
	*b = n;
	return 0;
}

void commit_batch_deinit(struct commit_batch *b)
{
	free(b->moves);
	free(b->patches);
	free(b->buf);
	memset(b, 0, sizeof(*b));
}

void commit_batch_add(struct commit_batch *b, const struct commit_move *move)
{
	assert(b->n_moves < b->max_moves);
	b->moves[b->n_moves++] = *move;
}

void commit_batch_add_patch(struct commit_batch *b, const struct chunk_patch *patch)
{
	assert(b->n_patches < COMMIT_MAX_PATCHES);
	b->patches[b->n_patches++] = *patch;
}

/* ---- requests ---- */

struct request {
	struct pb_enc enc;
	struct commit_batch *batch;
	int (*send)(void *ctx, const void *request, size_t len);
	void *ctx;
	int error; /* the first error; sending stops there */
};

static void fail_on_refill(struct pb_enc *e)
{
	assert(!"the room was checked");
}

static void request_begin(struct request *q)
{
	uint8_t *buf = q->batch->buf;

	pb_enc_init(&q->enc, buf, buf + q->batch->buf_size, fail_on_refill);
}

static void request_send(struct request *q)
{
	if (!q->error)
		q->error = q->send(q->ctx, q->batch->buf, (size_t)pb_enc_pos(&q->enc));
	request_begin(q);
}

static void request_reserve(struct request *q, size_t room)
{
	if ((size_t)(q->enc.end - q->enc.cur) < room)
		request_send(q);
}

static uint32_t inline_chunk_length(const struct commit_batch *b, const struct commit_move *m)
{
	return b->inlines ? SMB_CHUNK_HEADER + m->chunk.payload_size : 0;
}

/* Writes a move. An inline chunk is sent without page and index: Perfetto's service would look for
 * the chunk in its own memory, which may be smaller than ours. */
static void put_move_of_chunk(const struct commit_batch *b, struct pb_enc *e,
			      const struct commit_move *m, uint32_t data_len)
{
	pb_enc_open(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	if (!data_len) {
		pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE, m->chunk.page);
		pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK, m->chunk.index);
	}
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER,
		   b->retargets ? b->target_buffer : m->target_buffer);
	if (data_len)
		pb_enc_bytes(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_DATA, m->chunk.header,
			     data_len);
	pb_enc_close(e);
}

static void put_patches(const struct commit_batch *b, struct pb_enc *e, const struct chunk_patch *p,
			uint32_t n)
{
	pb_enc_open(e, PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER,
		   b->retargets ? b->target_buffer : p->target_buffer);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, p->writer_id);
	pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID, p->chunk_id);
	for (uint32_t i = 0; i < n; i++) {
		pb_enc_open(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES);
		pb_enc_u64(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET, p[i].offset);
		pb_enc_bytes(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA, p[i].data,
			     sizeof(p[i].data));
		pb_enc_close(e);
	}
	if (p[n - 1].more)
		pb_enc_bool(e, PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES, true);
	pb_enc_close(e);
}

/* Returns the number of adjacent patches for one chunk. */
static uint32_t commit_batch_group_len(const struct chunk_patch *p, uint32_t n)
{
	uint32_t len = 1;

	while (len < n && len < GROUP_MAX && p[len].writer_id == p->writer_id &&
	       p[len].chunk_id == p->chunk_id)
		len++;
	return len;
}

int commit_batch_send(struct commit_batch *b,
		      int (*send)(void *ctx, const void *request, size_t len), void *ctx)
{
	struct request q = {.batch = b, .send = send, .ctx = ctx};

	request_begin(&q);
	for (uint32_t i = 0; i < b->n_moves; i++) {
		uint32_t data_len = inline_chunk_length(b, &b->moves[i]);

		request_reserve(&q, MOVE_ROOM + data_len);
		put_move_of_chunk(b, &q.enc, &b->moves[i], data_len);
	}
	for (uint32_t i = 0, n; i < b->n_patches; i += n) {
		n = commit_batch_group_len(&b->patches[i], b->n_patches - i);
		request_reserve(&q, GROUP_ROOM);
		put_patches(b, &q.enc, &b->patches[i], n);
	}
	request_reserve(&q, FLUSH_ROOM);
	if (b->flush_id)
		pb_enc_u64(&q.enc, PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, b->flush_id);
	b->n_moves = b->n_patches = 0;
	b->flush_id = 0;
	request_send(&q);
	return q.error;
}
