/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/smb_layout.h"

/*
 * The header words of the shared memory, and the state transitions that wire/smb_layout.h allows.
 * All memory ordering between the two processes is in this file.
 */

struct smb_shared_header {
	_Atomic uint32_t chunk_id;
	_Atomic uint16_t writer_id;
	_Atomic uint16_t packets;
};
_Static_assert(sizeof(struct smb_shared_header) == SMB_CHUNK_HEADER, "ABI");
_Static_assert(offsetof(struct smb_shared_header, writer_id) == 4, "ABI");
_Static_assert(offsetof(struct smb_shared_header, packets) == 6, "ABI");

struct smb_page_header {
	_Atomic uint32_t word;
	uint32_t reserved;
};
_Static_assert(sizeof(struct smb_page_header) == SMB_PAGE_HEADER, "ABI");

static inline struct smb_page_header *smb_page(const struct smb *m, uint32_t page)
{
	return (struct smb_page_header *)(m->base + (size_t)page * m->page_size);
}

/* Returns the header word. Pairs with smb_exchange_word(): the data that the other side wrote
 * before a state change is visible. */
static inline uint32_t smb_load_word(const struct smb *m, uint32_t page)
{
	return atomic_load_explicit(&smb_page(m, page)->word, memory_order_acquire);
}

/* Replaces the header word by `word` and returns true if it equals *expected; else loads it into
 * *expected. acq_rel: earlier writes into a chunk are visible to a process that sees its new
 * state. */
static inline bool smb_exchange_word(const struct smb *m, uint32_t page, uint32_t *expected,
				     uint32_t word)
{
	return atomic_compare_exchange_strong_explicit(&smb_page(m, page)->word, expected, word,
						       memory_order_acq_rel, memory_order_acquire);
}

/* ---- chunk headers ---- */

/* Publishes the fragments written so far; pairs with the acquire in smb_header_load(). */
static inline void smb_header_store_packets(struct smb_shared_header *h, uint16_t count,
					    uint8_t flags)
{
	atomic_store_explicit(&h->packets, (uint16_t)(count | flags << 10), memory_order_release);
}

/* Sets the ids of a chunk that was just taken. Readers ignore them before
 * smb_header_store_packets(). */
static inline void smb_header_store_ids(struct smb_shared_header *h, uint16_t writer_id,
					uint32_t chunk_id)
{
	atomic_store_explicit(&h->writer_id, writer_id, memory_order_relaxed);
	atomic_store_explicit(&h->chunk_id, chunk_id, memory_order_relaxed);
}

/* Returns a copy of the header; the fragments that it counts are visible. */
static inline struct smb_chunk_header smb_header_load(const struct smb_shared_header *h)
{
	uint16_t packets = atomic_load_explicit(&h->packets, memory_order_acquire);

	return (struct smb_chunk_header){
		.chunk_id = atomic_load_explicit(&h->chunk_id, memory_order_relaxed),
		.writer_id = atomic_load_explicit(&h->writer_id, memory_order_relaxed),
		.count = packets & SMB_MAX_PACKETS,
		.flags = packets >> 10 & SMB_CHUNK_FLAGS,
	};
}

/* Returns the view of a chunk in a page of this layout; page and index must be in range. */
struct smb_chunk smb_chunk_at(const struct smb *m, uint32_t page, uint32_t layout, uint32_t index);

/* ---- state changes; each returns false if the chunk is not in the initial state ---- */

/* Producer: partitions a free page; page must be in range, layout must have chunks. */
bool smb_partition(const struct smb *m, uint32_t page, enum smb_layout layout);
/* Producer: partitions a free page and takes its first chunk, in one exchange. */
bool smb_acquire_page(const struct smb *m, uint32_t page, enum smb_layout layout,
		      const struct smb_chunk_header *header, struct smb_chunk *ret_chunk);
/* Producer: takes a free chunk of a partitioned page and writes its header. */
bool smb_acquire_free(const struct smb *m, uint32_t page, uint32_t index,
		      const struct smb_chunk_header *header, struct smb_chunk *ret_chunk);
/* Producer: passes a written chunk to the service. */
bool smb_release_complete(const struct smb *m, uint32_t page, uint32_t index);
/* Service: takes a complete chunk. page and index come from the producer and are untrusted. */
bool smb_acquire_complete(const struct smb *m, uint32_t page, uint32_t index,
			  struct smb_chunk *ret_chunk);
/* Service: clears the header and frees the chunk. A page whose chunks are all free becomes
 * unpartitioned. */
bool smb_release_free(const struct smb *m, const struct smb_chunk *chunk);
