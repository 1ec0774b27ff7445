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

struct slot_node {
	struct track_slot slot;
	bool queued; /* in the heap of unused slots; may have open slices nevertheless */
	UT_hash_handle hh;
};

struct track_group {
	struct group_key key;
	uint32_t number; /* track_group_id, given with the first track */
	struct slot_node **slots; /* owned; by index */
	struct slot_node *by_cookie; /* hash of the same nodes */
	uint32_t *unused; /* owned: heap of indexes; has all slots without open slices */
	size_t n, cap, n_unused, cap_unused;
	UT_hash_handle hh;
};

static void track_groups_set_enomem(struct import *im)
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
	g = budget_alloc(&im->store->budget, sizeof(*g));
	if (g)
		g->key = key;
	return BUDGET_HASH_ADD(&im->store->budget, im->groups, key, g);
}

struct track_slot *track_group_find_slot(struct track_group *g, int64_t cookie)
{
	struct slot_node *node;

	HASH_FIND(hh, g->by_cookie, &cookie, sizeof(cookie), node);
	return node ? &node->slot : NULL;
}

/* Puts the slot into the heap, which has room for all slots, if it is not there. */
static void queue_unused(struct track_group *g, struct slot_node *node)
{
	size_t i = g->n_unused;

	if (node->queued)
		return;
	node->queued = true;
	for (g->n_unused++; i && node->slot.index < g->unused[(i - 1) / 2]; i = (i - 1) / 2)
		g->unused[i] = g->unused[(i - 1) / 2];
	g->unused[i] = node->slot.index;
}

static void drop_lowest(struct track_group *g)
{
	uint32_t last = g->unused[--g->n_unused];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < g->n_unused; i = child) {
		if (child + 1 < g->n_unused && g->unused[child + 1] < g->unused[child])
			child++;
		if (g->unused[child] > last)
			break;
		g->unused[i] = g->unused[child];
	}
	g->unused[i] = last;
}

/* Returns the slot with the lowest index that has no open slices, or NULL. It stays in the heap; a
 * slot that is found with open slices is removed. */
static struct slot_node *lowest_unused(struct track_group *g)
{
	while (g->n_unused) {
		struct slot_node *node = g->slots[g->unused[0]];

		if (!node->slot.open)
			return node;
		node->queued = false;
		drop_lowest(g);
	}
	return NULL;
}

static struct slot_node *new_slot(struct import *im, struct track_group *g)
{
	struct slot_node *node =
		budget_charge(&im->store->budget, sizeof(*node)) ? calloc(1, sizeof(*node)) : NULL;

	if (!node || array_reserve(&g->slots, &g->cap, g->n + 1, sizeof(*g->slots)) ||
	    array_reserve(&g->unused, &g->cap_unused, g->n + 1, sizeof(*g->unused))) {
		free(node);
		return NULL;
	}
	node->slot = (struct track_slot){.group = g, .track = NULL_U32, .index = (uint32_t)g->n};
	g->slots[g->n++] = node;
	queue_unused(g, node);
	return node;
}

struct track_slot *track_group_get_slot(struct import *im, struct track_group *g, int64_t cookie)
{
	struct track_slot *found = track_group_find_slot(g, cookie);
	struct slot_node *node;

	if (found)
		return found;
	node = lowest_unused(g);
	if (!node)
		node = new_slot(im, g);
	else if (node->hh.tbl)
		HASH_DEL(g->by_cookie, node);
	if (!node) {
		track_groups_set_enomem(im);
		return NULL;
	}
	node->slot.cookie = cookie;
	HASH_ADD(hh, g->by_cookie, slot.cookie, sizeof(node->slot.cookie), node);
	if (!node->hh.tbl) {
		track_groups_set_enomem(im);
		return NULL;
	}
	return &node->slot;
}

void track_slot_set_open(struct track_slot *slot, uint32_t still_open)
{
	slot->open = still_open;
	if (!still_open)
		queue_unused(slot->group, slot->group->slots[slot->index]);
}

void track_group_make_track(struct import *im, struct machine *m, struct track_group *g,
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
		HASH_CLEAR(hh, g->by_cookie);
		for (size_t i = 0; i < g->n; i++)
			free(g->slots[i]);
		free(g->slots);
		free(g->unused);
		free(g);
	}
}
