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
	int32_t **leaf;

	if (tid <= 0 || tid >= PID_LIMIT)
		return -ERANGE;
	leaf = &m->leaf[tid / PID_MAP_LEAF];
	if (!*leaf && v)
		*leaf = calloc(PID_MAP_LEAF, sizeof(**leaf));
	if (*leaf)
		(*leaf)[tid % PID_MAP_LEAF] = v;
	return *leaf || !v ? 0 : -ENOMEM;
}

void pid_map_clear(struct pid_map *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->leaf); i++) {
		free(m->leaf[i]);
		m->leaf[i] = NULL;
	}
}
