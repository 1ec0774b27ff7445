/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks: functions, call sites, and profiles, which are lists of samples: one for each
 * session of a profiler, and those of the stacks at the start and at the end of slices. Waits
 * (linux.waits) are slices on tracks of that name, and have profiles of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/page/page_rows.h"
#include "analyze/stacks/code.h"
#include "analyze/store/columns.h"
#include "base/core/mem.h"
#include "base/text/str.h"

/* Where a stack comes from: page.edge. */
enum stack_edge { STACK_OF_SAMPLE, STACK_OF_BEGIN, STACK_OF_END };

struct page_sample {
	int64_t ts;
	uint32_t utid; /* NULL_U32: none */
	uint32_t site;
	uint64_t weight;
};

struct profile {
	const uint32_t *sites; /* borrowed: the page's, by call site */
	const char *name, *unit;
	enum stack_edge edge;
	struct page_sample *samples; /* owned */
	size_t n, cap;
};

static const struct table *stacks_table(const struct page *p, enum store_table t)
{
	return &p->store->tables[t];
}

/* Fills the columns of the functions, which have the same names as in reports. */
static void put_functions(struct page *p, const struct code *code)
{
	struct strbuf name = {0};

	for (uint32_t i = 0; i < code->n; i++) {
		const struct code_function *f = &code->of[i];

		strbuf_clear(&name);
		code_put_name(code, i, &name);
		page_put_string(p, PAGE_COLUMN_FUNCTION_NAME,
				strings_intern_buf(&p->store->strings, &name));
		page_put_string(p, PAGE_COLUMN_FUNCTION_FILE,
				f->kind == CODE_NOTE ? NULL_U32 : f->path);
		page_put(&p->columns, PAGE_COLUMN_FUNCTION_KIND, f->kind);
	}
	strbuf_deinit(&name);
}

/* Fills the columns of the call sites; a frame with inlined functions becomes a site for each
 * function. Sets *ret to the innermost site of each frame, by call site; the caller frees it, even
 * on failure. Returns 0 or -ENOMEM. */
static int put_call_sites(struct page *p, const struct code *code, uint32_t **ret)
{
	const struct table *t = stacks_table(p, TABLE_STACK_CALLSITE);
	uint32_t n = 0, *sites = malloc(((size_t)t->rows + 1) * sizeof(*sites));

	*ret = sites;
	if (!sites)
		return -ENOMEM;
	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t parent = table_u32(t, STACK_CALLSITE_PARENT, row);
		uint32_t frame = table_u32(t, STACK_CALLSITE_FRAME, row);
		uint32_t caller = parent < row ? sites[parent] : NULL_U32;

		for (uint32_t i = code->first[frame]; i < code->first[frame + 1]; i++) {
			page_put(&p->columns, PAGE_COLUMN_SITE_PARENT, page_plus_1(caller));
			page_put(&p->columns, PAGE_COLUMN_SITE_FUNCTION, code->chain[i]);
			caller = n++;
		}
		sites[row] = caller;
	}
	return 0;
}

/* Adds a sample, unless it has no stack or is outside of the window. Returns 0 or -ENOMEM. */
static int profile_add(struct profile *f, const struct page *p, struct page_sample sample)
{
	if (sample.site >= stacks_table(p, TABLE_STACK_CALLSITE)->rows || sample.ts < p->from ||
	    (sample.ts >= p->to && p->to != INT64_MAX))
		return 0;
	if (array_reserve(&f->samples, &f->cap, f->n + 1, sizeof(*f->samples)))
		return -ENOMEM;
	f->samples[f->n++] = sample;
	return 0;
}

static int compare_sample_times(const void *a, const void *b)
{
	const struct page_sample *x = a, *y = b;

	return x->ts != y->ts ? (x->ts > y->ts) - (x->ts < y->ts)
			      : (x->site > y->site) - (x->site < y->site);
}

