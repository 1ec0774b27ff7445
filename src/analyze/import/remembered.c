/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/remembered.h"

#include <stdlib.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct remembered_key {
	uint64_t kind, machine, key;
};

struct remembered {
	struct remembered_key key;
	int64_t value;
	UT_hash_handle hh;
};

int64_t *import_remembered(struct import *im, const struct machine *m, enum remembered_kind kind,
			   uint64_t key)
{
	struct remembered_key k = {.kind = kind, .machine = m->row, .key = key};
	struct remembered *r;

	HASH_FIND(hh, im->remembered, &k, sizeof(k), r);
	if (r)
		return &r->value;
	r = budget_alloc(&im->store->budget, sizeof(*r));
	if (r)
		r->key = k;
	r = BUDGET_HASH_ADD(&im->store->budget, im->remembered, key, r);
	if (!r)
		return NULL;
	im->n_remembered[kind]++;
	return &r->value;
}

_Static_assert(REMEMBERED_KINDS <= ARRAY_SIZE(((struct import *)0)->n_remembered), "kinds");

uint32_t import_remembered_count(const struct import *im, enum remembered_kind kind)
{
	return im->n_remembered[kind];
}

void remembered_deinit(struct import *im)
{
	HASH_FREE(im->remembered);
}

/* ---- rows ---- */

struct row_node {
	struct row_key key;
	uint32_t row;
	UT_hash_handle hh;
};

uint32_t row_keys_find(const struct import *im, const struct row_key *key)
{
	struct row_node *n;

	HASH_FIND(hh, im->row_nodes, key, sizeof(*key), n);
	return n ? n->row : NULL_U32;
}

uint32_t row_keys_add(struct import *im, const struct row_key *key, uint32_t row)
{
	struct row_node *n = budget_alloc(&im->store->budget, sizeof(*n));

	if (n)
		*n = (struct row_node){.key = *key, .row = row};
	BUDGET_HASH_ADD(&im->store->budget, im->row_nodes, key, n);
	return row;
}

void row_keys_deinit(struct import *im)
{
	HASH_FREE(im->row_nodes);
}
