/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/commit_batch.h"
#include "client/transport/writer.h"
#include "wire/smb_layout.h"

struct event_base;

/*
 * The producer's end of the shared memory: hands out free chunks, takes written ones back, and
 * tells the service about them in CommitData requests.
 *
 * One arbiter a connection, one thread. It knows nothing of sockets: what it has to say leaves
 * through arbiter_ops. Without memory (not attached yet, or lost) there are no chunks, so writers
 * drop and count. Nothing but new, attach and writer ids allocates.
 */
struct arbiter;

/* The service's limit for a frame, with room for the envelope. */
#define ARBITER_MAX_COMMIT (131072u - 512u)
/* How long one exhaustion may stall a writer before everybody drops. */
#define ARBITER_STALL_MS 10000u

struct arbiter_ops {
	/* Sends one serialized CommitDataRequest, at most ARBITER_MAX_COMMIT bytes, borrowed. 0, or
	 * -errno when nothing can be sent any more. */
	int (*commit)(void *ctx, const void *request, size_t len);
	/* Optional, where chunks themselves are sent: so much waits to leave this process that more
	 * must not be added, unless it cannot wait. */
	bool (*is_choked)(void *ctx);
	/* Blocks for up to timeout_ms to get what was sent out of this process. 0, -EAGAIN, or
	 * -EPIPE: waiting for the service has no use. */
	int (*drain)(void *ctx, int timeout_ms);
	/* RegisterTraceWriter and UnregisterTraceWriter. */
	void (*writer_added)(void *ctx, uint16_t writer_id, uint16_t target_buffer);
	void (*writer_removed)(void *ctx, uint16_t writer_id);
};

struct arbiter_options {
	struct event_base *loop; /* commits that gather during a turn leave on the next one */
	const struct arbiter_ops *ops; /* borrowed */
	void *ctx;
	uint32_t stall_ms; /* 0: ARBITER_STALL_MS */
	enum smb_layout layout; /* of pages that we divide; 0: SMB_DIV1 */
};

int arbiter_new(const struct arbiter_options *options, struct arbiter **ret);
/* Unmaps the memory. Every writer must be gone; what was not committed is lost. No-op for NULL. */
void arbiter_free(struct arbiter *a);

/*
 * Maps the memory that the service shares (fd is borrowed) and begins to hand out chunks. 0;
 * -EALREADY when there is one; -EINVAL, -EFBIG for a size or page size that the ABI forbids; -errno
 * of the kernel.
 */
int arbiter_attach(struct arbiter *a, int fd, uint32_t page_size);
/*
 * The same without sharing, for a service on another machine: the memory is ours alone, and the
 * chunks themselves go with CommitData. While the way to the service is choked they stay, until the
 * memory is full and writers stall or drop. 0; -EALREADY, -EINVAL, -ENOMEM.
 */
int arbiter_attach_private(struct arbiter *a, uint32_t page_size);
#define ARBITER_PRIVATE_BYTES (1u << 20)
/* The service is gone: no chunk is handed out and nothing is sent from here on. Chunks that writers
 * hold stay mapped until arbiter_free. */
void arbiter_detach(struct arbiter *a);
/* The service lets us patch a chunk in place until the commit that carries it is sent. */
void arbiter_patch_in_place(struct arbiter *a, bool yes);

/* Sends all that is pending now, choked or not. */
void arbiter_commit(struct arbiter *a);
/* Answers the flush, and every earlier one, behind all that is pending: sends it when it can. */
void arbiter_ack_flush(struct arbiter *a, uint64_t flush_id);

/* ---- for client/transport/writer.c ---- */

/* 1..SMB_MAX_WRITER_ID, told to the service; 0 when all are taken. Ids return late. */
uint16_t arbiter_add_writer(struct arbiter *a, uint16_t target_buffer);
/* Commits first, so that the service knows the writer of everything it gets. */
void arbiter_remove_writer(struct arbiter *a, uint16_t writer_id);

/* A free chunk with its header written. Returns false if none, by the policy's patience. */
bool arbiter_take(struct arbiter *a, const struct smb_chunk_header *header,
		  enum writer_policy policy, struct smb_chunk *ret);
/* A chunk is written, but for its patches. header: what stands in the chunk's own, final. */
void arbiter_give(struct arbiter *a, const struct smb_chunk *chunk,
		  const struct smb_chunk_header *header, uint16_t target_buffer);

/* A patch of a chunk given before. */
void arbiter_add_patch(struct arbiter *a, const struct chunk_patch *patch);
