/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/transport/commit_batch.h"
#include "wire/smb_layout.h"

/*
 * The producer's side of the shared memory: gives free chunks to writers, takes written chunks
 * back, and announces them to the service in CommitData requests.
 *
 * One arbiter per connection. It sends through arbiter_ops and uses no sockets and no event loop
 * itself. Its owner calls new, attach, detach and free; several threads may have writers, each
 * writer being used by one thread at a time. A chunk is taken without a lock, and also returned
 * without one if it needs no patch.
 *
 * Without memory (not attached yet, or connection lost) there are no chunks, so writers drop
 * packets and count them. Only arbiter_new and the attach functions allocate.
 */
struct arbiter;

/* The service's limit for a frame, with room for the envelope. */
#define ARBITER_MAX_COMMIT (131072u - 512u)
/* How long a writer may stall while no chunk is free; then all writers drop. */
#define ARBITER_STALL_MS 10000u

/* All are called by the thread that uses the arbiter or one of its writers; commit, writer_added
 * and writer_removed by one thread at a time. */
struct arbiter_ops {
	/* Written chunks wait to be committed: the owner must call arbiter_commit_due() soon, or at
	 * once if urgent is true, because half of the memory waits. schedule() is not called again
	 * before that, except once when the commit becomes urgent. */
	void (*schedule)(void *ctx, bool urgent);
	/* Sends one serialized CommitDataRequest (borrowed, at most ARBITER_MAX_COMMIT bytes).
	 * Returns 0, or -errno if the connection is lost. */
	int (*commit)(void *ctx, const void *request, size_t len);
	/* Optional, used where chunks are sent through the socket: returns true if the send queue
	 * is so long that only urgent data may be added. */
	bool (*is_choked)(void *ctx);
	/* Blocks up to timeout_ms until the send queue is empty. Returns 0, -EAGAIN, or -EPIPE if
	 * the connection is lost. */
	int (*drain)(void *ctx, int timeout_ms);
	/* RegisterTraceWriter and UnregisterTraceWriter. */
	void (*writer_added)(void *ctx, uint16_t writer_id, uint16_t target_buffer);
	void (*writer_removed)(void *ctx, uint16_t writer_id);
};

struct arbiter_options {
	const struct arbiter_ops *ops; /* borrowed */
	void *ctx;
	uint32_t stall_ms; /* 0: ARBITER_STALL_MS */
	enum smb_layout layout; /* for pages that we partition; 0: SMB_DIV1 */
	uint16_t first_writer_id; /* 0: 1 */
	bool keeps; /* nothing is committed before arbiter_set_target_buffer() */
};

/* Returns 0 or -ENOMEM. */
int arbiter_new(const struct arbiter_options *options, struct arbiter **ret);
/* Unmaps the memory. All writers must be freed before; uncommitted data is lost. No-op for NULL. */
void arbiter_free(struct arbiter *a);

/* Maps the memory that the service shares (fd is borrowed); then chunks are available. Returns 0;
 * -EALREADY if memory is attached already; -EINVAL or -EFBIG for a size or page size that the ABI
 * forbids; -EPERM if its size is not sealed (shm_attach()); or another -errno. */
int arbiter_attach(struct arbiter *a, int fd, uint32_t page_size);
/* Like arbiter_attach(), for a service on another machine: the memory is private, and CommitData
 * carries the chunks themselves. While the socket is congested they stay in the memory; when it is
 * full, writers stall or drop. Returns 0, -EALREADY, -EINVAL or -ENOMEM. */
int arbiter_attach_private(struct arbiter *a, uint32_t page_size);
#define ARBITER_PRIVATE_BYTES (1u << 20)
/* The connection is lost: from now on no chunk is free and nothing is sent. Chunks that writers
 * hold stay mapped until arbiter_free. */
void arbiter_detach(struct arbiter *a);
/* Call it in a child after fork() instead of arbiter_free(), because the memory belongs to the
 * parent. It is replaced by private memory, so that a writer within a packet cannot change the
 * parent's. Frees nothing. */
void arbiter_after_fork_in_child(struct arbiter *a);
/* From now on commits are no longer withheld. All later commits go to this buffer of the service,
 * whatever buffer their writers were created for. */
void arbiter_set_target_buffer(struct arbiter *a, uint16_t target_buffer);
/* If yes is true, a chunk may be patched in place until its commit is sent. */
void arbiter_patch_in_place(struct arbiter *a, bool yes);

/* Sends all pending commits now, even if the socket is congested. */
void arbiter_commit(struct arbiter *a);
/* Answers arbiter_ops.schedule: sends all pending commits. Returns false if they wait because the
 * socket is congested: then the owner calls again after a few milliseconds. */
bool arbiter_commit_due(struct arbiter *a);
/* Acknowledges the flush and all earlier ones, after all pending commits. */
void arbiter_ack_flush(struct arbiter *a, uint64_t flush_id);

/* ---- for client/transport/writer.c ---- */

/* Returns an id, 1..SMB_MAX_WRITER_ID, and announces it to the service; 0 if all are in use. An id
 * is reused as late as possible. */
uint16_t arbiter_add_writer(struct arbiter *a, uint16_t target_buffer);
/* Unregisters a writer id. Commits first, so that the service knows the writer of all data it
 * receives. */
void arbiter_remove_writer(struct arbiter *a, uint16_t writer_id);

/* Writers whose data is less important (writer_yield): when no chunk is free, the chunks that they
 * hold open are completed. While `reserves` is set, they do not wait for a chunk, and leave a
 * quarter of the memory to the others. For one thread only. */
struct writer;
struct arbiter_yielding {
	LIST_HEAD(, writer) writers;
	bool reserves;
};
struct arbiter_yielding *arbiter_get_yielding(struct arbiter *a);
/* Returns true if more than a quarter of the pages have no chunk in use. */
bool arbiter_has_reserve(const struct arbiter *a);

#define ARBITER_STALL UINT32_MAX /* as wait_ms: use stall_ms of the options */

/* Takes a free chunk with one compare-and-exchange and writes its header. Returns false if no chunk
 * is free after wait_ms, or after stall_ms of the options if that is less, or if no memory is
 * attached. */
bool arbiter_acquire_chunk(struct arbiter *a, const struct smb_chunk_header *header,
			   uint32_t wait_ms, struct smb_chunk *ret);
/* Returns a written chunk; patches may follow. header: the final content of the chunk's header. */
void arbiter_release_chunk(struct arbiter *a, const struct smb_chunk *chunk,
			   const struct smb_chunk_header *header, uint16_t target_buffer);

/* Adds a patch for a chunk that was returned before. */
void arbiter_add_patch(struct arbiter *a, const struct chunk_patch *patch);
