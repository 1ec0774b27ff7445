/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: each process, when it waits for work within its sandbox for the first time, tries
 * what an attacker in it would try. The results are lines in the file SANDBOX_TRIES, which has to
 * be SANDBOX_TRIES_BYTES long; the rest of it stays NUL:
 *
 *	sondad read EACCES
 *	sonda-reads write EPERM
 *
 * SANDBOX_TRIES_FILE is a file that the process' user may read and write, by its permissions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SANDBOX_TRIES_BYTES 16384
#define MAX_LINE 64

static char *lines; /* shared by the process and its children */
static char file[256], beside[264];
static char child_name[16]; /* as the child sets it; empty: not a child */
static bool has_tried;

static void forget_tries(void)
{
	strcpy(child_name, "child");
	has_tried = false;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SANDBOX_TRIES"), *name = getenv("SANDBOX_TRIES_FILE");
	int fd = path && name ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, SANDBOX_TRIES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		_exit(120);
	snprintf(file, sizeof(file), "%s", name);
	snprintf(beside, sizeof(beside), "%s.new", name);
	pthread_atfork(NULL, NULL, forget_tries);
	lines = map;
}

/* Parent and children do this side by side: each line is written where there is none. */
static void say(const char *what, const char *result)
{
	char line[MAX_LINE];
	int n = snprintf(line, sizeof(line), "%s %s %s\n",
			 *child_name ? child_name : program_invocation_short_name, what, result);

	for (size_t at = 0; at + MAX_LINE <= SANDBOX_TRIES_BYTES; at += MAX_LINE) {
		char none = '\0';

		if (!atomic_compare_exchange_strong((_Atomic char *)&lines[at], &none, line[0]))
			continue;
		memcpy(lines + at + 1, line + 1, (size_t)n - 1);
		return;
	}
}

static void result(const char *what, long r)
{
	say(what, r >= 0 ? "done" : strerrorname_np(errno));
}

static void try_all(void)
{
	char *const argv[] = {(char *)"true", NULL};
	pid_t child;
	int r;

	result("read", open(file, O_RDONLY | O_CLOEXEC));
	result("write", open(file, O_WRONLY | O_CLOEXEC));
	result("create", open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	result("mkdir", mkdir(beside, 0700));
	result("unlink", unlink(file));
	result("chmod", chmod(file, 0666));
	result("socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	result("exec", execv("/bin/true", argv));
	child = fork();
	if (child == 0)
		_exit(0);
	result("fork", child);
	result("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	result("setuid", setresuid(0, 0, 0));
	r = prctl(PR_GET_DUMPABLE);
	say("dumpable", r < 0 ? strerrorname_np(errno) : r ? "1" : "0");
	say("tried", "all");
}

static void wait_for_work(void)
{
	int before = errno;

	if (lines && !has_tried && prctl(PR_GET_SECCOMP) != 0) {
		has_tried = true;
		try_all();
	}
	errno = before;
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	int (*next)(int, struct epoll_event *, int, int);

	*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	wait_for_work();
	return next(fd, events, n, timeout);
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t (*next)(int, void *, size_t, int);

	*(void **)&next = dlsym(RTLD_NEXT, "recv");
	wait_for_work();
	return next(fd, buf, len, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int);

	*(void **)&next = dlsym(RTLD_NEXT, "recvmsg");
	wait_for_work();
	return next(fd, m, flags);
}

int prctl(int option, ...)
{
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_NAME && *child_name)
		memcpy(child_name, (const char *)a[0],
		       strnlen((const char *)a[0], sizeof(child_name) - 1) + 1);
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}
