// SPDX-License-Identifier: Apache-2.0
#include "cli/top/top_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "cli/top/top_columns.h"

struct collection {
	struct top_rows *rows;
	const struct top_selection *selection;
	bool failed;
};

static bool top_rows_is_wanted(const struct top_selection *s, int32_t pid)
{
	for (size_t i = 0; i < s->n_pids; i++)
		if (s->pids[i] == (uint32_t)pid)
			return true;
	return !s->n_pids;
}

static void top_rows_add(void *ctx, const struct live_process *p)
{
	struct collection *c = ctx;
	struct top_rows *r = c->rows;

	if (!top_rows_is_wanted(c->selection, p->pid))
		return;
	if (array_reserve(&r->list, &r->cap, r->n + 1, sizeof(*r->list)) < 0) {
		c->failed = true;
		return;
	}
	r->list[r->n++] = p;
}

static int top_rows_compare(const void *a, const void *b, void *column)
{
	return top_compare(column, *(const struct live_process *const *)a,
			   *(const struct live_process *const *)b);
}

int top_rows_sort(struct top_rows *r, const struct top_selection *s, const struct live *live)
{
	struct collection c = {.rows = r, .selection = s};

	live_each(live, top_rows_add, &c);
	if (r->n)
		qsort_r(r->list, r->n, sizeof(*r->list), top_rows_compare,
			(void *)&top_columns[s->sort]);
	return c.failed ? -ENOMEM : 0;
}

void top_rows_deinit(struct top_rows *r)
{
	free(r->list);
}
