// SPDX-License-Identifier: Apache-2.0
/* Open addressing; emptied by a new generation. Never more than a quarter full. */
#include <string.h>

#include "ftrace/encode/sym_index.h"

void sym_index_clear(struct sym_index *s)
{
	s->n = 0;
	if (++s->generation)
		return;
	memset(s->slots, 0, sizeof(s->slots));
	s->generation = 1;
}

uint32_t sym_index_get(struct sym_index *s, uint64_t addr)
{
	uint32_t at = (uint32_t)((addr * 0x9e3779b97f4a7c15ull) >> 52);
	struct sym_slot *slot;

	_Static_assert(SYM_INDEX_SLOTS == 4096, "12 bits of hash");
	if (!addr)
		return 0;
	for (;; at = (at + 1) % SYM_INDEX_SLOTS) {
		slot = &s->slots[at];
		if (slot->generation != s->generation)
			break;
		if (slot->addr == addr)
			return slot->index;
	}
	if (s->n == SYM_INDEX_MAX)
		return 0;
	s->addrs[s->n] = addr;
	*slot = (struct sym_slot){addr, s->generation, ++s->n};
	return slot->index;
}
