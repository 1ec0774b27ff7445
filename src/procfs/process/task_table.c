/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/task_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

/*
 * A clear touches no entry: it begins a new generation, and an entry of an older one is brought up
 * to date when it is next returned. The number wraps after some 10^8 clears.
 */

static struct task *task_table_refresh_entry(struct task_table *t, int32_t tid)
{
	struct task *task = &t->leaves[(uint32_t)tid / TASK_LEAF][(uint32_t)tid % TASK_LEAF];

	if (task->generation != t->generation) {
		task->has_row = false;
		if (task->generation < t->relations_from)
			task->relation = 0;
		task->generation = t->generation;
	}
	return task;
}

struct task *task_table_find(struct task_table *t, int32_t tid)
{
	size_t leaf = (uint32_t)tid / TASK_LEAF;

	if (tid > 0 && leaf < t->n_leaves && t->leaves[leaf])
		return task_table_refresh_entry(t, tid);
	t->none = (struct task){0};
	return &t->none;
}

struct task *task_table_add(struct task_table *t, int32_t tid)
{
	size_t leaf = (uint32_t)tid / TASK_LEAF, n = t->n_leaves;

	if (tid <= 0 || tid >= PID_LIMIT || (leaf < n && t->leaves[leaf]))
		return task_table_find(t, tid);
	if (leaf >= n) {
		if (array_reserve(&t->leaves, &t->cap_leaves, leaf + 1, sizeof(*t->leaves)) < 0)
			return task_table_find(t, tid);
		memset(t->leaves + n, 0, (leaf + 1 - n) * sizeof(*t->leaves));
		t->n_leaves = leaf + 1;
	}
	t->leaves[leaf] = calloc(TASK_LEAF, sizeof(**t->leaves));
	return task_table_find(t, tid);
}

void task_table_clear(struct task_table *t, bool keep_relations)
{
	t->generation = (t->generation + 1) & ((1u << 27) - 1);
	if (!keep_relations)
		t->relations_from = t->generation;
}

void task_table_deinit(struct task_table *t)
{
	for (size_t i = 0; i < t->n_leaves; i++)
		free(t->leaves[i]);
	free(t->leaves);
}
