/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process_cache.h"

#include <stdlib.h>

#include "base/mem.h"

/*
 * Two arrays that change places: a pass walks /proc in the order of the numbers, so what it gathers
 * is sorted already, and what has ended is not in it. Values are compared by their low 32 bits; a
 * counter that moves by a multiple of 4 TiB between two looks is not to be expected.
 */

struct process_cache_row {
	int32_t pid;
	uint32_t has;
	uint32_t v[PROCESS_COUNTERS];
};

void process_cache_deinit(struct process_cache *c)
{
	free(c->last.rows);
	free(c->next.rows);
	*c = (struct process_cache){0};
}

static int by_pid(const void *a, const void *b)
{
	const struct process_cache_row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

uint32_t process_cache_changed(const struct process_cache *c, int32_t pid,
			       const struct process_counters *now)
{
	const struct process_cache_row key = {.pid = pid}, *row = NULL;
	uint32_t changed;

	if (c->last.n > 0)
		row = bsearch(&key, c->last.rows, c->last.n, sizeof(key), by_pid);
	if (!row)
		return now->has;
	changed = now->has & ~row->has;
	for (unsigned i = 0; i < PROCESS_COUNTERS; i++)
		if (row->v[i] != (uint32_t)now->v[i])
			changed |= 1u << i;
	return changed & now->has;
}

void process_cache_put(struct process_cache *c, int32_t pid, const struct process_counters *now)
{
	struct process_cache_rows *next = &c->next;
	struct process_cache_row *row;

	if (array_reserve(&next->rows, &next->cap, next->n + 1, sizeof(*next->rows)) < 0)
		return;
	row = &next->rows[next->n++];
	row->pid = pid;
	row->has = now->has;
	for (unsigned i = 0; i < PROCESS_COUNTERS; i++)
		row->v[i] = (uint32_t)now->v[i];
}

static bool is_sorted(const struct process_cache_rows *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->rows[i - 1].pid > r->rows[i].pid)
			return false;
	return true;
}

void process_cache_turn(struct process_cache *c)
{
	struct process_cache_rows last = c->last;

	if (!is_sorted(&c->next))
		qsort(c->next.rows, c->next.n, sizeof(*c->next.rows), by_pid);
	c->last = c->next;
	c->next = last;
	c->next.n = 0;
}

void process_cache_forget(struct process_cache *c)
{
	c->last.n = c->next.n = 0;
}
