/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes that a stream socket did not accept at once, and descriptors beside them, each with the
 * position of the byte with which it is sent (SCM_RIGHTS):
 *
 *	out  | sent | waiting             fds  { at, fd } { at, fd }
 *	     0      head          len
 */
struct queued_fd {
	size_t at; /* index in out */
	int fd; /* owned */
};

/* Zero-initialise. */
struct send_queue {
	uint8_t *out; /* owned */
	size_t head, len, cap;
	struct queued_fd *fds; /* owned */
	size_t n_fds, fds_cap;
};

static inline size_t send_queue_bytes(const struct send_queue *q)
{
	return q->len - q->head;
}

/* Discards the waiting bytes and closes their descriptors. */
void send_queue_clear(struct send_queue *q);
/* As send_queue_clear(), and frees the memory. */
void send_queue_deinit(struct send_queue *q);
/* Makes room for that many more bytes. Returns 0 or -ENOMEM. */
int send_queue_reserve(struct send_queue *q, size_t bytes);
/* Adds a copy of fd, which is sent with the next byte that is added. Returns 0 or -errno. */
int send_queue_add_fd(struct send_queue *q, int fd);
/* Adds a piece without its first *skip bytes, and subtracts the skipped bytes from *skip. The
 * caller has reserved room. */
void send_queue_add(struct send_queue *q, const void *data, size_t len, size_t *skip);
/* Sends until the queue is empty. Returns 0, with a large buffer freed, or -EAGAIN or another
 * -errno. */
int send_queue_flush(struct send_queue *q, int sock);
