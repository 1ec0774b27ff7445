/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/*
 * A child of this process, forked before this process gives up what the child keeps. It does a few
 * things on request: each request and each answer is one message on a pair of sockets
 * (SOCK_SEQPACKET).
 *
 * The child has no descriptors but the socket, those up to stderr, and keep_fd (-1: none). It
 * ignores signals, which a process group or a control group gets as a whole, and dies with its
 * parent, unless run() changes that (PR_SET_PDEATHSIG).
 */
struct helper_process {
	pid_t pid; /* 0: none was started */
	int fd; /* owned: the socket to it; -1: none */
};

/* The name shows in ps(1). run(fd, ctx) is what the child does; it does not return. To be called
 * while there is one thread. Returns 0 or -errno. */
int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret);
