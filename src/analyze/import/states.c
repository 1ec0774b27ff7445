/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "analyze/store/table_defs.h"
#include "base/core/mem.h"

/* The state of a track. */
struct open_state {
	bool open;
	uint32_t row; /* of TABLE_STATE */
	struct arg_builder args; /* owned: stored when the value ends */
};

static struct open_state *states_get_state(struct import *im, uint32_t track)
{
	size_t n = im->cap_open_states;

	if (track >= n) {
		if (array_reserve(&im->open_states, &im->cap_open_states, (size_t)track + 1,
				  sizeof(*im->open_states))) {
			im->store->budget.error = -ENOMEM;
			return NULL;
		}
		memset(im->open_states + n, 0,
		       (im->cap_open_states - n) * sizeof(*im->open_states));
	}
	return &im->open_states[track];
}

static void store_args_of_state(struct import *im, struct open_state *o)
{
	if (o->open && o->args.n)
		table_set_u32(import_table(im, TABLE_STATE), TRACK_STATE_ARGS, o->row,
			      arg_sets_add(im->store, &o->args));
}

static void close_state(struct import *im, struct open_state *o, int64_t ts)
{
	struct table *t = import_table(im, TABLE_STATE);
	int64_t begin = table_ts(t, TRACK_STATE_TS, o->row);

	table_set_dur(t, TRACK_STATE_DUR, o->row, ts - begin);
	import_extend_bounds_to_span(im, begin, ts - begin);
	store_args_of_state(im, o);
	o->open = false;
}

static uint32_t add_state_row(struct import *im, int64_t ts, uint32_t track, uint32_t value)
{
	struct table *t = import_table(im, TABLE_STATE);
	uint32_t row = table_append(t);

	table_set_ts(t, TRACK_STATE_TS, row, ts);
	table_set_dur(t, TRACK_STATE_DUR, row, -1);
	table_set_u32(t, TRACK_STATE_TRACK, row, track);
	table_set_u32(t, TRACK_STATE_VALUE, row, value);
	table_set_u32(t, TRACK_STATE_ARGS, row, NULL_U32);
	import_extend_bounds_to_span(im, ts, -1);
	return row;
}

void states_set(struct import *im, int64_t ts, uint32_t track, uint32_t value,
		struct arg_builder *args)
{
	const struct table *t = import_table(im, TABLE_STATE);
	struct open_state *o = states_get_state(im, track);

	if (o && o->open && table_u32(t, TRACK_STATE_VALUE, o->row) != value)
		close_state(im, o, ts);
	if (o && !o->open && value != NULL_U32) {
		o->row = add_state_row(im, ts, track, value);
		o->open = true;
	}
	for (size_t i = 0; o && o->open && i < args->n; i++)
		arg_builder_add(im->store, &o->args, &args->args[i]);
	args->n = 0;
}

void states_finish(struct import *im)
{
	for (size_t i = 0; i < im->cap_open_states; i++)
		store_args_of_state(im, &im->open_states[i]);
}

void states_deinit(struct import *im)
{
	for (size_t i = 0; i < im->cap_open_states; i++)
		free(im->open_states[i].args.args);
	free(im->open_states);
}
