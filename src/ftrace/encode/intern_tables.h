/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <stddef.h>

/*
 * Numbers task names 0, 1, 2 ... in the order they are first seen: the intern_table of
 * CompactSched. Valid for one bundle. A name is char[16] of a record, up to its first NUL if it has
 * one; what the kernel left behind the NUL does not count.
 */
#define COMM_LEN 16
#define COMM_TABLE_MAX 4096 /* names; who fills the table counts */
#define COMM_TABLE_SLOTS 16384
#define COMM_TASKS 64 /* seen last */

struct comm {
	uint64_t low; /* bytes 0..7, zeros from the NUL on */
	uint64_t high;
};

/*
 * What a task of the records becomes: the number of its name and the varint of its pid, found by
 * the pid and checked by both as they stood in the record.
 */
struct comm_task {
	struct comm raw;
	uint32_t generation; /* of the bundle; an entry of another one is empty */
	int32_t pid;
	uint8_t pid_bytes[4];
	uint16_t index;
	uint8_t pid_len; /* 1..4; pids that take more are not kept here */
};
_Static_assert(sizeof(struct comm_task) == 32, "two to a cache line");

struct comm_table {
	uint32_t generation; /* counts bundles */
	uint32_t n;
	struct comm_task tasks[COMM_TASKS];
	struct comm comms[COMM_TABLE_MAX];
	struct {
		uint32_t generation;
		uint32_t index;
	} slots[COMM_TABLE_SLOTS];
};

void comm_table_clear(struct comm_table *t);

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

/* The number of the name, any 16 bytes; the table is not full. */
uint32_t comm_table_get(struct comm_table *t, struct comm raw);

/* What comm_table_task does for a task that was not seen just before. */
const struct comm_task *comm_table_task_slow(struct comm_table *t, int32_t pid, struct comm raw);

/* The entry of a task; valid until the next call. NULL: pid is not within 0..2^28, so that there is
 * none. The table is not full. */
static inline const struct comm_task *comm_table_task(struct comm_table *t, int32_t pid,
						      const uint8_t *comm)
{
	const struct comm_task *task = &t->tasks[pid & (COMM_TASKS - 1)];
	struct comm raw;

	memcpy(&raw, comm, sizeof(raw));
	if (__builtin_expect(task->pid == pid && task->raw.low == raw.low &&
				     task->raw.high == raw.high &&
				     task->generation == t->generation,
			     1))
		return task;
	return comm_table_task_slow(t, pid, raw);
}

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
