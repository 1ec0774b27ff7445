/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stacks/stack_points.h"

#include <string.h>

#include "analyze/store/columns.h"
#include "base/core/mem.h"

enum stack_kind stack_kind_of(const char *word)
{
	return !strcmp(word, "waits")	 ? STACKS_WAITS
	       : !strcmp(word, "single") ? STACKS_SINGLE_WAITS
	       : !strcmp(word, "wakers") ? STACKS_WAKERS
					 : STACKS_CPU;
}

/* Weights and counts of the trace are not negative. They are cut so that no sum of them
 * overflows. */
static bool stack_points_add(struct stack_points *to, struct stack_point *p)
{
	if (array_reserve(&to->of, &to->cap, to->n + 1, sizeof(*to->of)) < 0)
		return false;
	p->weight = MIN(p->weight, INT64_MAX - to->total_weight);
	p->n = MIN(p->n, INT64_MAX - to->total_n);
	to->total_weight += p->weight;
	to->total_n += p->n;
	to->of[to->n++] = *p;
	return true;
}

/* ---- samples ---- */

/* Strings that distinguish kinds of samples; NULL_U32 if the trace has none of them. */
struct sample_words {
	uint32_t sources[2], blocked, waits; /* sources: of waits, of wakers */
};

static uint32_t find_interned_word(const struct store *s, const char *word)
{
	return strings_find(&s->strings, word, strlen(word));
}

/* Returns the main thread of a process, or NULL_U32. */
static uint32_t main_thread(const struct store *s, const uint32_t *main_of, uint32_t upid)
{
	return upid < s->tables[TABLE_PROCESS].rows ? main_of[upid] : NULL_U32;
}

/* Returns the main threads by upid, owned by the caller; NULL: no memory. */
static uint32_t *find_main_threads(const struct store *s)
{
	const struct table *t = &s->tables[TABLE_THREAD];
	uint32_t n = s->tables[TABLE_PROCESS].rows;
	uint32_t *ret = malloc(((size_t)n + 1) * sizeof(*ret));

	if (!ret)
		return NULL;
	memset(ret, 0xff, ((size_t)n + 1) * sizeof(*ret));
	for (uint32_t utid = 0; utid < t->rows; utid++) {
		uint32_t upid = table_u32(t, THREAD_UPID, utid);

		if (upid < n && (ret[upid] == NULL_U32 || table_u8(t, THREAD_IS_MAIN, utid) == 1))
			ret[upid] = utid;
	}
	return ret;
}

/* Reads the weights of a total: the values of its counters "blocked" and "waits". */
static void read_weights(const struct store *s, const struct sample_words *w, uint32_t set,
			 struct stack_point *p)
{
	const struct table *sets = &s->tables[TABLE_COUNTER_SET];
	const struct table *counters = &s->tables[TABLE_COUNTER];

	for (uint32_t row = set; row < sets->rows && table_u32(sets, COUNTER_SET_SET, row) == set;
	     row++) {
		uint32_t counter = table_u32(sets, COUNTER_SET_COUNTER, row);
		uint32_t name = table_u32(&s->tables[TABLE_TRACK], TRACK_NAME,
					  table_u32(counters, COUNTER_TRACK, counter));
		double v = table_f64(counters, COUNTER_VALUE, counter);
		int64_t value = v >= 0 && v < 0x1p62 ? (int64_t)v : 0;

		if (name == w->blocked)
			p->weight = value;
		else if (name == w->waits)
			p->n = value;
	}
}

/* Returns the reason of a total: the name of its innermost frame, if it is in brackets; otherwise
 * NULL_U32. */
static uint32_t reason_of_total(const struct store *s, uint32_t site)
{
	uint32_t frame = table_u32(&s->tables[TABLE_STACK_CALLSITE], STACK_CALLSITE_FRAME, site);
	uint32_t name = table_u32(&s->tables[TABLE_STACK_FRAME], STACK_FRAME_NAME, frame);
	const char *text = strings_get(&s->strings, name);
	size_t len = strlen(text);

	/* Without the brackets it is a string only if a single wait had this reason. */
	if (len > 2 && *text == '[') {
		uint32_t bare = strings_find(&s->strings, text + 1, len - 2);

		return bare == NULL_U32 ? name : bare;
	}
	return NULL_U32;
}

/* Returns the kind of the samples of a source. */
static enum stack_kind kind_of_source(const struct sample_words *w, uint32_t source)
{
	if (source == NULL_U32)
		return STACKS_CPU;
	return source == w->sources[0]	 ? STACKS_WAITS
	       : source == w->sources[1] ? STACKS_WAKERS
					 : STACKS_CPU;
}

