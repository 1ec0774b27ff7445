/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/flows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"

struct open_flow {
	uint64_t id;
	uint32_t slice; /* where the next arrow comes from */
	UT_hash_handle hh;
};

/* The arrow points from the earlier slice to the later one. */
static void flows_add_row(struct import *im, int64_t id, uint32_t from, uint32_t to)
{
	const struct table *slices = import_table(im, TABLE_SLICE);
	struct table *t = import_table(im, TABLE_FLOW);
	uint32_t row;

	if (table_ts(slices, SLICE_TS, to) < table_ts(slices, SLICE_TS, from)) {
		uint32_t later = from;

		from = to;
		to = later;
	}
	row = table_append(t);
	table_set_u32(t, FLOW_OUT, row, from);
	table_set_u32(t, FLOW_IN, row, to);
	table_set_i64(t, FLOW_TRACE_ID, row, id);
	table_set_u32(t, FLOW_ARGS, row, NULL_U32);
}

static struct open_flow *flows_find(struct import *im, uint64_t id)
{
	struct open_flow *f;

	HASH_FIND(hh, im->flows, &id, sizeof(id), f);
	return f;
}

bool flows_begin(struct import *im, uint64_t id, uint32_t slice)
{
	struct open_flow *f;

	if (flows_find(im, id))
		return false;
	f = budget_alloc(&im->store->budget, sizeof(*f));
	if (f)
		*f = (struct open_flow){.id = id, .slice = slice};
	BUDGET_HASH_ADD(&im->store->budget, im->flows, id, f);
	return true;
}

bool flows_add_arrow(struct import *im, uint64_t id, uint32_t slice, enum flow_next next)
{
	struct open_flow *f = flows_find(im, id);

	if (!f)
		return false;
	flows_add_row(im, (int64_t)id, f->slice, slice);
	if (next == FLOW_FROM_HERE)
		f->slice = slice;
	if (next != FLOW_ENDS)
		return true;
	HASH_DEL(im->flows, f);
	free(f);
	im->store->budget.used -= sizeof(*f);
	return true;
}

void flows_connect(struct import *im, uint32_t from, uint32_t to)
{
	flows_add_row(im, NULL_I64, from, to);
}

void flows_deinit(struct import *im)
{
	HASH_FREE(im->flows);
}
