/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers kernel addresses 1, 2, 3 ... in the order they are first seen, so that a trace tells
 * which addresses are the same without telling where the kernel lies. Valid for one bundle.
 */
#define SYM_INDEX_MAX 1024 /* addresses a bundle can hold */
#define SYM_INDEX_SLOTS 4096

struct sym_slot {
	uint64_t addr;
	uint32_t generation; /* of the bundle that the slot is used in; others are empty */
	uint32_t index;
};

struct sym_index {
	uint32_t generation;
	uint32_t n;
	uint64_t addrs[SYM_INDEX_MAX]; /* n of them: number 1 is the first */
	struct sym_slot slots[SYM_INDEX_SLOTS];
};

void sym_index_clear(struct sym_index *s);

/* The number of addr; 0 for 0, which hides nothing, and where the table is full. */
uint32_t sym_index_get(struct sym_index *s, uint64_t addr);

/* So few are left that the next record may need more. */
#define SYM_INDEX_OF_RECORD 272u /* 256 frames of a stack, and some fields */
static inline int sym_index_full(const struct sym_index *s)
{
	return s->n > SYM_INDEX_MAX - SYM_INDEX_OF_RECORD;
}
