/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace_buffer_refs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * How it works: nearly every chunk comes in the order of its id and goes at the end of the array;
 * one that comes late moves those after it up by one. Ids wrap, so they are compared as distances
 * from the first:
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

bool tb_refs_admits(const struct tb_refs *r, uint32_t chunk_id)
{
	return r->n == 0 || chunk_id - tb_refs_at(r, 0)->chunk_id < HALF ||
	       tb_refs_at(r, r->n - 1)->chunk_id - chunk_id < HALF;
}

static uint32_t upper_by_bisection(const struct tb_refs *r, uint32_t chunk_id)
{
	uint32_t first = tb_refs_at(r, 0)->chunk_id, lo = 0, hi = r->n;

	if (chunk_id - first >= HALF)
		return 0;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (tb_refs_at(r, mid)->chunk_id - first <= chunk_id - first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t tb_refs_upper(const struct tb_refs *r, uint32_t chunk_id)
{
	if (r->n == 0 || chunk_id - tb_refs_at(r, r->n - 1)->chunk_id < HALF)
		return r->n;
	return upper_by_bisection(r, chunk_id);
}

static int grow(struct tb_refs *r)
{
	uint32_t cap = r->cap ? r->cap * 2 : FIRST_CAP;
	struct tb_ref *array = malloc(cap * sizeof(*array));

	if (!array)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n; i++)
		array[i] = *tb_refs_at(r, i);
	free(r->array);
	*r = (struct tb_refs){.array = array, .n = r->n, .cap = cap};
	return 0;
}

int tb_refs_insert(struct tb_refs *r, uint32_t i, struct tb_ref ref)
{
	assert(i <= r->n);
	if (r->n == r->cap && grow(r))
		return -ENOMEM;
	r->n++;
	for (uint32_t k = r->n - 1; k > i; k--)
		*tb_refs_at(r, k) = *tb_refs_at(r, k - 1);
	*tb_refs_at(r, i) = ref;
	return 0;
}

void tb_refs_pop(struct tb_refs *r)
{
	assert(r->n > 0);
	r->head++;
	r->n--;
}
