/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Layout and state machine of the memory that one producer and the service share. Little-endian;
 * zeroed memory is valid and free. Both sides are untrusted: a word is loaded once into a local
 * variable, checked, then used.
 *
 *   memory   | page | page | page | ...                  n_pages pages of page_size bytes
 *   page     | header word | 0 | chunk | chunk | ...     1, 2, 4, 7 or 14 equal chunks
 *   chunk    | chunk_id | writer_id | packets | payload  8-byte header
 *   payload  | varint size | fragment | varint size | fragment ...
 *
 *   header word   bit 31: 0   30..28: layout   27..0: 2-bit states, chunk i in bits 2i+1..2i
 *   packets       bits 9..0: fragments begun   15..10: flags
 *
 *   word 0 --partition--> Free --acquire--> BeingWritten --release--> Complete
 *   (producer)             ^   (producer)                (producer)      | acquire (service)
 *                          +------------ release (service) -------- BeingRead
 *
 * Format: Perfetto's shared-memory ABI.
 */

#define SMB_PAGE_HEADER 8u
#define SMB_CHUNK_HEADER 8u
#define SMB_MIN_PAGE 4096u
#define SMB_MAX_PAGE 32768u /* limit of the service; the ABI allows 65536 */
#define SMB_MAX_SIZE (32u << 20)
#define SMB_MAX_CHUNKS 14u /* in a page */
#define SMB_MAX_PACKETS 1023u
#define SMB_MAX_WRITER_ID 32767u
#define SMB_PACKET_HEADER 4u /* bytes reserved for a fragment's size */
#define SMB_DROP_PACKET 0x0fffffffu /* fragment size that marks a packet to be dropped */

enum smb_layout { SMB_UNPARTITIONED, SMB_DIV1, SMB_DIV2, SMB_DIV4, SMB_DIV7, SMB_DIV14 };
enum smb_state { SMB_FREE, SMB_BEING_WRITTEN, SMB_BEING_READ, SMB_COMPLETE };

enum smb_chunk_flags {
	/* the first fragment continues a packet of the previous chunk */
	SMB_CONTINUES_FROM_PREV = 1 << 0,
	/* the last fragment continues in the next chunk */
	SMB_CONTINUES_ON_NEXT = 1 << 1,
	SMB_NEEDS_PATCHING = 1 << 2,
	SMB_CHUNK_FLAGS = 7,
};

/* A private copy of the three header fields of a chunk. */
struct smb_chunk_header {
	uint32_t chunk_id;
	uint16_t writer_id;
	uint16_t count; /* fragments begun, 0..1023 */
	uint8_t flags; /* SMB_CHUNK_FLAGS */
};

/* A view of the mapping; it owns nothing. */
struct smb {
	uint8_t *base;
	uint32_t page_size;
	uint32_t n_pages;
};

/* A view of one chunk. payload_size counts the bytes after the header. */
struct smb_chunk {
	struct smb_shared_header *header;
	uint8_t *payload;
	uint32_t payload_size;
	uint32_t page;
	uint32_t index;
};

/* Returns 0, or -EINVAL for a geometry that the ABI forbids. */
static inline int smb_init(struct smb *m, void *base, size_t size, uint32_t page_size)
{
	if (page_size < SMB_MIN_PAGE || page_size > SMB_MAX_PAGE || (page_size & (page_size - 1)))
		return -EINVAL;
	if (size < page_size || size > SMB_MAX_SIZE || size % page_size ||
	    (uintptr_t)base % SMB_MIN_PAGE)
		return -EINVAL;
	m->base = base;
	m->page_size = page_size;
	m->n_pages = (uint32_t)(size / page_size);
	return 0;
}

/* Returns the number of chunks; 0 for reserved layouts, too. */
static inline uint32_t smb_layout_chunks(uint32_t layout)
{
	static const uint8_t chunks[8] = {0, 1, 2, 4, 7, 14, 0, 0};

	return chunks[layout & 7];
}

/* Returns the bytes of a chunk, including its header; layout must have chunks. */
static inline uint32_t smb_chunk_size(uint32_t page_size, uint32_t layout)
{
	return (page_size - SMB_PAGE_HEADER) / smb_layout_chunks(layout) & ~3u;
}
_Static_assert(((4096 - SMB_PAGE_HEADER) / 14 & ~3u) == 292, "ABI");
_Static_assert(((32768 - SMB_PAGE_HEADER) / 7 & ~3u) == 4680, "ABI");

static inline uint32_t smb_word_layout(uint32_t word)
{
	return word >> 28 & 7;
}

static inline enum smb_state smb_word_state(uint32_t word, uint32_t index)
{
	return (enum smb_state)(word >> 2 * index & 3);
}
