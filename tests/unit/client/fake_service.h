/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/shm.h"
#include "client/transport/arbiter.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/smb.h"

/*
 * A service in this process, strict beyond need: it takes CommitData requests of an arbiter, moves
 * chunks out of the shared memory, applies patches and puts packets together again. Whatever
 * breaks a rule of the ABI counts as a violation. It shares no code with the writer but the words
 * of wire/smb.h.
 */

struct fake_chunk {
	uint16_t writer_id;
	struct smb_chunk_header h; /* flags lose SMB_NEEDS_PATCHING with the last patch */
	uint8_t *payload; /* owned */
	uint32_t size;
};

struct fake_packet {
	uint8_t *data; /* owned */
	size_t len;
};

struct fake_request {
	uint8_t *data; /* owned */
	size_t len;
};

struct fake_service {
	struct smb smb;
	size_t size;
	int fd;
	bool hold; /* requests wait until fake_work() */
	bool gone; /* refuses requests */
	struct arbiter *a; /* commits what is urgent */
	bool due; /* a commit is due: fake_turn() */
	bool work_on_drain;
	struct fake_request *requests;
	size_t n_requests, cap_requests;
	struct fake_chunk *chunks; /* in the order of arrival */
	size_t n_chunks, cap_chunks;
	uint16_t target_of[SMB_MAX_WRITER_ID + 1]; /* registered writers; 0: none */
	uint64_t flush_id; /* the last one acked */
	size_t n_commits, n_patches, n_drains, max_request;
	unsigned violations;
	const char *violation; /* the last one */
};

static inline void fake_violation(struct fake_service *s, const char *what)
{
	s->violations++;
	s->violation = what;
}

static inline void fake_init(struct fake_service *s, uint32_t page_size, uint32_t n_pages)
{
	void *base;
	int r;

	memset(s, 0, sizeof(*s));
	s->size = (size_t)page_size * n_pages;
	r = shm_create(s->size, &s->fd, &base);
	assert(r == 0);
	r = smb_init(&s->smb, base, s->size, page_size);
	assert(r == 0);
}

static inline void fake_deinit(struct fake_service *s)
{
	for (size_t i = 0; i < s->n_chunks; i++)
		free(s->chunks[i].payload);
	for (size_t i = 0; i < s->n_requests; i++)
		free(s->requests[i].data);
	free(s->chunks);
	free(s->requests);
	shm_unmap(s->smb.base, s->size);
	close(s->fd);
}

static inline void *fake_copy(const void *data, size_t len)
{
	uint8_t *p = malloc(len + 1);

	assert(p);
	memcpy(p, data, len);
	return p;
}

/* ---- requests ---- */

static inline struct fake_chunk *fake_find(struct fake_service *s, uint64_t writer_id,
					   uint64_t chunk_id)
{
	for (size_t i = s->n_chunks; i-- > 0;)
		if (s->chunks[i].writer_id == writer_id && s->chunks[i].h.chunk_id == chunk_id)
			return &s->chunks[i];
	return NULL;
}

static inline void fake_move(struct fake_service *s, const uint8_t *data, size_t len)
{
	uint64_t page = UINT64_MAX, index = UINT64_MAX, target = 0;
	struct fake_chunk *f;
	struct smb_chunk c;
	struct pb_field field;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &field)) {
		if (field.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE)
			page = field.u64;
		else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK)
			index = field.u64;
		else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER)
			target = field.u64;
		else
			fake_violation(s, "a field that was not requested");
	}
	if (!pb_dec_ok(&d) || page > UINT32_MAX || index > UINT32_MAX ||
	    !smb_acquire_complete(&s->smb, (uint32_t)page, (uint32_t)index, &c)) {
		fake_violation(s, "a chunk that is not complete was committed");
		return;
	}
	array_reserve(&s->chunks, &s->cap_chunks, s->n_chunks + 1, sizeof(*s->chunks));
	f = &s->chunks[s->n_chunks];
	f->h = smb_header_load(c.header);
	f->writer_id = f->h.writer_id;
	f->size = c.payload_size;
	f->payload = fake_copy(c.payload, c.payload_size);
	if (!smb_release_free(&s->smb, &c))
		fake_violation(s, "the chunk changed while it was read");
	if (f->writer_id == 0 || f->writer_id > SMB_MAX_WRITER_ID ||
	    s->target_of[f->writer_id] != target)
		fake_violation(s, "an unknown writer, or another buffer than registered");
	if (f->h.chunk_id > 0 && !fake_find(s, f->writer_id, f->h.chunk_id - 1))
		fake_violation(s, "chunk ids are not in order");
	if (fake_find(s, f->writer_id, f->h.chunk_id))
		fake_violation(s, "a chunk id came twice");
	s->n_chunks++;
}

static inline void fake_one_patch(struct fake_service *s, struct fake_chunk *f,
				  const struct pb_field *patch)
{
	uint64_t offset = UINT64_MAX;
	struct pb_field field;
	struct pb_dec d;

	pb_dec_init(&d, patch->data, patch->len);
	while (pb_dec_next(&d, &field)) {
		if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET) {
			offset = field.u64;
		} else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA) {
			if (field.len != 4 || offset > f->size - 4)
				fake_violation(s, "a patch that does not fit");
			else
				memcpy(f->payload + offset, field.data, 4);
			s->n_patches++;
		}
	}
}

