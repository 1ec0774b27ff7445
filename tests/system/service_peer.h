/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/event_loop/sock.h"
#include "wire/frame.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * A client of the service that speaks raw frames, so that it can also say what no library would.
 * The service runs in another process, or in this one: then pump gives its loop a turn whenever we
 * wait. Failures of the peer itself assert.
 */

#define PEER_TIMEOUT_MS 60000 /* for what must come */
#define PEER_QUIET_MS 50 /* for what must not */

#define PEER_FIELD 900 /* of TracePacket: what test producers write, and no other program reads */

struct peer {
	int fd;
	void (*pump)(void *ctx);
	void *ctx;
	uint64_t last_id;
	bool eof;
	int got_fd; /* the last one that came, -1: none */
	struct frame f; /* the last one that came */
	size_t in_len, used; /* used: bytes of f at the start of in */
	uint8_t in[2 * 131072];
};

static inline void peer_init(struct peer *p, int fd)
{
	memset(p, 0, offsetof(struct peer, in));
	p->fd = fd;
	p->got_fd = -1;
}

static inline void peer_connect(struct peer *p, const char *address)
{
	int fd, r;

	while ((r = sock_connect(address, &fd)) == -EAGAIN)
		usleep(1000); /* the queue of those that connect is full */
	assert(r == 0);
	(void)r;
	peer_init(p, fd);
}

static inline void peer_close(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->got_fd >= 0)
		close(p->got_fd);
	p->fd = p->got_fd = -1;
}

/* ---- sending ---- */

static inline void peer_wait(struct peer *p, short events, int timeout_ms)
{
	struct pollfd poller = {.fd = p->fd, .events = events};

	if (p->pump)
		p->pump(p->ctx);
	poll(&poller, 1, p->pump ? (timeout_ms ? 1 : 0) : timeout_ms);
}

/* Bytes as they are; false when the service hangs up. */
static inline bool peer_send_raw(struct peer *p, const void *data, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	const uint8_t *b = data;

	while (len > 0) {
		struct iovec iov = {.iov_base = (void *)b, .iov_len = len};
		struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n;

		if (fd >= 0) {
			m.msg_control = &control;
			m.msg_controllen = sizeof(control);
			control.align.cmsg_level = SOL_SOCKET;
			control.align.cmsg_type = SCM_RIGHTS;
			control.align.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
		}
		n = sendmsg(p->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0) {
			peer_wait(p, POLLOUT, 100);
			continue;
		}
		fd = -1;
		b += n;
		len -= (size_t)n;
	}
	return true;
}

static inline bool peer_send_frame(struct peer *p, const void *data, size_t len, int fd)
{
	uint8_t *whole = malloc(4 + len);
	uint32_t word = (uint32_t)len;
	bool good;

	assert(whole);
	memcpy(whole, &word, 4);
	if (len)
		memcpy(whole + 4, data, len);
	good = peer_send_raw(p, whole, 4 + len, fd);
	free(whole);
	return good;
}

static inline uint64_t peer_call_as(struct peer *p, uint32_t service, uint32_t method,
				    bool drop_reply, const void *args, size_t len, int fd)
{
	uint8_t *frame = malloc(FRAME_MAX_HEAD + len);
	size_t head;

	assert(frame);
	head = frame_put_invoke(frame, ++p->last_id, service, method, drop_reply, len);
	if (len)
		memcpy(frame + head, args, len);
	peer_send_frame(p, frame, head + len, fd);
	free(frame);
	return p->last_id;
}

/* Each gives the id of the request. */
static inline uint64_t peer_call(struct peer *p, uint32_t method, const void *args, size_t len)
{
	return peer_call_as(p, 1, method, false, args, len, -1);
}

/* A method without arguments, and with a descriptor. False: the kernel sends none to a socket that
 * takes none (from Linux 6.16 on). */
static inline bool peer_call_with_fd(struct peer *p, uint32_t method, int fd)
{
	uint8_t frame[FRAME_MAX_HEAD];
	size_t len = frame_put_invoke(frame, ++p->last_id, 1, method, false, 0);

	return peer_send_frame(p, frame, len, fd);
}

static inline uint64_t peer_call_mem(struct peer *p, uint32_t method, struct pb_mem *m)
{
	uint64_t id = peer_call(p, method, m->buf, pb_mem_len(m));

	pb_mem_deinit(m);
	return id;
}

