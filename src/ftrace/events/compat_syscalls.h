/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/event_table.h"
#include "ftrace/format/unaligned.h"
#include "ftrace/format/ring_page.h"

/*
 * Which threads of a 64-bit kernel run 32-bit programs, as the records of their system calls come.
 * The records themselves do not say it. It is known from:
 *
 *	/proc/TID/auxv	its words are as wide as the program's; read when a thread is first seen
 *	execve		on x86_64 it begins with the number of one table and ends with that of the
 *			other: also of a program that is gone when its records are read
 *	arguments	one that is wider than 32 bits is a 64-bit program's
 *
 * Who is gone and was never seen to exec counts as a 64-bit program; so do int 0x80 calls of one.
 */

struct compat_threads {
	const char *proc_root; /* borrowed */
	struct compat_thread *threads; /* owned: a table with COMPAT_THREADS_MAX places */
	size_t n;
	uint64_t since; /* time of the record at which the table was empty */
	struct compat_numbers {
		int execve, execveat, exit, exit_group; /* negative: none */
	} numbers[2]; /* of the 64-bit table, and of the 32-bit one */
	bool exec_tells; /* see above */
};

#define COMPAT_THREADS_MAX 8192u /* the table is emptied when three quarters are in use, */
#define COMPAT_THREADS_NS 60000000000ull /* and so often: numbers are given again */

struct compat_call {
	uint64_t time; /* ns */
	uint32_t tid;
	int64_t nr;
	int64_t ret; /* of its end */
	bool wide; /* of its begin: an argument has more than 32 bits */
};

/*
 * System calls of 32-bit programs on a 64-bit kernel. Their records in raw_syscalls look like those
 * of 64-bit programs, but the number is another table's: readers would name them wrongly. Here they
 * become events of their own, with the name in them:
 *
 *	raw_syscalls/compat_sys_enter	id, name, arg0 .. arg5
 *	raw_syscalls/compat_sys_exit	id, ret
 *
 * Whose they are is seen record by record, in the order of the ring: of a ring that is the session's
 * own.
 */
#define COMPAT_ENTER_LEN 64u /* bytes of the kernel's records */
#define COMPAT_EXIT_LEN 24u
#define COMPAT_NUMBERS 512u /* above the last one of every 32-bit table */
#define COMPAT_NAME_LEN 28

struct compat_syscalls {
	uint32_t enter_id, exit_id; /* the kernel's; UINT32_MAX: not recorded, or not as known */
	struct compat_threads threads;
	uint8_t record[COMPAT_ENTER_LEN]; /* what the last one became */
	char names[COMPAT_NUMBERS][COMPAT_NAME_LEN]; /* without a NUL where it is as long */
};

/* Where the table has raw_syscalls, in the form that is known: adds rows for those events. proc_root
 * is borrowed. 0, also where there is nothing to do (*ret is NULL then); -ENOMEM. */
int compat_syscalls_new(const char *proc_root, const struct event_table_options *options,
			struct event_table *table, struct compat_syscalls **ret);
/* NULL is fine. */
struct compat_syscalls *compat_syscalls_free(struct compat_syscalls *c);

/* Of the one event, and of the other. */
const uint8_t *compat_syscalls_enter(struct compat_syscalls *c, uint64_t time,
				     const uint8_t *record);
const uint8_t *compat_syscalls_leave(struct compat_syscalls *c, uint64_t time,
				     const uint8_t *record);

/* Any record: itself, or where it is of a 32-bit program's call another one, no longer than this and
 * good until the next call. */
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
