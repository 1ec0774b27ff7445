/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"
#include "analyze/store/table_defs.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define MAX_DEPTH 512u

struct open_slice {
	uint32_t row;
	int64_t ts, dur; /* ns; dur -1: open */
	struct arg_builder args; /* owned */
};

struct slice_stack {
	struct open_slice *slices; /* owned, the outermost first */
	size_t n, cap;
};

static struct slice_stack *get_slice_stack(struct import *im, uint32_t track)
{
	size_t n = im->cap_stacks;

	if (track >= n) {
		if (array_reserve(&im->stacks, &im->cap_stacks, (size_t)track + 1,
				  sizeof(*im->stacks))) {
			im->store->budget.error = -ENOMEM;
			return NULL;
		}
		memset(im->stacks + n, 0, (im->cap_stacks - n) * sizeof(*im->stacks));
	}
	return &im->stacks[track];
}

static void set_slice_dur(struct import *im, struct open_slice *o, int64_t dur)
{
	o->dur = dur;
	table_set_dur(import_table(im, TABLE_SLICE), SLICE_DUR, o->row, dur);
}

/* Puts the arguments of a system call before the other arguments of its slice in o->args, so that
 * all are stored. */
static void store_call_args(struct import *im, struct open_slice *o, uint32_t set)
{
	struct strings *strings = &im->store->strings;
	struct arg_builder all = {.n = 0};

	if (call_args_list(im->store, set, &im->list) < 0)
		im->store->budget.error = -ENOMEM;
	for (size_t i = 0; i < im->list.n; i++) {
		const struct arg *a = &im->list.args[i];
		uint32_t key = strings_intern(strings, a->key, a->key_len);

		arg_builder_add(im->store, &all,
				&(struct stored_arg){
					.key = key,
					.flat_key = a->flat_key
							    ? strings_intern(strings, a->flat_key,
									     a->flat_key_len)
							    : key,
					.type = a->type,
					.value = a->i});
	}
	for (size_t i = 0; i < o->args.n; i++)
		arg_builder_add(im->store, &all, &o->args.args[i]);
	free(o->args.args);
	o->args = all;
}

static void pop_slice_and_store_args(struct import *im, struct slice_stack *s)
{
	struct open_slice *o = &s->slices[--s->n];
	struct table *t = import_table(im, TABLE_SLICE);

	if (o->args.n && call_args_is_set(table_u32(t, SLICE_ARGS, o->row)))
		store_call_args(im, o, table_u32(t, SLICE_ARGS, o->row));
	if (o->args.n)
		table_set_u32(t, SLICE_ARGS, o->row, arg_sets_add(im->store, &o->args));
	free(o->args.args);
}

/* Removes the slices that ended at or before ts from the stack. Open slices inside of such a slice
 * end with it. for_instant: an instant of the same time stays, so that the next instant is
 * inside. */
static void pop_ended_slices(struct import *im, struct slice_stack *s, int64_t ts, bool for_instant)
{
	bool has_open = false;

	for (size_t i = s->n; i-- > 0;) {
		struct open_slice *o = &s->slices[i];
		int64_t end = (int64_t)((uint64_t)o->ts + (uint64_t)o->dur);

		if (o->dur < 0) {
			has_open = true;
			continue;
		}
		if (end > ts || (for_instant && o->dur == 0 && o->ts == ts))
			continue;
		if (has_open)
			stats_add(im->store, STAT_MISPLACED_END_EVENT, STAT_NO_INDEX, 1);
		has_open = false;
		while (s->n > i + 1) {
			struct open_slice *child = &s->slices[s->n - 1];

			if (child->dur < 0)
				set_slice_dur(im, child, end - child->ts);
			pop_slice_and_store_args(im, s);
		}
		pop_slice_and_store_args(im, s);
	}
}

static void move_args_to_slice(struct import *im, struct open_slice *o, struct arg_builder *args)
{
	if (!args || !args->n)
		return;
	for (size_t i = 0; i < args->n; i++)
		arg_builder_add(im->store, &o->args, &args->args[i]);
	args->n = 0;
}

static uint32_t slices_add_row(struct import *im, const struct slice_stack *s, int64_t ts,
			       int64_t dur, uint32_t track, uint32_t category, uint32_t name)
{
	struct table *t = import_table(im, TABLE_SLICE);
	bool nests = s->n < MAX_DEPTH;
	uint32_t row = table_append(t);

	table_set_ts(t, SLICE_TS, row, ts);
	table_set_dur(t, SLICE_DUR, row, dur);
	table_set_u32(t, SLICE_TRACK, row, track);
	table_set_u32(t, SLICE_CATEGORY, row, category);
	table_set_u32(t, SLICE_NAME, row, name);
	table_set_u16(t, SLICE_DEPTH, row, nests ? (uint16_t)s->n : 0);
	table_set_u32(t, SLICE_PARENT, row, nests && s->n ? s->slices[s->n - 1].row : NULL_U32);
	table_set_u32(t, SLICE_ARGS, row, NULL_U32);
	import_extend_bounds_to_span(im, ts, dur);
	return row;
}

