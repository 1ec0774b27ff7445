/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving:
 *
 *	in   | message | message | part of one |      room      |
 *	     0         parse()                 in_len           in_cap
 *
 * The buffer is allocated when the socket is readable and freed when no partial message is left, so
 * an idle connection has none. It starts small and grows to the size in the length word of the
 * partial message. on_message gets pointers into it.
 *
 * Holding: while more than hold_limit bytes wait to be sent, nothing is read and no message is
 * delivered, so `in` may contain whole messages. Reading resumes when the queue is empty, or when
 * sending has failed.
 *
 * The end: an error of sending shuts the socket down in both directions. The reader then delivers
 * the messages that had arrived, reads the end of the stream and calls on_close.
 */
#include "service/ipc/msgsock.h"

#include <endian.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/sock_io.h"

/*
 * Bytes that a stream socket did not accept at once, and the descriptors that accompany them. Each
 * descriptor has the position of the byte that it is sent with (SCM_RIGHTS):
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

#define IDLE_OUT 4096u /* bytes of memory that an empty queue keeps */

/* Sends until the queue is empty. Returns 0, with a large buffer freed, or -EAGAIN or another
 * -errno. */
static int send_queue_flush(struct send_queue *q, int sock)
{
	while (q->head < q->len) {
		struct iovec iov = {.iov_base = q->out + q->head};
		size_t end = q->len;
		int fd = -1;
		ssize_t n;

		/* sock_send() sends one descriptor, with the first byte. So each call ends before
		 * the byte of the next descriptor. */
		if (q->n_fds > 0 && q->fds[0].at == q->head) {
			fd = q->fds[0].fd;
			end = q->n_fds > 1 ? q->fds[1].at : end;
		} else if (q->n_fds > 0) {
			end = q->fds[0].at;
		}
		iov.iov_len = end - q->head;
		n = sock_send(sock, &iov, 1, fd, MSG_DONTWAIT);
		if (n < 0)
			return (int)n;
		q->head += (size_t)n;
		if (fd >= 0 && n > 0) {
			close(fd);
			q->n_fds--;
			memmove(q->fds, q->fds + 1, q->n_fds * sizeof(*q->fds));
		}
	}
	q->head = q->len = 0;
	if (q->cap > IDLE_OUT) {
		free(q->out);
		q->out = NULL;
		q->cap = 0;
	}
	return 0;
}

/* Moves the waiting bytes to the front if at least half of the bytes in the buffer are sent. So a
 * byte is moved at most once on average. */
static void send_queue_compact(struct send_queue *q)
{
	if (q->head == 0 || q->head < q->len - q->head)
		return;
	memmove(q->out, q->out + q->head, q->len - q->head);
	for (size_t i = 0; i < q->n_fds; i++)
		q->fds[i].at -= q->head;
	q->len -= q->head;
	q->head = 0;
}

/* Makes room for that many more bytes. Returns 0 or -ENOMEM. */
static int send_queue_reserve(struct send_queue *q, size_t bytes)
{
	send_queue_compact(q);
	return array_reserve(&q->out, &q->cap, q->len + bytes, 1);
}

/* Adds a copy of fd, which is sent with the next byte that is added. Returns 0 or -errno. */
static int send_queue_add_fd(struct send_queue *q, int fd)
{
	int copy;

	if (array_reserve(&q->fds, &q->fds_cap, q->n_fds + 1, sizeof(*q->fds)) < 0)
		return -ENOMEM;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	q->fds[q->n_fds++] = (struct queued_fd){.at = q->len, .fd = copy};
	return 0;
}

/* Appends data without its first *skip bytes, and subtracts the skipped bytes from *skip. The
 * caller has reserved space. */
static void send_queue_add(struct send_queue *q, const void *data, size_t len, size_t *skip)
{
	size_t gone = MIN(*skip, len);

	*skip -= gone;
	if (len > gone)
		memcpy(q->out + q->len, (const uint8_t *)data + gone, len - gone);
	q->len += len - gone;
}

/* Discards the waiting bytes and closes their descriptors. */
static void send_queue_clear(struct send_queue *q)
{
	for (size_t i = 0; i < q->n_fds; i++)
		close(q->fds[i].fd);
	q->n_fds = 0;
	q->head = q->len = 0;
}

/* Like send_queue_clear(), and frees the memory. */
static void send_queue_deinit(struct send_queue *q)
{
	send_queue_clear(q);
	free(q->out);
	free(q->fds);
	*q = (struct send_queue){0};
}

