/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * The interning ids of one sequence and one field of InternedData. Maps the process-wide number of
 * a text (string_ids.h) to its id in this sequence: 1, 2, ... in the order of first use. So a
 * sequence with few texts has short ids.
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

/* Gives the number, which has no interning id, the next one and returns it. Returns 0 if there is
 * no memory or id, or id is 0: the text is written in full then. */
uint32_t intern_map_add(struct intern_map *m, uint32_t id);
/* Removes all ids, and keeps the memory. */
void intern_map_clear(struct intern_map *m);
void intern_map_deinit(struct intern_map *m);
