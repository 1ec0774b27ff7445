/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/smb_layout.h"

/*
 * The memory of a trace buffer: records in a ring. Internal: only service/buffer
 * includes it.
 */

/* ---- records ---- */

#define TB_UNIT 16u /* records begin at multiples of it */
#define TB_RECORD_HEADER 16u

enum tb_flags {
	TB_FROM_PREV = SMB_CONTINUES_FROM_PREV,
	TB_ON_NEXT = SMB_CONTINUES_ON_NEXT,
	TB_NEEDS_PATCHING = SMB_NEEDS_PATCHING,
	TB_COMPLETE = 8, /* the chunk is complete */
	TB_CORRUPTED = 16, /* the chunk was malformed after this payload */
	TB_ABORTED = 32, /* the writer dropped the packet after this payload */
	TB_ALL_FLAGS = 63,
};

/* A piece of a chunk, in the ring; payload follows. */
struct tb_record {
	uint32_t chunk_id; /* of a free run: its length in units, this header included */
	uint32_t seq; /* slot of the sequence; 0: a free run without unread data */
	uint16_t used; /* bytes of payload: whole fragments */
	uint16_t read; /* bytes of payload that were read */
	uint16_t base; /* bytes of the chunk's payload in earlier records */
	uint16_t frags : 10; /* fragments of the chunk in this record and the earlier ones */
	uint16_t flags : 6;
};
_Static_assert(sizeof(struct tb_record) == TB_RECORD_HEADER, "a record is one unit and payload");

static inline uint8_t *tb_payload(struct tb_record *rec)
{
	return (uint8_t *)(rec + 1);
}

/* Returns the bytes from a record with `used` bytes of payload to the next one. */
static inline size_t tb_stride(size_t used)
{
	return (TB_RECORD_HEADER + used + TB_UNIT - 1) & ~(size_t)(TB_UNIT - 1);
}

/* Writers reserve 4 bytes for the size of a fragment and fill them in at its end, as a varint of 4
 * bytes. Returns true if p has such a varint. */
static inline bool tb_size_of_4(const uint8_t *p, uint64_t *ret)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	*ret = (v & 0x7f) | (v >> 1 & 0x7f << 7) | (v >> 2 & 0x7f << 14) | (v >> 3 & 0x7f << 21);
	return (v & 0x80808080) == 0x00808080;
}

/* ---- the ring ---- */

struct tb_ring {
	uint8_t *base;
	size_t size; /* multiple of TB_UNIT */
	bool is_large; /* the previous lap is in no cache; non-temporal copies are supported */
	uint64_t lap; /* number of wraps */
	size_t wr; /* records of this lap: [0, wr) */
	size_t old, old_end; /* remaining records of the previous lap: [old, old_end) */
};

/* A position over all laps: lap * size + offset. */
typedef uint64_t tb_position;

static inline struct tb_record *tb_record_at(const struct tb_ring *r, size_t offset)
{
	return (struct tb_record *)(r->base + offset);
}

/* Returns true if the memory at the write cursor is not in a cache: it was written a whole ring
 * ago, and the reader does not keep up. */
static inline bool tb_ring_is_uncached(const struct tb_ring *r)
{
	return r->is_large && r->old < r->old_end;
}

static inline bool tb_ring_has_old(const struct tb_ring *r)
{
	return r->old < r->old_end;
}

static inline tb_position tb_ring_position(const struct tb_ring *r, size_t offset)
{
	if (tb_ring_has_old(r) && offset >= r->old)
		return (r->lap - 1) * r->size + offset;
	return r->lap * r->size + offset;
}
