/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every state change is one compare-and-exchange of the page's header word, from a value that was
 * loaded once and checked. The exchange fails if the other side has changed one of its own chunks
 * of the page; then the new value is checked from the start.
 */
#include "wire/smb.h"

#include <sched.h>

#define MAX_TRIES 64u /* exchanges until the other side is considered hostile */
#define ALL_STATES 0x0fffffffu

struct smb_chunk smb_chunk_at(const struct smb *m, uint32_t page, uint32_t layout, uint32_t index)
{
	uint32_t size = smb_chunk_size(m->page_size, layout);
	uint8_t *p = (uint8_t *)smb_page(m, page) + SMB_PAGE_HEADER + (size_t)index * size;

	return (struct smb_chunk){
		.header = (struct smb_shared_header *)p,
		.payload = p + SMB_CHUNK_HEADER,
		.payload_size = size - SMB_CHUNK_HEADER,
		.page = page,
		.index = index,
	};
}

/* Changes the state of one chunk from `from` to `to`, and returns its view in *ret_chunk (may be
 * NULL). The other side may change its own chunks of the page at the same time, so the exchange is
 * retried a bounded number of times. Returns false, with nothing changed, if the layout lacks the
 * chunk, the chunk is in another state, or every exchange failed. A process that violates the rules
 * can lose only its own data. page and index are untrusted. */
static bool smb_change_state(const struct smb *m, uint32_t page, uint32_t index,
			     enum smb_state from, enum smb_state to, struct smb_chunk *ret_chunk)
{
	uint32_t word;

	if (page >= m->n_pages || index >= SMB_MAX_CHUNKS)
		return false;
	word = smb_load_word(m, page);
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		uint32_t layout = smb_word_layout(word), next;

		if (index >= smb_layout_chunks(layout) || smb_word_state(word, index) != from)
			return false;
		next = (word & ~(3u << 2 * index)) | (uint32_t)to << 2 * index;
		/* Freeing the last chunk also clears the layout. */
		if (to == SMB_FREE && (next & ALL_STATES) == 0)
			next = 0;
		if (smb_exchange_word(m, page, &word, next)) {
			if (ret_chunk)
				*ret_chunk = smb_chunk_at(m, page, layout, index);
			return true;
		}
		if (i >= MAX_TRIES / 2)
			sched_yield();
	}
	return false;
}

bool smb_partition(const struct smb *m, uint32_t page, enum smb_layout layout)
{
	uint32_t expected = 0;

	return smb_exchange_word(m, page, &expected, (uint32_t)layout << 28);
}

/* A scraper reads ids only of chunks with packets, so store packets last, with release. */
static void store_header(const struct smb_chunk *c, const struct smb_chunk_header *header)
{
	smb_header_store_ids(c->header, header->writer_id, header->chunk_id);
	smb_header_store_packets(c->header, header->count, header->flags);
}

bool smb_acquire_page(const struct smb *m, uint32_t page, enum smb_layout layout,
		      const struct smb_chunk_header *header, struct smb_chunk *ret_chunk)
{
	uint32_t expected = 0;

	if (!smb_exchange_word(m, page, &expected, (uint32_t)layout << 28 | SMB_BEING_WRITTEN))
		return false;
	*ret_chunk = smb_chunk_at(m, page, layout, 0);
	store_header(ret_chunk, header);
	return true;
}

bool smb_acquire_free(const struct smb *m, uint32_t page, uint32_t index,
		      const struct smb_chunk_header *header, struct smb_chunk *ret_chunk)
{
	if (!smb_change_state(m, page, index, SMB_FREE, SMB_BEING_WRITTEN, ret_chunk))
		return false;
	store_header(ret_chunk, header);
	return true;
}

bool smb_release_complete(const struct smb *m, uint32_t page, uint32_t index)
{
	return smb_change_state(m, page, index, SMB_BEING_WRITTEN, SMB_COMPLETE, NULL);
}

bool smb_acquire_complete(const struct smb *m, uint32_t page, uint32_t index,
			  struct smb_chunk *ret_chunk)
{
	return smb_change_state(m, page, index, SMB_COMPLETE, SMB_BEING_READ, ret_chunk);
}

bool smb_release_free(const struct smb *m, const struct smb_chunk *chunk)
{
	/* Before the state change: after it the producer may write its own header. */
	smb_header_store_ids(chunk->header, 0, 0);
	smb_header_store_packets(chunk->header, 0, 0);
	return smb_change_state(m, chunk->page, chunk->index, SMB_BEING_READ, SMB_FREE, NULL);
}
