/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/late_tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define LATE 0x80000000u /* bit of COUNTER_TRACK: the other bits are the number of an entry */

struct late_key {
	const struct track_type *by_process, *by_thread;
	uint32_t machine, utid;
	uint32_t keys[2];
};

struct late_track {
	struct late_key key;
	uint32_t name, number;
	UT_hash_handle hh;
};

static struct late_track *late_get(struct import *im, const struct machine *m, uint32_t utid,
				   const struct late_counter *c)
{
	struct late_key key = {.by_process = c->by_process,
			       .by_thread = c->by_thread,
			       .machine = m->row,
			       .utid = utid,
			       .keys = {c->keys[0], c->keys[1]}};
	struct late_track *t;

	HASH_FIND(hh, im->late, &key, sizeof(key), t);
	if (t)
		return t;
	t = budget_alloc(&im->store->budget, sizeof(*t));
	if (t)
		*t = (struct late_track){
			.key = key, .name = c->name, .number = HASH_COUNT(im->late)};
	return BUDGET_HASH_ADD(&im->store->budget, im->late, key, t);
}

void late_tracks_add_value(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
			   const struct late_counter *c, double value)
{
	const struct late_track *t = late_get(im, m, utid, c);

	if (t)
		rows_add_counter(im, ts, LATE | t->number, value, NULL_U32);
}

static uint32_t late_tracks_resolve(struct import *im, const struct late_track *t)
{
	struct machine *m = im->machines[t->key.machine];
	uint32_t upid = tasks_upid(&m->tasks, t->key.utid);
	int64_t values[] = {upid, t->key.keys[0], t->key.keys[1]};

	if (upid != NULL_U32)
		return tracks_get(im, m, t->key.by_process, t->name, values);
	values[0] = t->key.utid;
	return tracks_get(im, m, t->key.by_thread, t->name, values);
}

/* The hash lists entries in the order in which they were made, which is the order of their first
 * rows. So tracks are made in that order. */
void late_tracks_finish(struct import *im)
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
	for (const struct late_track *l = im->late; l; l = l->hh.next)
		tracks[l->number] = late_tracks_resolve(im, l);
	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t track = table_u32(t, COUNTER_TRACK, row);

		if (track & LATE)
			table_set_u32(t, COUNTER_TRACK, row, tracks[track & ~LATE]);
	}
}

void late_tracks_deinit(struct import *im)
{
	HASH_FREE(im->late);
}
