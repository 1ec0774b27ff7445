/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/sock_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_PASSED 253 /* in one message: SCM_MAX_FD of the kernel */

ssize_t sock_send(int sock, const struct iovec *iov, size_t n_iov, int fd, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n_iov};
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static size_t pass_received_fds(struct msghdr *msg, void (*on_fd)(void *ctx, int fd), void *ctx)
{
	size_t n_all = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			on_fd(ctx, fd);
		}
		n_all += n;
	}
	return n_all;
}

/* The buffer has room for as many descriptors as a message can carry: the kernel would close those
 * that do not fit within this call, which may take long. */
ssize_t sock_receive(int sock, const struct iovec *iov, size_t n_iov, int flags, size_t max_fds,
		     void (*on_fd)(void *ctx, int fd), void *ctx)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_PASSED * sizeof(int))];
	} control;
	struct msghdr msg = {
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = n_iov,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	/* MSG_CTRUNC: this process cannot open more descriptors, so some of the message are
	 * lost. */
	if (pass_received_fds(&msg, on_fd, ctx) > max_fds || msg.msg_flags & MSG_CTRUNC)
		return -ETOOMANYREFS;
	return n;
}
