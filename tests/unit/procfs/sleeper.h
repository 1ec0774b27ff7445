/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A real process that sleeps until it is asked to work, then touches memory and sleeps on. */
struct sleeper {
	pid_t pid;
	int ask; /* of a socket pair */
};

#define SLEEPER_BYTES (256u << 10)

static inline void sleeper_work(int fd)
{
	char c;

	while (read(fd, &c, 1) == 1) {
		char *p = mmap(NULL, SLEEPER_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED || write(fd, &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static inline int sleeper_start(struct sleeper *s)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	s->pid = fork();
	if (s->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		sleeper_work(fds[1]);
	}
	close(fds[1]);
	s->ask = fds[0];
	return s->pid < 0 ? -1 : 0;
}

/* SLEEPER_BYTES more are in memory when it returns. */
static inline int sleeper_ask(const struct sleeper *s)
{
	char c = '.';

	return write(s->ask, &c, 1) == 1 && read(s->ask, &c, 1) == 1 ? 0 : -1;
}

static inline void sleeper_end(struct sleeper *s)
{
	close(s->ask);
	waitpid(s->pid, NULL, 0);
}
