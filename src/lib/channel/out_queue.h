/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Bytes that a non-blocking socket has not accepted yet. Zero-initialise. The memory is mapped, not
 * allocated: the caller holds a lock, and a hook of the allocator may write events, which need the
 * lock. */

#define OUT_QUEUE_MAX (4u << 20)

struct out_queue {
	uint8_t *bytes; /* owned; OUT_QUEUE_MAX of them, or NULL */
	size_t start, len; /* queued: len bytes from start */
};

/* Sends the queue, then the parts; queues what the socket does not accept. fd: sent with the parts,
 * -1: none. A descriptor cannot be queued, so the call waits for the socket, up to two seconds.
 * Returns 0, -EAGAIN (bytes are queued), -ENOBUFS (the queue is full, or the socket did not accept
 * the descriptor) or -errno of the socket. After -ENOBUFS a part of the frame may be sent, so the
 * connection cannot be used. */
int out_queue_put(struct out_queue *q, int sock, const struct iovec *parts, int n, int fd);
/* Sends the queue. Returns 0, -EAGAIN or -errno. */
int out_queue_send(struct out_queue *q, int sock);
void out_queue_deinit(struct out_queue *q);
