/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions_by: how many samples of call stacks found each function running (own), or it or one
 * that it called (total). The call sites of all stacks are a tree. One walk through it adds the
 * samples below each call site to the call site's function, unless that function is on the way from
 * the root already.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/stack_columns.h"

/* Of a call site. */
struct site {
	uint32_t function; /* index in tree.functions */
	uint32_t child, next; /* its first child, the next child of its parent; 0: none */
	int64_t own, below; /* samples that end here; those and the ones below */
};

struct function {
	uint32_t frame; /* one of its rows of stack_profile_frame */
	uint32_t on_way; /* call sites of it from the root to the current one */
	int64_t own, total;
};

struct frame {
	uint32_t row, name;
	const char *file; /* base name of the mapping, borrowed */
};

struct tree {
	const struct store *s;
	struct site *sites; /* owned; by row */
	uint32_t n_sites, n_frames;
	struct function *functions; /* owned */
	uint32_t *function_of; /* owned; by frame */
};

static int by_function(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;
	int r = (x->name > y->name) - (x->name < y->name);

	if (r == 0)
		r = strcmp(x->file, y->file);
	return r ? r : (x->row > y->row) - (x->row < y->row);
}

static struct frame frame_at(const struct store *s, uint32_t row)
{
	const struct table *frames = &s->tables[TABLE_STACK_FRAME];
	const struct table *mappings = &s->tables[TABLE_STACK_MAPPING];
	uint32_t mapping = table_u32(frames, STACK_FRAME_MAPPING, row);
	const char *path =
		mapping < mappings->rows
			? strings_get(&s->strings, table_u32(mappings, STACK_MAPPING_NAME, mapping))
			: "";
	const char *slash = strrchr(path, '/');

	return (struct frame){.row = row,
			      .name = table_u32(frames, STACK_FRAME_NAME, row),
			      .file = slash ? slash + 1 : path};
}

/* Frames with the same name in files of the same name are one function. */
static bool find_functions(struct tree *t)
{
	_cleanup_(freep) struct frame *frames = calloc((size_t)t->n_frames + 1, sizeof(*frames));
	uint32_t n = 0;

	t->functions = calloc((size_t)t->n_frames + 1, sizeof(*t->functions));
	t->function_of = calloc((size_t)t->n_frames + 1, sizeof(*t->function_of));
	if (!frames || !t->functions || !t->function_of)
		return false;
	for (uint32_t row = 0; row < t->n_frames; row++)
		frames[row] = frame_at(t->s, row);
	qsort(frames, t->n_frames, sizeof(*frames), by_function);
	for (uint32_t i = 0; i < t->n_frames; i++) {
		if (i == 0 || frames[i].name != frames[i - 1].name ||
		    strcmp(frames[i].file, frames[i - 1].file) != 0)
			t->functions[n++].frame = frames[i].row;
		t->function_of[frames[i].row] = n - 1;
	}
	return true;
}

/* The row of a call site comes after that of its parent, so row 0 is the first root. */
static bool link_sites(struct tree *t)
{
	const struct table *rows = &t->s->tables[TABLE_STACK_CALLSITE];

	t->n_sites = rows->rows;
	t->sites = calloc((size_t)t->n_sites + 1, sizeof(*t->sites));
	for (uint32_t row = t->n_sites, root = 0; t->sites && row-- > 0;) {
		uint32_t parent = table_u32(rows, STACK_CALLSITE_PARENT, row);
		uint32_t *list = parent < row ? &t->sites[parent].child : &root;

		t->sites[row].function = t->function_of[table_u32(rows, STACK_CALLSITE_FRAME, row)];
		t->sites[row].next = *list;
		*list = row;
	}
	return t->sites;
}

static void count_samples(struct tree *t, const struct pass_input *in)
{
	const struct table *samples = &in->s->tables[TABLE_PROFILER_SAMPLE];
	const struct table *sites = &in->s->tables[TABLE_STACK_CALLSITE];

	for (uint32_t row = 0; row < samples->rows; row++) {
		bool is_perf = !strcmp(strings_get(&in->s->strings,
						   table_u32(samples, PROFILER_SAMPLE_SOURCE, row)),
				       "linux.perf");
		uint32_t site = table_u32(samples, PROFILER_SAMPLE_CALLSITE, row);
		uint32_t task = table_u32(samples, PROFILER_SAMPLE_TASK, row);
		uint32_t utid = is_perf ? table_u32(&in->s->tables[TABLE_TASK_CONTEXT],
						    TASK_CONTEXT_UTID, task)
					: NULL_U32;
		int64_t ts = table_ts(samples, PROFILER_SAMPLE_TS, row);

		if (site < t->n_sites && ts >= in->from && ts < in->to &&
		    utid < in->s->tables[TABLE_THREAD].rows && in->chosen[utid])
			t->sites[site].own++;
	}
	for (uint32_t row = t->n_sites; row-- > 0;) {
		struct site *s = &t->sites[row];
		uint32_t parent = table_u32(sites, STACK_CALLSITE_PARENT, row);

		s->below += s->own;
		t->functions[s->function].own += s->own;
		if (parent < row)
			t->sites[parent].below += s->below;
	}
}

static void pass_functions_enter(struct tree *t, uint32_t site)
{
	struct function *f = &t->functions[t->sites[site].function];

	if (f->on_way++ == 0)
		f->total += t->sites[site].below;
}

/* Returns the site that follows in the walk, or 0; leaves those that it goes up from. */
static uint32_t next_site(struct tree *t, uint32_t site)
{
	const struct table *rows = &t->s->tables[TABLE_STACK_CALLSITE];

	if (t->sites[site].child)
		return t->sites[site].child;
	for (;;) {
		uint32_t parent = table_u32(rows, STACK_CALLSITE_PARENT, site);

		t->functions[t->sites[site].function].on_way--;
		if (t->sites[site].next)
			return t->sites[site].next;
		if (parent >= site)
			return 0;
		site = parent;
	}
}

void pass_functions(const struct pass_input *in, struct pass_rows *ret)
{
	struct tree t = {.s = in->s, .n_frames = in->s->tables[TABLE_STACK_FRAME].rows};
	uint32_t site = 0;

	if (!find_functions(&t) || !link_sites(&t)) {
		ret->failed = true;
	} else {
		count_samples(&t, in);
		while (t.n_sites) {
			pass_functions_enter(&t, site);
			site = next_site(&t, site);
			if (!site)
				break;
		}
		for (uint32_t i = 0; i < t.n_frames && !ret->failed; i++)
			if (t.functions[i].total)
				PASS_ROW(ret, t.functions[i].frame, t.functions[i].own,
					 t.functions[i].total);
	}
	free(t.sites);
	free(t.functions);
	free(t.function_of);
}