#define LENGTH_WORD 4u
#define DIRECT_PIECES 64 /* more are gathered in the queue first */
#define MAX_IN (MSGSOCK_MAX_MESSAGE + LENGTH_WORD)
#define MAX_AT_ONCE 2u /* descriptors that one read may return; more end the connection */
#define LEAST_IN 4096u /* first size of the buffer for reading */

struct msgsock {
	const struct msgsock_ops *ops; /* borrowed, as is ctx */
	void *ctx;
	int fd; /* owned */
	int got_fd; /* owned, -1: none */
	int error; /* error of sending; reported by on_close after the last message */
	bool closed; /* on_close was called */
	bool freed; /* set in a callback: memory is released when the callback returns */
	unsigned busy; /* number of active callbacks */

	uint8_t *in;
	size_t in_len, in_cap;
	bool held; /* reading is suspended until wake_reader() */
	bool paused; /* its time slice ended with complete messages left */
	bool is_urgent; /* on_readable has priority 0 while there is little to read */
	bool is_first; /* on_readable has priority 0 now */
	uint64_t time_slice_ns; /* UINT64_MAX: no end */
	uint64_t slice_start_ns;

	struct send_queue queue;
	size_t send_limit;
	size_t hold_limit; /* SIZE_MAX: never */
	size_t memory; /* last value passed to on_memory */

	struct event on_readable, on_writable;
};

/* ---- life ---- */

/* Reports the size of the buffers. Returns 0 or the result of on_memory. */
static int report_memory(struct msgsock *m)
{
	size_t before = m->memory;
	int r = 0;

	/* The smallest buffer is always counted, so a connection can always start to read. */
	m->memory = MAX(m->in_cap, LEAST_IN) + m->queue.cap;
	if (m->ops->on_memory && m->memory != before)
		r = m->ops->on_memory(m->ctx, before, m->memory);
	if (r < 0)
		m->memory = before;
	return r;
}

static void report_memory_freed(struct msgsock *m)
{
	if (m->ops->on_memory && m->memory > 0)
		m->ops->on_memory(m->ctx, m->memory, 0);
	m->memory = 0;
}

static void free_memory(struct msgsock *m)
{
	free(m->in);
	send_queue_deinit(&m->queue);
	free(m);
}

/* Callbacks are called between busy++ and this function, which returns false if m was freed. */
static bool msgsock_end_callback(struct msgsock *m)
{
	if (--m->busy == 0 && m->freed) {
		free_memory(m);
		return false;
	}
	return true;
}

static void close_received_fd(struct msgsock *m, int fd)
{
	if (fd < 0)
		return;
	if (m->ops->close_fd)
		m->ops->close_fd(m->ctx, fd);
	else
		close(fd);
}

/* Keeps the last descriptor that the peer sent. */
static void keep_received_fd(void *ctx, int fd)
{
	struct msgsock *m = ctx;

	close_received_fd(m, m->got_fd);
	m->got_fd = fd;
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
	send_queue_clear(&m->queue);
	keep_received_fd(m, -1);
	close_received_fd(m, TAKE_FD(m->fd));
	m->freed = true;
	report_memory_freed(m);
	if (m->busy == 0)
		free_memory(m);
}

size_t msgsock_queued(const struct msgsock *m)
{
	return send_queue_bytes(&m->queue);
}

/* ---- receiving ---- */

/* Ends the connection. The caller must not use m afterwards. */
static void msgsock_finish(struct msgsock *m, int error)
{
	stop_events(m);
	send_queue_clear(&m->queue);
	m->closed = true;
	m->ops->on_close(m->ctx, m->error ? m->error : error);
}

static uint32_t message_length_at(const uint8_t *p)
{
	uint32_t len;

	memcpy(&len, p, sizeof(len));
	return le32toh(len);
}

static bool must_hold_messages(const struct msgsock *m)
{
	return msgsock_queued(m) > m->hold_limit;
}

static bool slice_is_over(const struct msgsock *m)
{
	return m->time_slice_ns != UINT64_MAX &&
	       clock_mono_ns() - m->slice_start_ns >= m->time_slice_ns;
}

static bool has_whole_message(const struct msgsock *m, size_t pos)
{
	return m->in_len - pos >= LENGTH_WORD &&
	       m->in_len - pos - LENGTH_WORD >= message_length_at(m->in + pos);
}

