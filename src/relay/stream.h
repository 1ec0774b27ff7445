/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event_struct.h>

/*
 * One direction of a connection: copies bytes from one socket to another, without looking at them.
 *
 *	from --> | at most STREAM_BYTES that `to` did not accept | --> to
 *
 * While bytes wait for `to`, nothing is read, so that the sender waits, too. When `from` ends, the
 * waiting bytes are sent first, and then `to` is shut down for writing. When `to` accepts nothing
 * more, `from` is read to its end all the same: closing a TCP socket with unread bytes would
 * discard what is on its way in the other direction. Descriptors that arrive with the bytes are
 * closed.
 */
#define STREAM_BYTES (64u << 10)

struct stream {
	int from, to; /* borrowed */
	uint64_t owner; /* of received descriptors (base/system/background_close.h) */
	/* Bytes were moved, or one of the following members has changed; the callback may stop the
	 * stream and free it. */
	void (*on_change)(void *ctx);
	void *ctx;
	uint64_t n_bytes; /* that `to` accepted */
	bool has_ended; /* `from` has, and all was sent */
	bool discards; /* `to` accepts nothing more */
	bool misbehaves; /* the sender passes more descriptors than can be closed */
	/* private: */
	struct event readable, writable;
	uint8_t *rest; /* owned */
	size_t rest_at, rest_len;
};

/* Starts to copy. The caller has set the members up to ctx; the others are 0. first: sent before
 * all else, at most STREAM_BYTES. Returns 0 or -ENOMEM. */
int stream_start(struct stream *s, struct event_base *loop, const void *first, size_t len);
/* Drops the bytes that wait. No-op if the stream was not started. */
void stream_stop(struct stream *s);
/* Returns the number of bytes that wait. */
static inline size_t stream_count_waiting(const struct stream *s)
{
	return s->rest_len - s->rest_at;
}
