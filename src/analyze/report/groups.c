/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"

#define SLOTS_MIN 64

/* Returns the slot of a key, or the empty one where it belongs. */
static uint32_t *groups_find_slot(const struct groups *g, uint64_t key)
{
	size_t mask = g->n_slots - 1, i = (size_t)((key + 1) * g->factor >> 32) & mask;

	while (g->slots[i] && g->list[g->slots[i] - 1].key != key)
		i = (i + 1) & mask;
	return &g->slots[i];
}

static bool groups_grow(struct groups *g)
{
	size_t n = g->n_slots ? 2 * g->n_slots : SLOTS_MIN;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	if (!g->factor)
		g->factor = siphash_keyed("groups", 6) | 1;
	free(g->slots);
	g->slots = slots;
	g->n_slots = n;
	for (size_t i = 0; i < g->n; i++)
		*groups_find_slot(g, g->list[i].key) = (uint32_t)i + 1;
	return true;
}

struct group *groups_find(struct groups *g, uint64_t key)
{
	uint32_t *slot = g->n_slots ? groups_find_slot(g, key) : NULL;

	return slot && *slot ? &g->list[*slot - 1] : NULL;
}

static struct group *find_or_make_group(struct groups *g, uint64_t key)
{
	struct group *found = groups_find(g, key);

	if (found)
		return found;
	if ((2 * (g->n + 1) > g->n_slots && !groups_grow(g)) || g->n == UINT32_MAX - 1 ||
	    array_reserve(&g->list, &g->cap, g->n + 1, sizeof(*g->list))) {
		g->failed = true;
		return NULL;
	}
	*groups_find_slot(g, key) = (uint32_t)g->n + 1;
	g->list[g->n] = (struct group){.key = key, .longest = INT64_MIN};
	return &g->list[g->n++];
}

struct group *groups_add(struct groups *g, const struct group_sample *s)
{
	struct group *group = find_or_make_group(g, s->key);

	if (!group)
		return NULL;
	if (g->filling) {
		if (group->n_filled < group->n)
			g->samples[group->first + group->n_filled++] = s->ns;
		return group;
	}
	group->n++;
	group->flagged += s->flagged;
	group->total += (uint64_t)s->ns;
	if (s->ns >= group->longest) {
		group->longest = s->ns;
		group->longest_ts = s->ts;
	}
	return group;
}

bool groups_begin_fill(struct groups *g)
{
	size_t sum = 0;

	for (size_t i = 0; i < g->n; i++) {
		g->list[i].first = sum;
		sum += g->list[i].n;
	}
	g->samples = g->failed ? NULL : malloc((sum + 1) * sizeof(*g->samples));
	g->filling = true;
	g->failed |= !g->samples;
	return !g->failed;
}

static void swap_values(int64_t *a, int64_t *b)
{
	int64_t x = *a;

	*a = *b;
	*b = x;
}

/* Quickselect in three parts: below the pivot, equal to it, above. The key of the hash chooses
 * pivots, so that a trace cannot make it slow. */
int64_t groups_ranked(struct groups *g, const struct group *group, uint64_t rank)
{
	int64_t *s;
	size_t lo = 0, hi = (size_t)group->n, k = (size_t)rank - 1;

	if (!g->filling || k >= hi)
		return 0;
	s = g->samples + group->first;
	while (hi - lo > 1) {
		uint64_t range[2] = {lo, hi};
		int64_t pivot = s[lo + (size_t)(siphash_keyed(range, sizeof(range)) % (hi - lo))];
		size_t below = lo, i = lo, above = hi;

		while (i < above)
			if (s[i] < pivot)
				swap_values(&s[below++], &s[i++]);
			else if (s[i] > pivot)
				swap_values(&s[i], &s[--above]);
			else
				i++;
		if (k < below)
			hi = below;
		else if (k >= above)
			lo = above;
		else
			return pivot;
	}
	return s[lo];
}

void groups_deinit(struct groups *g)
{
	free(g->list);
	free(g->slots);
	free(g->samples);
	*g = (struct groups){.n = 0};
}

/* ---- the largest ---- */

static bool item_is_less(const struct largest_item *a, const struct largest_item *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->row > b->row;
}

static void sift_down_largest(struct largest *l)
{
	struct largest_item item = l->items[0];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < l->n; i = child) {
		if (child + 1 < l->n && item_is_less(&l->items[child + 1], &l->items[child]))
			child++;
		if (!item_is_less(&l->items[child], &item))
			break;
		l->items[i] = l->items[child];
	}
	l->items[i] = item;
}

void largest_add(struct largest *l, int64_t ns, uint32_t row, uint32_t other)
{
	struct largest_item item = {.ns = ns, .row = row, .other = other};
	size_t i = l->n;

	if (l->n == l->most) {
		if (l->n && item_is_less(&l->items[0], &item)) {
			l->items[0] = item;
			sift_down_largest(l);
		}
		return;
	}
	if (array_reserve(&l->items, &l->cap, l->n + 1, sizeof(*l->items))) {
		l->failed = true;
		return;
	}
	for (l->n++; i && item_is_less(&item, &l->items[(i - 1) / 2]); i = (i - 1) / 2)
		l->items[i] = l->items[(i - 1) / 2];
	l->items[i] = item;
}