static void put_profile(struct page *p, struct profile *f)
{
	struct page_columns *c = &p->columns;
	int64_t before = p->start;

	page_put_string(p, PAGE_COLUMN_PROFILE_NAME, strings_intern_z(&p->store->strings, f->name));
	page_put_string(p, PAGE_COLUMN_PROFILE_UNIT, strings_intern_z(&p->store->strings, f->unit));
	page_put(c, PAGE_COLUMN_PROFILE_EDGE, f->edge);
	page_put(c, PAGE_COLUMN_PROFILE_SAMPLES, f->n);
	if (f->n)
		qsort(f->samples, f->n, sizeof(*f->samples), compare_sample_times);
	for (size_t i = 0; i < f->n; i++) {
		const struct page_sample *s = &f->samples[i];

		page_put_signed(c, PAGE_COLUMN_STACK_TIME, page_subtract_times(s->ts, before));
		page_put(c, PAGE_COLUMN_STACK_THREAD, page_plus_1(s->utid));
		page_put(c, PAGE_COLUMN_STACK_SITE, f->sites[s->site]);
		page_put(c, PAGE_COLUMN_STACK_WEIGHT, s->weight);
		before = s->ts;
	}
}

/* ---- sessions of profilers ---- */

/* Returns the row of the first counter of a sample, or NULL_U32. */
static uint32_t first_counter_of_sample(const struct page *p, uint32_t sample)
{
	const struct table *sets = stacks_table(p, TABLE_COUNTER_SET);
	uint32_t set =
		table_u32(stacks_table(p, TABLE_PROFILER_SAMPLE), PROFILER_SAMPLE_COUNTERS, sample);

	return set < sets->rows ? table_u32(sets, COUNTER_SET_COUNTER, set) : NULL_U32;
}

/* Returns how much a sample counts: its counter's value, but 1 in linux.perf, where the counter has
 * the value since the start. */
static uint64_t sample_weight(const struct page *p, uint32_t sample, bool is_perf)
{
	uint32_t counter = is_perf ? NULL_U32 : first_counter_of_sample(p, sample);
	double value;

	if (counter == NULL_U32)
		return 1;
	value = table_f64(stacks_table(p, TABLE_COUNTER), COUNTER_VALUE, counter);
	return value > 0 && value < (double)UINT64_MAX ? (uint64_t)value : 0;
}

static int add_samples_of_session(const struct page *p, uint32_t session, bool is_perf,
				  struct profile *f)
{
	const struct table *t = stacks_table(p, TABLE_PROFILER_SAMPLE);
	const struct table *tasks = stacks_table(p, TABLE_TASK_CONTEXT);
	struct row_list rows;
	int r = page_list_rows(p, TABLE_PROFILER_SAMPLE, PROFILER_SAMPLE_SESSION, session, 0,
			       &rows);

	for (uint32_t i = 0; r == 0 && i < rows.n; i++) {
		uint32_t row = rows.rows[i], task = table_u32(t, PROFILER_SAMPLE_TASK, row);

		r = profile_add(f, p,
				(struct page_sample){
					.ts = table_ts(t, PROFILER_SAMPLE_TS, row),
					.utid = task < tasks->rows
							? table_u32(tasks, TASK_CONTEXT_UTID, task)
							: NULL_U32,
					.site = table_u32(t, PROFILER_SAMPLE_CALLSITE, row),
					.weight = sample_weight(p, row, is_perf),
				});
	}
	row_list_deinit(&rows);
	return r;
}

/* Appends the name of the session's weights to `name`, and sets the unit: both are those of the
 * track of the first counter. */
static void put_session_name(const struct page *p, uint32_t session, struct profile *f,
			     struct strbuf *name)
{
	const struct strings *strings = &p->store->strings;
	const struct table *samples = stacks_table(p, TABLE_PROFILER_SAMPLE);
	const struct table *tracks = stacks_table(p, TABLE_TRACK);

	for (uint32_t row = 0; row < samples->rows; row++) {
		uint32_t counter, track;

		if (table_u32(samples, PROFILER_SAMPLE_SESSION, row) != session)
			continue;
		counter = first_counter_of_sample(p, row);
		if (counter == NULL_U32)
			continue;
		track = table_u32(stacks_table(p, TABLE_COUNTER), COUNTER_TRACK, counter);
		strbuf_printf(name, ": %s",
			      strings_get(strings, table_u32(tracks, TRACK_NAME, track)));
		f->unit = strings_get(strings, table_u32(tracks, TRACK_UNIT, track));
		return;
	}
}

