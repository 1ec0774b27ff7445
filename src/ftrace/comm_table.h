/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Numbers task names 0, 1, 2 ... in the order they are first seen: the intern_table of
 * CompactSched. Valid for one bundle. A name is char[16] of a record, up to its first NUL if it has
 * one; what the kernel left behind the NUL does not count.
 */
#define COMM_LEN 16
#define COMM_TABLE_MAX 256 /* names a bundle can hold */
#define COMM_TABLE_SLOTS 1024

struct comm {
	uint64_t low; /* bytes 0..7, zeros from the NUL on */
	uint64_t high;
};

struct comm_table {
	uint32_t generation; /* of the bundle; a slot of another one is empty */
	uint32_t n;
	struct comm comms[COMM_TABLE_MAX];
	struct {
		uint32_t generation;
		uint32_t index;
	} slots[COMM_TABLE_SLOTS];
};

void comm_table_clear(struct comm_table *t);

static inline bool comm_table_full(const struct comm_table *t)
{
	return t->n == COMM_TABLE_MAX;
}

/* Bytes of v below its first zero byte; *ret_whole: there is none. */
static inline uint64_t comm_until_nul(uint64_t v, bool *ret_whole)
{
	uint64_t zeros = (v - 0x0101010101010101) & ~v & 0x8080808080808080;

	*ret_whole = !zeros;
	/* The lowest marked byte is the first zero; its mark's lower neighbours are the name. */
	return zeros ? v & (((zeros & -zeros) >> 7) - 1) : v;
}

static inline struct comm comm_load(const uint8_t *at)
{
	struct comm c;
	bool whole;

	memcpy(&c, at, sizeof(c));
	c.low = comm_until_nul(c.low, &whole);
	c.high = whole ? comm_until_nul(c.high, &whole) : 0;
	return c;
}

/* Bytes of the name. */
static inline unsigned comm_len(struct comm c)
{
	if (c.high)
		return 16 - (unsigned)__builtin_clzll(c.high) / 8;
	return c.low ? 8 - (unsigned)__builtin_clzll(c.low) / 8 : 0;
}

/* The number of the name; the table is not full. */
static inline uint32_t comm_table_get(struct comm_table *t, const uint8_t *at)
{
	struct comm c = comm_load(at);
	uint64_t hash = (c.low * 0x9e3779b97f4a7c15) ^ (c.high * 0xc2b2ae3d27d4eb4f);
	uint32_t slot = (uint32_t)(hash >> 54), index;

	_Static_assert(COMM_TABLE_SLOTS == 1024, "10 bits of hash");
	for (; t->slots[slot].generation == t->generation; slot = (slot + 1) % COMM_TABLE_SLOTS) {
		index = t->slots[slot].index;
		if (t->comms[index].low == c.low && t->comms[index].high == c.high)
			return index;
	}
	index = t->n++;
	t->comms[index] = c;
	t->slots[slot].generation = t->generation;
	t->slots[slot].index = index;
	return index;
}
