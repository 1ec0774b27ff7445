/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"

int32_t process_map_get(const struct process_map *m, int32_t tid)
{
	const int32_t *leaf;

	if (tid <= 0 || tid >= PROCESS_SEEN_MAX)
		return 0;
	leaf = m->leaf[tid / PROCESS_MAP_LEAF];
	return leaf ? leaf[tid % PROCESS_MAP_LEAF] : 0;
}

int process_map_set(struct process_map *m, int32_t tid, int32_t v)
{
	int32_t **leaf;

	if (tid <= 0 || tid >= PROCESS_SEEN_MAX)
		return -ERANGE;
	leaf = &m->leaf[tid / PROCESS_MAP_LEAF];
	if (!*leaf && v)
		*leaf = calloc(PROCESS_MAP_LEAF, sizeof(**leaf));
	if (*leaf)
		(*leaf)[tid % PROCESS_MAP_LEAF] = v;
	return *leaf || !v ? 0 : -ENOMEM;
}

void process_map_clear(struct process_map *m)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->leaf); i++) {
		free(m->leaf[i]);
		m->leaf[i] = NULL;
	}
}
