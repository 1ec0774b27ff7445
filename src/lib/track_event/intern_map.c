/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/track_event/intern_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define FIRST_SIZE 64u

static bool intern_map_grow(struct intern_map *m, uint32_t id)
{
	uint32_t size = MAX(m->size, FIRST_SIZE);
	uint16_t *iids;

	while (size <= id)
		size *= 2;
	iids = realloc(m->iids, size * sizeof(*iids));
	if (!iids)
		return false;
	memset(iids + m->size, 0, (size - m->size) * sizeof(*iids));
	m->iids = iids;
	m->size = size;
	return true;
}

uint32_t intern_map_add(struct intern_map *m, uint32_t id)
{
	if (id == 0 || m->last == UINT16_MAX || (id >= m->size && !intern_map_grow(m, id)))
		return 0;
	return m->iids[id] = ++m->last;
}

void intern_map_clear(struct intern_map *m)
{
	if (m->last)
		memset(m->iids, 0, m->size * sizeof(*m->iids));
	m->last = 0;
}

void intern_map_deinit(struct intern_map *m)
{
	freep(&m->iids);
	m->size = 0;
	m->last = 0;
}
