/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/flows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"

struct open_flow {
	uint64_t id;
	uint32_t slice; /* the last slice of the flow */
	UT_hash_handle hh;
};

/* The arrow points from the earlier slice to the later one. */
static void add_row(struct import *im, uint64_t id, uint32_t from, uint32_t to)
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
	table_set_i64(t, FLOW_TRACE_ID, row, (int64_t)id);
	table_set_u32(t, FLOW_ARGS, row, NULL_U32);
}

static void begin(struct import *im, uint64_t id, uint32_t slice)
{
	struct open_flow *f;

	f = budget_take(&im->store->budget, sizeof(*f)) ? malloc(sizeof(*f)) : NULL;
	if (!f)
		goto fail;
	*f = (struct open_flow){.id = id, .slice = slice};
	HASH_ADD(hh, im->flows, id, sizeof(f->id), f);
	if (f->hh.tbl)
		return;
	free(f);
fail:
	if (!im->store->budget.error)
		im->store->budget.error = -ENOMEM;
}

void flows_step(struct import *im, uint64_t id, uint32_t slice)
{
	struct open_flow *f;

	HASH_FIND(hh, im->flows, &id, sizeof(id), f);
	if (!f) {
		begin(im, id, slice);
		return;
	}
	add_row(im, id, f->slice, slice);
	f->slice = slice;
}

void flows_end(struct import *im, uint64_t id, uint32_t slice)
{
	struct open_flow *f;

	HASH_FIND(hh, im->flows, &id, sizeof(id), f);
	if (!f)
		return;
	add_row(im, id, f->slice, slice);
	HASH_DEL(im->flows, f);
	free(f);
	im->store->budget.used -= sizeof(*f);
}

void flows_deinit(struct import *im)
{
	struct open_flow *f, *next;

	HASH_ITER (hh, im->flows, f, next) {
		HASH_DEL(im->flows, f);
		free(f);
	}
}
