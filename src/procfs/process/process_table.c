/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_table.h"

#include <stdlib.h>

#include "base/core/mem.h"

/*
 * Two arrays that change places. A pass walks /proc in the order of the numbers, so what it gathers
 * is sorted already.
 */

static int by_pid(const void *a, const void *b)
{
	int32_t x = ((const struct polled *)a)->source.pid;
	int32_t y = ((const struct polled *)b)->source.pid;

	return (x > y) - (x < y);
}

static void release(struct process_table *t, struct polled *p)
{
	if (t->gone)
		t->gone(t->ctx, p);
	process_source_deinit(&p->source);
}

bool process_table_empty(struct process_table *t)
{
	for (unsigned i = 0; i < PROCESS_TABLE_PIECE; i++) {
		struct polled_rows *r = t->last.n ? &t->last : &t->next;

		if (r->n == 0)
			return false;
		if (!r->rows[--r->n].taken)
			process_source_deinit(&r->rows[r->n].source);
	}
	return true;
}

void process_table_deinit(struct process_table *t)
{
	while (process_table_empty(t))
		;
	free(t->last.rows);
	free(t->next.rows);
	t->last = t->next = (struct polled_rows){0};
}

static struct polled *find(const struct polled_rows *r, int32_t pid)
{
	const struct polled key = {.source.pid = pid};

	return r->n ? bsearch(&key, r->rows, r->n, sizeof(key), by_pid) : NULL;
}

struct polled *process_table_take(struct process_table *t, int32_t pid)
{
	struct polled_rows *next = &t->next;
	struct polled *old = find(&t->last, pid), *p;

	if (array_reserve(&next->rows, &next->cap, next->n + 1, sizeof(*next->rows)) < 0)
		return NULL;
	p = &next->rows[next->n++];
	if (old && !old->taken) {
		*p = *old;
		old->taken = true;
	} else {
		*p = (struct polled){.source = PROCESS_SOURCE(pid), .is_new = true};
	}
	return p;
}

void process_table_renew(struct process_table *t, struct polled *p)
{
	int32_t pid = p->source.pid;

	release(t, p);
	*p = (struct polled){.source = PROCESS_SOURCE(pid), .is_new = true};
}

static bool is_sorted(const struct polled_rows *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->rows[i - 1].source.pid > r->rows[i].source.pid)
			return false;
	return true;
}

bool process_table_turn(struct process_table *t)
{
	struct polled_rows last = t->last;
	size_t end = MIN(t->released + PROCESS_TABLE_PIECE, last.n);

	for (; t->released < end; t->released++) {
		struct polled *p = &last.rows[t->released];

		if (!p->taken)
			release(t, p);
		p->taken = true;
	}
	if (t->released < last.n)
		return true;
	t->released = 0;
	if (!is_sorted(&t->next))
		qsort(t->next.rows, t->next.n, sizeof(*t->next.rows), by_pid);
	t->last = t->next;
	t->next = last;
	t->next.n = 0;
	return false;
}

static void forget(const struct polled_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->rows[i].has = 0;
}

void process_table_forget(struct process_table *t)
{
	forget(&t->last);
	forget(&t->next);
}

uint32_t polled_change(struct polled *p, const struct process_counters *now)
{
	uint32_t changed = now->has & ~p->has;

	for (unsigned i = 0; i < PROCESS_COUNTERS; i++) {
		if (!((now->has & ~now->same) >> i & 1))
			continue;
		if (p->v[i] != now->v[i])
			changed |= 1u << i;
		p->v[i] = now->v[i];
	}
	p->has |= now->has;
	return changed;
}
