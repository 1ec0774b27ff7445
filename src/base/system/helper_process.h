/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/*
 * A child of this process that keeps privileges which this process drops after the fork. It serves
 * requests: each request and each answer is one message on a pair of sockets (SOCK_SEQPACKET).
 *
 * The child has no descriptors but the socket, those up to stderr, and keep_fd (-1: none). It
 * ignores all signals except SIGKILL, SIGSTOP and SIGSYS, since a signal may go to a whole process
 * group or control group.
 * The kernel kills it when its parent ends, unless run() changes that (PR_SET_PDEATHSIG).
 */
struct helper_process {
	pid_t pid; /* 0: none was started */
	int fd; /* owned: the socket to it; -1: none */
};

/* Forks the child, which calls run(fd, ctx) and exits when run returns. ps(1) shows the child under
 * the name. Call it while the process has one thread. Returns 0 or -errno. */
int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret);
