/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/remembered.h"

#include <errno.h>
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
	r = budget_take(&im->store->budget, sizeof(*r)) ? malloc(sizeof(*r)) : NULL;
	if (r) {
		*r = (struct remembered){.key = k};
		HASH_ADD(hh, im->remembered, key, sizeof(r->key), r);
		if (r->hh.tbl) {
			im->n_remembered[kind]++;
			return &r->value;
		}
	}
	free(r);
	if (!im->store->budget.error)
		im->store->budget.error = -ENOMEM;
	return NULL;
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
