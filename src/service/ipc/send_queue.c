/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/send_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/sock_io.h"

#define IDLE_OUT 4096u /* bytes of memory that an empty queue keeps */

int send_queue_flush(struct send_queue *q, int sock)
{
	while (q->head < q->len) {
		struct iovec iov = {.iov_base = q->out + q->head};
		size_t end = q->len;
		int fd = -1;
		ssize_t n;

		/* sock_send() sends one descriptor, with the first byte. So each call ends before
		 * the byte of the next descriptor. */
		if (q->n_fds > 0 && q->fds[0].at == q->head) {
			fd = q->fds[0].fd;
			end = q->n_fds > 1 ? q->fds[1].at : end;
		} else if (q->n_fds > 0) {
			end = q->fds[0].at;
		}
		iov.iov_len = end - q->head;
		n = sock_send(sock, &iov, 1, fd, MSG_DONTWAIT);
		if (n < 0)
			return (int)n;
		q->head += (size_t)n;
		if (fd >= 0 && n > 0) {
			close(fd);
			q->n_fds--;
			memmove(q->fds, q->fds + 1, q->n_fds * sizeof(*q->fds));
		}
	}
	q->head = q->len = 0;
	if (q->cap > IDLE_OUT) {
		free(q->out);
		q->out = NULL;
		q->cap = 0;
	}
	return 0;
}

/*
 * Moves the waiting bytes to the front if at least half of the bytes in the buffer are sent. So a
 * byte is moved at most once on average.
 */
static void compact(struct send_queue *q)
{
	if (q->head == 0 || q->head < q->len - q->head)
		return;
	memmove(q->out, q->out + q->head, q->len - q->head);
	for (size_t i = 0; i < q->n_fds; i++)
		q->fds[i].at -= q->head;
	q->len -= q->head;
	q->head = 0;
}

int send_queue_reserve(struct send_queue *q, size_t bytes)
{
	compact(q);
	return array_reserve(&q->out, &q->cap, q->len + bytes, 1);
}

int send_queue_add_fd(struct send_queue *q, int fd)
{
	int copy;

	if (array_reserve(&q->fds, &q->fds_cap, q->n_fds + 1, sizeof(*q->fds)) < 0)
		return -ENOMEM;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	q->fds[q->n_fds++] = (struct queued_fd){.at = q->len, .fd = copy};
	return 0;
}

void send_queue_add(struct send_queue *q, const void *data, size_t len, size_t *skip)
{
	size_t gone = MIN(*skip, len);

	*skip -= gone;
	if (len > gone)
		memcpy(q->out + q->len, (const uint8_t *)data + gone, len - gone);
	q->len += len - gone;
}

void send_queue_clear(struct send_queue *q)
{
	for (size_t i = 0; i < q->n_fds; i++)
		close(q->fds[i].fd);
	q->n_fds = 0;
	q->head = q->len = 0;
}

void send_queue_deinit(struct send_queue *q)
{
	send_queue_clear(q);
	free(q->out);
	free(q->fds);
	*q = (struct send_queue){0};
}
