/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a chunk:
 *
 *	     arbiter_acquire_chunk         arbiter_release_chunk   commit_released_chunks
 *	Free --------------> BeingWritten --------------> released ------------------> service
 *	  ^                  (a writer's)                 Complete, or patchable        |
 *	  |                                               BeingWritten for              |
 *	  |                                               patches in place              |
 *	  +------------------------------- frees it ------------------------------------+
 *
 * Any thread acquires and releases chunks without a lock: it acquires a chunk by an exchange of its
 * page's header word, and releases it by a push on a stack. A commit empties the stack, reverses
 * it, and sends it, so a writer's chunks stay in order. The lock protects the rare operations:
 * commits, patches, chunks that wait for patches, and writer ids.
 *
 * The owner commits a short time after the first chunk was released, so that one frame carries
 * several chunks. It commits at once when half of the memory is released, because the other half
 * may fill up within that time. A writer that finds no free chunk also commits, before it waits or
 * drops.
 *
 * A remote service shares no memory: a chunk is sent as bytes and freed here. If the socket is
 * slower than the writers, the released chunks wait for it.
 *
 * The service frees chunks without a message: only the states in the shared memory show it. The
 * search continues where the last one ended, and wraps.
 */
#include "client/transport/arbiter.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/shm.h"
#include "client/transport/commit_batch.h"
#include "wire/smb.h"

#define STALL_FIRST_US 0u
#define STALL_MAX_US 2000u /* the kernel's rings fill while the thread waits */
#define STALL_DRAIN_MS 10

#define ID_WORDS ((SMB_MAX_WRITER_ID + 1) / 64)
/* Chunks that can wait for patches in place; further ones are patched by messages. */
#define PATCHABLE_MAX 64u

/* One for each chunk of the memory. */
struct released {
	_Atomic bool waits; /* true while it is on the stack */
	uint32_t next; /* number of the chunk below, plus 1; 0: none */
	struct commit_move move;
};

/* A chunk that its writer has released, but that is not Complete, because length fields in it
 * are still open: they are patched in place. */
struct patchable {
	struct smb_chunk chunk;
	uint32_t chunk_id;
	uint16_t writer_id;
};

enum due { NOT_DUE, DUE, URGENT };

struct arbiter {
	struct smb smb; /* base NULL: not attached */
	size_t mapped;
	_Atomic bool attached; /* chunks are available and commits can be sent */
	bool is_private; /* private memory: chunks are sent inline and freed here */
	_Atomic bool starved; /* a stall timed out: no writer waits until a chunk is free again */
	_Atomic uint32_t next_page; /* where the search continues */
	enum smb_layout layout;

	struct released *released; /* owned; chunk i of page p is number p * SMB_MAX_CHUNKS + i */
	_Atomic uint32_t top; /* number of the top of the stack, plus 1; 0: the stack is empty */
	_Atomic uint64_t released_bytes; /* approximate bytes on the stack */
	_Atomic int due; /* enum due: the last notification of the owner */

	/* Protects the following members, and calls of commit_released_chunks, writer_added and
	 * writer_removed. */
	pthread_mutex_t lock;
	bool in_place;
	bool keeps; /* nothing is committed before arbiter_set_target_buffer() */
	struct patchable patchable[PATCHABLE_MAX];
	uint32_t n_patchable;
	struct commit_batch batch;
	uint16_t last_id;
	uint64_t ids[ID_WORDS]; /* bit set: in use */

	const struct arbiter_ops *ops;
	void *ctx;
	uint32_t stall_ms;
	struct arbiter_yielding yielding;
};

static bool arbiter_is_attached(const struct arbiter *a)
{
	return atomic_load_explicit(&a->attached, memory_order_acquire);
}

int arbiter_new(const struct arbiter_options *options, struct arbiter **ret)
{
	struct arbiter *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->ops = options->ops;
	a->ctx = options->ctx;
	a->stall_ms = options->stall_ms ? options->stall_ms : ARBITER_STALL_MS;
	a->keeps = options->keeps;
	a->layout = options->layout ? options->layout : SMB_DIV1;
	a->ids[0] = 1; /* 0 is not a valid id */
	a->last_id = options->first_writer_id ? options->first_writer_id - 1 : 0;
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

void arbiter_free(struct arbiter *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	commit_batch_deinit(&a->batch);
	shm_unmap(a->smb.base, a->mapped);
	free(a->released);
	free(a);
}

/* Attaches the mapping at base. The arbiter owns it from now on; on failure it is unmapped. Returns
 * 0 or -errno. */
static int use_mapped_memory(struct arbiter *a, void *base, size_t size, uint32_t page_size,
			     bool is_private)
{
	struct smb smb;
	int r = smb_init(&smb, base, size, page_size);

	if (r == 0)
		r = commit_batch_init(&a->batch, smb.n_pages * SMB_MAX_CHUNKS, ARBITER_MAX_COMMIT);
	if (r == 0) {
		a->released = calloc((size_t)smb.n_pages * SMB_MAX_CHUNKS, sizeof(*a->released));
		r = a->released ? 0 : -ENOMEM;
	}
	if (r < 0) {
		commit_batch_deinit(&a->batch);
		a->batch = (struct commit_batch){0};
		shm_unmap(base, size);
		return r;
	}
	a->smb = smb;
	a->mapped = size;
	a->is_private = a->batch.inlines = is_private;
	atomic_store_explicit(&a->attached, true, memory_order_release);
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
	return r < 0 ? r : use_mapped_memory(a, base, size, page_size, false);
}

int arbiter_attach_private(struct arbiter *a, uint32_t page_size)
{
	void *base;

	if (a->smb.base)
		return -EALREADY;
	base = mmap(NULL, ARBITER_PRIVATE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	return use_mapped_memory(a, base, ARBITER_PRIVATE_BYTES, page_size, true);
}

static void discard_commits(struct arbiter *a)
{
	atomic_store_explicit(&a->attached, false, memory_order_release);
	a->batch.n_moves = a->batch.n_patches = 0;
	a->batch.flush_id = 0;
	a->n_patchable = 0;
}

void arbiter_detach(struct arbiter *a)
{
	pthread_mutex_lock(&a->lock);
	discard_commits(a);
	pthread_mutex_unlock(&a->lock);
}

void arbiter_after_fork_in_child(struct arbiter *a)
{
	pthread_mutex_init(&a->lock, NULL);
	discard_commits(a);
	/* Writers of the child may hold pointers into the parent's chunks. If the kernel has no
	 * memory to put in their place, the child ends: it must not write into the parent's. */
	if (a->smb.base && mmap(a->smb.base, a->mapped, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
}

void arbiter_set_target_buffer(struct arbiter *a, uint16_t target_buffer)
{
	pthread_mutex_lock(&a->lock);
	a->keeps = false;
	a->batch.retargets = true;
	a->batch.target_buffer = target_buffer;
	pthread_mutex_unlock(&a->lock);
}

void arbiter_patch_in_place(struct arbiter *a, bool yes)
{
	pthread_mutex_lock(&a->lock);
	a->in_place = yes;
	pthread_mutex_unlock(&a->lock);
}

/* ---- released chunks ---- */

static void push_released_chunk(struct arbiter *a, const struct commit_move *move)
{
	uint32_t n = move->chunk.page * SMB_MAX_CHUNKS + move->chunk.index;
	uint32_t top = atomic_load_explicit(&a->top, memory_order_relaxed);
	struct released *g = &a->released[n];

	/* The chunk is already on the stack if a service breaks the rules and frees a chunk that
	 * was not sent. The chunk is then lost. */
	if (atomic_exchange_explicit(&g->waits, true, memory_order_acquire))
		return;
	g->move = *move;
	do
		g->next = top;
	while (!atomic_compare_exchange_weak_explicit(&a->top, &top, n + 1, memory_order_acq_rel,
						      memory_order_relaxed));
}

/* Notifies the owner that chunks wait, unless it was notified already. The exchanges in
 * push_released_chunk() and pop_all_released_chunks() order this after the store of NOT_DUE that
 * precedes pop_all_released_chunks(), so that no chunk stays on the stack. */
static void notify_owner(struct arbiter *a)
{
	uint64_t bytes = atomic_load_explicit(&a->released_bytes, memory_order_relaxed);
	int due = bytes >= a->mapped / 2 ? URGENT : DUE;

	if (atomic_load_explicit(&a->due, memory_order_relaxed) < due &&
	    atomic_exchange_explicit(&a->due, due, memory_order_acq_rel) < due)
		a->ops->schedule(a->ctx, due == URGENT);
}

/* Empties the stack. Returns the number, plus 1, of the chunk that was released first. */
static uint32_t pop_all_released_chunks(struct arbiter *a)
{
	uint32_t n = atomic_exchange_explicit(&a->top, 0, memory_order_acq_rel), next, first = 0;

	for (; n; n = next) {
		struct released *g = &a->released[n - 1];

		next = g->next;
		g->next = first;
		first = n;
	}
	return first;
}

/* ---- commits; a->lock is held ---- */

/* Frees the first n chunks of the batch, which were sent inline. */
static void free_chunks_sent_inline(struct arbiter *a, uint32_t n)
{
	struct smb_chunk c;

	for (uint32_t i = 0; i < n; i++)
		if (smb_acquire_complete(&a->smb, a->batch.moves[i].chunk.page,
					 a->batch.moves[i].chunk.index, &c))
			smb_release_free(&a->smb, &c);
}

static void send_commit_batch(struct arbiter *a)
{
	uint32_t n = a->batch.n_moves;

	if (commit_batch_empty(&a->batch))
		return;
	if (commit_batch_send(&a->batch, a->ops->commit, a->ctx) < 0)
		discard_commits(a);
	else if (a->is_private)
		free_chunks_sent_inline(a, n);
}

/* Completes the chunks that can no longer be patched in place. They then belong to the service. */
static void complete_patchable(struct arbiter *a)
{
	for (uint32_t i = 0; i < a->n_patchable; i++)
		smb_release_complete(&a->smb, a->patchable[i].chunk.page,
				     a->patchable[i].chunk.index);
	a->n_patchable = 0;
}

/* Sends the released chunks, and the batch with all that waits in it. No-op while commits are
 * withheld. a->lock is held. */
static void commit_released_chunks(struct arbiter *a)
{
	uint32_t next;

	if (a->keeps)
		return;
	atomic_store_explicit(&a->due, NOT_DUE, memory_order_relaxed);
	if (!arbiter_is_attached(a))
		return;
	complete_patchable(a);
	atomic_store_explicit(&a->released_bytes, 0, memory_order_relaxed);
	for (uint32_t n = pop_all_released_chunks(a); n; n = next) {
		struct released *g = &a->released[n - 1];

		next = g->next;
		commit_batch_add(&a->batch, &g->move);
		atomic_store_explicit(&g->waits, false, memory_order_release);
	}
	send_commit_batch(a);
}

static bool arbiter_is_choked(const struct arbiter *a)
{
	return a->is_private && a->ops->is_choked && a->ops->is_choked(a->ctx);
}

/* ---- commits ---- */

void arbiter_commit(struct arbiter *a)
{
	pthread_mutex_lock(&a->lock);
	commit_released_chunks(a);
	pthread_mutex_unlock(&a->lock);
}

bool arbiter_commit_due(struct arbiter *a)
{
	bool choked = arbiter_is_choked(a);

	if (!choked)
		arbiter_commit(a);
	return !choked;
}

/* Commits for a thread that waits for memory, unless another thread is committing. */
static void commit_to_free_memory(struct arbiter *a)
{
	if (arbiter_is_choked(a) || pthread_mutex_trylock(&a->lock) != 0)
		return;
	commit_released_chunks(a);
	pthread_mutex_unlock(&a->lock);
}

void arbiter_ack_flush(struct arbiter *a, uint64_t flush_id)
{
	pthread_mutex_lock(&a->lock);
	a->batch.flush_id = MAX(a->batch.flush_id, flush_id);
	pthread_mutex_unlock(&a->lock);
	if (!arbiter_commit_due(a))
		a->ops->schedule(a->ctx, false);
}

/* Keeps a chunk open so that it can be patched in place. Returns false if it must be patched by
 * messages instead. */
static bool keep_chunk_for_patching(struct arbiter *a, const struct smb_chunk *chunk,
				    const struct smb_chunk_header *header)
{
	bool kept;

	pthread_mutex_lock(&a->lock);
	kept = a->in_place && a->n_patchable < PATCHABLE_MAX;
	if (kept)
		a->patchable[a->n_patchable++] = (struct patchable){
			.chunk = *chunk,
			.chunk_id = header->chunk_id,
			.writer_id = header->writer_id,
		};
	pthread_mutex_unlock(&a->lock);
	return kept;
}

void arbiter_release_chunk(struct arbiter *a, const struct smb_chunk *chunk,
			   const struct smb_chunk_header *header, uint16_t target_buffer)
{
	struct commit_move m = {
		.chunk = *chunk,
		.chunk_id = header->chunk_id,
		.writer_id = header->writer_id,
		.target_buffer = target_buffer,
	};

	if (!arbiter_is_attached(a))
		return;
	if (!(header->flags & SMB_NEEDS_PATCHING && keep_chunk_for_patching(a, chunk, header)) &&
	    !smb_release_complete(&a->smb, chunk->page, chunk->index))
		return; /* another process rewrote the page; the chunk is lost */
	push_released_chunk(a, &m);
	atomic_fetch_add_explicit(&a->released_bytes, chunk->payload_size + SMB_CHUNK_HEADER,
				  memory_order_relaxed);
	notify_owner(a);
}

/* Patches a patchable chunk, and completes it with its last patch. Returns false for other
 * chunks. */
static bool patch_in_place(struct arbiter *a, const struct chunk_patch *p)
{
	struct smb_chunk_header header;
	struct patchable *h = NULL;

	/* Newest first: a chunk is usually patched soon after it was released. */
	for (uint32_t i = a->n_patchable; i-- > 0 && !h;)
		if (a->patchable[i].writer_id == p->writer_id &&
		    a->patchable[i].chunk_id == p->chunk_id)
			h = &a->patchable[i];
	if (!h)
		return false;
	memcpy(h->chunk.payload + p->offset, p->data, sizeof(p->data));
	if (p->more)
		return true;
	header = smb_header_load(h->chunk.header);
	smb_header_store_packets(h->chunk.header, header.count, header.flags & ~SMB_NEEDS_PATCHING);
	smb_release_complete(&a->smb, h->chunk.page, h->chunk.index);
	*h = a->patchable[--a->n_patchable];
	return true;
}

void arbiter_add_patch(struct arbiter *a, const struct chunk_patch *patch)
{
	bool waits = false;

	pthread_mutex_lock(&a->lock);
	if (arbiter_is_attached(a) && !patch_in_place(a, patch)) {
		if (commit_batch_full(&a->batch))
			commit_released_chunks(a);
		/* Commits are withheld: there is no room for the patch. */
		if (commit_batch_full(&a->batch))
			discard_commits(a);
		if (arbiter_is_attached(a)) {
			commit_batch_add_patch(&a->batch, patch);
			waits = true;
		}
	}
	pthread_mutex_unlock(&a->lock);
	if (waits)
		notify_owner(a);
}

/* ---- free chunks ---- */

/* Takes a free chunk of the page, which is partitioned first if necessary. Returns false if it has
 * none. */
static bool acquire_chunk_in_page(struct arbiter *a, uint32_t page,
				  const struct smb_chunk_header *header, struct smb_chunk *ret)
{
	uint32_t word = smb_load_word(&a->smb, page), n;

	if (word == 0) {
		if (smb_acquire_page(&a->smb, page, a->layout, header, ret))
			return true;
		word = smb_load_word(&a->smb, page); /* another thread was faster */
	}
	/* A partitioned page keeps its layout. */
	n = smb_layout_chunks(smb_word_layout(word));
	for (uint32_t i = 0; i < n; i++)
		if (smb_word_state(word, i) == SMB_FREE &&
		    smb_acquire_free(&a->smb, page, i, header, ret))
			return true;
	return false;
}

/* Takes a free chunk of any page, beginning with the page of the last one. Returns false if there
 * is none. A success clears a->starved. */
static bool acquire_any_chunk(struct arbiter *a, const struct smb_chunk_header *header,
			      struct smb_chunk *ret)
{
	uint32_t page = atomic_load_explicit(&a->next_page, memory_order_relaxed);

	for (uint32_t i = 0; i < a->smb.n_pages; i++) {
		if (acquire_chunk_in_page(a, page, header, ret)) {
			atomic_store_explicit(&a->next_page, page, memory_order_relaxed);
			if (atomic_load_explicit(&a->starved, memory_order_relaxed))
				atomic_store_explicit(&a->starved, false, memory_order_relaxed);
			return true;
		}
		if (++page == a->smb.n_pages)
			page = 0;
	}
	return false;
}

/* Returns true if the service owns a chunk, which it will free. Otherwise, all chunks are open in
 * our own writers. */
static bool service_owns_chunk(const struct arbiter *a)
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

/* Waits, with growing intervals, until the service frees a chunk, and acquires it. Returns false
 * after a timeout, if the connection is lost, or if the service owns no chunk. The thread that
 * waits may be the owner's loop, so pending data is sent from here. The total wait is bounded for
 * all writers: after a timeout every writer drops at once until a chunk is free. */
static bool wait_for_free_chunk(struct arbiter *a, const struct smb_chunk_header *header,
				uint32_t wait_ms, struct smb_chunk *ret)
{
	NO_CANCEL();
	uint64_t deadline = clock_mono_ns() + MIN(wait_ms, a->stall_ms) * NS_PER_MS;
	uint32_t us = STALL_FIRST_US;

	while (arbiter_is_attached(a) && a->ops->drain(a->ctx, STALL_DRAIN_MS) != -EPIPE) {
		commit_to_free_memory(a);
		if (acquire_any_chunk(a, header, ret))
			return true;
		if (!service_owns_chunk(a))
			return false;
		if (clock_mono_ns() >= deadline)
			break;
		usleep(us);
		us = MIN((us + 1) * 8, STALL_MAX_US);
	}
	if (wait_ms >= a->stall_ms)
		atomic_store_explicit(&a->starved, true, memory_order_relaxed);
	return false;
}

bool arbiter_acquire_chunk(struct arbiter *a, const struct smb_chunk_header *header,
			   uint32_t wait_ms, struct smb_chunk *ret)
{
	if (!arbiter_is_attached(a))
		return false;
	if (acquire_any_chunk(a, header, ret))
		return true;
	commit_to_free_memory(a);
	if (wait_ms && !atomic_load_explicit(&a->starved, memory_order_relaxed))
		return wait_for_free_chunk(a, header, wait_ms, ret);
	return arbiter_is_attached(a) && acquire_any_chunk(a, header, ret);
}

struct arbiter_yielding *arbiter_get_yielding(struct arbiter *a)
{
	return &a->yielding;
}

bool arbiter_has_reserve(const struct arbiter *a)
{
	uint32_t n = 0;

	for (uint32_t page = 0; page < a->smb.n_pages; page++)
		n += smb_load_word(&a->smb, page) == 0;
	return n > a->smb.n_pages / 4;
}

/* ---- writer ids ---- */

uint16_t arbiter_add_writer(struct arbiter *a, uint16_t target_buffer)
{
	uint16_t id = 0;

	pthread_mutex_lock(&a->lock);
	for (uint32_t i = 1; i <= SMB_MAX_WRITER_ID + 1 && !id; i++) {
		uint32_t next = (a->last_id + i) & SMB_MAX_WRITER_ID;

		if (!(a->ids[next / 64] >> next % 64 & 1))
			id = (uint16_t)next;
	}
	if (id) {
		a->ids[id / 64] |= 1ull << id % 64;
		a->last_id = id;
		a->ops->writer_added(a->ctx, id, target_buffer);
	}
	pthread_mutex_unlock(&a->lock);
	return id;
}

void arbiter_remove_writer(struct arbiter *a, uint16_t writer_id)
{
	pthread_mutex_lock(&a->lock);
	assert(writer_id && a->ids[writer_id / 64] >> writer_id % 64 & 1);
	commit_released_chunks(a);
	a->ids[writer_id / 64] &= ~(1ull << writer_id % 64);
	a->ops->writer_removed(a->ctx, writer_id);
	pthread_mutex_unlock(&a->lock);
}
