/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ftrace/events/event_table.h"
#include "ftrace/format/ring_page.h"
#include "ftrace/format/unaligned.h"

/*
 * Finds out which threads of a 64-bit kernel run 32-bit programs, while the records of their system
 * calls are read. The records do not contain this fact. It is known from:
 *
 *	/proc/TID/auxv	word size of the program; read when a thread is first seen
 *	execve		on x86_64, if the word size changes, the entry has execve's number in one
 *			table and the exit its number in the other; shows the size even of a
 *			program that has ended when its records are read
 *	arguments	a value of more than 32 bits means a 64-bit program
 *
 * A thread that has ended without an execve in the records counts as 64-bit; so do int 0x80 calls
 * of a 64-bit program.
 */

#define COMPAT_THREADS_MAX 8192u /* the table is cleared when three quarters are used */
#define COMPAT_THREADS_NS 60000000000ull /* and this often, because thread ids are reused */

/*
 * Encodes system calls of 32-bit programs on a 64-bit kernel. Their records in raw_syscalls look
 * like those of 64-bit programs, but the number belongs to another table, so readers would show
 * wrong names. They become events of their own, which contain the name:
 *
 *	raw_syscalls/compat_sys_enter	id, name, arg0 .. arg5
 *	raw_syscalls/compat_sys_exit	id, ret
 *
 * The state of the threads follows the order of the records, so this needs a ring that only this
 * session reads.
 */
#define COMPAT_ENTER_LEN 64u /* bytes of the kernel's record */
#define COMPAT_EXIT_LEN 24u
/* The rest of it is private. */
struct compat_syscalls {
	/* event ids; UINT32_MAX: not recorded, or in an unknown format */
	uint32_t enter_id, exit_id;
};

/* Adds the events to the table if it has raw_syscalls in the known format. proc_root is borrowed.
 * Returns 0 (*ret stays unchanged if there is nothing to do) or -ENOMEM. */
int compat_syscalls_new(const char *proc_root, const struct event_table_options *options,
			struct event_table *table, struct compat_syscalls **ret);
/* NULL is allowed. */
struct compat_syscalls *compat_syscalls_free(struct compat_syscalls *c);

/* Return the record, or its replacement, for an entry and for an exit. */
const uint8_t *compat_syscalls_enter(struct compat_syscalls *c, uint64_t time,
				     const uint8_t *record);
const uint8_t *compat_syscalls_leave(struct compat_syscalls *c, uint64_t time,
				     const uint8_t *record);

/* Returns the payload to encode for any record: its own, or a replacement if it is a call of a
 * 32-bit program. The replacement is not longer and is valid until the next call. */
static inline const uint8_t *compat_syscalls_check(struct compat_syscalls *c,
						   const struct ring_record *r)
{
	uint16_t id = load16(r->payload);

	if (id == c->enter_id && r->len >= COMPAT_ENTER_LEN)
		return compat_syscalls_enter(c, r->time, r->payload);
	if (id == c->exit_id && r->len >= COMPAT_EXIT_LEN)
		return compat_syscalls_leave(c, r->time, r->payload);
	return r->payload;
}
