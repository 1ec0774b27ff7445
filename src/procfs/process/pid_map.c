/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/pid_map.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/core/mem.h"

int32_t pid_map_get(const struct pid_map *m, int32_t tid)
{
	const int32_t *leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return 0;
	leaf = m->leaf[tid / PID_MAP_LEAF];
	return leaf ? leaf[tid % PID_MAP_LEAF] : 0;
}

int pid_map_set(struct pid_map *m, int32_t tid, int32_t v)
{
	size_t i = (size_t)tid / PID_MAP_LEAF;
	int32_t **leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return -ERANGE;
	leaf = &m->leaf[i];
	if (!*leaf && v) {
		*leaf = calloc(PID_MAP_LEAF, sizeof(**leaf));
		m->n_leaves = MAX(m->n_leaves, i + 1);
	}
	if (*leaf)
		(*leaf)[tid % PID_MAP_LEAF] = v;
	return *leaf || !v ? 0 : -ENOMEM;
}

void pid_map_clear(struct pid_map *m)
{
	for (size_t i = 0; i < m->n_leaves; i++)
		free(TAKE_PTR(m->leaf[i]));
	m->n_leaves = 0;
}
