/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving:
 *
 *	in   | message | message | part of one |      room      |
 *	     0         parse()                 in_len           in_cap
 *
 * The buffer is small while the connection is idle and grows to what the part's length word asks
 * for; messages are handed out where they lie.
 *
 * Sending: straight from the caller's pieces while nothing waits. What waits lies in one queue, and
 * descriptors beside it, each with the position of the byte that it rides on:
 *
 *	out  | sent | len bytes | len bytes ...          fds  { at, fd } { at, fd }
 *	     0      out_head                out_len
 *
 * Holding: while more than hold_limit waits, nothing is read and no message is handed out, so whole
 * ones may stay in `in`. The empty queue, or the end of sending, wakes the reader up again.
 *
 * The end: whatever goes wrong with sending shuts the socket down both ways and leaves the rest to
 * the reader, which delivers what had arrived, meets the end of the stream and calls on_close.
 */
#include "base/msgsock.h"

#include <endian.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"

#define LENGTH_WORD 4u
#define MAX_IN (MSGSOCK_MAX_MESSAGE + LENGTH_WORD)
#define IDLE_IN 4096u /* bytes kept by a connection that waits */
#define IDLE_OUT 4096u
#define DIRECT_PIECES 64 /* more are gathered in the queue first */

struct queued_fd {
	size_t at; /* index in out */
	int fd; /* owned */
};

struct msgsock {
	const struct msgsock_ops *ops;
	void *ctx;
	int fd;
	int got_fd; /* owned, -1: none */
	int error; /* of sending; told by on_close once the reader is at the end */
	bool closed; /* on_close was called */
	bool freed; /* in a callback: the memory goes when it returns */
	unsigned busy; /* callbacks that we are in */

	uint8_t *in;
	size_t in_len, in_cap;
	bool held; /* the reader looks away until it is woken up */

	uint8_t *out;
	size_t out_head, out_len, out_cap;
	struct queued_fd *fds;
	size_t n_fds, fds_cap;
	size_t send_limit;
	size_t hold_limit; /* SIZE_MAX: never */
	size_t memory; /* as on_memory was told last */

	struct event on_readable, on_writable;
};

/* ---- life ---- */

/* Tells what the buffers take now. 0 or what on_memory says. */
static int tell_memory(struct msgsock *m)
{
	size_t before = m->memory;
	int r = 0;

	m->memory = m->in_cap + m->out_cap;
	if (m->ops->on_memory && m->memory != before)
		r = m->ops->on_memory(m->ctx, before, m->memory);
	if (r < 0)
		m->memory = before;
	return r;
}

static void tell_memory_end(struct msgsock *m)
{
	if (m->ops->on_memory && m->memory > 0)
		m->ops->on_memory(m->ctx, m->memory, 0);
	m->memory = 0;
}

static void free_memory(struct msgsock *m)
{
	free(m->in);
	free(m->out);
	free(m->fds);
	free(m);
}

/* Callbacks are called between enter and leave; leave gives false when m is no more. */
static void enter(struct msgsock *m)
{
	m->busy++;
}

static bool leave(struct msgsock *m)
{
	if (--m->busy == 0 && m->freed) {
		free_memory(m);
		return false;
	}
	return true;
}

static void set_got_fd(struct msgsock *m, int fd)
{
	closep(&m->got_fd);
	m->got_fd = fd;
}

static void drop_queue(struct msgsock *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		close(m->fds[i].fd);
	m->n_fds = 0;
	m->out_head = m->out_len = 0;
}

static void stop_events(struct msgsock *m)
{
	event_del(&m->on_readable);
	event_del(&m->on_writable);
}

void msgsock_free(struct msgsock *m)
{
	if (!m)
		return;
	stop_events(m);
	drop_queue(m);
	set_got_fd(m, -1);
	close(m->fd);
	m->fd = -1;
	m->freed = true;
	tell_memory_end(m);
	if (m->busy == 0)
		free_memory(m);
}

/* ---- receiving ---- */

/* The connection is over for the reader. The last thing that happens to m. */
static void finish(struct msgsock *m, int error)
{
	stop_events(m);
	drop_queue(m);
	m->closed = true;
	m->ops->on_close(m->ctx, m->error ? m->error : error);
}

