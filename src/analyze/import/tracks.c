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

static void set_track_owner(struct import *im, struct machine *m, struct table *t, uint32_t row,
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
		set_track_owner(im, m, t, row, type->dimensions[i].key, values[i]);
	return row;
}

uint32_t tracks_get(struct import *im, struct machine *m, const struct track_type *type,
		    uint32_t name, const int64_t *values)
{
	struct track_key key = {.type = type, .machine = m->row};
	struct track_node *n;
	uint32_t track;

	for (size_t i = 0; i < TRACK_DIMENSIONS_MAX && type->dimensions[i].key; i++)
		key.values[i] = values[i];
	HASH_FIND(hh, im->tracks, &key, sizeof(key), n);
	if (n)
		return n->track;
	/* The row comes first: if memory runs out for the rest, there is still a row to read and
	 * write. */
	track = tracks_make(im, m, type, name, values);
	n = budget_alloc(&im->store->budget, sizeof(*n));
	if (n) {
		n->key = key;
		n->track = track;
	}
	BUDGET_HASH_ADD(&im->store->budget, im->tracks, key, n);
	return track;
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
	import_extend_bounds(im, ts);
	return row;
}

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

/* Adds the slot to the heap unless it is already there. The heap has room for all slots. */
static void queue_unused_slot(struct track_group *g, struct slot_node *node)
{
	size_t i = g->n_unused;

	if (node->queued)
		return;
	node->queued = true;
	for (g->n_unused++; i && node->slot.index < g->unused[(i - 1) / 2]; i = (i - 1) / 2)
		g->unused[i] = g->unused[(i - 1) / 2];
	g->unused[i] = node->slot.index;
}

static void remove_lowest_unused_slot(struct track_group *g)
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
static struct slot_node *lowest_unused_slot(struct track_group *g)
{
	while (g->n_unused) {
		struct slot_node *node = g->slots[g->unused[0]];

		if (!node->slot.open)
			return node;
		node->queued = false;
		remove_lowest_unused_slot(g);
	}
	return NULL;
}

static struct slot_node *track_slot_new(struct import *im, struct track_group *g)
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
	queue_unused_slot(g, node);
	return node;
}

struct track_slot *track_group_get_slot(struct import *im, struct track_group *g, int64_t cookie)
{
	struct track_slot *found = track_group_find_slot(g, cookie);
	struct slot_node *node;

	if (found)
		return found;
	node = lowest_unused_slot(g);
	if (!node)
		node = track_slot_new(im, g);
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
		queue_unused_slot(slot->group, slot->group->slots[slot->index]);
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

#define LATE 0x80000000u /* bit of COUNTER_TRACK: the other bits are the number of an entry */

struct late_key {
	const struct track_type *by_process, *by_thread;
	uint32_t machine, utid;
	uint32_t keys[2];
};

struct deferred_track {
	struct late_key key;
	uint32_t name, number;
	UT_hash_handle hh;
};

static struct deferred_track *deferred_track_get(struct import *im, const struct machine *m,
						 uint32_t utid, const struct late_counter *c)
{
	struct late_key key = {.by_process = c->by_process,
			       .by_thread = c->by_thread,
			       .machine = m->row,
			       .utid = utid,
			       .keys = {c->keys[0], c->keys[1]}};
	struct deferred_track *t;

	HASH_FIND(hh, im->late, &key, sizeof(key), t);
	if (t)
		return t;
	t = budget_alloc(&im->store->budget, sizeof(*t));
	if (t)
		*t = (struct deferred_track){
			.key = key, .name = c->name, .number = HASH_COUNT(im->late)};
	return BUDGET_HASH_ADD(&im->store->budget, im->late, key, t);
}

void deferred_tracks_add_value(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			       const struct late_counter *c, double value)
{
	const struct deferred_track *t = deferred_track_get(im, m, utid, c);

	if (t)
		rows_add_counter(im, ts, LATE | t->number, value, NULL_U32);
}

static uint32_t deferred_tracks_resolve(struct import *im, const struct deferred_track *t)
{
	struct machine *m = im->machines[t->key.machine];
	uint32_t upid = tasks_upid(&m->tasks, t->key.utid);
	int64_t values[] = {upid, t->key.keys[0], t->key.keys[1]};

	if (upid != NULL_U32)
		return tracks_get(im, m, t->key.by_process, t->name, values);
	values[0] = t->key.utid;
	return tracks_get(im, m, t->key.by_thread, t->name, values);
}

/* Makes the deferred tracks. The hash lists them in the order of their first rows, so tracks get
 * their numbers in that order. */
void deferred_tracks_finish(struct import *im)
{
	struct table *t = import_table(im, TABLE_COUNTER);
	_cleanup_(freep) uint32_t *tracks = NULL;

	if (!im->late)
		return;
	tracks = malloc(HASH_COUNT(im->late) * sizeof(*tracks));
	if (!tracks) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	for (const struct deferred_track *l = im->late; l; l = l->hh.next)
		tracks[l->number] = deferred_tracks_resolve(im, l);
	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t track = table_u32(t, COUNTER_TRACK, row);

		if (track & LATE)
			table_set_u32(t, COUNTER_TRACK, row, tracks[track & ~LATE]);
	}
}

void deferred_tracks_deinit(struct import *im)
{
	HASH_FREE(im->late);
}
