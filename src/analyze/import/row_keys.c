/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/row_keys.h"

#include <stdlib.h>

#include "base/core/hash_table.h"

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
