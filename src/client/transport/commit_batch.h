/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/patch_list.h"
#include "wire/smb_layout.h"

/*
 * Content of the next CommitData requests: written chunks, patches for chunks of earlier requests,
 * and the flush to acknowledge. All memory is allocated when the shared memory is attached, so
 * adding never fails; the owner sends a batch that is full of patches before it adds one more.
 */

#define COMMIT_MAX_PATCHES 512u

struct commit_move {
	struct smb_chunk chunk;
	uint32_t chunk_id;
	uint16_t writer_id;
	uint16_t target_buffer;
};

struct commit_batch {
	struct commit_move *moves; /* owned */
	struct chunk_patch *patches; /* owned; COMMIT_MAX_PATCHES */
	uint8_t *buf; /* owned; one request */
	size_t buf_size;
	uint32_t n_moves, max_moves;
	uint32_t n_patches;
	uint64_t flush_id; /* 0: none */
	bool inlines; /* chunks are sent inline: the memory is not shared */
	bool retargets; /* all goes to target_buffer */
	uint16_t target_buffer;
};

/* max_moves: chunks that the memory can have. max_request: bytes, at least 1024; for inline
 * chunks also at least one chunk and 64 bytes. Returns 0 or -ENOMEM. */
int commit_batch_init(struct commit_batch *b, uint32_t max_moves, size_t max_request);
void commit_batch_deinit(struct commit_batch *b);

/* Returns true if the batch must be sent before a patch can be added. */
static inline bool commit_batch_full(const struct commit_batch *b)
{
	return b->n_patches == COMMIT_MAX_PATCHES;
}

static inline bool commit_batch_empty(const struct commit_batch *b)
{
	return b->n_moves == 0 && b->n_patches == 0 && b->flush_id == 0;
}

void commit_batch_add(struct commit_batch *b, const struct commit_move *move);
void commit_batch_add_patch(struct commit_batch *b, const struct chunk_patch *patch);

/* Writes the batch as requests of at most max_request bytes: all moves, then all patches, the flush
 * id in the last one. Calls send for each request until one fails. Returns 0 or the error of send.
 * The batch is empty afterwards in either case; the content of moves remains until the next
 * addition. */
int commit_batch_send(struct commit_batch *b,
		      int (*send)(void *ctx, const void *request, size_t len), void *ctx);
