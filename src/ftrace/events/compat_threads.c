// SPDX-License-Identifier: Apache-2.0
/*
 * Rings are read one after the other, and an execve is where the kernel likes to move a thread:
 *
 *	CPU 0                    exit 11   enter 295 ...     read first
 *	CPU 1   ...  enter 59                                what was before, comes later
 *
 * So what is known has a time. The number 11, execve of the 32-bit table, is munmap of the other
 * one, but then it has begun with that number, too. What is taken for COMPAT by mistake is put right
 * by the first wide argument.
 */
#include "ftrace/events/compat_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/syscall_names.h"

/* In /proc, where the kernel has been built to run 32-bit programs; of other machines' kernels it is
 * asked no further. And arch/x86/kernel/process_64.c has the program that begins return from an
 * execve of its own. */
#ifdef __x86_64__
#define KERNEL_MARK "sys/abi/vsyscall32"
#define EXEC_TELLS true
#else
#define KERNEL_MARK ""
#define EXEC_TELLS false
#endif

enum state { UNSEEN, GONE, NATIVE, COMPAT };

struct compat_thread {
	uint32_t tid; /* 0: nobody */
	uint16_t state;
	int16_t last; /* number that the last call began with; -1: it has ended */
	uint64_t since; /* time of the exec that led here; before it was of the other table */
	uint64_t ended; /* time of its end; what comes later is of another thread. 0: not yet */
};

/* ---- life ---- */

static void read_numbers(struct compat_numbers *n, bool compat)
{
	*n = (struct compat_numbers){
		.execve = syscall_number("execve", compat),
		.execveat = syscall_number("execveat", compat),
		.exit = syscall_number("exit", compat),
		.exit_group = syscall_number("exit_group", compat),
	};
}

static bool kernel_runs_them(const char *proc_root)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/" KERNEL_MARK, proc_root);
	return !access(path, F_OK);
}

int compat_threads_init(struct compat_threads *t, const char *proc_root)
{
	*t = (struct compat_threads){.proc_root = proc_root};
	if (!proc_root || !kernel_runs_them(proc_root))
		return -EOPNOTSUPP;
	read_numbers(&t->numbers[0], false);
	read_numbers(&t->numbers[1], true);
	if (t->numbers[0].execve < 0 || t->numbers[1].execve < 0)
		return -EOPNOTSUPP;
	t->exec_tells = EXEC_TELLS;
	t->threads = calloc(COMPAT_THREADS_MAX, sizeof(*t->threads));
	return t->threads ? 0 : -ENOMEM;
}

void compat_threads_deinit(struct compat_threads *t)
{
	free(t->threads);
	*t = (struct compat_threads){0};
}

/* ---- one thread ---- */

/* A word of a 64-bit program's is a small number, so half of it is 0, whichever comes first; in a
 * 32-bit program's place the halves are such a number and its value, an address or flags. */
static enum state look(const struct compat_threads *t, uint32_t tid)
{
	uint32_t halves[2];
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/auxv", t->proc_root, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return GONE;
	n = read(fd, halves, sizeof(halves));
	close(fd);
	if (n != sizeof(halves))
		return GONE;
	return halves[0] && halves[1] ? COMPAT : NATIVE;
}

static void forget_all(struct compat_threads *t, uint64_t time)
{
	memset(t->threads, 0, COMPAT_THREADS_MAX * sizeof(*t->threads));
	t->n = 0;
	t->since = time;
}

static struct compat_thread *find(struct compat_threads *t, const struct compat_call *c)
{
	struct compat_thread *thread;
	uint32_t at = c->tid * 0x9e3779b1u;

	if (t->n >= COMPAT_THREADS_MAX / 4 * 3 ||
	    (c->time > t->since && c->time - t->since > COMPAT_THREADS_NS))
		forget_all(t, c->time);
	for (;; at++) {
		thread = &t->threads[at % COMPAT_THREADS_MAX];
		if (thread->tid == c->tid)
			break;
		if (thread->tid)
			continue;
		t->n++;
		*thread = (struct compat_thread){.tid = c->tid, .last = -1};
		break;
	}
	if (thread->ended && c->time > thread->ended)
		*thread = (struct compat_thread){.tid = c->tid, .last = -1};
	return thread;
}

static bool is_exec(const struct compat_numbers *n, int64_t nr)
{
	return nr >= 0 && (nr == n->execve || nr == n->execveat);
}

bool compat_threads_enter(struct compat_threads *t, const struct compat_call *c)
{
	struct compat_thread *thread = find(t, c);
	const struct compat_numbers *n;
	enum state now;

	if (c->time < thread->since)
		return thread->state != COMPAT;
	/* The end of an execve is in another ring, and comes later or never. */
	if (thread->state == UNSEEN ||
	    is_exec(&t->numbers[thread->state == COMPAT], thread->last)) {
		now = look(t, c->tid);
		if (now != GONE || thread->state == UNSEEN)
			thread->state = (uint16_t)now;
	}
	if (c->wide && thread->state == COMPAT)
		thread->state = NATIVE;
	n = &t->numbers[thread->state == COMPAT];
	thread->last = (int16_t)c->nr;
	if (c->nr == n->exit || c->nr == n->exit_group)
		thread->ended = c->time;
	return thread->state == COMPAT;
}

/* Is it the end of an execve that leads to the other table? */
static bool leads_away(const struct compat_threads *t, struct compat_thread *thread,
		       const struct compat_call *c)
{
	bool seen = thread->state != UNSEEN;

	if (!seen)
		thread->state = (uint16_t)look(t, c->tid);
	if (!t->exec_tells || c->ret || c->nr == thread->last)
		return false;
	if (thread->state == COMPAT && !seen && c->nr == t->numbers[1].execve) {
		thread->state = NATIVE; /* it has been there, */
		return true; /* and is now what it is seen to be */
	}
	if (thread->state == COMPAT)
		return c->nr == t->numbers[0].execve;
	return c->nr == t->numbers[1].execve && (seen || thread->state == GONE);
}

bool compat_threads_exit(struct compat_threads *t, struct compat_call *c)
{
	struct compat_thread *thread = find(t, c);
	bool compat;

	if (c->time < thread->since)
		return thread->state != COMPAT;
	if (leads_away(t, thread, c)) {
		compat = thread->state == COMPAT;
		c->nr = is_exec(&t->numbers[compat], thread->last) ? thread->last
								   : t->numbers[compat].execve;
		thread->state = compat ? NATIVE : COMPAT;
		thread->since = c->time;
	} else {
		compat = thread->state == COMPAT;
		if (!t->exec_tells && !c->ret && is_exec(&t->numbers[compat], c->nr))
			thread->ended = c->time; /* what it is now has to be looked at */
	}
	if (c->nr == thread->last || is_exec(&t->numbers[compat], c->nr))
		thread->last = -1;
	return compat;
}
