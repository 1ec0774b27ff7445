/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
struct compat_thread;

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

/* 0, -EOPNOTSUPP (this kernel runs no 32-bit programs) or -ENOMEM. */
int compat_threads_init(struct compat_threads *t, const char *proc_root);
/* Zeroed is fine. */
void compat_threads_deinit(struct compat_threads *t);
/* The begin and the end of a call, in the order of the ring: is it of a 32-bit program? An execve that
 * leads from one table to the other ends in the one that it began in, with the number that it had
 * there, in place of the kernel's. */
bool compat_threads_enter(struct compat_threads *t, const struct compat_call *c);
bool compat_threads_exit(struct compat_threads *t, struct compat_call *c);
