/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/system/background_close.h"
#include "base/system/sock_io.h"

#define MAX_CLOSING 64 /* descriptors of an owner that wait to be closed */

static void stream_discard_rest(struct stream *s)
{
	free(s->rest);
	s->rest = NULL;
	s->rest_at = s->rest_len = 0;
	event_del(&s->writable);
}

/* Discards further bytes: the receiver has disconnected, or there is no memory for bytes that it
 * has not accepted. */
static void stream_discard_output(struct stream *s)
{
	stream_discard_rest(s);
	s->discards = true;
}

static void stream_end(struct stream *s)
{
	event_del(&s->readable);
	s->has_ended = true;
	(void)shutdown(s->to, SHUT_WR);
}

/* Stores bytes until the receiver accepts them. Nothing is read before that. */
static void stream_store_waiting(struct stream *s, const uint8_t *bytes, size_t len)
{
	s->rest = malloc(len);
	if (!s->rest || event_add(&s->writable, NULL) < 0) {
		stream_discard_output(s);
		return;
	}
	memcpy(s->rest, bytes, len);
	s->rest_len = len;
	event_del(&s->readable);
}

static void stream_send(struct stream *s, const uint8_t *bytes, size_t len)
{
	const struct iovec part = {(void *)bytes, len};
	ssize_t n = sock_send(s->to, &part, 1, -1, MSG_DONTWAIT);

	if (n < 0 && n != -EAGAIN) {
		stream_discard_output(s);
		return;
	}
	n = MAX(n, 0);
	s->n_bytes += (size_t)n;
	if ((size_t)n < len)
		stream_store_waiting(s, bytes + n, len - (size_t)n);
}

static void stream_on_descriptor(void *ctx, int fd)
{
	struct stream *s = ctx;

	background_close(fd, s->owner);
	if (background_close_count_waiting(s->owner) > MAX_CLOSING)
		s->misbehaves = true;
}

static void stream_on_readable(evutil_socket_t fd, short what, void *ctx)
{
	uint8_t bytes[STREAM_BYTES];
	const struct iovec room = {bytes, sizeof(bytes)};
	struct stream *s = ctx;
	ssize_t n =
		sock_receive(s->from, &room, 1, MSG_DONTWAIT, SIZE_MAX, stream_on_descriptor, s);

	if (n == -EAGAIN)
		return;
	if (n <= 0)
		stream_end(s);
	else if (!s->discards)
		stream_send(s, bytes, (size_t)n);
	s->on_change(s->ctx);
}

static void stream_on_writable(evutil_socket_t fd, short what, void *ctx)
{
	struct stream *s = ctx;
	const struct iovec part = {s->rest + s->rest_at, stream_count_waiting(s)};
	ssize_t n = sock_send(s->to, &part, 1, -1, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return;
	if (n < 0) {
		stream_discard_output(s);
	} else {
		s->n_bytes += (size_t)n;
		s->rest_at += (size_t)n;
		if (stream_count_waiting(s) == 0)
			stream_discard_rest(s);
	}
	if (!s->rest && event_add(&s->readable, NULL) < 0)
		stream_end(s);
	s->on_change(s->ctx);
}

int stream_start(struct stream *s, struct event_base *loop, const void *first, size_t len)
{
	event_assign(&s->readable, loop, s->from, EV_READ | EV_PERSIST, stream_on_readable, s);
	event_assign(&s->writable, loop, s->to, EV_WRITE | EV_PERSIST, stream_on_writable, s);
	if (event_add(&s->readable, NULL) < 0)
		return -ENOMEM;
	if (len > 0)
		stream_send(s, first, len);
	return 0;
}

void stream_stop(struct stream *s)
{
	if (!event_initialized(&s->readable))
		return;
	event_del(&s->readable);
	stream_discard_rest(s);
}
