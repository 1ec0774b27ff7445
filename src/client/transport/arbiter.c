/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a chunk:
 *
 *	       arbiter_take                  arbiter_give                  commit
 *	Free --------------> BeingWritten --------------> in the batch ------------> service
 *	  ^                  (a writer's)                 Complete, or held             |
 *	  |                                               BeingWritten for              |
 *	  |                                               patches in place              |
 *	  +------------------------------- frees it ------------------------------------+
 *
 * The batch is sent in the next loop iteration, so that the data of one iteration is sent as one
 * frame. It is sent at once when it holds half of the memory, because the other half may not last
 * until then. A writer that finds no free chunk also sends it, before it waits or drops.
 *
 * A remote service shares no memory: a chunk is sent as bytes and freed here. If the socket is
 * slower than the writers, the batch waits for it.
 *
 * The service frees chunks without a message: only the states in the shared memory show it. The
 * search continues where the last one ended, and wraps.
 */
#include "client/transport/arbiter.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/shm.h"
#include "client/transport/commit_batch.h"
#include "wire/smb.h"

#define STALL_FIRST_US 0u
#define STALL_MAX_US 2000u /* the kernel's rings fill meanwhile */
#define STALL_DRAIN_MS 10
#define CHOKED_MS 5 /* until a batch that waits for the socket is retried */

#define ID_WORDS ((SMB_MAX_WRITER_ID + 1) / 64)

struct arbiter {
	struct smb smb; /* base NULL: not attached */
	size_t mapped;
	bool attached; /* chunks are available and commits can be sent */
	bool is_private; /* private memory: chunks are sent inline and freed here */
	bool in_place;
	bool starved; /* a stall timed out: no writer waits until a chunk is free again */
	uint32_t next_page; /* where the search continues */
	enum smb_layout layout;
	struct commit_batch batch;
	struct event *turn; /* owned; pending while turn_due */
	bool turn_due;
	const struct arbiter_ops *ops;
	void *ctx;
	uint32_t stall_ms;
	uint16_t last_id;
	uint64_t ids[ID_WORDS]; /* bit set: in use */
};

static void commit_unless_choked(struct arbiter *a);

static void on_turn(evutil_socket_t fd, short what, void *ctx)
{
	struct arbiter *a = ctx;

	(void)fd, (void)what;
	a->turn_due = false;
	commit_unless_choked(a);
}

int arbiter_new(const struct arbiter_options *options, struct arbiter **ret)
{
	struct arbiter *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->ops = options->ops;
	a->ctx = options->ctx;
	a->stall_ms = options->stall_ms ? options->stall_ms : ARBITER_STALL_MS;
	a->layout = options->layout ? options->layout : SMB_DIV1;
	a->ids[0] = 1; /* 0 is not a valid id */
	a->turn = event_new(options->loop, -1, 0, on_turn, a);
	if (!a->turn) {
		free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

void arbiter_free(struct arbiter *a)
{
	if (!a)
		return;
	event_freep(&a->turn);
	commit_batch_deinit(&a->batch);
	shm_unmap(a->smb.base, a->mapped);
	free(a);
}

/* Uses the mapping. Takes ownership, also on failure. */
static int use_memory(struct arbiter *a, void *base, size_t size, uint32_t page_size)
{
	struct smb smb;
	int r = smb_init(&smb, base, size, page_size);

	if (r == 0)
		r = commit_batch_init(&a->batch, smb.n_pages * smb_layout_chunks(a->layout),
				      ARBITER_MAX_COMMIT);
	if (r < 0) {
		shm_unmap(base, size);
		return r;
	}
	a->smb = smb;
	a->mapped = size;
	a->attached = true;
	return 0;
}

int arbiter_attach(struct arbiter *a, int fd, uint32_t page_size)
{
	size_t size;
	void *base;
	int r;

	if (a->smb.base)
		return -EALREADY;
	r = shm_attach(fd, SMB_MAX_SIZE, &base, &size);
	return r < 0 ? r : use_memory(a, base, size, page_size);
}

int arbiter_attach_private(struct arbiter *a, uint32_t page_size)
{
	void *base;
	int r;

	if (a->smb.base)
		return -EALREADY;
	base = mmap(NULL, ARBITER_PRIVATE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	r = use_memory(a, base, ARBITER_PRIVATE_BYTES, page_size);
	if (r == 0)
		a->is_private = a->batch.inlines = true;
	return r;
}

void arbiter_detach(struct arbiter *a)
{
	a->attached = false;
	a->batch.n_moves = a->batch.n_patches = 0;
	a->batch.flush_id = a->batch.bytes = 0;
	event_del(a->turn);
	a->turn_due = false;
}

void arbiter_patch_in_place(struct arbiter *a, bool yes)
{
	a->in_place = yes;
}

/* ---- commits ---- */

static void commit_after(struct arbiter *a, long ms)
{
	const struct timeval wait = {.tv_usec = ms * 1000};

	if (!a->turn_due)
		a->turn_due = event_add(a->turn, &wait) == 0;
}

static void commit_next_turn(struct arbiter *a)
{
	commit_after(a, 0);
}

/* Completes a chunk that was patched in place, or can no longer be. It then belongs to the
 * service. */
static void release_held(struct arbiter *a, struct commit_move *m)
{
	m->held = false;
	smb_release_complete(&a->smb, m->chunk.page, m->chunk.index);
}

/* Frees chunks that were sent inline. */
static void free_sent(struct arbiter *a, uint32_t n)
{
	struct smb_chunk c;

	for (uint32_t i = 0; i < n; i++)
		if (smb_acquire_complete(&a->smb, a->batch.moves[i].chunk.page,
					 a->batch.moves[i].chunk.index, &c))
			smb_release_free(&a->smb, &c);
}

void arbiter_commit(struct arbiter *a)
{
	uint32_t n = a->batch.n_moves;

	if (!a->attached || commit_batch_empty(&a->batch))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (a->batch.moves[i].held)
			release_held(a, &a->batch.moves[i]);
	if (commit_batch_send(&a->batch, a->ops->commit, a->ctx) < 0)
		arbiter_detach(a);
	else if (a->is_private)
		free_sent(a, n);
}

static void commit_unless_choked(struct arbiter *a)
{
	if (a->is_private && a->ops->is_choked && a->ops->is_choked(a->ctx))
		commit_after(a, CHOKED_MS);
	else
		arbiter_commit(a);
}

void arbiter_ack_flush(struct arbiter *a, uint64_t flush_id)
{
	a->batch.flush_id = MAX(a->batch.flush_id, flush_id);
	commit_unless_choked(a);
}

void arbiter_give(struct arbiter *a, const struct smb_chunk *chunk,
		  const struct smb_chunk_header *header, uint16_t target_buffer)
{
	struct commit_move m = {
		.chunk = *chunk,
		.chunk_id = header->chunk_id,
		.writer_id = header->writer_id,
		.target_buffer = target_buffer,
		.held = a->in_place && header->flags & SMB_NEEDS_PATCHING,
	};

	if (!a->attached)
		return;
	if (!m.held && !smb_release_complete(&a->smb, chunk->page, chunk->index))
		return; /* another process rewrote the page; the chunk is lost */
	if (commit_batch_full(&a->batch))
		arbiter_commit(a);
	if (!a->attached)
		return;
	commit_batch_add(&a->batch, &m);
	if (a->batch.bytes >= a->mapped / 2)
		commit_unless_choked(a);
	else
		commit_next_turn(a);
}

static void patch_held(struct arbiter *a, struct commit_move *m, const struct chunk_patch *p)
{
	struct smb_chunk_header h;

	memcpy(m->chunk.payload + p->offset, p->data, sizeof(p->data));
	if (p->more)
		return;
	h = smb_header_load(m->chunk.header);
	smb_header_store_packets(m->chunk.header, h.count, h.flags & ~SMB_NEEDS_PATCHING);
	release_held(a, m);
}

void arbiter_add_patch(struct arbiter *a, const struct chunk_patch *patch)
{
	struct commit_move *m;

	if (!a->attached)
		return;
	m = commit_batch_find(&a->batch, patch->writer_id, patch->chunk_id);
	if (m && m->held) {
		patch_held(a, m, patch);
		return;
	}
	if (commit_batch_full(&a->batch))
		arbiter_commit(a);
	if (!a->attached)
		return;
	commit_batch_add_patch(&a->batch, patch);
	commit_next_turn(a);
}

/* ---- free chunks ---- */

static bool take_in_page(struct arbiter *a, uint32_t page, const struct smb_chunk_header *header,
			 struct smb_chunk *ret)
{
	uint32_t word = smb_load_word(&a->smb, page), n;

	if (word == 0 && smb_partition(&a->smb, page, a->layout))
		word = (uint32_t)a->layout << 28;
	/* A partitioned page keeps its layout. */
	n = smb_layout_chunks(smb_word_layout(word));
	for (uint32_t i = 0; i < n; i++)
		if (smb_word_state(word, i) == SMB_FREE &&
		    smb_acquire_free(&a->smb, page, i, header, ret))
			return true;
	return false;
}

static bool take_any(struct arbiter *a, const struct smb_chunk_header *header,
		     struct smb_chunk *ret)
{
	uint32_t page = a->next_page;

	for (uint32_t i = 0; i < a->smb.n_pages; i++) {
		if (take_in_page(a, page, header, ret)) {
			a->next_page = page;
			a->starved = false;
			return true;
		}
		if (++page == a->smb.n_pages)
			page = 0;
	}
	return false;
}

/* Returns true if the service owns a chunk, which it will free. Else all chunks are open in our own
 * writers. */
static bool service_has_any(const struct arbiter *a)
{
	for (uint32_t page = 0; page < a->smb.n_pages; page++) {
		uint32_t word = smb_load_word(&a->smb, page);
		uint32_t n = smb_layout_chunks(smb_word_layout(word));

		for (uint32_t i = 0; i < n; i++)
			if (smb_word_state(word, i) != SMB_BEING_WRITTEN)
				return true;
	}
	return false;
}

/*
 * Waits for the service, with growing intervals. The loop does not run meanwhile, so pending data
 * is sent from here. The total wait is bounded for all writers: after a timeout every writer drops
 * at once until a chunk is free.
 */
static bool take_stalling(struct arbiter *a, const struct smb_chunk_header *header,
			  struct smb_chunk *ret)
{
	uint64_t deadline = clock_mono_ns() + a->stall_ms * NS_PER_MS;
	uint32_t us = STALL_FIRST_US;

	while (a->attached && a->ops->drain(a->ctx, STALL_DRAIN_MS) != -EPIPE) {
		commit_unless_choked(a);
		if (take_any(a, header, ret))
			return true;
		if (!service_has_any(a))
			return false;
		if (clock_mono_ns() >= deadline)
			break;
		usleep(us);
		us = MIN((us + 1) * 8, STALL_MAX_US);
	}
	a->starved = true;
	return false;
}

bool arbiter_take(struct arbiter *a, const struct smb_chunk_header *header,
		  enum writer_policy policy, struct smb_chunk *ret)
{
	if (!a->attached)
		return false;
	if (take_any(a, header, ret))
		return true;
	commit_unless_choked(a);
	if (policy == WRITER_STALL && !a->starved)
		return take_stalling(a, header, ret);
	return a->attached && take_any(a, header, ret);
}

/* ---- writer ids ---- */

uint16_t arbiter_add_writer(struct arbiter *a, uint16_t target_buffer)
{
	uint32_t id = a->last_id;

	for (uint32_t i = 0; i <= SMB_MAX_WRITER_ID; i++) {
		id = (id + 1) & SMB_MAX_WRITER_ID;
		if (a->ids[id / 64] >> id % 64 & 1)
			continue;
		a->ids[id / 64] |= 1ull << id % 64;
		a->last_id = (uint16_t)id;
		a->ops->writer_added(a->ctx, (uint16_t)id, target_buffer);
		return (uint16_t)id;
	}
	return 0;
}

void arbiter_remove_writer(struct arbiter *a, uint16_t writer_id)
{
	assert(writer_id && a->ids[writer_id / 64] >> writer_id % 64 & 1);
	arbiter_commit(a);
	a->ids[writer_id / 64] &= ~(1ull << writer_id % 64);
	a->ops->writer_removed(a->ctx, writer_id);
}
