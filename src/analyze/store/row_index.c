/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/row_index.h"

#include <stdlib.h>

void row_index_free(struct row_index *x)
{
	if (!x)
		return;
	free(x->starts);
	free(x->rows);
	free(x);
}

bool row_index_find(const struct row_index *x, int64_t value, uint32_t *ret_begin,
		    uint32_t *ret_end)
{
	uint32_t n_low = x->n_values - x->n_high, v;

	if (value < 0 ||
	    value >= (value < TABLE_HIGH_VALUES ? (int64_t)n_low
						: (int64_t)TABLE_HIGH_VALUES + x->n_high))
		return false;
	v = row_index_place(x, (uint32_t)value);
	*ret_begin = x->starts[v];
	*ret_end = x->starts[v + 1];
	return true;
}
