/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/helper_process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/caps.h"
#include "base/system/sanitizer.h"
#include "base/system/sock_io.h"

static void close_fd_range(unsigned first, unsigned last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* Linux before 5.9. */
	last = MIN(last, (unsigned)sysconf(_SC_OPEN_MAX));
	for (unsigned fd = first; fd <= last; fd++)
		close((int)fd);
}

/* Closes all descriptors from 3 on except these two; keep_fd is a descriptor or -1. */
static void close_all_but(int fd, int keep_fd)
{
	int low = keep_fd < 0 ? fd : MIN(fd, keep_fd), high = MAX(fd, keep_fd);

	close_fd_range(STDERR_FILENO + 1, (unsigned)low - 1);
	close_fd_range((unsigned)low + 1, (unsigned)high - 1);
	close_fd_range((unsigned)high + 1, UINT_MAX);
}

int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret)
{
	pid_t parent = getpid(), child;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		prctl(PR_SET_NAME, name);
		for (int s = 1; s < NSIG; s++)
			if (s != SIGSYS)
				signal(s, SIG_IGN);
		close_all_but(fds[1], keep_fd);
		run(fds[1], ctx);
		_exit(0);
	}
	r = child < 0 ? -errno : 0;
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		return r;
	}
	*ret = (struct helper_process){.pid = child, .fd = fds[0]};
	return 0;
}

int helper_confine(const unsigned *caps, size_t n_caps, const struct syscall_list *calls)
{
	int r = caps_keep_only(caps, n_caps), r2 = 0;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!BUILT_WITH_SANITIZER)
		r2 = syscall_filter_install(calls);
	return r ?: r2 == -ENOSYS ? 0 : r2;
}

int helper_confine_parser(size_t memory)
{
	/* getrandom() of glibc 2.41 calls rt_sigprocmask */
	static const char *const calls[] = {
		"brk",		"close",   "exit_group", "fcntl",   "fstat",
		"getrandom",	"lseek",   "munmap",	 "mremap",  "madvise",
		"newfstatat",	"pread64", "read",	 "recvmsg", "rt_sigprocmask",
		"rt_sigreturn", "sendmsg", "sysinfo",	 "write",   NULL,
	};
	static const struct syscall_without executable[] = {
		{"mmap", 2, PROT_EXEC},
		{"mmap2", 2, PROT_EXEC},
		{"mprotect", 2, PROT_EXEC},
		{NULL, 0, 0},
	};
	const struct syscall_list list = {
		.allowed = calls, .without = executable, .is_whole = true};
	const struct rlimit limit = {memory, memory};

	if (!BUILT_WITH_SANITIZER)
		(void)setrlimit(RLIMIT_AS, &limit);
	return helper_confine(NULL, 0, &list);
}

int helper_send(int fd, const void *message, size_t len, int passed, int flags)
{
	const struct iovec part = {(void *)message, len};
	ssize_t n = sock_send(fd, &part, 1, passed, flags);

	return n < 0 ? (int)n : 0;
}

static void helper_on_fd(void *ctx, int fd)
{
	int *to = ctx;

	closep(to);
	*to = fd;
}

ssize_t helper_receive(int fd, const struct iovec *parts, size_t n_parts, int wait_ms, int *ret_fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	_cleanup_(closep) int passed = -1;
	ssize_t n;
	int r;

	if (wait_ms > 0) {
		do
			r = poll(&readable, 1, wait_ms);
		while (r < 0 && errno == EINTR);
	}
	n = sock_receive(fd, parts, n_parts, wait_ms < 0 ? 0 : MSG_DONTWAIT, ret_fd ? 1 : 0,
			 helper_on_fd, &passed);
	if (n >= 0 && ret_fd)
		*ret_fd = TAKE_FD(passed);
	return n;
}

#define STOP_CHECK_MS 200

/* Waits for the answer, and checks *stop every STOP_CHECK_MS. Returns 0, -EINTR, -ETIME or -EPIPE,
 * as helper_process_finish(). */
static int receive_answer(int fd, void *answer, size_t len, const volatile sig_atomic_t *stop,
			  unsigned seconds)
{
	const struct iovec part = {answer, len};
	uint64_t end = clock_mono_ns() + seconds * NS_PER_S;

	for (;;) {
		ssize_t n = helper_receive(fd, &part, 1, STOP_CHECK_MS, NULL);

		if (n == (ssize_t)len)
			return 0;
		if (*stop)
			return -EINTR;
		if (n != -EAGAIN && n != -EINTR)
			return -EPIPE;
		if (clock_mono_ns() > end)
			return -ETIME;
	}
}

int helper_process_finish(struct helper_process *p, void *answer, size_t len,
			  const volatile sig_atomic_t *stop, unsigned seconds)
{
	int r = receive_answer(p->fd, answer, len, stop, seconds);

	closep(&p->fd);
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
