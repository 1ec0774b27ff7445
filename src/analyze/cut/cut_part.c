/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/lower_bound.h"
#include "base/core/mem.h"

struct cut_part *cut_part_new(const struct cut_range *range, size_t number)
{
	struct cut_part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->range = *range;
	part->number = number;
	return part;
}

void cut_part_free(struct cut_part *part)
{
	if (!part)
		return;
	for (size_t v = 0; v < part->n_views; v++)
		cut_sums_clear(&part->views[v].sums);
	free(part->views);
	for (size_t m = 0; m < CUT_MACHINES_MAX; m++)
		free(part->cpus[m].of);
	free(part);
}

struct cut_view *cut_part_view(struct cut_part *part, const struct cut_sequence *s)
{
	if (s->number >= part->n_views) {
		if (array_reserve(&part->views, &part->cap_views, s->number + 1,
				  sizeof(*part->views)))
			return NULL;
		memset(part->views + part->n_views, 0,
		       (s->number + 1 - part->n_views) * sizeof(*part->views));
		part->n_views = s->number + 1;
	}
	return &part->views[s->number];
}

struct cut_cpu_view *cut_part_cpu(struct cut_part *part, size_t machine, uint32_t cpu)
{
	struct cut_cpu_views *v = &part->cpus[machine];

	if (cpu >= v->n) {
		if (array_reserve(&v->of, &v->cap, (size_t)cpu + 1, sizeof(*v->of)))
			return NULL;
		memset(v->of + v->n, 0, ((size_t)cpu + 1 - v->n) * sizeof(*v->of));
		v->n = (size_t)cpu + 1;
	}
	return &v->of[cpu];
}

/* ---- lists ---- */

size_t cut_part_list_find_first(const struct cut_part_list *l, int64_t ts)
{
	return LOWER_BOUND(i, 0, l->n, l->of[i]->range.last < ts);
}

struct cut_part *cut_part_find(const struct cut_part_list *l, int64_t ts)
{
	size_t at = cut_part_list_find_first(l, ts);

	return at < l->n && l->of[at]->range.first <= ts ? l->of[at] : NULL;
}

int cut_part_add(struct cut_part_list *l, struct cut_part *part)
{
	size_t at = cut_part_list_find_first(l, part->range.first);

	if (array_reserve(&l->of, &l->cap, l->n + 1, sizeof(struct cut_part *)))
		return -ENOMEM;
	memmove(l->of + at + 1, l->of + at, (l->n - at) * sizeof(struct cut_part *));
	l->of[at] = part;
	l->n++;
	return 0;
}
