/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The unread records of one sequence, by chunk id. Internal: only service/buffer includes it. */

struct tb_ref {
	uint32_t chunk_id;
	uint32_t unit; /* offset of the record, in units */
};

/* An array with room at both ends. Ids rise mod 2^32 and span less than half of it; records of one
 * chunk are neighbours, in the order of their bytes. */
struct tb_refs {
	struct tb_ref *array; /* owned */
	uint32_t head, n, cap;
};

static inline struct tb_ref *tb_refs_at(const struct tb_refs *r, uint32_t i)
{
	return &r->array[r->head + i];
}

/* Returns how many refs an insertion at i moves. */
static inline uint32_t tb_refs_count_moves(const struct tb_refs *r, uint32_t i)
{
	return i < r->n - i ? i : r->n - i;
}

void tb_refs_deinit(struct tb_refs *r);
/* Copies the refs to `to`, which has none. Returns 0 or -ENOMEM. */
int tb_refs_copy(const struct tb_refs *r, struct tb_refs *to);
/* Returns true if the order of the ids stays unambiguous with chunk_id. */
bool tb_refs_can_insert(const struct tb_refs *r, uint32_t chunk_id);
/* Returns the number of refs whose id is not after chunk_id. tb_refs_can_insert() must be true. */
uint32_t tb_refs_upper_bound(const struct tb_refs *r, uint32_t chunk_id);
/* Inserts a ref as number i, which moves tb_refs_count_moves(r, i) others. Returns 0 or -ENOMEM. */
int tb_refs_insert(struct tb_refs *r, uint32_t i, struct tb_ref ref);
void tb_refs_pop_front(struct tb_refs *r);