static inline void fake_patch(struct fake_service *s, const uint8_t *data, size_t len)
{
	uint64_t writer_id = 0, chunk_id = UINT64_MAX;
	struct fake_chunk *f = NULL;
	struct pb_field field;
	bool more = false;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &field)) {
		if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID)
			writer_id = field.u64;
		else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID)
			chunk_id = field.u64;
		else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES)
			more = field.u64;
		else if (field.id == PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES) {
			f = fake_find(s, writer_id, chunk_id);
			if (f && f->h.flags & SMB_NEEDS_PATCHING)
				fake_one_patch(s, f, &field);
			else
				fake_violation(s, "a patch that its chunk does not wait for");
		}
	}
	if (!f)
		fake_violation(s, "a patch of nothing");
	else if (!more)
		f->h.flags &= ~SMB_NEEDS_PATCHING;
}

static inline void fake_process(struct fake_service *s, const uint8_t *data, size_t len)
{
	bool patched = false;
	struct pb_field f;
	struct pb_dec d;

	s->n_commits++;
	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE) {
			if (patched)
				fake_violation(s, "a move behind a patch");
			fake_move(s, f.data, f.len);
		} else if (f.id == PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH) {
			patched = true;
			fake_patch(s, f.data, f.len);
		} else if (f.id == PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID) {
			s->flush_id = f.u64;
		}
	}
	if (!pb_dec_ok(&d))
		fake_violation(s, "no protobuf");
}

/* Works off the first n requests that wait. */
static inline void fake_work_some(struct fake_service *s, size_t n)
{
	n = MIN(n, s->n_requests);
	for (size_t i = 0; i < n; i++) {
		fake_process(s, s->requests[i].data, s->requests[i].len);
		free(s->requests[i].data);
	}
	if (n > 0)
		memmove(s->requests, s->requests + n, (s->n_requests - n) * sizeof(*s->requests));
	s->n_requests -= n;
}

static inline void fake_work(struct fake_service *s)
{
	fake_work_some(s, SIZE_MAX);
}

/* ---- struct arbiter_ops ---- */

static inline void fake_schedule(void *ctx, bool urgent)
{
	struct fake_service *s = ctx;

	s->due = !urgent || !arbiter_commit_due(s->a);
}

/* One iteration of the owner's loop. */
static inline void fake_turn(struct fake_service *s)
{
	if (s->due)
		s->due = !arbiter_commit_due(s->a);
}

static inline int fake_on_commit(void *ctx, const void *request, size_t len)
{
	struct fake_service *s = ctx;

	if (s->gone)
		return -EPIPE;
	s->max_request = MAX(s->max_request, len);
	array_reserve(&s->requests, &s->cap_requests, s->n_requests + 1, sizeof(*s->requests));
	s->requests[s->n_requests++] =
		(struct fake_request){.data = fake_copy(request, len), .len = len};
	if (!s->hold)
		fake_work(s);
	return 0;
}

static inline int fake_on_drain(void *ctx, int timeout_ms)
{
	struct fake_service *s = ctx;

	s->n_drains++;
	if (s->work_on_drain)
		fake_work(s);
	return s->gone ? -EPIPE : 0;
}

static inline void fake_on_added(void *ctx, uint16_t id, uint16_t target)
{
	struct fake_service *s = ctx;

	if (id == 0 || id > SMB_MAX_WRITER_ID || s->target_of[id])
		fake_violation(s, "a writer id that is taken");
	else
		s->target_of[id] = target;
}

static inline void fake_on_removed(void *ctx, uint16_t id)
{
	struct fake_service *s = ctx;

	fake_work(s); /* as the socket would: in order */
	if (!s->target_of[id])
		fake_violation(s, "a writer that was not there went");
	s->target_of[id] = 0;
}

static const struct arbiter_ops fake_ops = {
	.schedule = fake_schedule,
	.commit = fake_on_commit,
	.drain = fake_on_drain,
	.writer_added = fake_on_added,
	.writer_removed = fake_on_removed,
};

/* ---- packets ---- */

/* Puts one writer's packets together from its chunks in order. Each packet goes to fn; broken ones
 * (their end says "drop this packet") too, with data NULL. Empty fragments are passed over. */
static inline void fake_packets(struct fake_service *s, uint16_t writer_id,
				void (*fn)(void *ctx, const uint8_t *data, size_t len), void *ctx)
{
	uint8_t *packet = NULL;
	size_t len = 0, cap = 0;
	bool open = false;

	for (size_t i = 0; i < s->n_chunks; i++) {
		const struct fake_chunk *c = &s->chunks[i];
		const uint8_t *p = c->payload, *end = p + c->size;

		if (c->writer_id != writer_id)
			continue;
		if (c->h.flags & SMB_NEEDS_PATCHING)
			fake_violation(s, "a chunk was never patched");
		if (open != !!(c->h.flags & SMB_CONTINUES_FROM_PREV))
			fake_violation(s, "chunks that do not fit together");
		for (unsigned k = 0; k < c->h.count; k++) {
			bool last = k + 1u == c->h.count;
			uint64_t size = 0;
			const uint8_t *q = pb_get_varint(p, end, &size);

			if (q && q - p == 4 && size == SMB_DROP_PACKET) {
				if (!last || c->h.flags & SMB_CONTINUES_ON_NEXT)
					fake_violation(s, "a dropped packet in the middle");
				fn(ctx, NULL, 0);
				open = false;
				len = 0;
				break;
			}
			if (!q || q - p > 4 || size > (uint64_t)(end - q)) {
				fake_violation(s, "a fragment that leaves its chunk");
				break;
			}
			array_reserve(&packet, &cap, len + size + 1, 1);
			memcpy(packet + len, q, size);
			len += size;
			p = q + size;
			open = last && c->h.flags & SMB_CONTINUES_ON_NEXT;
			if (open)
				continue;
			if (len)
				fn(ctx, packet, len);
			len = 0;
		}
	}
	if (open)
		fake_violation(s, "the last packet has no end");
	free(packet);
}
