/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/chunk_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/lower_bound.h"

/*
 * Nearly every chunk is committed in the order of its id, so its ref is appended to the array. The
 * ref of a late chunk is inserted: the refs before it move down or those after it move up,
 * whichever are fewer.
 *
 *      array   | free | 3 4 5 8 9 ... | free |
 *                     ^ head          ^ head + n
 *
 * If one end has no free part left, all refs are moved within the array, as long as a quarter of it
 * is free. So one move serves many insertions, in any order.
 *
 * Ids wrap, so they are compared as distances from the first:
 *
 *      ids        fffffffe  ffffffff  0  1  5
 *      distance          0         1  2  3  7       always below 2^31
 */

#define HALF (1u << 31)
#define FIRST_CAP 8u

void tb_refs_deinit(struct tb_refs *r)
{
	free(r->array);
	*r = (struct tb_refs){0};
}

int tb_refs_copy(const struct tb_refs *r, struct tb_refs *to)
{
	struct tb_ref *array;

	if (r->n == 0)
		return 0;
	array = malloc(r->cap * sizeof(*array));
	if (!array)
		return -ENOMEM;
	memcpy(array, tb_refs_at(r, 0), r->n * sizeof(*array));
	*to = (struct tb_refs){.array = array, .n = r->n, .cap = r->cap};
	return 0;
}

bool tb_refs_can_insert(const struct tb_refs *r, uint32_t chunk_id)
{
	return r->n == 0 || chunk_id - tb_refs_at(r, 0)->chunk_id < HALF ||
	       tb_refs_at(r, r->n - 1)->chunk_id - chunk_id < HALF;
}

static uint32_t find_upper_by_bisection(const struct tb_refs *r, uint32_t chunk_id)
{
	uint32_t first = tb_refs_at(r, 0)->chunk_id;

	if (chunk_id - first >= HALF)
		return 0;
	return LOWER_BOUND(i, 0, r->n, tb_refs_at(r, i)->chunk_id - first <= chunk_id - first);
}

uint32_t tb_refs_upper_bound(const struct tb_refs *r, uint32_t chunk_id)
{
	if (r->n == 0 || chunk_id - tb_refs_at(r, r->n - 1)->chunk_id < HALF)
		return r->n;
	return find_upper_by_bisection(r, chunk_id);
}

/* ---- room ---- */

static int chunk_index_grow(struct tb_refs *r)
{
	uint32_t cap = r->cap ? r->cap * 2 : FIRST_CAP;
	struct tb_ref *array = realloc(r->array, cap * sizeof(*array));

	if (!array)
		return -ENOMEM;
	r->array = array;
	r->cap = cap;
	return 0;
}

static void move_refs_to(struct tb_refs *r, uint32_t head)
{
	memmove(&r->array[head], tb_refs_at(r, 0), r->n * sizeof(*r->array));
	r->head = head;
}

/* Makes room for one element at an end. Returns 0 or -ENOMEM. */
static int chunk_index_make_room(struct tb_refs *r, bool in_front)
{
	if (in_front ? r->head > 0 : r->head + r->n < r->cap)
		return 0;
	if (r->n >= r->cap - r->cap / 4 && chunk_index_grow(r))
		return -ENOMEM;
	move_refs_to(r, in_front ? (r->cap - r->n + 1) / 2 : 0);
	return 0;
}

int tb_refs_insert(struct tb_refs *r, uint32_t i, struct tb_ref ref)
{
	bool in_front = i < r->n - i;

	assert(i <= r->n);
	if (chunk_index_make_room(r, in_front))
		return -ENOMEM;
	if (in_front) {
		memmove(tb_refs_at(r, 0) - 1, tb_refs_at(r, 0), i * sizeof(ref));
		r->head--;
	} else if (i < r->n) {
		memmove(tb_refs_at(r, i + 1), tb_refs_at(r, i), (r->n - i) * sizeof(ref));
	}
	r->n++;
	*tb_refs_at(r, i) = ref;
	return 0;
}

void tb_refs_pop_front(struct tb_refs *r)
{
	assert(r->n > 0);
	r->n--;
	r->head = r->n ? r->head + 1 : 0;
}