static uint32_t length_at(const uint8_t *p)
{
	uint32_t len;

	memcpy(&len, p, sizeof(len));
	return le32toh(len);
}

static bool must_hold(const struct msgsock *m)
{
	return msgsock_queued(m) > m->hold_limit;
}

/*
 * Hands out the whole messages in the buffer, as long as their answers may be queued, and moves
 * what is left to the front. 0, or -EMSGSIZE. May free m (m->freed).
 */
static int deliver(struct msgsock *m)
{
	size_t pos = 0;
	int r = 0;

	while (m->in_len - pos >= LENGTH_WORD && !must_hold(m)) {
		size_t len = length_at(m->in + pos);

		if (len > MSGSOCK_MAX_MESSAGE) {
			r = -EMSGSIZE;
			break;
		}
		if (m->in_len - pos - LENGTH_WORD < len)
			break;
		if (len > 0)
			m->ops->on_message(m->ctx, m->in + pos + LENGTH_WORD, len);
		if (m->freed)
			return 0;
		pos += LENGTH_WORD + len;
	}
	m->in_len -= pos;
	if (pos > 0 && m->in_len > 0)
		memmove(m->in, m->in + pos, m->in_len);
	return r;
}

/* Makes the buffer as large as the begun message; back to small when there is none. */
static int fit_in(struct msgsock *m)
{
	size_t want = IDLE_IN;
	uint8_t *p;

	if (m->in_len >= LENGTH_WORD)
		want = MAX(want, LENGTH_WORD + length_at(m->in));
	if (m->in_cap == want || (m->in_cap > want && m->in_len > 0))
		return 0;
	p = realloc(m->in, want);
	if (!p)
		return m->in_cap > want ? 0 : -ENOMEM;
	m->in = p;
	m->in_cap = want;
	return tell_memory(m);
}

/* Keeps the last descriptor of a received message and closes the others. */
static void keep_fd(struct msgsock *m, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			set_got_fd(m, fd);
		}
	}
}

/* Reads once. Gives the number of bytes, 0 at the end of the stream, or -errno. */
static ssize_t receive(struct msgsock *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = m->in + m->in_len, .iov_len = m->in_cap - m->in_len};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	do
		n = recvmsg(m->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	keep_fd(m, &msg);
	/* More descriptors than one, or none left in this process: a message has lost its own. */
	if (msg.msg_flags & MSG_CTRUNC)
		return -ETOOMANYREFS;
	return n;
}

/* Hands out what is in the buffer and makes room for more. False: no reading now, or ever. */
static bool digest(struct msgsock *m)
{
	int r = deliver(m);

	if (m->freed)
		return false;
	if (must_hold(m)) {
		m->held = true;
		event_del(&m->on_readable);
		return false;
	}
	if (r == 0)
		r = fit_in(m);
	if (r < 0)
		finish(m, r);
	return r == 0;
}

/* Goes on after holding, with what is in the buffer. */
static bool resume(struct msgsock *m)
{
	m->held = false;
	if (event_add(&m->on_readable, NULL) < 0) {
		finish(m, -ENOMEM);
		return false;
	}
	return digest(m);
}

/* One turn of reading: about one buffer's worth, then the other connections have theirs. */
static void read_turn(struct msgsock *m)
{
	size_t total = 0;

	if (m->held && !resume(m))
		return;
	while (total < MAX_IN) {
		size_t room = m->in_cap - m->in_len;
		ssize_t n = receive(m);

		if (n == -EAGAIN && !m->error)
			break;
		if (n <= 0) {
			finish(m, n == -EAGAIN ? 0 : (int)n);
			return;
		}
		m->in_len += (size_t)n;
		total += (size_t)n;
		if (!digest(m) || (size_t)n < room)
			break;
	}
}

static void readable(int fd, short what, void *arg)
{
	struct msgsock *m = arg;

	(void)fd;
	(void)what;
	enter(m);
	read_turn(m);
	leave(m);
}

/* From the loop, not from here: the caller may be anywhere. */
static void wake_reader(struct msgsock *m)
{
	if (m->held)
		event_active(&m->on_readable, EV_READ, 0);
}