/* Passes the whole messages in the buffer to on_message, until the time slice is over or the send
 * queue is above hold_limit. Moves the rest to the front. Returns 0 or -EMSGSIZE. A callback may
 * have freed m (m->freed). */
static int deliver_messages(struct msgsock *m)
{
	size_t pos = 0;
	int r = 0;

	while (m->in_len - pos >= LENGTH_WORD && !must_hold_messages(m)) {
		size_t len = message_length_at(m->in + pos);

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
		m->paused = slice_is_over(m) && has_whole_message(m, pos);
		if (m->paused)
			break;
	}
	m->in_len -= pos;
	if (pos > 0 && m->in_len > 0)
		memmove(m->in, m->in + pos, m->in_len);
	return r;
}

/* Call it when m->in was resized or freed. Returns 0, or the error of on_memory. */
static int update_receive_capacity(struct msgsock *m, size_t cap)
{
	bool counts = MAX(m->in_cap, cap) > LEAST_IN;

	m->in_cap = cap;
	return counts ? report_memory(m) : 0;
}

/* Gives the buffer the size of the partial message, or LEAST_IN if there is none. Returns 0 or
 * -errno. */
static int resize_receive_buffer(struct msgsock *m)
{
	size_t want = LEAST_IN;
	uint8_t *p;

	if (m->in_len >= LENGTH_WORD)
		want = MAX(want, LENGTH_WORD + message_length_at(m->in));
	if (m->in_cap == want || (m->in_cap > want && m->in_len > 0))
		return 0;
	p = realloc(m->in, want);
	if (!p)
		return m->in_cap > want ? 0 : -ENOMEM;
	m->in = p;
	return update_receive_capacity(m, want);
}

/* libevent refuses a new priority for an active event: call this before event_active(). */
static void set_urgent(struct msgsock *m, bool urgent)
{
	int normal = event_base_get_npriorities(event_get_base(&m->on_readable)) / 2;

	if (!m->is_urgent)
		return;
	(void)event_priority_set(&m->on_readable, urgent ? 0 : normal);
	m->is_first = urgent;
}

/* Continues in the next loop iteration, after the events that are due now. */
static void pause_reading(struct msgsock *m)
{
	set_urgent(m, false);
	event_active(&m->on_readable, EV_READ, 0);
	(void)event_base_loopcontinue(event_get_base(&m->on_readable));
}

/* Delivers the buffered messages and makes room for more. Returns false if reading must stop; m may
 * have been freed. */
static bool deliver_and_make_room(struct msgsock *m)
{
	int r = deliver_messages(m);

	if (m->freed)
		return false;
	if (r == 0 && m->paused) {
		pause_reading(m);
		return false;
	}
	if (must_hold_messages(m)) {
		m->held = true;
		event_del(&m->on_readable);
		return false;
	}
	if (r == 0)
		r = resize_receive_buffer(m);
	if (r < 0)
		msgsock_finish(m, r);
	return r == 0;
}

/* Reads about one buffer, so that the other connections are served, too. */
static void read_slice(struct msgsock *m)
{
	bool has_messages = m->paused || m->held, may_have_more = false;
	size_t total = 0;
	int r = 0;

	/* Messages that are in the buffer since a pause or hold are delivered before anything is
	 * read. */
	m->slice_start_ns = clock_mono_ns();
	m->paused = false;
	if (m->held && event_add(&m->on_readable, NULL) < 0)
		r = -ENOMEM;
	m->held = false;
	if (r == 0 && has_messages && !deliver_and_make_room(m))
		return;
	if (r == 0)
		r = resize_receive_buffer(m);
	if (r < 0) {
		msgsock_finish(m, r);
		return;
	}
	while (total < MAX_IN) {
		const struct iovec room = {m->in + m->in_len, m->in_cap - m->in_len};
		ssize_t n = sock_receive(m->fd, &room, 1, MSG_DONTWAIT, MAX_AT_ONCE,
					 keep_received_fd, m);

		if (n == -EAGAIN && !m->error)
			break;
		if (n <= 0) {
			msgsock_finish(m, n == -EAGAIN ? 0 : (int)n);
			return;
		}
		m->in_len += (size_t)n;
		total += (size_t)n;
		if (!deliver_and_make_room(m))
			return;
		if ((size_t)n < room.iov_len || slice_is_over(m)) {
			may_have_more = (size_t)n == room.iov_len;
			break;
		}
	}
	set_urgent(m, !may_have_more && total < MAX_IN);
}

