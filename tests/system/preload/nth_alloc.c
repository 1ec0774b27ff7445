/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: makes the nth allocation of a process fail, and counts those that are live. The
 * numbers are in the file NTH_ALLOC_FILE (tests/system/nth_alloc.h), which another process may
 * write at any time. Only the program NTH_ALLOC_PROGRAM is affected, not its children; and not what
 * libraries allocate that do not check it (libtraceevent 1.7 and what calls it from libtracefs).
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../nth_alloc.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

static struct nth_alloc none;
static struct nth_alloc *numbers = &none;
static bool shows;

static void leave_child_alone(void)
{
	numbers = &none;
	none = (struct nth_alloc){0};
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("NTH_ALLOC_FILE"), *program = getenv("NTH_ALLOC_PROGRAM");
	void *frames[4], *map;
	int fd;

	if (!path || !program || strcmp(program, program_invocation_short_name) != 0)
		return;
	shows = getenv("NTH_ALLOC_SHOWS") != NULL;
	backtrace(frames, 4); /* its first call allocates */
	fd = open(path, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, sizeof(none), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		_exit(120);
	close(fd);
	unsetenv("LD_PRELOAD");
	pthread_atfork(NULL, NULL, leave_child_alone);
	numbers = map;
}

/* Is one of the callers in a library that would crash? */
static bool is_spared(void *const *frames, int n)
{
	for (int i = 0; i < n; i++) {
		Dl_info in;

		if (dladdr(frames[i], &in) && in.dli_fname && strstr(in.dli_fname, "/libtrace"))
			return true;
	}
	return false;
}

static bool fails(void)
{
	uint64_t n = __atomic_add_fetch(&numbers->n, 1, __ATOMIC_RELAXED);
	void *frames[16];
	int n_frames;

	if (n != __atomic_load_n(&numbers->fail_at, __ATOMIC_RELAXED))
		return false;
	n_frames = backtrace(frames, 16);
	if (is_spared(frames, n_frames))
		return false;
	if (shows) {
		dprintf(STDERR_FILENO, "allocation %ju fails:\n", (uintmax_t)n);
		backtrace_symbols_fd(frames, n_frames, STDERR_FILENO);
	}
	errno = ENOMEM;
	return true;
}

static void *count(void *p)
{
	if (p)
		__atomic_add_fetch(&numbers->live, 1, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t size)
{
	return fails() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *old, size_t size)
{
	void *p;

	if (fails())
		return NULL;
	p = __libc_realloc(old, size);
	return old ? p : count(p);
}

void *memalign(size_t align, size_t size)
{
	return fails() ? NULL : count(__libc_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void free(void *p)
{
	if (p)
		__atomic_sub_fetch(&numbers->live, 1, __ATOMIC_RELAXED);
	__libc_free(p);
}
