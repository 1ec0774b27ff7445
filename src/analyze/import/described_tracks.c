/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/described_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/tracks.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define MAX_ANCESTORS 100

struct described_node {
	struct described_track d;
	UT_hash_handle hh;
};

/* Types of tracks, by owner, whose dimension comes before the others. */
#define TYPES(kind, is_counter, ...)                                                               \
	{                                                                                          \
		[OWNER_NONE] = {"global_" kind, NULL, is_counter, {__VA_ARGS__}},                  \
		[OWNER_PROCESS] = {"process_" kind, NULL, is_counter, {UPID, __VA_ARGS__}},        \
		[OWNER_THREAD] = {"thread_" kind, NULL, is_counter, {UTID, __VA_ARGS__}},          \
	}
#define UPID                                                                                       \
	{                                                                                          \
		"upid", false                                                                      \
	}
#define UTID                                                                                       \
	{                                                                                          \
		"utid", false                                                                      \
	}
#define TRACK_UUID                                                                                 \
	{                                                                                          \
		"track_uuid", false                                                                \
	}

static const struct track_type plain_types[] = TYPES("track_event", false, TRACK_UUID);
static const struct track_type counter_types[] = TYPES("counter_track_event", true, TRACK_UUID);
static const struct track_type state_types[] = TYPES("state_track_event", false, TRACK_UUID);
static const struct track_type merged_types[] =
	TYPES("merged_track_event", false, {"parent_track_uuid", false}, {"merge_key_type", false},
	      {"merge_key_value", true}, {"track_compressor_idx", false});

/* ---- the tracks by uuid ---- */

struct described_track *described_find(struct import *im, const struct machine *m, uint64_t uuid)
{
	struct described_key key = {.uuid = uuid, .machine = m->row};
	struct described_node *n;

	HASH_FIND(hh, im->described, &key, sizeof(key), n);
	return n ? &n->d : NULL;
}

struct described_track *described_add(struct import *im, const struct described_track *d)
{
	struct described_node *n = budget_alloc(&im->store->budget, sizeof(*n));

	if (n)
		n->d = *d;
	n = BUDGET_HASH_ADD(&im->store->budget, im->described, d.key, n);
	return n ? &n->d : NULL;
}

void described_deinit(struct import *im)
{
	HASH_FREE(im->described);
	free(im->utid_uuids);
	free(im->upid_uuids);
}

/* ---- owners ---- */

/* Stores the uuid of a thread or process. If it has another uuid, because the kernel has reused its
 * tid or pid, the new uuid is only stored with `replace`; otherwise returns false. If out of
 * memory, sets the budget's error and returns true. */
static bool store_uuid(struct import *im, struct seen_uuid **of, size_t *cap, uint32_t id,
		       uint64_t uuid, bool replace)
{
	size_t n = *cap;

	if (id >= n) {
		if (array_reserve(of, cap, (size_t)id + 1, sizeof(**of))) {
			im->store->budget.error = -ENOMEM;
			return true;
		}
		memset(*of + n, 0, (*cap - n) * sizeof(**of));
	}
	if (!replace && (*of)[id].seen && (*of)[id].uuid != uuid)
		return false;
	(*of)[id] = (struct seen_uuid){.uuid = uuid, .seen = true};
	return true;
}

static void set_owner_thread(struct import *im, struct machine *m, struct described_track *d)
{
	uint32_t utid;

	import_translate_ids(im, m, d->writer, &d->pid, &d->tid);
	utid = tasks_get_thread_of_process(&m->tasks, d->tid, d->pid);
	if (!store_uuid(im, &im->utid_uuids, &im->cap_utid_uuids, utid, d->key.uuid, false)) {
		tasks_new_thread(&m->tasks, d->tid, NULL_I64);
		utid = tasks_get_thread_of_process(&m->tasks, d->tid, d->pid);
		store_uuid(im, &im->utid_uuids, &im->cap_utid_uuids, utid, d->key.uuid, true);
	}
	d->owner = OWNER_THREAD;
	d->owner_id = utid;
}

static void set_owner_process(struct import *im, struct machine *m, struct described_track *d)
{
	uint32_t upid, utid;

	import_translate_ids(im, m, d->writer, &d->pid, &d->tid);
	upid = tasks_get_process(&m->tasks, d->pid);
	if (!store_uuid(im, &im->upid_uuids, &im->cap_upid_uuids, upid, d->key.uuid, false)) {
		upid = tasks_new_process(&m->tasks, d->pid, NULL_I64, &utid);
		store_uuid(im, &im->upid_uuids, &im->cap_upid_uuids, upid, d->key.uuid, true);
	}
	d->owner = OWNER_PROCESS;
	d->owner_id = upid;
}

static bool needs_no_parent(const struct described_track *d)
{
	return d->kind == DESCRIBED_THREAD || d->kind == DESCRIBED_PROCESS || !d->parent;
}

/* Finds the owner of a track: walks up to the first ancestor whose owner is known or that needs no
 * parent, then sets the owners of the tracks below. Returns false and counts an error if no such
 * ancestor exists. */
