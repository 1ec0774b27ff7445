/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/intern_tables.h"

#include <string.h>

#include "base/core/open_table.h"
#include "wire/pb_varint.h"

/*
 * A comm_table is a cache of recent tasks in front of a hash table of all names, cut at their NUL.
 * The hash table has open addressing and is at most a quarter full. A new generation clears both.
 */

_Static_assert(sizeof(struct comm) == COMM_LEN, "a name is its 16 bytes");

void comm_table_clear(struct comm_table *t)
{
	t->n = 0;
	if (++t->generation)
		return;
	memset(t->slots, 0, sizeof(t->slots));
	memset(t->tasks, 0, sizeof(t->tasks));
	t->generation = 1;
}

uint32_t comm_table_intern(struct comm_table *t, struct comm raw)
{
	struct comm c = comm_load((const uint8_t *)&raw);
	uint64_t hash = (c.low * 0x9e3779b97f4a7c15) ^ (c.high * 0xc2b2ae3d27d4eb4f);
	size_t slot;

	_Static_assert(COMM_TABLE_SLOTS == 16384, "14 bits of hash");
	slot = OPEN_TABLE_FIND(COMM_TABLE_SLOTS, hash >> 50, at,
			       t->slots[at].generation != t->generation ||
				       (t->comms[t->slots[at].index].low == c.low &&
					t->comms[t->slots[at].index].high == c.high));
	if (t->slots[slot].generation == t->generation)
		return t->slots[slot].index;
	t->comms[t->n] = c;
	t->slots[slot].generation = t->generation;
	t->slots[slot].index = t->n;
	return t->n++;
}

const struct comm_task *comm_table_add_task(struct comm_table *t, int32_t pid, struct comm raw)
{
	struct comm_task *task = &t->tasks[pid & (COMM_TASKS - 1)];

	if ((uint32_t)pid >> 28)
		return NULL;
	*task = (struct comm_task){
		.raw = raw,
		.generation = t->generation,
		.pid = pid,
		.index = (uint16_t)comm_table_intern(t, raw),
	};
	task->pid_len = (uint8_t)(pb_put_varint(task->pid_bytes, (uint32_t)pid) - task->pid_bytes);
	return task;
}

/*
 * A sym_index is a hash table with open addressing, at most a quarter full. A new generation clears
 * it.
 */

void sym_index_clear(struct sym_index *s)
{
	s->n = 0;
	if (++s->generation)
		return;
	memset(s->slots, 0, sizeof(s->slots));
	s->generation = 1;
}

uint32_t sym_index_intern(struct sym_index *s, uint64_t addr)
{
	struct sym_slot *slot;

	_Static_assert(SYM_INDEX_SLOTS == 4096, "12 bits of hash");
	if (!addr)
		return 0;
	slot = &s->slots[OPEN_TABLE_FIND(SYM_INDEX_SLOTS, (addr * 0x9e3779b97f4a7c15ull) >> 52, at,
					 s->slots[at].generation != s->generation ||
						 s->slots[at].addr == addr)];
	if (slot->generation == s->generation)
		return slot->index;
	if (s->n == SYM_INDEX_MAX)
		return 0;
	s->addrs[s->n] = addr;
	*slot = (struct sym_slot){addr, s->generation, ++s->n};
	return slot->index;
}
