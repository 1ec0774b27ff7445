/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving:
 *
 *	in   | message | message | part of one |      room      |
 *	     0         parse()                 in_len           in_cap
 *
 * The buffer is there while there is something to read: it begins small and grows to what the part's
 * length word asks for; messages are handed out where they lie. A connection that waits has none.
 *
 * Holding: while more than hold_limit waits, nothing is read and no message is handed out, so whole
 * ones may stay in `in`. The empty queue, or the end of sending, wakes the reader up again.
 *
 * The end: whatever goes wrong with sending shuts the socket down both ways and leaves the rest to
 * the reader, which delivers what had arrived, meets the end of the stream and calls on_close.
 */
#include "base/event_loop/msgsock.h"

#include <endian.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/msgsock_send.h"

#define MAX_IN (MSGSOCK_MAX_MESSAGE + LENGTH_WORD)
#define MAX_PASSED 253 /* descriptors in one message: SCM_MAX_FD of the kernel */
#define MAX_AT_ONCE 2u /* descriptors in a message of a sound peer */
#define LEAST_IN 4096u /* bytes to begin reading with */

/* ---- life ---- */

int msgsock_tell_memory(struct msgsock *m)
{
	size_t before = m->memory;
	int r = 0;

	/* What it begins reading with counts while it waits, too: it will not be refused then. */
	m->memory = MAX(m->in_cap, LEAST_IN) + m->out_cap;
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

bool msgsock_leave(struct msgsock *m)
{
	if (--m->busy == 0 && m->freed) {
		free_memory(m);
		return false;
	}
	return true;
}

static void close_foreign(struct msgsock *m, int fd)
{
	if (fd < 0)
		return;
	if (m->ops->close_fd)
		m->ops->close_fd(m->ctx, fd);
	else
		close(fd);
}

static void set_got_fd(struct msgsock *m, int fd)
{
	close_foreign(m, m->got_fd);
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
	msgsock_drop_queue(m);
	set_got_fd(m, -1);
	close_foreign(m, TAKE_FD(m->fd));
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
	msgsock_drop_queue(m);
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

static bool turn_is_over(const struct msgsock *m)
{
	return m->time_slice_ns != UINT64_MAX &&
	       clock_mono_ns() - m->turn_start_ns >= m->time_slice_ns;
}

static bool has_message(const struct msgsock *m, size_t pos)
{
	return m->in_len - pos >= LENGTH_WORD &&
	       m->in_len - pos - LENGTH_WORD >= length_at(m->in + pos);
}

/*
 * Hands out the whole messages in the buffer, as long as the turn lasts and their answers may be
 * queued, and moves what is left to the front. Returns 0, or -EMSGSIZE. May free m (m->freed).
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
		m->paused = turn_is_over(m) && has_message(m, pos);
		if (m->paused)
			break;
	}
	m->in_len -= pos;
	if (pos > 0 && m->in_len > 0)
		memmove(m->in, m->in + pos, m->in_len);
	return r;
}

static int set_in_cap(struct msgsock *m, size_t cap)
{
	bool counts = MAX(m->in_cap, cap) > LEAST_IN;

	m->in_cap = cap;
	return counts ? msgsock_tell_memory(m) : 0;
}

/* Makes the buffer as large as the begun message; small when there is none. Returns 0 or -errno. */
static int fit_in(struct msgsock *m)
{
	size_t want = LEAST_IN;
	uint8_t *p;

	if (m->in_len >= LENGTH_WORD)
		want = MAX(want, LENGTH_WORD + length_at(m->in));
	if (m->in_cap == want || (m->in_cap > want && m->in_len > 0))
		return 0;
	p = realloc(m->in, want);
	if (!p)
		return m->in_cap > want ? 0 : -ENOMEM;
	m->in = p;
	return set_in_cap(m, want);
}

/* Nothing is begun: nothing to keep for it. */
static void drop_in(struct msgsock *m)
{
	if (m->in_len > 0)
		return;
	free(m->in);
	m->in = NULL;
	set_in_cap(m, 0);
}

/* Keeps the last descriptor of a received message and closes the others. How many there were. */
static size_t keep_fd(struct msgsock *m, struct msghdr *msg)
{
	size_t n_all = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			set_got_fd(m, fd);
		}
		n_all += n;
	}
	return n_all;
}