static bool find_owner(struct import *im, struct machine *m, struct described_track *d)
{
	struct described_track *chain[MAX_ANCESTORS];
	size_t n = 0;

	for (struct described_track *a = d; a && !a->owner_known;) {
		for (size_t i = 0; i < n; i++)
			if (chain[i] == a) {
				stats_add(im->store, STAT_TRACK_EVENT_TRACK_HIERARCHY_LOOP,
					  STAT_NO_INDEX, 1);
				return false;
			}
		if (n == MAX_ANCESTORS) {
			stats_add(im->store, STAT_TRACK_EVENT_TRACK_HIERARCHY_TOO_DEEP,
				  STAT_NO_INDEX, 1);
			return false;
		}
		chain[n++] = a;
		if (needs_no_parent(a))
			break;
		a = described_find(im, m, a->parent);
		if (!a) {
			stats_add(im->store, STAT_TRACK_HIERARCHY_MISSING_UUID, STAT_NO_INDEX, 1);
			return false;
		}
	}
	while (n--) {
		struct described_track *a = chain[n];
		const struct described_track *parent =
			a->parent ? described_find(im, m, a->parent) : NULL;

		if (a->kind == DESCRIBED_THREAD) {
			set_owner_thread(im, m, a);
		} else if (a->kind == DESCRIBED_PROCESS) {
			set_owner_process(im, m, a);
		} else if (parent) {
			a->owner = parent->owner;
			a->owner_id = parent->owner_id;
		}
		a->owner_known = true;
	}
	return true;
}

struct described_track *described_get_for_event(struct import *im, struct machine *m, uint64_t uuid,
						const struct packet_sequence_info *seq)
{
	struct described_track *d = described_find(im, m, uuid);

	if (!d) {
		struct described_track new = {
			.key = {uuid, m->row},
			.name = uuid ? NULL_U32
				     : strings_intern_z(&im->store->strings, "Default Track"),
			.description = NULL_U32,
			.ordering = NULL_U32,
			.track = NULL_U32,
			.has_first = uuid && seq && seq->has_first_packet,
			.first = true};
		d = described_add(im, &new);
	}
	return d && (d->owner_known || find_owner(im, m, d)) ? d : NULL;
}

/* ---- rows ---- */

static void add_string_arg(struct import *im, struct arg_builder *b, const char *key,
			   uint32_t string)
{
	uint32_t id = strings_intern_z(&im->store->strings, key);

	if (string != NULL_U32)
		arg_builder_add(
			im->store, b,
			&(struct stored_arg){
				.key = id, .flat_key = id, .type = ARG_STRING, .value = string});
}

static void set_source_args(struct import *im, const struct described_track *d, uint32_t track)
{
	static const char *const builtins[] = {NULL, "thread_time", "thread_instruction_count"};
	struct store *s = im->store;
	struct arg_builder b = {.n = 0};
	bool is_root = !d->key.uuid || d->kind == DESCRIBED_PROCESS || d->kind == DESCRIBED_THREAD;

	add_string_arg(im, &b, "source", strings_intern_z(&s->strings, "descriptor"));
	arg_builder_add_int(s, &b, "trace_id", ARG_INT, (int64_t)d->key.uuid);
	arg_builder_add_int(s, &b, "is_root_in_scope", ARG_BOOL, is_root);
	if (d->kind == DESCRIBED_COUNTER) {
		add_string_arg(im, &b, "category", d->counter.categories);
		if (d->counter.builtin)
			add_string_arg(im, &b, "builtin_counter_type",
				       strings_intern_z(&s->strings, builtins[d->counter.builtin]));
		add_string_arg(im, &b, "y_axis_share_key", d->counter.share_key);
	}
	if (d->has_first)
		arg_builder_add_int(s, &b, "has_first_packet_on_sequence", ARG_BOOL, d->first);
	add_string_arg(im, &b, "child_ordering", d->ordering);
	if (d->has_rank)
		arg_builder_add_int(s, &b, "sibling_order_rank", ARG_INT, d->rank);
	add_string_arg(im, &b, "description", d->description);
	table_set_u32(import_table(im, TABLE_TRACK), TRACK_SOURCE_ARGS, track, arg_sets_add(s, &b));
	free(b.args);
}

/* Sets the first of a track's dimensions to the owner. Returns how many it set: 0 without owner. */
static size_t set_owner_dimension(const struct described_track *d, int64_t values[static 1])
{
	values[0] = d->owner_id;
	return d->owner != OWNER_NONE;
}

