/* SPDX-License-Identifier: Apache-2.0 */
/* slices_by, interrupt_wakes, interrupts: what rows of slice say. */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- slices_by ---- */

/* Returns by track whether its slices are of chosen threads or of their processes (owned by the
 * caller), or NULL if out of memory. */
static bool *find_tracks_of_chosen_threads(const struct pass_input *in)
{
	const struct table *t = &in->s->tables[TABLE_TRACK];
	const struct table *threads = &in->s->tables[TABLE_THREAD];
	bool *processes = calloc((size_t)in->s->tables[TABLE_PROCESS].rows + 1, sizeof(bool));
	bool *tracks = calloc((size_t)t->rows + 1, sizeof(bool));

	for (uint32_t utid = 0; processes && utid < threads->rows; utid++)
		if (in->chosen[utid] && table_u32(threads, THREAD_UPID, utid) != NULL_U32)
			processes[table_u32(threads, THREAD_UPID, utid)] = true;
	for (uint32_t row = 0; processes && tracks && row < t->rows; row++) {
		uint32_t utid = table_u32(t, TRACK_UTID, row), upid = table_u32(t, TRACK_UPID, row);

		if (in->machine != MACHINES_ALL && table_u32(t, TRACK_MACHINE, row) != in->machine)
			continue;
		tracks[row] = !in->some || (utid != NULL_U32 && in->chosen[utid]) ||
			      (upid != NULL_U32 && processes[upid]);
	}
	if (!processes) {
		free(tracks);
		tracks = NULL;
	}
	free(processes);
	return tracks;
}

struct slice_groups {
	const struct pass_input *in;
	const bool *tracks;
	const struct pass_who *who; /* by thread or process; NULL: by name or track */
	bool compare_track_groups;
	struct groups g;
};

/* Sets the number of the thread or process that a track belongs to. Returns false if it belongs to
 * none. */
static bool find_track_owner(const struct slice_groups *sg, uint32_t track, uint64_t *ret)
{
	const struct table *t = &sg->in->s->tables[TABLE_TRACK];
	uint32_t utid = table_u32(t, TRACK_UTID, track), upid = table_u32(t, TRACK_UPID, track);

	if (utid != NULL_U32)
		*ret = sg->who->of[utid];
	else if (upid != NULL_U32 && sg->who->kind == WHO_PROCESS)
		*ret = upid;
	else
		return false;
	return true;
}

/* Sets the group's key. Returns false for a slice that is not counted. */
static bool find_group_key(const struct slice_groups *sg, uint32_t row, uint64_t *ret_key)
{
	const struct table *t = &sg->in->s->tables[TABLE_SLICE];
	int64_t ts = table_ts(t, SLICE_TS, row), dur = table_dur(t, SLICE_DUR, row), end;
	uint32_t track = table_u32(t, SLICE_TRACK, row);

	if (dur < 0 || ts < sg->in->from || __builtin_add_overflow(ts, dur, &end) ||
	    end > sg->in->to || !sg->tracks[track])
		return false;
	if (sg->who)
		return find_track_owner(sg, track, ret_key);
	*ret_key = (uint64_t)table_u32(t, SLICE_NAME, row) << 32 |
		   (sg->compare_track_groups ? track : 0);
	return true;
}

/* Adds all slices. other: the time of the slices directly inside of them. */
static void add_slices(struct slice_groups *sg)
{
	const struct table *t = &sg->in->s->tables[TABLE_SLICE];
	uint64_t key;

	for (uint32_t row = 0; row < t->rows; row++)
		if (find_group_key(sg, row, &key))
			groups_add(&sg->g,
				   &(struct group_sample){.key = key,
							  .ns = table_dur(t, SLICE_DUR, row),
							  .ts = table_ts(t, SLICE_TS, row)});
	for (uint32_t row = 0; !sg->g.filling && row < t->rows; row++) {
		uint32_t parent = table_u32(t, SLICE_PARENT, row);
		int64_t dur = table_dur(t, SLICE_DUR, row);
		struct group *g;

		if (parent == NULL_U32 || dur <= 0 || !find_group_key(sg, parent, &key))
			continue;
		g = groups_find(&sg->g, key);
		if (g)
			g->other += (uint64_t)dur;
	}
}

