/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/helper_process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/mem.h"

static void close_from_to(unsigned first, unsigned last)
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

	close_from_to(STDERR_FILENO + 1, (unsigned)low - 1);
	close_from_to((unsigned)low + 1, (unsigned)high - 1);
	close_from_to((unsigned)high + 1, UINT_MAX);
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
