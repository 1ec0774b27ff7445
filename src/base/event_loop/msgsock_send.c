/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending: straight from the caller's pieces while nothing waits. What waits lies in one queue, and
 * descriptors beside it, each with the position of the byte that it rides on:
 *
 *	out  | sent | len bytes | len bytes ...          fds  { at, fd } { at, fd }
 *	     0      out_head                out_len
 */
#include <endian.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/msgsock_send.h"

#define IDLE_OUT 4096u
#define DIRECT_PIECES 64 /* more are gathered in the queue first */

void msgsock_drop_queue(struct msgsock *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		close(m->fds[i].fd);
	m->n_fds = 0;
	m->out_head = m->out_len = 0;
}

/* Sending is over; the reader ends the rest. */
static int fail(struct msgsock *m, int error)
{
	if (!m->error) {
		m->error = error;
		msgsock_drop_queue(m);
		event_del(&m->on_writable);
		shutdown(m->fd, SHUT_RDWR);
		msgsock_wake_reader(m);
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
		msgsock_tell_memory(m);
	}
	return 0;
}

void msgsock_writable(int fd, short what, void *arg)
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
	msgsock_wake_reader(m);
	msgsock_enter(m);
	if (m->ops->on_drained)
		m->ops->on_drained(m->ctx);
	msgsock_leave(m);
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
	r = msgsock_tell_memory(m);
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

/* The loop finds the end itself; this is for a caller that waits while the loop does not run. */
static bool peer_is_gone(const struct msgsock *m)
{
	struct pollfd p = {.fd = m->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
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
			return peer_is_gone(m) ? -EPIPE : 0;
		if (r != -EAGAIN)
			return fail(m, r);
		now = clock_mono_ns();
		if (now >= deadline)
			return -EAGAIN;
		poll(&p, 1, (int)((deadline - now + NS_PER_MS - 1) / NS_PER_MS));
	}
}

size_t msgsock_queued(const struct msgsock *m)
{
	return m->out_len - m->out_head;
}
