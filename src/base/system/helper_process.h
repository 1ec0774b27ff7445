/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/system/syscall_filter.h"

/*
 * A child of this process that keeps privileges which this process drops after the fork. It serves
 * requests: each request and each answer is one message on a pair of sockets (SOCK_SEQPACKET), and
 * may carry a descriptor. The messages are structs in native byte order, because both processes are
 * forks of one program.
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
 * this name. Call it while the process has one thread. Returns 0 or -errno. */
int helper_process_start(const char *name, void (*run)(int fd, void *ctx), void *ctx, int keep_fd,
			 struct helper_process *ret);

/* For the child: drops all capabilities except these, and blocks all system calls that the list
 * does not allow. The calls stay allowed if the kernel has no filters, and in a build with a
 * sanitizer. Only root can then attach to the child with ptrace(2). Continues after an error, and
 * returns the first one. */
int helper_confine(const unsigned *caps, size_t n_caps, const struct syscall_list *calls);

/* The same for a child that does nothing but parse the files whose descriptors it gets, and answer:
 * it has no capabilities, can open nothing, and has `memory` bytes of address space; without this
 * limit in a build with a sanitizer. */
int helper_confine_parser(size_t memory);

/* Sends a message, and the descriptor `passed` (-1: none), which the caller still owns. Waits for
 * room unless flags is MSG_DONTWAIT. Returns 0 or -errno. System call: sendmsg(2). */
int helper_send(int fd, const void *message, size_t len, int passed, int flags);
/* Receives a message into the parts, within wait_ms (-1: no limit). Sets *ret_fd to the descriptor
 * that came with it, or -1; ret_fd NULL: the message may carry none. Returns the bytes received; 0
 * if the other process has ended; -EAGAIN if no message came in time; -ETOOMANYREFS if more
 * descriptors came than allowed, or one was lost; or -errno. System calls: recvmsg(2), and poll(2)
 * if wait_ms is greater than 0. */
ssize_t helper_receive(int fd, const struct iovec *parts, size_t n_parts, int wait_ms, int *ret_fd);

/* For a child that sends one answer of len bytes and exits: waits for it until *stop is set, at
 * most `seconds`, then kills and reaps the child and closes its socket. Returns 0; -EINTR: *stop
 * was set; -ETIME; -EPIPE: the child ended without it. */
int helper_process_finish(struct helper_process *p, void *answer, size_t len,
			  const volatile sig_atomic_t *stop, unsigned seconds);
