/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/trace_buffer_seq.h"

#include <string.h>

/*
 * How it works: a producer fills in the lengths of nested messages after their chunk has gone.
 * The offset counts from the start of the chunk's payload, of which a record may hold only a part
 * (the chunk was scraped while it grew):
 *
 *      chunk      0 ............ base ............. base + used
 *      records    | header | ... | header | ... ^^^^ patch |
 *
 * A patch may hit a fragment's size as well as its contents; what is read is checked again there.
 */

#define PATCH_SIZE sizeof(((struct trace_buffer_patch *)0)->data)

/* Where the bytes lie; NULL: not in one of the chunk's unread records. i: ref of its last one. */
static uint8_t *find_bytes(const struct trace_buffer *b, const struct tb_seq *s, uint32_t i,
			   uint32_t offset)
{
	uint32_t chunk_id = tb_refs_at(&s->refs, i)->chunk_id;

	for (;; i--) {
		struct tb_record *rec = tb_seq_record(b, s, i);

		if (offset >= rec->base) {
			uint64_t end = (uint64_t)offset - rec->base + PATCH_SIZE;

			return end <= rec->used ? tb_payload(rec) + (offset - rec->base) : NULL;
		}
		if (i == 0 || tb_refs_at(&s->refs, i - 1)->chunk_id != chunk_id)
			return NULL;
	}
}

static bool apply(const struct trace_buffer *b, const struct tb_seq *s, uint32_t i,
		  const struct trace_buffer_patch *patches, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		uint8_t *p = find_bytes(b, s, i, patches[k].offset);

		if (!p)
			return false;
		memcpy(p, patches[k].data, PATCH_SIZE);
	}
	return true;
}

void trace_buffer_apply_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
				uint32_t chunk_id, const struct trace_buffer_patch *patches,
				size_t n, bool more)
{
	struct tb_seq *s = tb_seq_find(b, producer_id, writer_id);
	/* A writer that ended sends no patches: they are of a later one with its id, of which no
	 * chunk was taken. */
	uint32_t i = s && !s->ended ? tb_refs_upper(&s->refs, chunk_id) : 0;

	if (i == 0 || tb_refs_at(&s->refs, i - 1)->chunk_id != chunk_id) {
		b->stats.patches_failed++;
		return;
	}
	s->begun = 0;
	if (!apply(b, s, i - 1, patches, n)) {
		b->stats.patches_failed++;
		return;
	}
	b->stats.patches_succeeded += n;
	if (!more) {
		tb_seq_record(b, s, i - 1)->flags &= (uint16_t)~TB_NEEDS_PATCHING & TB_ALL_FLAGS;
		tb_seq_wake(b, s);
	}
}
