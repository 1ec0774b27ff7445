/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "service/ipc/msgsock.h"
#include "unit/test.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"

/*
 * The other end of a client's connection, by a script: keeps every frame that comes, and sends what
 * the test says. One loop for both ends.
 */

struct host_frame {
	struct frame f; /* views into bytes */
	uint8_t *bytes; /* owned */
};

struct host {
	struct event_base *loop;
	struct msgsock *sock; /* NULL: the client is gone */
	struct host_frame frames[4096];
	size_t n;
	size_t next; /* of host_expect */
	int closed; /* how often the client went */
};

static inline void host_on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct host *h = ctx;
	struct host_frame *x = &h->frames[h->n];

	assert_true(h->n < ARRAY_SIZE(h->frames));
	x->bytes = malloc(len + 1);
	memcpy(x->bytes, data, len);
	assert_int_equal(frame_decode(x->bytes, len, &x->f), 0);
	h->n++;
}

static inline void host_drop(struct host *h)
{
	msgsock_free(h->sock);
	h->sock = NULL;
}

static inline void host_on_close(void *ctx, int error)
{
	struct host *h = ctx;

	h->closed++;
	host_drop(h);
}

static const struct msgsock_ops host_ops = {.on_message = host_on_message,
					    .on_close = host_on_close};

static inline void host_take(struct host *h, int fd)
{
	assert_null(h->sock);
	assert_int_equal(msgsock_new(h->loop, fd, 1 << 20, &host_ops, h, &h->sock), 0);
}

/* Forgets the frames of one connection. */
static inline void host_reset(struct host *h)
{
	host_drop(h);
	for (size_t i = 0; i < h->n; i++)
		free(h->frames[i].bytes);
	h->n = h->next = 0;
}

/* Runs the loop until the condition holds; fails after ten seconds. */
#define spin_until(loop, condition)                                                                \
	do {                                                                                       \
		uint64_t end_ = clock_mono_ns() + 10 * NS_PER_S;                                   \
		while (!(condition)) {                                                             \
			event_base_loop(loop, EVLOOP_NONBLOCK);                                    \
			if (!(condition))                                                          \
				usleep(200);                                                       \
			assert_true(clock_mono_ns() < end_);                                       \
		}                                                                                  \
	} while (0)

/* Some turns in which nothing is expected to happen. */
static inline void spin_idle(struct event_base *loop)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop, EVLOOP_NONBLOCK);
}

/* The next frame, waiting for it. */
static inline const struct frame *host_expect(struct host *h, enum frame_kind kind)
{
	spin_until(h->loop, h->n > h->next);
	assert_int_equal(h->frames[h->next].f.kind, kind);
	return &h->frames[h->next++].f;
}

static inline void host_send(struct host *h, const void *data, size_t len)
{
	assert_int_equal(msgsock_send(h->sock, &(struct iovec){(void *)data, len}, 1, -1), 0);
}

static inline void host_send_bind_reply(struct host *h, uint64_t request_id, bool success,
					const struct frame_method *methods, size_t n)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	frame_put_bind_reply(&m.enc, request_id, success, 1, methods, n);
	host_send(h, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

static inline void host_send_error(struct host *h, uint64_t request_id)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	frame_put_error(&m.enc, request_id, "unknown request");
	host_send(h, m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
}

static inline void host_reply_fd(struct host *h, uint64_t request_id, bool success, bool has_more,
				 const void *data, size_t len, int fd)
{
	uint8_t head[FRAME_MAX_HEAD];
	struct iovec pieces[2] = {{head, frame_put_reply(head, request_id, success, has_more, len)},
				  {(void *)data, len}};

	assert_int_equal(msgsock_send(h->sock, pieces, 2, fd), 0);
}

static inline void host_reply(struct host *h, uint64_t request_id, bool success, bool has_more,
			      const void *data, size_t len)
{
	host_reply_fd(h, request_id, success, has_more, data, len, -1);
}
