/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: kills the process before its call number KILL_AT (from 1) that changes files. A child
 * counts on from its parent's number at the fork.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long kill_at, calls;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("KILL_AT");

	kill_at = text ? atol(text) : 0;
}

static void count(void)
{
	if (++calls == kill_at)
		kill(getpid(), SIGKILL);
}

ssize_t write(int fd, const void *data, size_t len)
{
	if (fd > STDERR_FILENO)
		count();
	return syscall(SYS_write, fd, data, len);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
		count();
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int fsync(int fd)
{
	count();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	count();
	return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t len)
{
	count();
	return (int)syscall(SYS_ftruncate, fd, len);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	count();
	return (int)syscall(SYS_mkdirat, dir, path, mode);
}

int unlinkat(int dir, const char *path, int flags)
{
	count();
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	count();
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}
