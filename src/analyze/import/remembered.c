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