/* ---- sending ---- */

/* Sending is over; the reader ends the rest. */
static int fail(struct msgsock *m, int error)
{
	if (!m->error) {
		m->error = error;
		drop_queue(m);
		event_del(&m->on_writable);
		shutdown(m->fd, SHUT_RDWR);
		wake_reader(m);
	}
	return -EPIPE;
}

static ssize_t send_once(struct msgsock *m, const struct iovec *iov, size_t n_iov, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n_iov};
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do
		n = sendmsg(m->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Sends from the queue until it is empty (0), the socket is full (-EAGAIN) or broken. */
static int send_queue(struct msgsock *m)
{
	while (m->out_head < m->out_len) {
		struct iovec iov = {.iov_base = m->out + m->out_head};
		size_t end = m->out_len;
		int fd = -1;
		ssize_t n;

		/* One descriptor a call, on the first byte: up to the next one's byte. */
		if (m->n_fds > 0 && m->fds[0].at == m->out_head) {
			fd = m->fds[0].fd;
			end = m->n_fds > 1 ? m->fds[1].at : end;
		} else if (m->n_fds > 0) {
			end = m->fds[0].at;
		}
		iov.iov_len = end - m->out_head;
		n = send_once(m, &iov, 1, fd);
		if (n < 0)
			return (int)n;
		m->out_head += (size_t)n;
		if (fd >= 0 && n > 0) {
			close(fd);
			m->n_fds--;
			memmove(m->fds, m->fds + 1, m->n_fds * sizeof(*m->fds));
		}
	}
	m->out_head = m->out_len = 0;
	if (m->out_cap > IDLE_OUT) {
		free(m->out);
		m->out = NULL;
		m->out_cap = 0;
		tell_memory(m);
	}
	return 0;
}

static void writable(int fd, short what, void *arg)
{
	struct msgsock *m = arg;
	int r = send_queue(m);

	(void)fd;
	(void)what;
	if (r == -EAGAIN)
		return;
	if (r < 0) {
		fail(m, r);
		return;
	}
	event_del(&m->on_writable);
	wake_reader(m);
	enter(m);
	if (m->ops->on_drained)
		m->ops->on_drained(m->ctx);
	leave(m);
}

/* Moves what waits to the front when that frees half of the queue or more: each byte then moves
 * once on average. */
static void compact_queue(struct msgsock *m)
{
	if (m->out_head == 0 || m->out_head < m->out_len - m->out_head)
		return;
	memmove(m->out, m->out + m->out_head, m->out_len - m->out_head);
	for (size_t i = 0; i < m->n_fds; i++)
		m->fds[i].at -= m->out_head;
	m->out_len -= m->out_head;
	m->out_head = 0;
}

static int queue_fd(struct msgsock *m, int fd)
{
	int copy;

	if (array_reserve(&m->fds, &m->fds_cap, m->n_fds + 1, sizeof(*m->fds)) < 0)
		return -ENOMEM;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	m->fds[m->n_fds++] = (struct queued_fd){.at = m->out_len, .fd = copy};
	return 0;
}

/* Copies a piece but for its first *skip bytes, which are counted off. There is room. */
static void queue_piece(struct msgsock *m, const void *data, size_t len, size_t *skip)
{
	size_t gone = MIN(*skip, len);

	*skip -= gone;
	if (len > gone)
		memcpy(m->out + m->out_len, (const uint8_t *)data + gone, len - gone);
	m->out_len += len - gone;
}

/* Queues a message but for its first `sent` bytes. fd rides on the first byte of what is left. */
static int queue_rest(struct msgsock *m, const struct iovec *pieces, int n_pieces, size_t len,
		      size_t sent, int fd)
{
	uint32_t word = htole32((uint32_t)len);
	size_t rest = LENGTH_WORD + len - sent;
	int r;

	if (rest > m->send_limit || msgsock_queued(m) > m->send_limit - rest)
		return -ENOBUFS;
	compact_queue(m);
	if (array_reserve(&m->out, &m->out_cap, m->out_len + rest, 1) < 0)
		return -ENOMEM;
	r = tell_memory(m);
	if (r == 0 && fd >= 0)
		r = queue_fd(m, fd);
	if (r < 0)
		return r;
	if (msgsock_queued(m) == 0 && event_add(&m->on_writable, NULL) < 0)
		return -ENOMEM;
	queue_piece(m, &word, sizeof(word), &sent);
	for (int i = 0; i < n_pieces; i++)
		queue_piece(m, pieces[i].iov_base, pieces[i].iov_len, &sent);
	return 0;
}

/* The number of bytes that the socket took at once, or -errno. */
static ssize_t send_direct(struct msgsock *m, const struct iovec *pieces, int n_pieces, size_t len,
			   int fd)
{
	uint32_t word = htole32((uint32_t)len);
	struct iovec iov[1 + DIRECT_PIECES];
	ssize_t n;

	if (msgsock_queued(m) > 0 || n_pieces > DIRECT_PIECES)
		return 0;
	iov[0] = (struct iovec){.iov_base = &word, .iov_len = sizeof(word)};
	if (n_pieces > 0)
		memcpy(iov + 1, pieces, (size_t)n_pieces * sizeof(*pieces));
	n = send_once(m, iov, 1 + (size_t)n_pieces, fd);
	return n == -EAGAIN ? 0 : n;
}

int msgsock_send(struct msgsock *m, const struct iovec *pieces, int n_pieces, int fd)
{
	size_t len = 0;
	ssize_t n;
	int r;

	for (int i = 0; i < n_pieces; i++) {
		if (pieces[i].iov_len > MSGSOCK_MAX_MESSAGE - len)
			return -EMSGSIZE;
		len += pieces[i].iov_len;
	}
	if (m->error || m->closed)
		return -EPIPE;
	n = send_direct(m, pieces, n_pieces, len, fd);
	if (n == (ssize_t)(LENGTH_WORD + len))
		return 0;
	if (n < 0)
		return fail(m, (int)n);
	r = queue_rest(m, pieces, n_pieces, len, (size_t)n, n > 0 ? -1 : fd);
	return r < 0 ? fail(m, r) : 0;
}

int msgsock_drain(struct msgsock *m, int timeout_ms)
{
	uint64_t now = clock_mono_ns(), deadline = now + (uint64_t)timeout_ms * NS_PER_MS;

	for (;;) {
		struct pollfd p = {.fd = m->fd, .events = POLLOUT};
		int r;

		if (m->error || m->closed)
			return -EPIPE;
		r = send_queue(m);
		/* The event stays: its next turn tells on_drained. */
		if (r == 0)
			return 0;
		if (r != -EAGAIN)
			return fail(m, r);
		now = clock_mono_ns();
		if (now >= deadline)
			return -EAGAIN;
		poll(&p, 1, (int)((deadline - now + NS_PER_MS - 1) / NS_PER_MS));
	}
}

void msgsock_hold_reads(struct msgsock *m, size_t limit)
{
	m->hold_limit = limit;
}

size_t msgsock_queued(const struct msgsock *m)
{
	return m->out_len - m->out_head;
}

int msgsock_take_fd(struct msgsock *m)
{
	return TAKE_FD(m->got_fd);
}

int msgsock_fd(const struct msgsock *m)
{
	return m->fd;
}

int msgsock_new(struct event_base *loop, int fd, size_t send_limit, const struct msgsock_ops *ops,
		void *ctx, struct msgsock **ret)
{
	struct msgsock *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	*m = (struct msgsock){.ops = ops,
			      .ctx = ctx,
			      .fd = fd,
			      .got_fd = -1,
			      .send_limit = send_limit,
			      .hold_limit = SIZE_MAX};
	r = fit_in(m);
	if (r == 0 &&
	    (event_assign(&m->on_readable, loop, fd, EV_READ | EV_PERSIST, readable, m) < 0 ||
	     event_assign(&m->on_writable, loop, fd, EV_WRITE | EV_PERSIST, writable, m) < 0 ||
	     event_add(&m->on_readable, NULL) < 0))
		r = -ENOMEM;
	if (r < 0) {
		tell_memory_end(m);
		free_memory(m);
		return r;
	}
	*ret = m;
	return 0;
}
