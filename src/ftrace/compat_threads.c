// SPDX-License-Identifier: Apache-2.0
/*
 *	             auxv                         execve begins
 *	 UNKNOWN ----------> NATIVE or COMPAT <--------------> NATIVE_EXEC or COMPAT_EXEC
 *	    ^                   |      execve ends: it failed, or its number says which
 *	    +-------------------+
 *	       the thread ends, or its exec ends without a word
 *
 * A thread that is looked at now may have been another program's when the oldest records of the
 * ring were written: wide arguments put COMPAT right, and the end of its execve NATIVE.
 */
#include "ftrace/compat_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "ftrace/syscall_names.h"

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

enum state { UNKNOWN, NATIVE, COMPAT, NATIVE_EXEC, COMPAT_EXEC };

struct compat_thread {
	uint32_t tid; /* 0: nobody */
	uint16_t state;
	uint16_t exec; /* the number that its execve began with */
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
		return NATIVE;
	n = read(fd, halves, sizeof(halves));
	close(fd);
	return n == sizeof(halves) && halves[0] && halves[1] ? COMPAT : NATIVE;
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

	/* Rings are read one after the other: time goes back as well. */
	if (t->n >= COMPAT_THREADS_MAX / 4 * 3 ||
	    (c->time > t->since && c->time - t->since > COMPAT_THREADS_NS))
		forget_all(t, c->time);
	for (;; at++) {
		thread = &t->threads[at % COMPAT_THREADS_MAX];
		if (thread->tid == c->tid)
			break;
		if (thread->tid)
			continue;
		*thread = (struct compat_thread){.tid = c->tid};
		t->n++;
		break;
	}
	if (thread->state == UNKNOWN)
		thread->state = look(t, c->tid);
	return thread;
}

static bool is_compat(const struct compat_thread *thread)
{
	return thread->state == COMPAT || thread->state == COMPAT_EXEC;
}

bool compat_threads_enter(struct compat_threads *t, const struct compat_call *c)
{
	struct compat_thread *thread = find(t, c);
	const struct compat_numbers *n;
	bool compat;

	/* The end of its execve is in another ring, and comes later or never. */
	if (thread->state >= NATIVE_EXEC)
		thread->state = look(t, c->tid);
	if (c->wide)
		thread->state = NATIVE;
	compat = is_compat(thread);
	n = &t->numbers[compat];
	if (c->nr == n->execve || c->nr == n->execveat) {
		thread->state = compat ? COMPAT_EXEC : NATIVE_EXEC;
		thread->exec = (uint16_t)c->nr;
	} else if (c->nr == n->exit || c->nr == n->exit_group) {
		thread->state = UNKNOWN;
	}
	return compat;
}

static enum state after_exec(const struct compat_threads *t, const struct compat_thread *thread,
			     const struct compat_call *c)
{
	if (c->ret < 0)
		return thread->state == COMPAT_EXEC ? COMPAT : NATIVE;
	if (!t->exec_tells)
		return UNKNOWN;
	return c->nr == t->numbers[1].execve ? COMPAT : NATIVE;
}

bool compat_threads_exit(struct compat_threads *t, struct compat_call *c)
{
	struct compat_thread *thread = find(t, c);
	bool compat = is_compat(thread);

	/* Other calls' ends come late from another ring. */
	if (thread->state < NATIVE_EXEC ||
	    (c->nr != thread->exec && c->nr != t->numbers[0].execve &&
	     c->nr != t->numbers[1].execve))
		return compat;
	thread->state = after_exec(t, thread, c);
	if (thread->state != UNKNOWN && is_compat(thread) != compat)
		c->nr = thread->exec;
	return compat;
}
