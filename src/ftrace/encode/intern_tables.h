/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Numbers task names 0, 1, 2 ... in order of first use: the intern_table of CompactSched. Valid
 * for one bundle. A name is a char[16] of a record, up to its first NUL; the bytes after the NUL
 * are ignored. */
#define COMM_LEN 16
#define COMM_TABLE_MAX 4096 /* names; the caller checks that there is room */
#define COMM_TABLE_SLOTS 16384
#define COMM_TASKS 64 /* recent tasks */

struct comm {
	uint64_t low; /* bytes 0..7, zeros from the NUL on */
	uint64_t high; /* bytes 8..15 */
};

/* The encoded form of a task: the number of its name and the varint of its pid. Found by pid; pid
 * and name are compared as stored in the record. */
struct comm_task {
	struct comm raw;
	uint32_t generation; /* generation of the bundle; entries of other generations are empty */
	int32_t pid;
	uint8_t pid_bytes[4];
	uint16_t index;
	uint8_t pid_len; /* 1..4; longer pids are not cached */
};
_Static_assert(sizeof(struct comm_task) == 32, "two to a cache line");

struct comm_table {
	uint32_t generation; /* incremented for each bundle */
	uint32_t n;
	struct comm_task tasks[COMM_TASKS];
	struct comm comms[COMM_TABLE_MAX];
	struct {
		uint32_t generation;
		uint32_t index;
	} slots[COMM_TABLE_SLOTS];
};

/* Empties the table. Call it for each bundle, and before the first use of zeroed memory. */
void comm_table_clear(struct comm_table *t);

/* Returns the bytes of v below its first zero byte. Sets *ret_whole if there is none. */
static inline uint64_t comm_until_nul(uint64_t v, bool *ret_whole)
{
	uint64_t zeros = (v - 0x0101010101010101) & ~v & 0x8080808080808080;

	*ret_whole = !zeros;
	/* The lowest marked byte is the first zero; the bytes below its mark are the name. */
	return zeros ? v & (((zeros & -zeros) >> 7) - 1) : v;
}

/* Loads a name of any 16 bytes, with zeros for those from its first NUL on. */
static inline struct comm comm_load(const uint8_t *at)
{
	struct comm c;
	bool whole;

	memcpy(&c, at, sizeof(c));
	c.low = comm_until_nul(c.low, &whole);
	c.high = whole ? comm_until_nul(c.high, &whole) : 0;
	return c;
}

/* Returns the length of the name. */
static inline unsigned comm_len(struct comm c)
{
	if (c.high)
		return 16 - (unsigned)__builtin_clzll(c.high) / 8;
	return c.low ? 8 - (unsigned)__builtin_clzll(c.low) / 8 : 0;
}

/* Returns the number of a name of any 16 bytes, adding it if new. The table must not be full. */
uint32_t comm_table_intern(struct comm_table *t, struct comm raw);

/* Adds a task that comm_table_task() did not find in the cache. Returns the same as that
 * function. */
const struct comm_task *comm_table_add_task(struct comm_table *t, int32_t pid, struct comm raw);

/* Returns the entry of a task, valid until the next call, or NULL if pid is not within 0 to
 * 2^28 - 1. The table must not be full. */
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
	return comm_table_add_task(t, pid, raw);
}

/* Numbers kernel addresses 1, 2, 3 ... in order of first use. Equal addresses are recognizable in
 * the trace, but the trace does not reveal where the kernel is loaded. Valid for one bundle. */
#define SYM_INDEX_MAX 1024 /* addresses in a bundle */
#define SYM_INDEX_SLOTS 4096

struct sym_slot {
	uint64_t addr;
	uint32_t generation; /* of the bundle in which the slot is used; others are empty */
	uint32_t index;
};

struct sym_index {
	uint32_t generation;
	uint32_t n;
	uint64_t addrs[SYM_INDEX_MAX]; /* the first n are used; addrs[0] has number 1 */
	struct sym_slot slots[SYM_INDEX_SLOTS];
};

/* Empties the index. Call it for each bundle, and before the first use of zeroed memory. */
void sym_index_clear(struct sym_index *s);

/* Returns the number of addr, adding it if new; 0 if addr is 0 or the table is full. */
uint32_t sym_index_intern(struct sym_index *s, uint64_t addr);

#define SYM_INDEX_OF_RECORD 272u /* 256 frames of a stack, and other fields */
/* Returns true if the next record may need more numbers than are left. */
static inline bool sym_index_lacks_room_for_record(const struct sym_index *s)
{
	return s->n > SYM_INDEX_MAX - SYM_INDEX_OF_RECORD;
}