static void set_time_delta(struct table *t, unsigned from, unsigned to, uint32_t row, int64_t now)
{
	int64_t begin = table_i64(t, from, row);

	if (now != NULL_I64 && begin != NULL_I64)
		table_set_i64(t, to, row, (int64_t)((uint64_t)now - (uint64_t)begin));
}

static uint32_t add_slice_times(struct import *im, uint32_t slice)
{
	struct table *t = import_table(im, TABLE_SLICE_TIMES);
	uint32_t row = table_append(t);

	table_set_u32(t, SLICE_TIMES_SLICE, row, slice);
	for (unsigned c = SLICE_TIMES_THREAD_TS; c <= SLICE_TIMES_INSTRUCTION_DELTA; c++)
		table_set_i64(t, c, row, NULL_I64);
	return row;
}

void slices_set_thread_times(struct import *im, uint32_t slice, bool is_end, int64_t thread_ns,
			     int64_t instructions)
{
	struct table *t = import_table(im, TABLE_SLICE_TIMES);
	const struct table *slices = import_table(im, TABLE_SLICE);
	uint32_t row;

	if (slice == NULL_U32 || (thread_ns == NULL_I64 && instructions == NULL_I64))
		return;
	if (!is_end) {
		row = add_slice_times(im, slice);
		table_set_i64(t, SLICE_TIMES_THREAD_TS, row, thread_ns);
		table_set_i64(t, SLICE_TIMES_INSTRUCTIONS, row, instructions);
		if (table_dur(slices, SLICE_DUR, slice) != 0)
			return;
	} else {
		row = slice_times_row(t, slice);
		if (row == NULL_U32)
			return;
	}
	set_time_delta(t, SLICE_TIMES_THREAD_TS, SLICE_TIMES_THREAD_DUR, row, thread_ns);
	set_time_delta(t, SLICE_TIMES_INSTRUCTIONS, SLICE_TIMES_INSTRUCTION_DELTA, row,
		       instructions);
}

void slices_set_thread_durs(struct import *im, uint32_t slice, int64_t thread_dur,
			    int64_t instructions)
{
	struct table *t = import_table(im, TABLE_SLICE_TIMES);
	uint32_t row;

	if (slice == NULL_U32 || (thread_dur == NULL_I64 && instructions == NULL_I64))
		return;
	row = slice_times_row(t, slice);
	if (row == NULL_U32)
		return;
	if (table_i64(t, SLICE_TIMES_THREAD_TS, row) != NULL_I64)
		table_set_i64(t, SLICE_TIMES_THREAD_DUR, row, thread_dur);
	if (table_i64(t, SLICE_TIMES_INSTRUCTIONS, row) != NULL_I64)
		table_set_i64(t, SLICE_TIMES_INSTRUCTION_DELTA, row, instructions);
}

/* Returns true if the slice would end after the slice that is around it. */
static bool exceeds_parent(const struct slice_stack *s, int64_t ts, int64_t dur)
{
	const struct open_slice *top = s->n ? &s->slices[s->n - 1] : NULL;

	return top && top->dur >= 0 && ts > top->ts + top->dur - dur;
}

uint32_t slices_begin(struct import *im, int64_t ts, int64_t dur, uint32_t track, uint32_t category,
		      uint32_t name, struct arg_builder *args)
{
	struct slice_stack *s = get_slice_stack(im, track);
	struct open_slice *o;
	uint32_t row;

	if (!s)
		return NULL_U32;
	pop_ended_slices(im, s, ts, dur == 0);
	if (dur > 0 && exceeds_parent(s, ts, dur)) {
		stats_add(im->store, STAT_SLICE_DROP_OVERLAPPING_COMPLETE_EVENT, STAT_NO_INDEX, 1);
		if (args)
			args->n = 0;
		return NULL_U32;
	}
	row = slices_add_row(im, s, ts, dur, track, category, name);
	if (s->n >= MAX_DEPTH) {
		if (args)
			args->n = 0;
		return row;
	}
	if (array_reserve(&s->slices, &s->cap, s->n + 1, sizeof(*s->slices))) {
		im->store->budget.error = -ENOMEM;
		return row;
	}
	o = &s->slices[s->n++];
	*o = (struct open_slice){.row = row, .ts = ts, .dur = dur};
	move_args_to_slice(im, o, args);
	return row;
}

