/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * The interning ids of one sequence and one field of InternedData: from the process-wide number of
 * a text (string_ids.h) to the id that this sequence uses, 1, 2, ... in the order of first use. So
 * the ids of a sequence are as short as its own texts are few.
 */
struct intern_map {
	uint16_t *iids; /* owned; by number; 0: not defined in this sequence */
	uint32_t size;
	uint16_t last;
};

/* Returns the interning id, or 0 if the sequence has not defined this text. */
static inline uint32_t intern_map_find(const struct intern_map *m, uint32_t id)
{
	return id < m->size ? m->iids[id] : 0;
}

/* Returns the next interning id and remembers it for this number, which has none. Returns 0 if
 * memory is out or id is 0: the text is then written in full. */
uint32_t intern_map_add(struct intern_map *m, uint32_t id);
/* Forgets all ids, and keeps the memory. */
void intern_map_clear(struct intern_map *m);
void intern_map_deinit(struct intern_map *m);