static int put_session(struct page *p, uint32_t session, const uint32_t *sites)
{
	const char *source =
		strings_get(&p->store->strings, table_u32(stacks_table(p, TABLE_PROFILER_SESSION),
							  PROFILER_SESSION_SOURCE, session));
	bool is_perf = !strcmp(source, "linux.perf");
	struct profile f = {.sites = sites, .unit = "count", .edge = STACK_OF_SAMPLE};
	struct strbuf name = {0};
	int r;

	strbuf_puts(&name, is_perf ? "CPU samples" : *source ? source : "samples");
	if (!is_perf)
		put_session_name(p, session, &f, &name);
	f.name = name.s;
	r = name.failed ? -ENOMEM : add_samples_of_session(p, session, is_perf, &f);
	if (r == 0 && f.n)
		put_profile(p, &f);
	free(f.samples);
	strbuf_deinit(&name);
	return r;
}

/* ---- stacks of slices ---- */

static int put_slice_stacks(struct page *p, struct profile *f, bool waits)
{
	const struct table *t = stacks_table(p, TABLE_EVENT_CALLSTACK);
	const struct table *slices = stacks_table(p, TABLE_SLICE);
	const struct table *tracks = stacks_table(p, TABLE_TRACK);
	uint32_t name_of_waits = strings_find(&p->store->strings, "waits", strlen("waits"));
	unsigned column =
		f->edge == STACK_OF_BEGIN ? EVENT_CALLSTACK_SITE : EVENT_CALLSTACK_END_SITE;
	int r = 0;

	f->unit = "ns";
	for (uint32_t row = 0; r == 0 && row < t->rows; row++) {
		uint32_t slice = table_u32(t, EVENT_CALLSTACK_SLICE, row), track, name;
		int64_t ts, dur;

		if (slice >= slices->rows)
			continue;
		track = table_u32(slices, SLICE_TRACK, slice);
		name = table_u32(tracks, TRACK_NAME, track);
		if ((name != NULL_U32 && name == name_of_waits) != waits)
			continue;
		ts = table_ts(slices, SLICE_TS, slice);
		dur = table_dur(slices, SLICE_DUR, slice);
		r = profile_add(
			f, p,
			(struct page_sample){
				.ts = ts,
				.utid = table_u32(tracks, TRACK_UTID, track),
				.site = table_u32(t, column, row),
				.weight = (uint64_t)(dur >= 0 ? dur
							      : MAX(page_subtract_times(
									    p->store->end_ts, ts),
								    0)),
			});
	}
	if (r == 0 && f->n)
		put_profile(p, f);
	free(f->samples);
	return r;
}

int page_put_stacks(struct page *p)
{
	uint32_t sessions = stacks_table(p, TABLE_PROFILER_SESSION)->rows;
	_cleanup_(freep) uint32_t *sites = NULL;
	struct code code;
	int r = code_init(&code, p->store) ? put_call_sites(p, &code, &sites) : -ENOMEM;

	if (r == 0)
		put_functions(p, &code);
	for (uint32_t session = 0; r == 0 && session < sessions; session++)
		r = put_session(p, session, sites);
	if (r == 0) {
		struct profile profiles[] = {
			{.name = "waits, by the code that waited", .edge = STACK_OF_BEGIN},
			{.name = "waits, by the code that ended them", .edge = STACK_OF_END},
			{.name = "slices, by the stack at their start", .edge = STACK_OF_BEGIN},
			{.name = "slices, by the stack at their end", .edge = STACK_OF_END}};

		for (size_t i = 0; r == 0 && i < ARRAY_SIZE(profiles); i++) {
			profiles[i].sites = sites;
			r = put_slice_stacks(p, &profiles[i], i < 2);
		}
	}
	code_deinit(&code);
	return r;
}
