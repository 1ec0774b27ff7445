/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/cpus.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

const struct track_type track_cpu_frequency = {"cpu_frequency", NULL, true, {{"cpu", false}}};
const struct track_type track_gpu_frequency = {
	"gpu_frequency", "kHz", true, {{"ugpu", false}, {"gpu", false}}};
const struct track_type track_clock_frequency = {
	"clock_frequency", NULL, true, {{"linux_device", true}}};
const struct track_type track_oom_score_adj = {"oom_score_adj", NULL, true, {{"upid", false}}};
const struct track_type track_process_memory = {
	"process_memory", NULL, true, {{"upid", false}, {"process_memory_key", true}}};

struct track_key {
	const struct track_type *type;
	uint64_t machine;
	int64_t values[TRACK_DIMENSIONS_MAX];
};

struct track_node {
	struct track_key key;
	uint32_t track;
	UT_hash_handle hh;
};

void tracks_deinit(struct import *im)
{
	HASH_FREE(im->tracks);
}

static uint32_t store_dimension_args(struct import *im, const struct track_type *type,
				     const int64_t *values)
{
	struct arg_builder b = {
		.n = 0}; /* im->args may have the arguments of the slice that needs the track */
	uint32_t set;

	for (size_t i = 0; i < TRACK_DIMENSIONS_MAX && type->dimensions[i].key; i++)
		arg_builder_add_int(im->store, &b, type->dimensions[i].key,
				    type->dimensions[i].is_string ? ARG_STRING : ARG_INT,
				    values[i]);
	set = arg_sets_add(im->store, &b);
	free(b.args);
	return set;
}

static void set_owner(struct import *im, struct machine *m, struct table *t, uint32_t row,
		      const char *key, int64_t value)
{
	struct cpu_state *c;

	if (!strcmp(key, "utid")) {
		table_set_u32(t, TRACK_UTID, row, (uint32_t)value);
	} else if (!strcmp(key, "upid")) {
		table_set_u32(t, TRACK_UPID, row, (uint32_t)value);
	} else if (!strcmp(key, "cpu")) {
		table_set_u32(t, TRACK_CPU, row, (uint32_t)value);
		c = import_get_cpu(im, m, (uint32_t)value);
		if (c)
			c->seen = true;
	}
}

uint32_t tracks_make(struct import *im, struct machine *m, const struct track_type *type,
		     uint32_t name, const int64_t *values)
{
	struct table *t = import_table(im, TABLE_TRACK);
	struct strings *strings = &im->store->strings;
	uint32_t row = table_append(t);

	for (unsigned c = TRACK_NAME; c <= TRACK_CPU; c++)
		table_set_u32(t, c, row, NULL_U32);
	table_set_u32(t, TRACK_NAME, row, name);
	table_set_u32(t, TRACK_MACHINE, row, m->row);
	table_set_u32(t, TRACK_TYPE, row, strings_intern_z(strings, type->type));
	table_set_u32(t, TRACK_DIMENSIONS, row, store_dimension_args(im, type, values));
	table_set_u32(t, TRACK_EVENT_TYPE, row,
		      strings_intern_z(strings, type->is_counter ? "counter" : "slice"));
	if (type->unit)
		table_set_u32(t, TRACK_UNIT, row, strings_intern_z(strings, type->unit));
	for (size_t i = 0; i < TRACK_DIMENSIONS_MAX && type->dimensions[i].key; i++)
		set_owner(im, m, t, row, type->dimensions[i].key, values[i]);
	return row;
}

uint32_t tracks_get(struct import *im, struct machine *m, const struct track_type *type,
		    uint32_t name, const int64_t *values)
{
	struct track_key key = {.type = type, .machine = m->row};
	struct track_node *n;

	for (size_t i = 0; i < TRACK_DIMENSIONS_MAX && type->dimensions[i].key; i++)
		key.values[i] = values[i];
	HASH_FIND(hh, im->tracks, &key, sizeof(key), n);
	if (n)
		return n->track;
	n = budget_alloc(&im->store->budget, sizeof(*n));
	if (n) {
		n->key = key;
		n->track = tracks_make(im, m, type, name, values);
	}
	n = BUDGET_HASH_ADD(&im->store->budget, im->tracks, key, n);
	return n ? n->track : 0;
}

uint32_t tracks_get_thread_track(struct import *im, struct machine *m, uint32_t utid)
{
	static const struct track_type type = {"thread_execution", NULL, false, {{"utid", false}}};
	int64_t value = utid;

	return tracks_get(im, m, &type, NULL_U32, &value);
}

uint32_t rows_add_counter(struct import *im, int64_t ts, uint32_t track, double value,
			  uint32_t args)
{
	struct table *t = import_table(im, TABLE_COUNTER);
	uint32_t row = table_append(t);

	table_set_ts(t, COUNTER_TS, row, ts);
	table_set_u32(t, COUNTER_TRACK, row, track);
	table_set_f64(t, COUNTER_VALUE, row, value);
	table_set_u32(t, COUNTER_ARGS, row, args);
	import_note_ts(im, ts);
	return row;
}