/* Adds the samples of a kind that have a stack. Returns false if out of memory. */
static bool read_samples(const struct store *s, enum stack_kind kind, struct stack_points *ret)
{
	const struct table *t = &s->tables[TABLE_PROFILER_SAMPLE];
	const struct table *tasks = &s->tables[TABLE_TASK_CONTEXT];
	const struct sample_words words = {.sources = {find_interned_word(s, "linux.waits"),
						       find_interned_word(s, "linux.wakers")},
					   .blocked = find_interned_word(s, "blocked"),
					   .waits = find_interned_word(s, "waits")};
	_cleanup_(freep) uint32_t *main_of = find_main_threads(s);
	bool good = main_of;

	for (uint32_t row = 0; good && row < t->rows; row++) {
		uint32_t task = table_u32(t, PROFILER_SAMPLE_TASK, row);
		struct stack_point p = {.ts = table_ts(t, PROFILER_SAMPLE_TS, row),
					.weight = 1,
					.n = 1,
					.utid = NULL_U32,
					.site = table_u32(t, PROFILER_SAMPLE_CALLSITE, row),
					.reason = NULL_U32,
					.slice = NULL_U32};

		if (p.site == NULL_U32 ||
		    kind_of_source(&words, table_u32(t, PROFILER_SAMPLE_SOURCE, row)) != kind)
			continue;
		if (task != NULL_U32) {
			p.utid = table_u32(tasks, TASK_CONTEXT_UTID, task);
			p.of_process = p.utid == NULL_U32;
			if (p.of_process)
				p.utid = main_thread(s, main_of,
						     table_u32(tasks, TASK_CONTEXT_UPID, task));
		}
		if (kind != STACKS_CPU) {
			p.weight = 0;
			read_weights(s, &words, table_u32(t, PROFILER_SAMPLE_COUNTERS, row), &p);
		}
		if (kind == STACKS_WAITS)
			p.reason = reason_of_total(s, p.site);
		good = stack_points_add(ret, &p);
	}
	return good;
}

/* ---- single waits ---- */

/* Returns the call sites of slices by their rows, owned by the caller; NULL: no memory. */
static uint32_t *find_call_sites_of_slices(const struct store *s, unsigned column)
{
	const struct table *t = &s->tables[TABLE_EVENT_CALLSTACK];
	uint32_t n = s->tables[TABLE_SLICE].rows;
	uint32_t *ret = malloc(((size_t)n + 1) * sizeof(*ret));

	if (!ret)
		return NULL;
	memset(ret, 0xff, ((size_t)n + 1) * sizeof(*ret));
	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t slice = table_u32(t, EVENT_CALLSTACK_SLICE, row);
		uint32_t site = table_u32(t, column, row);

		if (slice < n && site != NULL_U32)
			ret[slice] = site;
	}
	return ret;
}

/* Sets *ret to the threads of tracks of waits, by track, which the caller frees; to NULL if there
 * is no such track. Returns false if out of memory. */
static bool find_wait_tracks(const struct store *s, uint32_t **ret)
{
	const struct table *t = &s->tables[TABLE_TRACK];
	uint32_t name = find_interned_word(s, "waits");
	bool found = false;

	*ret = NULL;
	if (name == NULL_U32)
		return true;
	*ret = malloc(((size_t)t->rows + 1) * sizeof(**ret));
	if (!*ret)
		return false;
	for (uint32_t row = 0; row < t->rows; row++) {
		(*ret)[row] = table_u32(t, TRACK_NAME, row) == name ? table_u32(t, TRACK_UTID, row)
								    : NULL_U32;
		found |= (*ret)[row] != NULL_U32;
	}
	if (!found)
		free(TAKE_PTR(*ret));
	return true;
}

/* Adds a point for each slice on a track of waits. column: that of its call site. Returns false if
 * out of memory. */
static bool read_single_waits(const struct store *s, unsigned column, struct stack_points *ret)
{
	const struct table *t = &s->tables[TABLE_SLICE];
	_cleanup_(freep) uint32_t *threads = NULL;
	_cleanup_(freep) uint32_t *sites = NULL;
	bool good = find_wait_tracks(s, &threads);

	if (!good || !threads)
		return good;
	sites = find_call_sites_of_slices(s, column);
	good = sites;
	for (uint32_t row = 0; good && row < t->rows; row++) {
		uint32_t track = table_u32(t, SLICE_TRACK, row);
		struct stack_point p = {.ts = table_ts(t, SLICE_TS, row),
					.dur = table_dur(t, SLICE_DUR, row),
					.n = 1,
					.utid = threads[track],
					.site = sites[row],
					.reason = table_u32(t, SLICE_NAME, row),
					.slice = row};

		if (p.utid == NULL_U32)
			continue;
		p.weight = MAX(p.dur, (int64_t)0);
		good = stack_points_add(ret, &p);
	}
	return good;
}

bool stack_points_read(const struct store *s, enum stack_kind kind, struct stack_points *ret)
{
	bool good = true;

	*ret = (struct stack_points){.n = 0};
	if (kind == STACKS_CPU || kind == STACKS_WAITS || kind == STACKS_WAKERS)
		good = read_samples(s, kind, ret);
	if (good && (kind == STACKS_SINGLE_WAITS || (kind == STACKS_WAITS && !ret->n)))
		good = read_single_waits(s, EVENT_CALLSTACK_SITE, ret);
	if (good && (kind == STACKS_SINGLE_WAKERS || (kind == STACKS_WAKERS && !ret->n)))
		good = read_single_waits(s, EVENT_CALLSTACK_END_SITE, ret);
	return good;
}
