/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/sock_io.h"
#include "client/loop/io_loop.h"
#include "client/transport/machine_identity.h"
#include "client/transport/service_trust.h"
#include "gen/fields.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"

/*
 * Frames are matched to open calls by request id only; replies to different calls may interleave.
 * Frames that match no open call (an unknown id, a malformed frame, a kind for hosts only) are
 * skipped, as the protocol requires.
 *
 *	bound false --bind reply, success--> bound --socket ends--> lost
 *	     |--bind reply, no success / socket ends--------------> lost
 *
 * Any thread sends directly; the lock keeps frames whole. Bytes that the socket does not accept are
 * queued, and the loop sends them. The queue is mapped, not allocated: a hook of the allocator may
 * write events, which need the lock.
 */

#define MAX_METHODS 64 /* of a bind reply; further ones are ignored */
#define FRAME_LENGTH 4 /* bytes before each frame: its size, little-endian */
#define CONNECT_WAIT_MS 1000 /* time to wait for room in the listener's backlog */
#define FD_WAIT_MS 1000 /* to wait, twice, until the socket accepts a descriptor */
#define MAX_FDS 2 /* descriptors that one read can receive */

struct channel_method {
	uint32_t id;
	char name[60]; /* longer than all names that we use */
};

/* A call whose replies are awaited. */
struct channel_pending {
	uint64_t request;
	channel_reply_fn fn;
	void *ctx;
	struct channel_pending *next;
};

struct channel {
	struct io_loop *loop; /* borrowed */
	struct io_fd fd; /* owned: the socket */
	const struct channel_ops *ops; /* borrowed, as is ctx */
	void *ctx;
	bool reads; /* channel_on_ready() runs, and frees the channel if a callback closes it */
	bool closed;
	uint8_t *in; /* owned; one frame and its length */
	size_t in_len;
	int in_fd; /* owned: the last received descriptor; -1: none */
	bool bound;
	uint32_t service; /* the number of the bound port */
	struct channel_method methods[MAX_METHODS];
	unsigned n_methods;
	struct channel_pending *calls, **last_call; /* owned, oldest first */

	pthread_mutex_t lock; /* protects the following members */
	bool lost; /* the connection */
	uint64_t last_request; /* number of the newest request */
	uint8_t *queue; /* owned; CHANNEL_SEND_LIMIT bytes, or NULL */
	size_t queue_start, queue_len; /* queued: queue_len bytes from queue_start */
	struct io_task want_write; /* the loop sends the queue when the socket accepts more */
};

static void channel_free(struct channel *c)
{
	free(c->in);
	free(c);
}

/* Ends every open call, then calls on_lost. A callback may close c. */
static void handle_lost_connection(struct channel *c, int error)
{
	const struct channel_reply reply = {.error = -EPIPE};

	pthread_mutex_lock(&c->lock);
	c->lost = true;
	pthread_mutex_unlock(&c->lock);
	io_unwatch(c->loop, &c->fd);
	while (!c->closed && c->calls) {
		struct channel_pending call = *c->calls;

		free(c->calls);
		c->calls = call.next;
		if (!c->calls)
			c->last_call = &c->calls;
		call.fn(call.ctx, &reply);
	}
	if (!c->closed)
		c->ops->on_lost(c->ctx, error);
}

/* ---- sending ---- */

/* Sends what is queued. Returns 0, -EAGAIN or -errno. c->lock is held. */
static int send_queued_bytes(struct channel *c)
{
	while (c->queue_len > 0) {
		const struct iovec rest = {c->queue + c->queue_start, c->queue_len};
		ssize_t n = sock_send(c->fd.fd, &rest, 1, -1, MSG_DONTWAIT);

		if (n < 0)
			return (int)n;
		c->queue_start += (size_t)n;
		c->queue_len -= (size_t)n;
	}
	c->queue_start = 0;
	return 0;
}

/* Appends bytes to the queue. Returns 0, or -ENOBUFS if it is full or cannot be allocated. c->lock
 * is held. */