static void add_slice_rows(struct slice_groups *sg, struct pass_rows *ret)
{
	for (size_t i = 0; i < sg->g.n && !sg->g.failed; i++) {
		const struct group *e = &sg->g.list[i];
		int64_t name = sg->who ? NULL_I64 : pass_id_value((uint32_t)(e->key >> 32));
		int64_t of = sg->who			? pass_who_value(sg->who, (uint32_t)e->key)
			     : sg->compare_track_groups ? (int64_t)(uint32_t)e->key
							: NULL_I64;

		PASS_ROW(ret, name, of, (int64_t)e->n, (int64_t)e->total,
			 (int64_t)(e->total - e->other), groups_p50(&sg->g, e),
			 groups_p99(&sg->g, e), e->longest, MAX(e->longest_ts, (int64_t)0));
	}
}

void pass_fill_slices(const struct pass_input *in, struct pass_rows *ret)
{
	bool by_who = !strcmp(in->by, "thread") || !strcmp(in->by, "process");
	struct pass_who who = {.s = in->s};
	bool *tracks = find_tracks_of_chosen_threads(in);
	struct slice_groups sg = {.in = in,
				  .tracks = tracks,
				  .who = by_who ? &who : NULL,
				  .compare_track_groups = !strcmp(in->by, "track")};
	bool good = tracks && (!by_who || pass_who_init(&who, in));

	if (good)
		add_slices(&sg);
	if (good && groups_begin_fill(&sg.g))
		add_slices(&sg);
	if (good)
		add_slice_rows(&sg, ret);
	ret->failed |= !good || sg.g.failed;
	groups_deinit(&sg.g);
	pass_who_deinit(&who);
	free(tracks);
}

/* ---- interrupt_wakes ---- */

/* A track of interrupts, and the last of its slices that has begun by the time of a walk. */
struct irq_track {
	uint32_t cpu; /* its number among those of all machines */
	uint32_t slice; /* the last one that has begun; NULL_U32: none yet */
};

struct irq_tracks {
	struct irq_track *list; /* owned */
	size_t n, cap;
	uint32_t *of; /* owned; by track: its number in the list, or NULL_U32 */
	uint32_t next; /* row of slice */
	bool failed;
};

static void find_irq_tracks(const struct store *s, struct irq_tracks *ret)
{
	static const char *const types[] = {"cpu_irq", "cpu_softirq", "cpu_hrtimer"};
	const struct table *t = &s->tables[TABLE_TRACK];

	ret->of = malloc(((size_t)t->rows + 1) * sizeof(*ret->of));
	ret->failed = !ret->of;
	for (uint32_t row = 0; !ret->failed && row < t->rows; row++) {
		uint32_t type = table_u32(t, TRACK_TYPE, row), cpu = table_u32(t, TRACK_CPU, row);

		ret->of[row] = NULL_U32;
		for (size_t i = 0; i < ARRAY_SIZE(types) && cpu != NULL_U32; i++) {
			if (type == NULL_U32 || strcmp(strings_get(&s->strings, type), types[i]))
				continue;
			if (array_reserve(&ret->list, &ret->cap, ret->n + 1, sizeof(*ret->list))) {
				ret->failed = true;
				return;
			}
			ret->of[row] = (uint32_t)ret->n;
			ret->list[ret->n++] =
				(struct irq_track){.cpu = cpu + table_u32(t, TRACK_MACHINE, row) *
									STORE_CPUS_OF_A_MACHINE,
						   .slice = NULL_U32};
		}
	}
}

/* Advances to the last slices that have begun by a time. Slices of a track are in the order of
 * time. */
static void advance_irq_tracks_to(const struct store *s, struct irq_tracks *tracks, int64_t ts)
{
	const struct table *t = &s->tables[TABLE_SLICE];

	for (; tracks->next < t->rows; tracks->next++) {
		uint32_t number = tracks->of[table_u32(t, SLICE_TRACK, tracks->next)];

		if (number == NULL_U32)
			continue;
		if (table_ts(t, SLICE_TS, tracks->next) > ts)
			return;
		tracks->list[number].slice = tracks->next;
	}
}

/* Returns the innermost interrupt in which a CPU is at a time: a row of slice, or NULL_U32. */
static uint32_t find_interrupt_at(const struct store *s, const struct irq_tracks *tracks,
				  uint32_t cpu, int64_t ts)
{
	const struct table *t = &s->tables[TABLE_SLICE];
	uint32_t found = NULL_U32;

	for (size_t i = 0; i < tracks->n; i++) {
		uint32_t row = tracks->list[i].slice;
		int64_t end;

		if (tracks->list[i].cpu != cpu || row == NULL_U32 ||
		    table_dur(t, SLICE_DUR, row) < 0 ||
		    __builtin_add_overflow(table_ts(t, SLICE_TS, row), table_dur(t, SLICE_DUR, row),
					   &end) ||
		    end < ts)
			continue;
		if (found == NULL_U32 || table_ts(t, SLICE_TS, row) > table_ts(t, SLICE_TS, found))
			found = row;
	}
	return found;
}

