/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/channel/out_queue.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/core/mem.h"

#define WAIT_MS 1000 /* until the socket accepts a frame with a descriptor; twice */

int out_queue_send(struct out_queue *q, int sock)
{
	while (q->len > 0) {
		ssize_t n = send(sock, q->bytes + q->start, q->len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EWOULDBLOCK ? -EAGAIN : -errno;
		q->start += (size_t)n;
		q->len -= (size_t)n;
	}
	q->start = 0;
	return 0;
}

static int out_queue_append(struct out_queue *q, const void *bytes, size_t len)
{
	if (len == 0)
		return 0;
	if (!q->bytes) {
		void *p = mmap(NULL, OUT_QUEUE_MAX, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return -ENOBUFS;
		q->bytes = p;
	}
	if (q->start > 0) {
		memmove(q->bytes, q->bytes + q->start, q->len);
		q->start = 0;
	}
	if (q->len + len > OUT_QUEUE_MAX)
		return -ENOBUFS;
	memcpy(q->bytes + q->len, bytes, len);
	q->len += len;
	return 0;
}

/* Returns the number of bytes that the socket accepted, or -errno. */
static ssize_t send_parts(int sock, const struct iovec *parts, int n, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n};
	struct cmsghdr *h;
	ssize_t sent;

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

static ssize_t send_after_queue(struct out_queue *q, int sock, const struct iovec *parts, int n,
				int fd)
{
	int r = out_queue_send(q, sock);

	return r < 0 ? r : send_parts(sock, parts, n, fd);
}

int out_queue_put(struct out_queue *q, int sock, const struct iovec *parts, int n, int fd)
{
	struct pollfd p = {.fd = sock, .events = POLLOUT};
	ssize_t sent = send_after_queue(q, sock, parts, n, fd);
	size_t skip;
	int r;

	for (int i = 0; sent == -EAGAIN && fd >= 0 && i < 2; i++) {
		poll(&p, 1, WAIT_MS);
		sent = send_after_queue(q, sock, parts, n, fd);
	}
	if (sent == -EAGAIN && fd >= 0)
		return -ENOBUFS;
	if (sent < 0 && sent != -EAGAIN)
		return (int)sent;
	skip = sent < 0 ? 0 : (size_t)sent;
	for (int i = 0; i < n; i++) {
		size_t have = MIN(skip, parts[i].iov_len);

		skip -= have;
		r = out_queue_append(q, (const uint8_t *)parts[i].iov_base + have,
				     parts[i].iov_len - have);
		if (r < 0)
			return r; /* a part of the frame is sent or queued */
	}
	return q->len > 0 ? -EAGAIN : 0;
}

void out_queue_deinit(struct out_queue *q)
{
	if (q->bytes)
		munmap(q->bytes, OUT_QUEUE_MAX);
	*q = (struct out_queue){0};
}