static int channel_enqueue(struct channel *c, const uint8_t *bytes, size_t len)
{
	if (!c->queue) {
		void *p = mmap(NULL, CHANNEL_SEND_LIMIT, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return -ENOBUFS;
		c->queue = p;
	}
	if (c->queue_len + len > CHANNEL_SEND_LIMIT)
		return -ENOBUFS;
	if (c->queue_start > 0)
		memmove(c->queue, c->queue + c->queue_start, c->queue_len);
	c->queue_start = 0;
	memcpy(c->queue + c->queue_len, bytes, len);
	c->queue_len += len;
	return 0;
}

/* Sends the queue and then the parts. A descriptor cannot be queued, so a call that has one waits
 * for the socket. Returns the number of bytes of the parts that were accepted, or -errno. c->lock
 * is held. */
static ssize_t send_parts_after_queue(struct channel *c, const struct iovec *parts, int n, int fd)
{
	struct pollfd p = {.fd = c->fd.fd, .events = POLLOUT};

	for (int i = 0;; i++) {
		int r = send_queued_bytes(c);
		ssize_t sent = r < 0 ? r : sock_send(c->fd.fd, parts, (size_t)n, fd, MSG_DONTWAIT);

		if (sent != -EAGAIN || fd < 0)
			return sent;
		if (i == 2)
			return -ENOBUFS;
		poll(&p, 1, FD_WAIT_MS);
	}
}

static void on_write_requested(struct io_task *t)
{
	struct channel *c = container_of(t, struct channel, want_write);

	if (!c->lost)
		io_set_events(c->loop, &c->fd, c->fd.events | EPOLLOUT);
}

/* Sends head and payload as one frame. c->lock is held. */
static int send_frame(struct channel *c, const void *head, size_t head_len, const void *payload,
		      size_t payload_len, int fd)
{
	uint32_t len = (uint32_t)(head_len + payload_len);
	const struct iovec parts[3] = {
		{.iov_base = &len, .iov_len = FRAME_LENGTH},
		{.iov_base = (void *)head, .iov_len = head_len},
		{.iov_base = (void *)payload, .iov_len = payload_len},
	};
	size_t skip = 0;
	ssize_t sent;
	int r = 0;

	if (head_len + payload_len > CHANNEL_MAX_FRAME)
		return -EMSGSIZE;
	sent = send_parts_after_queue(c, parts, payload_len ? 3 : 2, fd);
	if (sent < 0 && sent != -EAGAIN)
		r = (int)sent;
	else if (sent > 0)
		skip = (size_t)sent;
	for (int i = 0; i < 3 && r == 0; i++) {
		size_t have = MIN(skip, parts[i].iov_len);

		skip -= have;
		if (have < parts[i].iov_len)
			r = channel_enqueue(c, (const uint8_t *)parts[i].iov_base + have,
					    parts[i].iov_len - have);
	}
	if (r == 0 && c->queue_len > 0)
		io_post(c->loop, &c->want_write);
	if (r < 0) /* a part of the frame may be sent */
		shutdown(c->fd.fd, SHUT_RDWR); /* so that the loop calls on_lost */
	return r < 0 && c->bound ? -EPIPE : r;
}

static const struct channel_method *find_method(const struct channel *c, const char *name)
{
	for (unsigned i = 0; i < c->n_methods; i++)
		if (strcmp(c->methods[i].name, name) == 0)
			return &c->methods[i];
	return NULL;
}

bool channel_has_method(const struct channel *c, const char *method)
{
	return find_method(c, method) != NULL;
}

bool channel_passes_fds(const struct channel *c)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(c->fd.fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

bool channel_speaks_for_root(const struct channel *c)
{
	return service_trust_speaks_for_root(c->fd.fd);
}

int32_t channel_peer_pid(const struct channel *c)
{
	uid_t uid;
	pid_t pid;

	return sock_peer(c->fd.fd, &uid, &pid) == 0 ? pid : 0;
}

/* Sends a call. Sets *ret_request to its number. Returns 0 or an error, as channel_call(). */
static int send_invoke(struct channel *c, const char *method, const void *args, size_t len, int fd,
		       bool drop_reply, uint64_t *ret_request)
{
	NO_CANCEL();
	const struct channel_method *m = find_method(c, method);
	uint8_t head[FRAME_MAX_HEAD];
	size_t head_len;
	int r;

	pthread_mutex_lock(&c->lock);
	if (c->lost) {
		r = -EPIPE;
	} else if (!m) {
		r = -ENOSYS;
	} else if (len > CHANNEL_MAX_FRAME) {
		r = -EMSGSIZE; /* before the length is written into a frame head */
	} else {
		*ret_request = ++c->last_request;
		head_len = frame_put_invoke(head, *ret_request, c->service, m->id, drop_reply, len);
		r = send_frame(c, head, head_len, args, len, fd);
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

int channel_send(struct channel *c, const char *method, const void *args, size_t len)
{
	uint64_t request;

	return send_invoke(c, method, args, len, -1, true, &request);
}

int channel_call(struct channel *c, const char *method, const void *args, size_t len, int fd,
		 channel_reply_fn fn, void *ctx)
{
	struct channel_pending *call = calloc(1, sizeof(*call));
	int r;

	if (!call)
		return -ENOMEM;
	r = send_invoke(c, method, args, len, fd, false, &call->request);
	if (r < 0) {
		free(call);
		return r;
	}
	call->fn = fn;
	call->ctx = ctx;
	*c->last_call = call;
	c->last_call = &call->next;
	return 0;
}

/* Returns true if the peer has closed the connection, which the loop has not read yet. */
static bool peer_has_disconnected(const struct channel *c)
{
	struct pollfd p = {.fd = c->fd.fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0;
}

int channel_drain(struct channel *c, int timeout_ms)
{
	NO_CANCEL();
	uint64_t now = clock_mono_ns(), deadline = now + (uint64_t)timeout_ms * NS_PER_MS;
	struct pollfd p = {.fd = c->fd.fd, .events = POLLOUT};
	int r;

	for (;;) {
		pthread_mutex_lock(&c->lock);
		r = send_queued_bytes(c);
		pthread_mutex_unlock(&c->lock);
		if (r == 0)
			return peer_has_disconnected(c) ? -EPIPE : 0;
		if (r != -EAGAIN)
			return -EPIPE;
		now = clock_mono_ns();
		if (now >= deadline)
			return -EAGAIN;
		poll(&p, 1, (int)((deadline - now + NS_PER_MS - 1) / NS_PER_MS));
	}
}

size_t channel_queued(struct channel *c)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = c->queue_len;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* ---- receiving ---- */

static void on_bind_reply(struct channel *c, const struct frame *f)
{
	const char *name;
	size_t pos = 0, len;
	uint32_t id;

	if (!f->success) {
		handle_lost_connection(c, -EPROTO);
		return;
	}
	while (c->n_methods < MAX_METHODS && frame_next_method(f, &pos, &id, &name, &len)) {
		struct channel_method *m = &c->methods[c->n_methods];

		if (len >= sizeof(m->name))
			continue;
		m->id = id;
		memcpy(m->name, name, len);
		m->name[len] = '\0';
		c->n_methods++;
	}
	c->bound = true;
	c->service = f->service_id;
	c->ops->on_bound(c->ctx);
}

static void channel_on_reply(struct channel *c, const struct frame *f)
{
	bool good = f->kind == FRAME_INVOKE_METHOD_REPLY && f->success;
	struct channel_reply reply = {.error = good ? 0 : -EPROTO};
	struct channel_pending **p = &c->calls, *call;
	channel_reply_fn fn;
	void *ctx;

	while (*p && (*p)->request != f->request_id)
		p = &(*p)->next;
	call = *p;
	if (!call)
		return;
	if (good) {
		reply.has_more = f->has_more;
		reply.data = f->payload;
		reply.len = f->payload_len;
	}
	fn = call->fn;
	ctx = call->ctx;
	if (!reply.has_more) {
		*p = call->next;
		if (!*p)
			c->last_call = p;
		free(call);
	}
	fn(ctx, &reply);
}

static void on_frame(struct channel *c, const uint8_t *data, size_t len)
{
	struct frame f;

	if (frame_decode(data, len, &f) < 0)
		return; /* ignored, as Perfetto does */
	if (c->bound) {
		if (f.kind == FRAME_INVOKE_METHOD_REPLY || f.kind == FRAME_REQUEST_ERROR)
			channel_on_reply(c, &f);
	} else if (f.request_id != 1) { /* 1 is the number of the bind request */
		return;
	} else if (f.kind == FRAME_BIND_SERVICE_REPLY) {
		on_bind_reply(c, &f);
	} else if (f.kind == FRAME_REQUEST_ERROR) {
		handle_lost_connection(c, -EPROTO);
	}
}

static void keep_received_fd(void *ctx, int fd)
{
	struct channel *c = ctx;

	closep(&c->in_fd);
	c->in_fd = fd;
}

void channel_pause(struct channel *c, bool pause)
{
	uint32_t events = c->fd.events & ~(uint32_t)EPOLLIN;

	io_set_events(c->loop, &c->fd, pause ? events : events | EPOLLIN);
}

int channel_take_fd(struct channel *c)
{
	return TAKE_FD(c->in_fd);
}

/* Handles all complete frames. Returns false if the channel was closed or lost. */
static bool read_frames(struct channel *c)
{
	size_t at = 0;
	uint32_t len;

	while (c->in_len - at >= FRAME_LENGTH) {
		memcpy(&len, c->in + at, FRAME_LENGTH);
		if (len > CHANNEL_MAX_FRAME) {
			handle_lost_connection(c, -EMSGSIZE);
			return false;
		}
		if (c->in_len - at - FRAME_LENGTH < len)
			break;
		at += FRAME_LENGTH;
		if (len > 0)
			on_frame(c, c->in + at, len);
		if (c->closed || c->lost)
			return false;
		at += len;
	}
	memmove(c->in, c->in + at, c->in_len - at);
	c->in_len -= at;
	return true;
}

static void channel_on_ready(struct io_fd *f, uint32_t events)
{
	struct channel *c = container_of(f, struct channel, fd);
	ssize_t n = -EAGAIN;
	int r;

	if (events & EPOLLOUT) {
		pthread_mutex_lock(&c->lock);
		r = send_queued_bytes(c);
		pthread_mutex_unlock(&c->lock);
		if (r != -EAGAIN)
			io_set_events(c->loop, &c->fd, c->fd.events & ~(uint32_t)EPOLLOUT);
	}
	c->reads = true;
	if (events & ~(uint32_t)EPOLLOUT) {
		const struct iovec room = {c->in + c->in_len,
					   FRAME_LENGTH + CHANNEL_MAX_FRAME - c->in_len};

		n = sock_receive(c->fd.fd, &room, 1, MSG_DONTWAIT, MAX_FDS, keep_received_fd, c);
		if (n > 0) {
			c->in_len += (size_t)n;
			if (read_frames(c))
				n = -EAGAIN;
		}
	}
	if (!c->closed && !c->lost && n <= 0 && n != -EAGAIN)
		handle_lost_connection(c, (int)n);
	c->reads = false;
	if (c->closed)
		channel_free(c);
}

/* ---- lifetime ---- */

static int bind_port(struct channel *c, enum channel_port port, bool with_identity)
{
	static const char *const names[] = {[CHANNEL_PRODUCER] = "ProducerPort",
					    [CHANNEL_CONSUMER] = "ConsumerPort",
					    [CHANNEL_RELAY] = "RelayPort"};
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct machine_identity identity;
	int r = pb_mem_init(&m);

	/* The service writes the identity into traces. It cannot verify it. */
	if (r == 0 && with_identity) {
		machine_identity_read(&identity);
		machine_identity_put(&m.enc, &identity, getpid(), (int32_t)geteuid());
		r = m.failed ? -ENOMEM : send_frame(c, m.buf, pb_mem_len(&m), NULL, 0, -1);
		pb_mem_reset(&m);
	}
	if (r < 0)
		return r;
	frame_put_bind(&m.enc, ++c->last_request, names[port]);
	return m.failed ? -ENOMEM : send_frame(c, m.buf, pb_mem_len(&m), NULL, 0, -1);
}

static const char *default_address(const struct channel_target *t, enum channel_port port)
{
	if (port == CHANNEL_PRODUCER)
		return t->of_program ? sock_default_producer() : sock_default_producer_secure();
	return t->of_program ? sock_default_consumer() : sock_default_consumer_secure();
}

/* A service that the program's own connect function reaches is not checked: the program chose it.
 * Returns 0 or -errno; *ret_fd may be set on failure, too, and the caller closes it. */
static int connect_to_target(const struct channel_target *t, const char *address,
			     enum channel_port port, int *ret_fd)
{
	int r;

	if (t->connect) {
		r = t->connect(t->ctx, port);
		if (r < 0)
			return r;
		*ret_fd = r;
		return fcntl(r, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
	}
	r = t->of_program ? sock_connect_within(address, CONNECT_WAIT_MS, ret_fd)
			  : sock_connect(address, ret_fd);
	if (r < 0)
		return r;
	return t->of_program ? service_trust_check(*ret_fd, address)
			     : service_trust_check_secure(*ret_fd, address);
}

int channel_open(struct io_loop *loop, const struct channel_target *target, enum channel_port port,
		 const struct channel_ops *ops, void *ctx, struct channel **ret)
{
	const char *address = target->address ? target->address : default_address(target, port);
	struct channel *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct channel){.loop = loop,
			      .fd = {.fd = -1, .events = EPOLLIN, .fn = channel_on_ready},
			      .ops = ops,
			      .ctx = ctx,
			      .in = malloc(FRAME_LENGTH + CHANNEL_MAX_FRAME),
			      .in_fd = -1,
			      .last_call = &c->calls,
			      .want_write = {.fn = on_write_requested}};
	pthread_mutex_init(&c->lock, NULL);
	r = c->in ? connect_to_target(target, address, port, &c->fd.fd) : -ENOMEM;
	if (r == 0)
		r = bind_port(c, port,
			      target->of_program && !target->connect &&
				      (port == CHANNEL_RELAY || sock_is_remote(address)));
	if (r == 0)
		r = io_watch(loop, &c->fd);
	if (r < 0) {
		channel_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void channel_close(struct channel *c)
{
	struct channel_pending *next;

	if (!c)
		return;
	c->closed = true;
	io_unwatch(c->loop, &c->fd);
	io_remove_posted(c->loop, &c->want_write);
	closep(&c->fd.fd);
	closep(&c->in_fd);
	for (; c->calls; c->calls = next) {
		next = c->calls->next;
		free(c->calls);
	}
	if (c->queue)
		munmap(c->queue, CHANNEL_SEND_LIMIT);
	pthread_mutex_destroy(&c->lock);
	if (!c->reads)
		channel_free(c);
}

void channel_after_fork_in_child(struct channel *c)
{
	closep(&c->fd.fd);
	closep(&c->in_fd);
	pthread_mutex_init(&c->lock, NULL);
}
