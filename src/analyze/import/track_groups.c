/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/track_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define INDEX_KEY "track_compressor_idx"

struct group_key {
	const struct track_type *type;
	uint64_t machine;
	int64_t values[TRACK_DIMENSIONS_MAX];
};

struct track_group {
	struct group_key key;
	uint32_t number; /* track_group_id, given with the first track */
	struct track_slot *slots; /* owned */
	size_t n, cap;
	UT_hash_handle hh;
};

static void fail(struct import *im)
{
	if (!im->store->budget.error)
		im->store->budget.error = -ENOMEM;
}

struct track_group *track_groups_get(struct import *im, struct machine *m,
				     const struct track_type *type, const int64_t *values)
{
	struct group_key key = {.type = type, .machine = m->row};
	struct track_group *g;

	for (size_t i = 0; strcmp(type->dimensions[i].key, INDEX_KEY) != 0; i++)
		key.values[i] = values[i];
	HASH_FIND(hh, im->groups, &key, sizeof(key), g);
	if (g)
		return g;
	g = budget_take(&im->store->budget, sizeof(*g)) ? calloc(1, sizeof(*g)) : NULL;
	if (!g) {
		fail(im);
		return NULL;
	}
	g->key = key;
	HASH_ADD(hh, im->groups, key, sizeof(g->key), g);
	if (!g->hh.tbl) {
		free(g);
		fail(im);
		return NULL;
	}
	return g;
}

struct track_slot *track_group_find(struct track_group *g, int64_t cookie)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->slots[i].cookie == cookie)
			return &g->slots[i];
	return NULL;
}

struct track_slot *track_group_slot(struct import *im, struct track_group *g, int64_t cookie)
{
	struct track_slot *unused = NULL;

	for (size_t i = 0; i < g->n; i++) {
		if (g->slots[i].cookie == cookie)
			return &g->slots[i];
		if (!unused && !g->slots[i].open)
			unused = &g->slots[i];
	}
	if (!unused) {
		if (!budget_take(&im->store->budget, sizeof(*unused)) ||
		    array_reserve(&g->slots, &g->cap, g->n + 1, sizeof(*g->slots))) {
			fail(im);
			return NULL;
		}
		unused = &g->slots[g->n];
		*unused = (struct track_slot){.track = NULL_U32, .index = (uint32_t)g->n++};
	}
	unused->cookie = cookie;
	return unused;
}

void track_group_make(struct import *im, struct machine *m, struct track_group *g,
		      struct track_slot *slot, uint32_t name)
{
	int64_t values[TRACK_DIMENSIONS_MAX];
	size_t n = 0;

	for (; strcmp(g->key.type->dimensions[n].key, INDEX_KEY) != 0; n++)
		values[n] = g->key.values[n];
	values[n] = slot->index;
	if (slot->index == 0)
		g->number = im->n_track_groups++;
	slot->track = tracks_make(im, m, g->key.type, name, values);
	table_set_u32(import_table(im, TABLE_TRACK), TRACK_GROUP, slot->track, g->number);
}

void track_groups_deinit(struct import *im)
{
	struct track_group *g, *next;

	HASH_ITER (hh, im->groups, g, next) {
		HASH_DEL(im->groups, g);
		free(g->slots);
		free(g);
	}
}