/* Returns the CPU on which a waker ran, or NULL_U32. */
static uint32_t cpu_of_waker(const struct store *s, uint32_t waker)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	uint32_t row = table_u32(&s->tables[TABLE_WAKER], WAKER_ROW, waker);

	return row == NULL_U32 || table_u16(t, STATE_STATE, row) != STORE_STATE_RUNNING
		       ? NULL_U32
		       : table_u32(t, STATE_MORE, row);
}

void pass_fill_interrupt_wakes(const struct pass_input *in, struct pass_rows *ret)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	struct irq_tracks tracks = {.n = 0};
	struct groups g = {.n = 0};

	find_irq_tracks(in->s, &tracks);
	for (uint32_t row = 0; tracks.n && !tracks.failed && row < t->rows; row++) {
		uint32_t utid = table_u32(t, STATE_UTID, row), waker = pass_waker_row(in->s, row);
		int64_t ts = table_ts(t, STATE_TS, row);
		uint32_t cpu, slice;

		if (waker == NULL_U32 || !in->chosen[utid] || ts < in->from || ts >= in->to ||
		    table_u8(&in->s->tables[TABLE_WAKER], WAKER_IRQ_CONTEXT, waker) != 1)
			continue;
		advance_irq_tracks_to(in->s, &tracks, ts);
		cpu = cpu_of_waker(in->s, waker);
		slice = cpu == NULL_U32 ? NULL_U32 : find_interrupt_at(in->s, &tracks, cpu, ts);
		if (slice == NULL_U32)
			continue;
		groups_add(&g, &(struct group_sample){
				       .key = (uint64_t)table_u32(&in->s->tables[TABLE_SLICE],
								  SLICE_NAME, slice)
						      << 32 |
					      utid});
	}
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, pass_id_value((uint32_t)(g.list[i].key >> 32)),
			 (int64_t)(uint32_t)g.list[i].key, (int64_t)g.list[i].n);
	ret->failed |= tracks.failed || g.failed;
	groups_deinit(&g);
	free(tracks.list);
	free(tracks.of);
}

/* ---- interrupts ---- */

static int compare_track_groups(const void *a, const void *b)
{
	uint32_t x = (uint32_t)((const struct group *)a)->key,
		 y = (uint32_t)((const struct group *)b)->key;

	return x < y ? -1 : x > y;
}

void pass_fill_interrupts(const struct pass_input *in, struct pass_rows *ret)
{
	const struct table *t = &in->s->tables[TABLE_SLICE];
	struct irq_tracks tracks = {.n = 0};
	struct groups g = {.n = 0};
	size_t at = 0;

	find_irq_tracks(in->s, &tracks);
	for (uint32_t row = 0; tracks.n && !tracks.failed && row < t->rows; row++) {
		uint32_t track = table_u32(t, SLICE_TRACK, row);
		const struct group *known;
		struct group_sample sample;

		if (tracks.of[track] == NULL_U32)
			continue;
		sample = (struct group_sample){
			.key = (uint64_t)table_u32(t, SLICE_NAME, row) << 32 | track,
			.ns = table_dur(t, SLICE_DUR, row),
			.ts = table_next_ts(t, SLICE_TS, row, &at)};
		if (sample.ns < 0 || sample.ts < in->from || sample.ts >= in->to)
			continue;
		/* Of the longest slices the first one is shown. */
		known = groups_find(&g, sample.key);
		if (known && known->longest == sample.ns)
			sample.ts = known->longest_ts;
		groups_add(&g, &sample);
	}
	if (g.n)
		qsort(g.list, g.n, sizeof(*g.list), compare_track_groups);
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, (int64_t)(uint32_t)g.list[i].key,
			 pass_id_value((uint32_t)(g.list[i].key >> 32)), (int64_t)g.list[i].n,
			 (int64_t)g.list[i].total, g.list[i].longest, g.list[i].longest_ts);
	ret->failed |= tracks.failed || g.failed;
	groups_deinit(&g);
	free(tracks.list);
	free(tracks.of);
}