/* A method with one number in its request. */
static inline uint64_t peer_call_number(struct peer *p, uint32_t method, uint32_t field,
					uint64_t value)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_u64(&m.enc, field, value);
	return peer_call_mem(p, method, &m);
}

/* ... and with one string. */
static inline uint64_t peer_call_text(struct peer *p, uint32_t method, uint32_t field,
				      const char *text)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	pb_enc_str(&m.enc, field, text);
	return peer_call_mem(p, method, &m);
}

static inline void peer_bind(struct peer *p, const char *service)
{
	struct pb_mem m;

	assert(pb_mem_init(&m) == 0);
	frame_put_bind(&m.enc, ++p->last_id, service);
	peer_send_frame(p, m.buf, pb_mem_len(&m), -1);
	pb_mem_deinit(&m);
}

/* ---- receiving ---- */

static inline void peer_keep_fd(struct peer *p, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	if (p->got_fd >= 0)
		close(p->got_fd);
	memcpy(&p->got_fd, CMSG_DATA(c), sizeof(p->got_fd));
}

static inline bool peer_take_frame(struct peer *p)
{
	uint32_t len;

	if (p->in_len < 4)
		return false;
	memcpy(&len, p->in, 4);
	assert(len <= 131068);
	if (p->in_len - 4 < len)
		return false;
	p->used = 4 + len;
	assert(frame_decode(p->in + 4, len, &p->f) == 0);
	return true;
}

/* The next frame, in p->f until the next call. False: none came in time, or p->eof. A timeout of 0
 * takes what is there. */
static inline bool peer_next_in(struct peer *p, int timeout_ms)
{
	uint64_t end = clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;

	memmove(p->in, p->in + p->used, p->in_len - p->used);
	p->in_len -= p->used;
	p->used = 0;
	for (;;) {
		char control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {.iov_base = p->in + p->in_len,
				    .iov_len = sizeof(p->in) - p->in_len};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t n;

		if (peer_take_frame(p))
			return true;
		if (p->eof)
			return false;
		peer_wait(p, POLLIN, timeout_ms);
		n = recvmsg(p->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EAGAIN) {
			if (clock_mono_ns() >= end)
				return false;
			continue;
		}
		if (n <= 0) {
			p->eof = true;
			continue;
		}
		peer_keep_fd(p, &m);
		p->in_len += (size_t)n;
	}
}

static inline bool peer_next(struct peer *p)
{
	return peer_next_in(p, PEER_TIMEOUT_MS);
}

/* Nothing comes (for a short while) and the connection stays. */
static inline bool peer_is_quiet(struct peer *p)
{
	return !peer_next_in(p, PEER_QUIET_MS) && !p->eof;
}

/* The service ends the connection; what came before is passed over. */
static inline bool peer_is_hung_up(struct peer *p)
{
	while (peer_next(p))
		;
	return p->eof;
}

/* The next frame is the reply to this request. */
static inline bool peer_reply(struct peer *p, uint64_t id)
{
	return peer_next(p) && p->f.kind == FRAME_INVOKE_METHOD_REPLY && p->f.request_id == id;
}

static inline bool peer_accepted(struct peer *p, uint64_t id)
{
	return peer_reply(p, id) && p->f.success && !p->f.has_more;
}

static inline bool peer_rejected(struct peer *p, uint64_t id)
{
	return peer_reply(p, id) && !p->f.success && !p->f.has_more && p->f.payload_len == 0;
}

/* The last field of the number in a message, which must parse. None: *ret is zeroed. */
static inline bool peer_find(const uint8_t *data, size_t len, uint32_t id, struct pb_field *ret)
{
	struct pb_field f, found = {0};
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f))
		if (f.id == id)
			found = f;
	assert(pb_dec_ok(&d));
	*ret = found;
	return found.id == id;
}

/* A field of the last reply. */
static inline bool peer_field(const struct peer *p, uint32_t id, struct pb_field *ret)
{
	return peer_find(p->f.payload, p->f.payload_len, id, ret);
}

/* The same inside of a field. */
static inline bool peer_subfield(const struct pb_field *of, uint32_t id, struct pb_field *ret)
{
	return peer_find(of->data, of->len, id, ret);
}
