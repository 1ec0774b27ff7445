/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Bytes that a non-blocking socket has not taken yet. Zero-initialise. The memory is mapped, not
 * allocated: the queue has a lock around it, and a hook of the allocator may write events, which
 * may need the queue. */

#define OUT_QUEUE_MAX (4u << 20)

struct out_queue {
	uint8_t *bytes; /* owned; OUT_QUEUE_MAX of them, or NULL */
	size_t start, len; /* queued: len bytes from start */
};

/* Sends the parts behind what is queued; what the socket does not take is queued. fd: sent
 * along, -1 for none. Returns 0; -EAGAIN: something is queued; -ENOBUFS: the queue is too long,
 * and half a frame may be sent: the connection is over; or -errno of the socket. */
int out_queue_put(struct out_queue *q, int sock, const struct iovec *parts, int n, int fd);
/* Sends what is queued. Returns 0, -EAGAIN or -errno. */
int out_queue_send(struct out_queue *q, int sock);
void out_queue_deinit(struct out_queue *q);
