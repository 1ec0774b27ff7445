/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * sendmsg(2) and recvmsg(2) with descriptors (SCM_RIGHTS). flags is MSG_DONTWAIT or 0. Calls
 * interrupted by a signal are repeated; sending to a socket whose peer has closed it raises no
 * signal.
 */

/* Sends fd (-1: none) with the first byte. Returns the bytes sent or -errno. */
ssize_t sock_send(int sock, const struct iovec *iov, size_t n_iov, int fd, int flags);
/* Passes each received descriptor to on_fd, which owns it. Descriptors are close-on-exec. Returns
 * the bytes received, 0 at the end of the stream, -ETOOMANYREFS if there were more than max_fds
 * descriptors or some were lost, or -errno. */
ssize_t sock_receive(int sock, const struct iovec *iov, size_t n_iov, int flags, size_t max_fds,
		     void (*on_fd)(void *ctx, int fd), void *ctx);
