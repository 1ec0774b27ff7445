/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory mappings of a process. Each SmapsEntry becomes a row of profiler_smaps. PackedSmaps
 * has columns, from which rows of process_memory_mappings are made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/store/memory_columns.h"
#include "gen/fields.h"

#define DELETED " (deleted)" /* what the kernel adds to the path of a file that has no name */

/* ---- a message for each mapping ---- */

static void smaps_rows_add_entry(struct import *im, int64_t ts, uint32_t upid,
				 const struct pb_field *entry)
{
	struct table *t = import_table(im, TABLE_SMAPS);
	uint32_t row = table_append(t);

	table_set_u32(t, SMAPS_UPID, row, upid);
	table_set_ts(t, SMAPS_TS, row, ts);
	for (unsigned c = SMAPS_PATH; c <= SMAPS_PROPORTIONAL; c++)
		if (t->def->columns[c].kind == COLUMN_STRING)
			table_set_u32(t, c, row, NULL_U32);
		else
			table_set_i64(t, c, row, 0);
	pb_for_each (f, entry) {
		unsigned c = SMAPS_PATH + f.id - PB_SMAPS_ENTRY_PATH;

		if (f.id < PB_SMAPS_ENTRY_PATH || c > SMAPS_PROPORTIONAL)
			continue;
		if (t->def->columns[c].kind == COLUMN_I64 && !f.data)
			table_set_i64(t, c, row, (int64_t)f.u64);
		else if (t->def->columns[c].kind == COLUMN_STRING && f.data)
			table_set_u32(t, c, row,
				      strings_intern(&im->store->strings, f.data, f.len));
	}
}

/* ---- columns ---- */

struct mapping_path {
	uint32_t text; /* a string */
	bool is_deleted;
};

struct mapping_paths {
	struct mapping_path *of; /* owned */
	size_t n, cap;
};

static void add_path(struct import *im, struct mapping_paths *p, const struct pb_field *path)
{
	size_t suffix = sizeof(DELETED) - 1;
	bool is_deleted =
		path->len >= suffix && !memcmp(path->data + path->len - suffix, DELETED, suffix);

	if (!budget_charge(&im->store->budget, sizeof(*p->of)))
		return;
	if (array_reserve(&p->of, &p->cap, p->n + 1, sizeof(*p->of))) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	p->of[p->n++] = (struct mapping_path){
		.text = strings_intern(&im->store->strings, path->data,
				       path->len - (is_deleted ? suffix : 0)),
		.is_deleted = is_deleted,
	};
}

static void smaps_rows_add_mapping(struct import *im, int64_t ts, uint32_t upid,
				   const struct mapping_path *path)
{
	struct table *t = import_table(im, TABLE_MEMORY_MAPPINGS);
	uint32_t row = table_append(t);

	table_set_ts(t, MAPPINGS_TS, row, ts);
	table_set_u32(t, MAPPINGS_UPID, row, upid);
	table_set_u32(t, MAPPINGS_PATH, row, path ? path->text : NULL_U32);
	table_set_u32(t, MAPPINGS_IS_DELETED, row, path && path->is_deleted);
	table_set_i64(t, MAPPINGS_COUNT, row, 1);
	for (unsigned c = MAPPINGS_SIZE; c <= MAPPINGS_SWAP_PSS; c++)
		table_set_i64(t, c, row, NULL_I64);
}

/* Adds the rows, which name_id counts, or else the paths. */
static void add_mappings(struct import *im, int64_t ts, uint32_t upid,
			 const struct pb_field *packed, const struct mapping_paths *paths)
{
	bool named = false;
	uint64_t id;

	pb_for_each (f, packed) {
		if (f.id != PB_PACKED_SMAPS_NAME_ID)
			continue;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &id);) {
			named = true;
			smaps_rows_add_mapping(im, ts, upid, id < paths->n ? &paths->of[id] : NULL);
		}
	}
	for (size_t i = 0; !named && i < paths->n; i++)
		smaps_rows_add_mapping(im, ts, upid, &paths->of[i]);
}

/* Sets the values of the rows from `first` on. */
static void set_columns(struct import *im, const struct pb_field *packed, uint32_t first)
{
	struct table *t = import_table(im, TABLE_MEMORY_MAPPINGS);
	uint32_t next[MAPPINGS_SWAP_PSS + 1] = {0}; /* by column: number of values so far */
	uint64_t v;

	pb_for_each (f, packed) {
		unsigned c = MAPPINGS_COUNT + f.id - PB_PACKED_SMAPS_AGGREGATE_COUNT;

		if (f.id < PB_PACKED_SMAPS_AGGREGATE_COUNT || c > MAPPINGS_SWAP_PSS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     next[c] < t->rows - first && pb_packed_next(&p, &v);)
			table_set_i64(t, c, first + next[c]++, (int64_t)v);
	}
}

static void add_packed_mappings(struct import *im, int64_t ts, uint32_t upid,
				const struct pb_field *packed)
{
	uint32_t first = import_table(im, TABLE_MEMORY_MAPPINGS)->rows;
	struct mapping_paths paths = {.n = 0};

	pb_for_each (f, packed)
		if (f.id == PB_PACKED_SMAPS_STRING_TABLE && f.data)
			add_path(im, &paths, &f);
	add_mappings(im, ts, upid, packed, &paths);
	if (!im->store->budget.error)
		set_columns(im, packed, first);
	free(paths.of);
	im->store->budget.used -= paths.n * sizeof(*paths.of);
}

void rows_smaps(struct import *im, struct machine *m, int64_t ts, const struct pb_field *smaps)
{
	uint32_t pid = 0;
	uint32_t upid;

	pb_read(smaps, PB_TO(PB_SMAPS_PACKET_PID, &pid));
	upid = tasks_get_process(&m->tasks, pid);
	pb_for_each (f, smaps) {
		if (f.id == PB_SMAPS_PACKET_ENTRIES && f.data)
			smaps_rows_add_entry(im, ts, upid, &f);
		else if (f.id == PB_SMAPS_PACKET_PACKED_ENTRIES && f.data)
			add_packed_mappings(im, ts, upid, &f);
	}
}