/*
 * Reads once. Returns the number of bytes, 0 at the end of the stream, or -errno. There is room for as
 * many descriptors as a message can carry: one that finds none the kernel would close in this call,
 * and that may take long.
 */
static ssize_t receive(struct msgsock *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_PASSED * sizeof(int))];
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
	/* No request has so many; or none is left in this process, and a message has lost its own. */
	if (keep_fd(m, &msg) > MAX_AT_ONCE || msg.msg_flags & MSG_CTRUNC)
		return -ETOOMANYREFS;
	return n;
}

/* A priority is that of an event which is not active. */
static void set_urgent(struct msgsock *m, bool urgent)
{
	int normal = event_base_get_npriorities(event_get_base(&m->on_readable)) / 2;

	if (!m->is_urgent)
		return;
	(void)event_priority_set(&m->on_readable, urgent ? 0 : normal);
	m->hurries = urgent;
}

/* Goes on in the next turn, after those that wait now: libevent looks for them first. */
static void pause_reading(struct msgsock *m)
{
	set_urgent(m, false);
	event_active(&m->on_readable, EV_READ, 0);
	(void)event_base_loopcontinue(event_get_base(&m->on_readable));
}

/* Hands out what is in the buffer and makes room for more. Returns false if no reading now, or ever. */
static bool digest(struct msgsock *m)
{
	int r = deliver(m);

	if (m->freed)
		return false;
	if (r == 0 && m->paused) {
		pause_reading(m);
		return false;
	}
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
	bool was_paused = m->paused, may_have_more = false;
	size_t total = 0;
	int r;

	m->turn_start_ns = clock_mono_ns();
	m->paused = false;
	if (m->held && !resume(m))
		return;
	if (was_paused && !digest(m))
		return;
	r = fit_in(m);
	if (r < 0) {
		finish(m, r);
		return;
	}
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
		if (!digest(m))
			return;
		if ((size_t)n < room || turn_is_over(m)) {
			may_have_more = (size_t)n == room;
			break;
		}
	}
	set_urgent(m, !may_have_more && total < MAX_IN);
}

static void readable(int fd, short what, void *arg)
{
	struct msgsock *m = arg;

	(void)fd;
	(void)what;
	if (m->hurries && m->ops->may_hurry && !m->ops->may_hurry(m->ctx)) {
		pause_reading(m);
		return;
	}
	msgsock_enter(m);
	read_turn(m);
	if (msgsock_leave(m))
		drop_in(m);
}

/* From the loop, not from here: the caller may be anywhere. */
void msgsock_wake_reader(struct msgsock *m)
{
	if (m->held)
		event_active(&m->on_readable, EV_READ, 0);
}

void msgsock_hold_reads(struct msgsock *m, size_t limit)
{
	m->hold_limit = limit;
}

void msgsock_set_turn(struct msgsock *m, uint64_t time_slice_ns, bool is_urgent)
{
	m->time_slice_ns = time_slice_ns;
	m->is_urgent = is_urgent;
	set_urgent(m, true);
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
			      .hold_limit = SIZE_MAX,
			      .time_slice_ns = UINT64_MAX};
	r = msgsock_tell_memory(m);
	if (r == 0 &&
	    (event_assign(&m->on_readable, loop, fd, EV_READ | EV_PERSIST, readable, m) < 0 ||
	     event_assign(&m->on_writable, loop, fd, EV_WRITE | EV_PERSIST, msgsock_writable, m) <
		     0 ||
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