static bool slices_matches(const struct table *t, unsigned column, uint32_t row, uint32_t wanted)
{
	uint32_t has = table_u32(t, column, row);

	return wanted == NULL_U32 || has == wanted || (column == SLICE_NAME && has == NULL_U32);
}

/* Removes the slices that ended until ts from the stack. Returns the innermost open slice with the
 * name and category, or NULL. */
static struct open_slice *find_open_slice(struct import *im, struct slice_stack *s, int64_t ts,
					  uint32_t category, uint32_t name)
{
	const struct table *t = import_table(im, TABLE_SLICE);

	pop_ended_slices(im, s, ts, false);
	for (size_t i = s->n; i-- > 0;) {
		struct open_slice *o = &s->slices[i];

		if (o->dur < 0 && slices_matches(t, SLICE_NAME, o->row, name) &&
		    slices_matches(t, SLICE_CATEGORY, o->row, category))
			return o;
	}
	return NULL;
}

/* Ends the innermost open slice with the name and category, and leaves it on the stack. Returns it,
 * or NULL if there is none. */
static struct open_slice *end_open_slice(struct import *im, struct slice_stack *s, int64_t ts,
					 uint32_t category, uint32_t name)
{
	struct open_slice *o = find_open_slice(im, s, ts, category, name);

	if (o) {
		set_slice_dur(im, o, ts - o->ts);
		import_extend_bounds_to_span(im, o->ts, ts - o->ts);
	}
	return o;
}

const struct arg_builder *slices_open_args(struct import *im, int64_t ts, uint32_t track,
					   uint32_t category, uint32_t name)
{
	struct slice_stack *s = get_slice_stack(im, track);
	const struct open_slice *o = s ? find_open_slice(im, s, ts, category, name) : NULL;

	return o ? &o->args : NULL;
}

uint32_t slices_end(struct import *im, int64_t ts, uint32_t track, uint32_t category, uint32_t name,
		    struct arg_builder *args)
{
	struct slice_stack *s = get_slice_stack(im, track);
	struct open_slice *o = s ? end_open_slice(im, s, ts, category, name) : NULL;
	uint32_t row = o ? o->row : NULL_U32;

	if (o) {
		move_args_to_slice(im, o, args);
		if (o == &s->slices[s->n - 1])
			pop_slice_and_store_args(im, s);
	} else if (s && args) {
		args->n = 0;
	}
	return row;
}

uint32_t slices_begin_syscall(struct import *im, int64_t ts, int64_t dur, uint32_t track,
			      uint32_t name, uint32_t enter)
{
	uint32_t row = slices_begin(im, ts, dur, track, NULL_U32, name, NULL);
	const struct slice_stack *s = get_slice_stack(im, track);

	/* A slice that is too deep is not on the stack, and has no arguments. */
	if (row != NULL_U32 && s && s->n && s->slices[s->n - 1].row == row && enter != NULL_U32)
		table_set_u32(import_table(im, TABLE_SLICE), SLICE_ARGS, row,
			      call_args_add(im->store, enter, NULL_U32));
	return row;
}

void slices_end_syscall(struct import *im, int64_t ts, uint32_t track, uint32_t name, uint32_t exit)
{
	struct slice_stack *s = get_slice_stack(im, track);
	struct open_slice *o = s ? end_open_slice(im, s, ts, NULL_U32, name) : NULL;
	struct table *t = import_table(im, TABLE_SLICE);
	uint32_t set;

	if (!o)
		return;
	set = table_u32(t, SLICE_ARGS, o->row);
	if (o->args.n) /* a slice of another kind that has the call's name */
		arg_builder_add_int(im->store, &o->args, "ret", ARG_INT,
				    call_args_result_of_exit(im->store, exit));
	else if (call_args_is_set(set))
		table_set_u32(import_table(im, TABLE_CALL), CALL_EXIT, set - CALL_SETS, exit);
	else
		table_set_u32(t, SLICE_ARGS, o->row, call_args_add(im->store, NULL_U32, exit));
	if (o == &s->slices[s->n - 1])
		pop_slice_and_store_args(im, s);
}

void slices_finish(struct import *im)
{
	for (size_t i = 0; i < im->cap_stacks; i++)
		while (im->stacks[i].n)
			pop_slice_and_store_args(im, &im->stacks[i]);
}

void slices_deinit(struct import *im)
{
	for (size_t i = 0; i < im->cap_stacks; i++) {
		struct slice_stack *s = &im->stacks[i];

		for (size_t j = 0; j < s->n; j++)
			free(s->slices[j].args.args);
		free(s->slices);
	}
	free(im->stacks);
}

/* ---- flows ---- */

struct open_flow {
	uint64_t id;
	uint32_t slice; /* where the next arrow comes from */
	UT_hash_handle hh;
};

/* Adds a row for an arrow, which points from the earlier slice to the later one. */
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
