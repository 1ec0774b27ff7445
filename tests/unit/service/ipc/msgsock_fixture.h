/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One end of a socket pair is the msgsock under test; into the other the test speaks raw bytes, so
 * that every fragmentation and every descriptor is of the test's making.
 */

#include <event2/event.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "base/text/str.h"
#include "service/ipc/msgsock.h"
#include "unit/rng.h"
#include "unit/test.h"

#define LIMIT (64u << 20)

/* ---- one connection under test ---- */

enum in_callback { NOTHING, FREE_ON_MESSAGE, FREE_ON_CLOSE, FREE_ON_DRAINED, SEND_ON_MESSAGE };

struct connection {
	struct event_base *loop;
	struct msgsock *m;
	int raw; /* the other end */
	enum in_callback what;

	struct strbuf got; /* "len:first byte;" of each message */
	struct strbuf bytes; /* all payloads together */
	unsigned messages, closes, drains;
	int error; /* of on_close */
	unsigned messages_at_close;
	int fd; /* the last one taken by on_message */
	unsigned fds;
	bool take_fds;
	size_t memory, max_memory; /* of on_memory, which refuses more than max (0: no limit) */
};

static inline void free_msgsock(struct connection *c)
{
	msgsock_free(c->m);
	c->m = NULL;
}

static inline void on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct connection *c = ctx;
	int fd;

	c->messages++;
	strbuf_printf(&c->got, "%zu:%02x;", len, data[0]);
	strbuf_add(&c->bytes, data, len);
	fd = c->take_fds ? msgsock_pop_fd(c->m) : -1;
	if (fd >= 0) {
		c->fds++;
		closep(&c->fd);
		c->fd = fd;
	}
	if (c->what == SEND_ON_MESSAGE)
		msgsock_send(c->m, &(struct iovec){(void *)data, len}, 1, -1);
	if (c->what == FREE_ON_MESSAGE) {
		free_msgsock(c);
		/* still readable until we return */
		strbuf_add(&c->bytes, data, len);
	}
}

static inline void on_close(void *ctx, int error)
{
	struct connection *c = ctx;

	c->closes++;
	c->error = error;
	c->messages_at_close = c->messages;
	if (c->what == FREE_ON_CLOSE)
		free_msgsock(c);
}

static inline void on_drained(void *ctx)
{
	struct connection *c = ctx;

	c->drains++;
	assert_int_equal(msgsock_queued(c->m), 0);
	if (c->what == FREE_ON_DRAINED)
		free_msgsock(c);
}

static inline int on_memory(void *ctx, size_t before, size_t now)
{
	struct connection *c = ctx;

	assert_int_equal(before, c->memory);
	if (now > before && c->max_memory && now > c->max_memory)
		return -EDQUOT;
	c->memory = now;
	return 0;
}

static const struct msgsock_ops ops = {
	.on_message = on_message,
	.on_close = on_close,
	.on_drained = on_drained,
	.on_memory = on_memory,
};

static inline void open_in(struct connection *c, struct event_base *loop, size_t limit)
{
	int s[2];

	memset(c, 0, sizeof(*c));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s), 0);
	c->loop = loop;
	c->fd = -1;
	c->raw = s[1];
	assert_int_equal(msgsock_new(loop, s[0], limit, &ops, c, &c->m), 0);
	assert_int_equal(msgsock_fd(c->m), s[0]);
}

static inline void close_raw(struct connection *c)
{
	close(c->raw);
	c->raw = -1;
}

static inline void shut(struct connection *c)
{
	free_msgsock(c);
	assert_int_equal(c->memory, 0);
	closep(&c->raw);
	closep(&c->fd);
	strbuf_deinit(&c->got);
	strbuf_deinit(&c->bytes);
}

static inline int setup(void **state)
{
	struct connection *c = malloc(sizeof(*c));

	open_in(c, event_base_new(), LIMIT);
	c->take_fds = true;
	*state = c;
	return 0;
}

static inline int teardown(void **state)
{
	struct connection *c = *state;

	shut(c);
	event_base_free(c->loop);
	free(c);
	return 0;
}

/* Turns the loop until nothing is left to do now. */
static inline void settle(struct connection *c)
{
	unsigned before;

	do {
		before = c->messages + c->closes + c->drains;
		for (int i = 0; i < 8; i++)
			event_base_loop(c->loop, EVLOOP_NONBLOCK);
	} while (before != c->messages + c->closes + c->drains);
}

static inline void reopen(struct connection *c, size_t limit)
{
	shut(c);
	open_in(c, c->loop, limit);
	c->take_fds = true;
}

/* ---- raw bytes ---- */

static inline size_t put_message(uint8_t *to, size_t len, uint8_t fill)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(len >> 8 * i);
	memset(to + 4, fill, len);
	return 4 + len;
}

static inline void raw_send(struct connection *c, const void *data, size_t len)
{
	assert_int_equal(send(c->raw, data, len, MSG_NOSIGNAL), len);
}

/* Sends with the loop turning, however much it is. */
static inline void raw_send_all(struct connection *c, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(c->raw, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
		} else {
			assert_int_equal(errno, EAGAIN);
		}
		settle(c);
	}
}

static inline void raw_send_fds(struct connection *c, const void *data, size_t len, const int *fds,
				size_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};

	msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	assert_int_equal(sendmsg(c->raw, &msg, MSG_NOSIGNAL), len);
}

/* Reads one byte; *ret_fd is the descriptor that came with it, or -1. False: nothing there. */
static inline bool raw_read_byte(struct connection *c, uint8_t *ret, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {ret, 1};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	*ret_fd = -1;
	if (recvmsg(c->raw, &msg, MSG_DONTWAIT) != 1)
		return false;
	if (msg.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(&control.align), sizeof(int));
	return true;
}

/* Reads all that there is, into what (may be NULL). */
static inline size_t raw_read_all(struct connection *c, struct strbuf *what)
{
	static uint8_t buf[1 << 16];
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(c->raw, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		sum += (size_t)n;
		if (what)
			strbuf_add(what, buf, (size_t)n);
	}
	return sum;
}

/* ---- descriptors that can be seen to close: the write end of a pipe ---- */

struct watched {
	int reader;
};

static inline int watched_new(struct watched *w)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	w->reader = p[0];
	return p[1];
}

/* Is no copy of it open any more? */
static inline bool watched_closed(const struct watched *w)
{
	char b;

	return read(w->reader, &b, 1) == 0;
}

/* Is this descriptor the watched one? */
static inline bool watched_is(const struct watched *w, int fd)
{
	char b = 0;

	return fd >= 0 && write(fd, "w", 1) == 1 && read(w->reader, &b, 1) == 1 && b == 'w';
}
