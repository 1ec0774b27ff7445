/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/channel/out_queue.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/core/mem.h"
#include "base/system/sock_io.h"

#define WAIT_MS 1000 /* until the socket accepts a frame with a descriptor; twice */

int out_queue_send(struct out_queue *q, int sock)
{
	while (q->len > 0) {
		const struct iovec part = {q->bytes + q->start, q->len};
		ssize_t n = sock_send(sock, &part, 1, -1, MSG_DONTWAIT);

		if (n < 0)
			return (int)n;
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

static ssize_t send_after_queue(struct out_queue *q, int sock, const struct iovec *parts, int n,
				int fd)
{
	int r = out_queue_send(q, sock);

	return r < 0 ? r : sock_send(sock, parts, (size_t)n, fd, MSG_DONTWAIT);
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