static void on_socket_readable(int fd, short what, void *arg)
{
	struct msgsock *m = arg;

	if (m->is_first && m->ops->may_be_urgent && !m->ops->may_be_urgent(m->ctx)) {
		pause_reading(m);
		return;
	}
	m->busy++;
	read_slice(m);
	if (!msgsock_end_callback(m) || m->in_len > 0)
		return;
	free(m->in);
	m->in = NULL;
	update_receive_capacity(m, 0);
}

/* ---- sending: directly from the caller's pieces while the queue is empty ---- */

/* Resumes suspended reading, from the loop, because the caller may be inside a callback. */
static void wake_reader(struct msgsock *m)
{
	if (m->held)
		event_active(&m->on_readable, EV_READ, 0);
}

/* Ends sending. The reader then ends the connection. Returns -EPIPE. */
static int msgsock_fail(struct msgsock *m, int error)
{
	if (!m->error) {
		m->error = error;
		send_queue_clear(&m->queue);
		event_del(&m->on_writable);
		shutdown(m->fd, SHUT_RDWR);
		wake_reader(m);
	}
	return -EPIPE;
}

static int flush_queue(struct msgsock *m)
{
	int r = send_queue_flush(&m->queue, m->fd);

	report_memory(m);
	return r;
}

static void on_socket_writable(int fd, short what, void *arg)
{
	struct msgsock *m = arg;
	int r = flush_queue(m);

	if (r == -EAGAIN)
		return;
	if (r < 0) {
		msgsock_fail(m, r);
		return;
	}
	event_del(&m->on_writable);
	wake_reader(m);
	m->busy++;
	if (m->ops->on_drained)
		m->ops->on_drained(m->ctx);
	(void)msgsock_end_callback(m);
}

/* Queues a message without its first `sent` bytes. fd is sent with the first byte that is left.
 * Returns 0, -ENOBUFS (send_limit is reached) or another -errno. */
static int queue_remaining(struct msgsock *m, const struct iovec *pieces, int n_pieces, size_t len,
			   size_t sent, int fd)
{
	uint32_t word = htole32((uint32_t)len);
	size_t rest = LENGTH_WORD + len - sent;
	int r;

	if (rest > m->send_limit || msgsock_queued(m) > m->send_limit - rest)
		return -ENOBUFS;
	r = send_queue_reserve(&m->queue, rest);
	if (r == 0)
		r = report_memory(m);
	if (r == 0 && fd >= 0)
		r = send_queue_add_fd(&m->queue, fd);
	if (r < 0)
		return r;
	if (msgsock_queued(m) == 0 && event_add(&m->on_writable, NULL) < 0)
		return -ENOMEM;
	send_queue_add(&m->queue, &word, sizeof(word), &sent);
	for (int i = 0; i < n_pieces; i++)
		send_queue_add(&m->queue, pieces[i].iov_base, pieces[i].iov_len, &sent);
	return 0;
}

/* Sends a message, unless others wait before it. Returns the number of bytes that the socket
 * accepted, which may be 0, or -errno. */
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
	n = sock_send(m->fd, iov, 1 + (size_t)n_pieces, fd, MSG_DONTWAIT);
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
		return msgsock_fail(m, (int)n);
	r = queue_remaining(m, pieces, n_pieces, len, (size_t)n, n > 0 ? -1 : fd);
	return r < 0 ? msgsock_fail(m, r) : 0;
}

/* ---- settings ---- */

void msgsock_set_hold_limit(struct msgsock *m, size_t limit)
{
	m->hold_limit = limit;
}

void msgsock_set_scheduling(struct msgsock *m, uint64_t time_slice_ns, bool is_urgent)
{
	m->time_slice_ns = time_slice_ns;
	m->is_urgent = is_urgent;
	set_urgent(m, true);
}

int msgsock_pop_fd(struct msgsock *m)
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
			      .hold_limit = SIZE_MAX,
			      .time_slice_ns = UINT64_MAX};
	r = report_memory(m);
	if (r == 0 && (event_assign(&m->on_readable, loop, fd, EV_READ | EV_PERSIST,
				    on_socket_readable, m) < 0 ||
		       event_assign(&m->on_writable, loop, fd, EV_WRITE | EV_PERSIST,
				    on_socket_writable, m) < 0 ||
		       event_add(&m->on_readable, NULL) < 0))
		r = -ENOMEM;
	if (r < 0) {
		report_memory_freed(m);
		free_memory(m);
		return r;
	}
	*ret = m;
	return 0;
}
