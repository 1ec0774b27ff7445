/* SPDX-License-Identifier: Apache-2.0 */
/* cells_by: the window in cells; an interval that spans several cells is in each of them. */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

enum kind { RUN, WAIT, BLOCKED, KINDS };

struct lines {
	const struct pass_input *in;
	enum store_table table;
	struct pass_who who;
	struct groups g; /* one for each possible line; other: of its time, the time it ran */
	uint32_t *line_of; /* owned; by group: number of the line, or NULL_U32 */
	int64_t (*cells)[KINDS]; /* owned: in->width for each line; ns */
	bool failed;
};

/* Finds the kind of time that an interval is, and the key of its line. Returns false for an
 * interval that no line has. */
static bool find_line_of_span(const struct lines *l, const struct pass_span *span,
			      enum kind *ret_kind, uint32_t *ret_key)
{
	const struct table *t = &l->in->s->tables[l->table];
	uint16_t state;

	if (!l->in->chosen[span->utid])
		return false;
	*ret_kind = RUN;
	*ret_key = l->table == TABLE_SCHED ? table_u32(t, SCHED_CPU, span->row)
					   : l->who.of[span->utid];
	if (l->table == TABLE_SCHED)
		return true;
	state = table_u16(t, STATE_STATE, span->row);
	if (state == STORE_STATE_RUNNING)
		return true;
	*ret_kind = pass_is_runnable(l->in->s, state) ? WAIT : BLOCKED;
	return *ret_kind == WAIT || pass_is_blocked(l->in->s, state);
}

/* Returns the time from a to b. It wraps around with times that no clock has. */
static int64_t duration_between(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)b - (uint64_t)a);
}

static void sum_spans_by_line(struct lines *l)
{
	struct pass_walk w = {.in = l->in, .table = l->table};
	struct pass_span span;
	enum kind kind;
	uint32_t key;

	while (pass_next_span(&w, &span)) {
		int64_t dur = duration_between(span.begin, span.end);
		struct group *g;

		if (l->failed || !find_line_of_span(l, &span, &kind, &key))
			continue;
		g = groups_add(&l->g, &(struct group_sample){.key = key, .ns = dur});
		if (!g)
			l->failed = true;
		else if (kind == RUN)
			g->other += (uint64_t)dur;
	}
}

/* Every CPU has a line; of threads, processes and programs, only the top ones have one. */
static void choose_lines(struct lines *l)
{
	struct largest top = {.most = l->table == TABLE_SCHED ? SIZE_MAX : (size_t)l->in->top};

	l->line_of = malloc((l->g.n + 1) * sizeof(*l->line_of));
	for (size_t i = 0; l->line_of && i < l->g.n; i++) {
		l->line_of[i] = NULL_U32;
		largest_add(&top, (int64_t)l->g.list[i].total, (uint32_t)l->g.list[i].key,
			    (uint32_t)i);
	}
	l->cells = calloc(top.n * (size_t)l->in->width + 1, sizeof(*l->cells));
	l->failed |= top.failed || !l->line_of || !l->cells;
	for (size_t i = 0; !l->failed && i < top.n; i++)
		l->line_of[top.items[i].other] = (uint32_t)i;
	free(top.items);
}

/* Returns when a cell begins. cell is at most the width. */
static int64_t find_cell_begin(const struct pass_input *in, int64_t cell)
{
	return (int64_t)(in->from + ((__int128)in->to - in->from) * cell / in->width);
}

static int64_t cell_at_time(const struct pass_input *in, int64_t ts)
{
	return MIN((int64_t)(((__int128)ts - in->from) * in->width / ((__int128)in->to - in->from)),
		   in->width - 1);
}

static void add_to_cells(const struct pass_input *in, int64_t (*cells)[KINDS], enum kind kind,
			 const struct pass_span *span)
{
	int64_t first = cell_at_time(in, span->begin), last = cell_at_time(in, span->end);

	if (first == last) {
		cells[first][kind] += duration_between(span->begin, span->end);
		return;
	}
	for (int64_t c = first; c <= last; c++)
		cells[c][kind] += duration_between(MAX(span->begin, find_cell_begin(in, c)),
						   MIN(span->end, find_cell_begin(in, c + 1)));
}

static void fill_cells_of_lines(struct lines *l)
{
	struct pass_walk w = {.in = l->in, .table = l->table};
	struct pass_span span;
	enum kind kind;
	uint32_t key;

	while (pass_next_span(&w, &span)) {
		const struct group *g;
		uint32_t line;

		if (!find_line_of_span(l, &span, &kind, &key))
			continue;
		g = groups_find(&l->g, key);
		line = g ? l->line_of[g - l->g.list] : NULL_U32;
		if (line != NULL_U32)
			add_to_cells(l->in, l->cells + (size_t)line * (size_t)l->in->width, kind,
				     &span);
	}
}

void pass_fill_cells(const struct pass_input *in, struct pass_rows *ret)
{
	struct lines l = {.in = in,
			  .table = strcmp(in->by, "cpu") ? TABLE_THREAD_STATE : TABLE_SCHED};

	if (in->width < 1 || in->to <= in->from)
		return;
	l.failed = !pass_who_init(&l.who, in);
	ret->texts = l.who.kind == WHO_PROGRAM ? 1 : 0;
	if (!l.failed)
		sum_spans_by_line(&l);
	choose_lines(&l);
	if (!l.failed)
		fill_cells_of_lines(&l);
	for (size_t i = 0; i < l.g.n && !l.failed; i++) {
		const struct group *g = &l.g.list[i];
		int64_t key;

		if (l.line_of[i] == NULL_U32)
			continue;
		key = l.table == TABLE_SCHED ? (int64_t)g->key
					     : pass_who_value(&l.who, (uint32_t)g->key);
		for (int64_t c = 0; c < in->width; c++) {
			const int64_t *cell =
				l.cells[(size_t)l.line_of[i] * (size_t)in->width + (size_t)c];

			PASS_ROW(ret, key, c,
				 duration_between(find_cell_begin(in, c),
						  find_cell_begin(in, c + 1)),
				 cell[RUN], cell[WAIT], cell[BLOCKED], (int64_t)g->total,
				 (int64_t)g->other);
		}
	}
	ret->failed |= l.failed;
	groups_deinit(&l.g);
	pass_who_deinit(&l.who);
	free(l.line_of);
	free(l.cells);
}