static uint32_t make_track_row(struct import *im, struct machine *m,
			       const struct described_track *d, uint32_t event_name)
{
	const struct track_type *type = d->kind == DESCRIBED_COUNTER ? &counter_types[d->owner]
					: d->kind == DESCRIBED_STATE ? &state_types[d->owner]
								     : &plain_types[d->owner];
	static const char *const names[] = {NULL, "thread_time", "thread_instruction_count"};
	static const char *const units[] = {NULL, "ns", "count"};
	struct table *t = import_table(im, TABLE_TRACK);
	uint32_t name = d->name, unit = d->counter.unit, row;
	int64_t values[TRACK_DIMENSIONS_MAX];
	size_t n;

	if (d->kind == DESCRIBED_THREAD && !d->own_track)
		return tracks_get_thread_track(im, m, d->owner_id);
	n = set_owner_dimension(d, values);
	values[n] = (int64_t)d->key.uuid;
	if (d->kind == DESCRIBED_PLAIN && name == NULL_U32)
		name = event_name;
	if (d->kind == DESCRIBED_COUNTER && d->counter.builtin) {
		if (name == NULL_U32)
			name = strings_intern_z(&im->store->strings, names[d->counter.builtin]);
		unit = strings_intern_z(&im->store->strings, units[d->counter.builtin]);
	}
	row = tracks_make(im, m, type, name, values);
	if (d->kind == DESCRIBED_COUNTER)
		table_set_u32(t, TRACK_UNIT, row, unit);
	if (d->kind == DESCRIBED_STATE)
		table_set_u32(t, TRACK_EVENT_TYPE, row,
			      strings_intern_z(&im->store->strings, "state"));
	set_source_args(im, d, row);
	return row;
}

bool described_is_merged(const struct described_track *d)
{
	return d->kind == DESCRIBED_PLAIN && d->merge != MERGE_NEVER;
}

static struct track_slot *described_tracks_get_slot(struct import *im, struct machine *m,
						    struct described_track *d, uint32_t event_name)
{
	uint32_t name = d->name != NULL_U32 ? d->name : event_name;
	int64_t values[TRACK_DIMENSIONS_MAX];
	size_t n;

	if (!d->group) {
		n = set_owner_dimension(d, values);
		values[n++] = (int64_t)d->parent;
		values[n++] = d->merge == MERGE_BY_KEY ? 2 : 0;
		values[n] = d->merge == MERGE_BY_KEY ? d->merge_key : name;
		d->group = track_groups_get(im, m, &merged_types[d->owner], values);
	}
	return d->group ? track_group_get_slot(im, d->group, (int64_t)d->key.uuid) : NULL;
}

/* Returns the track's row; NULL_U32: it is not made yet; 0 if out of memory. */
static uint32_t find_track_row(struct import *im, struct machine *m, struct described_track *d,
			       uint32_t event_name)
{
	struct track_slot *slot;

	if (!described_is_merged(d))
		return d->track;
	slot = described_tracks_get_slot(im, m, d, event_name);
	return slot ? slot->track : 0;
}

/* Returns the track's row; makes it, after the rows of the ancestors. Returns 0 if out of memory.
 * The row of a thread or process is never a parent. depth: of the recursion, which would not end
 * for a thread or process that is its own ancestor. */
static uint32_t described_tracks_get_row(struct import *im, struct machine *m,
					 struct described_track *d, uint32_t event_name, int depth)
{
	uint32_t row = find_track_row(im, m, d, event_name), parent_row = NULL_U32;
	struct described_track *parent;
	struct track_slot *slot;

	if (row != NULL_U32)
		return row;
	parent = d->parent && depth < MAX_ANCESTORS ? described_find(im, m, d->parent) : NULL;
	if (parent && (parent->owner_known || find_owner(im, m, parent)))
		parent_row = described_tracks_get_row(im, m, parent, NULL_U32, depth + 1);
	row = find_track_row(im, m, d, event_name); /* made as one of its own ancestors */
	if (row != NULL_U32)
		return row;
	if (!parent || parent->kind == DESCRIBED_THREAD || parent->kind == DESCRIBED_PROCESS)
		parent_row = NULL_U32;
	if (described_is_merged(d)) {
		slot = described_tracks_get_slot(im, m, d, event_name);
		if (!slot)
			return 0;
		track_group_make_track(im, m, d->group, slot,
				       d->name != NULL_U32 ? d->name : event_name);
		row = slot->track;
		set_source_args(im, d, row);
	} else {
		row = d->track = make_track_row(im, m, d, event_name);
	}
	if (d->kind != DESCRIBED_THREAD || d->own_track)
		table_set_u32(import_table(im, TABLE_TRACK), TRACK_PARENT, row, parent_row);
	return row;
}

uint32_t described_slice_row(struct import *im, struct machine *m, struct described_track *d,
			     uint32_t event_name, enum slice_step step)
{
	uint32_t row = described_tracks_get_row(im, m, d, event_name, 0);
	struct track_slot *slot =
		described_is_merged(d) ? described_tracks_get_slot(im, m, d, event_name) : NULL;

	if (slot && step == STEP_BEGIN)
		slot->open++;
	else if (slot && step == STEP_END && slot->open)
		track_slot_set_open(slot, slot->open - 1);
	return row;
}

uint32_t described_own_row(struct import *im, struct machine *m, struct described_track *d)
{
	return described_tracks_get_row(im, m, d, NULL_U32, 0);
}
