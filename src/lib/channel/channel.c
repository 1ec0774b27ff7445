/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/channel/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/sock_io.h"
#include "client/transport/service_trust.h"
#include "lib/channel/out_queue.h"
#include "lib/loop/loop.h"
#include "wire/frame.h"
#include "wire/pb_mem.h"

#define MAX_METHODS 64
#define FRAME_LENGTH 4 /* bytes before each frame: its size, little-endian */

struct method {
	char *name; /* owned */
	uint32_t id;
};

/* A call whose replies are awaited. */
struct call {
	uint64_t request;
	channel_reply_fn fn;
	void *ctx;
	struct call *next;
};

struct channel {
	struct loop_fd fd;
	const struct channel_ops *ops;
	void *ctx;
	bool reads; /* channel_on_ready() runs, and frees the channel if a callback closes it */
	bool closed;
	uint8_t *in; /* owned; one frame and its length */
	size_t in_len;
	int in_fd; /* owned: the last received descriptor; -1: none */
	bool bound;
	uint32_t service;
	struct method methods[MAX_METHODS];
	unsigned n_methods;
	struct call *calls;

	pthread_mutex_t lock; /* of the following */
	uint64_t last_request;
	struct out_queue out;
	struct loop_task want_write;
};

static void channel_free(struct channel *c)
{
	free(c->in);
	free(c);
}

static void lose(struct channel *c, int error)
{
	loop_remove_fd(&c->fd);
	c->ops->on_lost(c->ctx, error);
}

/* ---- sending ---- */

/* Sends what is queued. Returns 0, -EAGAIN or -errno. c->lock is held. */
static int send_queued(struct channel *c)
{
	return out_queue_send(&c->out, c->fd.fd);
}

static void on_want_write(struct loop_task *t)
{
	struct channel *c = container_of(t, struct channel, want_write);

	c->fd.events |= POLLOUT;
}

/* Sends head and payload as one frame. c->lock is held. */
static int put_frame(struct channel *c, const void *head, size_t head_len, const void *payload,
		     size_t payload_len, int fd)
{
	uint32_t len = (uint32_t)(head_len + payload_len);
	const struct iovec parts[3] = {
		{.iov_base = &len, .iov_len = FRAME_LENGTH},
		{.iov_base = (void *)head, .iov_len = head_len},
		{.iov_base = (void *)payload, .iov_len = payload_len},
	};
	int r;

	if (head_len + payload_len > CHANNEL_MAX_FRAME)
		return -EMSGSIZE;
	r = out_queue_put(&c->out, c->fd.fd, parts, 3, fd);
	if (r == -EAGAIN) {
		loop_post(&c->want_write);
		return 0;
	}
	if (r < 0)
		shutdown(c->fd.fd, SHUT_RDWR); /* so that the loop calls on_lost */
	return r;
}

static int method_id(const struct channel *c, const char *name, uint32_t *ret)
{
	for (unsigned i = 0; i < c->n_methods; i++)
		if (strcmp(c->methods[i].name, name) == 0) {
			*ret = c->methods[i].id;
			return 0;
		}
	return -ENOSYS;
}

bool channel_has(const struct channel *c, const char *method)
{
	uint32_t id;

	return method_id(c, method, &id) == 0;
}

bool channel_passes_fds(const struct channel *c)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(c->fd.fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

static int invoke(struct channel *c, const char *method, const void *args, size_t len, int fd,
		  bool drop_reply, uint64_t *ret_request)
{
	NO_CANCEL();
	uint8_t head[FRAME_MAX_HEAD];
	size_t head_len;
	uint32_t id;
	int r = method_id(c, method, &id);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	*ret_request = ++c->last_request;
	head_len = frame_put_invoke(head, *ret_request, c->service, id, drop_reply, len);
	r = put_frame(c, head, head_len, args, len, fd);
	pthread_mutex_unlock(&c->lock);
	return r;
}

int channel_send(struct channel *c, const char *method, const void *args, size_t len)
{
	uint64_t request;

	return invoke(c, method, args, len, -1, true, &request);
}

int channel_call(struct channel *c, const char *method, const void *args, size_t len, int fd,
		 channel_reply_fn fn, void *ctx)
{
	struct call *call = calloc(1, sizeof(*call));
	int r;

	if (!call)
		return -ENOMEM;
	r = invoke(c, method, args, len, fd, false, &call->request);
	if (r < 0) {
		free(call);
		return r;
	}
	call->fn = fn;
	call->ctx = ctx;
	call->next = c->calls;
	c->calls = call;
	return 0;
}

int channel_drain(struct channel *c, int timeout_ms)
{
	NO_CANCEL();
	struct pollfd p = {.fd = c->fd.fd, .events = POLLOUT};
	int r;

	pthread_mutex_lock(&c->lock);
	r = send_queued(c);
	pthread_mutex_unlock(&c->lock);
	if (r == 0 || r != -EAGAIN)
		return r == 0 ? 0 : -EPIPE;
	poll(&p, 1, timeout_ms);
	pthread_mutex_lock(&c->lock);
	r = send_queued(c);
	pthread_mutex_unlock(&c->lock);
	return r == 0 || r == -EAGAIN ? r : -EPIPE;
}

size_t channel_queued(struct channel *c)
{
	size_t n;

	pthread_mutex_lock(&c->lock);
	n = c->out.len;
	pthread_mutex_unlock(&c->lock);
	return n;
}

/* ---- receiving ---- */

static void on_bind_reply(struct channel *c, const struct frame *f)
{
	const char *name;
	size_t pos = 0, len;
	uint32_t id;

	if (c->bound)
		return;
	if (!f->success) {
		lose(c, -EPROTO);
		return;
	}
	c->bound = true;
	c->service = f->service_id;
	while (c->n_methods < MAX_METHODS && frame_next_method(f, &pos, &id, &name, &len)) {
		struct method *m = &c->methods[c->n_methods];

		m->name = strndup(name, len);
		m->id = id;
		if (!m->name) {
			lose(c, -ENOMEM);
			return;
		}
		c->n_methods++;
	}
	c->ops->on_bound(c->ctx);
}

static void channel_on_reply(struct channel *c, const struct frame *f)
{
	const struct channel_reply reply = {.success = f->success,
					    .has_more = f->success && f->has_more,
					    .data = f->payload,
					    .len = f->payload_len};
	struct call **p = &c->calls, *call;
	channel_reply_fn fn;
	void *ctx;

	while (*p && (*p)->request != f->request_id)
		p = &(*p)->next;
	call = *p;
	if (!call)
		return;
	fn = call->fn;
	ctx = call->ctx;
	if (!reply.has_more) {
		*p = call->next;
		free(call);
	}
	if (fn)
		fn(ctx, &reply);
}

static void on_frame(struct channel *c, const uint8_t *data, size_t len)
{
	struct frame f;

	if (frame_decode(data, len, &f) < 0)
		return; /* ignored, as Perfetto does */
	if (f.kind == FRAME_BIND_SERVICE_REPLY)
		on_bind_reply(c, &f);
	else if (f.kind == FRAME_INVOKE_METHOD_REPLY)
		channel_on_reply(c, &f);
	else if (f.kind == FRAME_REQUEST_ERROR && !c->bound)
		lose(c, -EPROTO);
	else if (f.kind == FRAME_REQUEST_ERROR)
		channel_on_reply(c, &f);
}

/* Keeps the last descriptor that the peer sent. */
static void channel_on_fd(void *ctx, int fd)
{
	struct channel *c = ctx;

	closep(&c->in_fd);
	c->in_fd = fd;
}

void channel_pause(struct channel *c, bool pause)
{
	if (pause)
		c->fd.events &= ~POLLIN;
	else
		c->fd.events |= POLLIN;
}

int channel_take_fd(struct channel *c)
{
	return TAKE_FD(c->in_fd);
}

/* Calls recvmsg(2) once. Returns the number of bytes, 0 if the peer has closed, or -errno. */
static ssize_t receive(struct channel *c)
{
	const struct iovec room = {c->in + c->in_len, FRAME_LENGTH + CHANNEL_MAX_FRAME - c->in_len};
	ssize_t n = sock_receive(c->fd.fd, &room, 1, MSG_DONTWAIT, SIZE_MAX, channel_on_fd, c);

	if (n < 0)
		return n;
	c->in_len += (size_t)n;
	return n;
}

/* Handles all complete frames. Returns false if the channel was closed or lost. */
static bool read_frames(struct channel *c)
{
	size_t at = 0;
	uint32_t len;

	while (c->in_len - at >= FRAME_LENGTH) {
		memcpy(&len, c->in + at, FRAME_LENGTH);
		if (len > CHANNEL_MAX_FRAME) {
			lose(c, -EMSGSIZE);
			return false;
		}
		if (c->in_len - at - FRAME_LENGTH < len)
			break;
		at += FRAME_LENGTH;
		if (len > 0)
			on_frame(c, c->in + at, len);
		if (c->closed)
			return false;
		at += len;
	}
	memmove(c->in, c->in + at, c->in_len - at);
	c->in_len -= at;
	return true;
}

static void channel_on_ready(struct loop_fd *f, short revents)
{
	struct channel *c = container_of(f, struct channel, fd);
	ssize_t n = -EAGAIN;
	int r;

	if (revents & POLLOUT) {
		pthread_mutex_lock(&c->lock);
		r = send_queued(c);
		pthread_mutex_unlock(&c->lock);
		if (r != -EAGAIN)
			c->fd.events &= ~POLLOUT;
	}
	c->reads = true;
	if (revents & ~POLLOUT) {
		n = receive(c);
		if (n > 0 && read_frames(c))
			n = -EAGAIN;
	}
	if (!c->closed && n <= 0 && n != -EAGAIN)
		lose(c, (int)n);
	c->reads = false;
	if (c->closed)
		channel_free(c);
}

/* ---- lifetime ---- */

static int bind_port(struct channel *c, enum sonda_port port)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	int r = pb_mem_init(&m);

	if (r < 0)
		return r;
	frame_put_bind(&m.enc, ++c->last_request,
		       port == SONDA_PORT_PRODUCER ? "ProducerPort" : "ConsumerPort");
	return m.failed ? -ENOMEM : put_frame(c, m.buf, pb_mem_len(&m), NULL, 0, -1);
}

static const char *default_address(enum sonda_port port)
{
	return port == SONDA_PORT_PRODUCER ? sock_default_producer_secure()
					   : sock_default_consumer_secure();
}

/* The service behind the program's own connect function is not checked: the program chose it. */
static int connect_to(const struct channel_target *t, enum sonda_port port, int *ret_fd)
{
	int r;

	if (t->connect) {
		r = t->connect(t->ctx, port);
		if (r < 0)
			return r;
		*ret_fd = r;
		return fcntl(r, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
	}
	r = sock_connect(t->address ? t->address : default_address(port), ret_fd);
	return r < 0 ? r : service_trust_check_secure(*ret_fd);
}

int channel_open(const struct channel_target *target, enum sonda_port port,
		 const struct channel_ops *ops, void *ctx, struct channel **ret)
{
	struct channel *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct channel){.fd = {.fd = -1, .events = POLLIN, .fn = channel_on_ready},
			      .ops = ops,
			      .ctx = ctx,
			      .in = malloc(FRAME_LENGTH + CHANNEL_MAX_FRAME),
			      .in_fd = -1,
			      .want_write = {.fn = on_want_write}};
	pthread_mutex_init(&c->lock, NULL);
	r = c->in ? connect_to(target, port, &c->fd.fd) : -ENOMEM;
	if (r == 0)
		r = bind_port(c, port);
	if (r < 0) {
		channel_close(c);
		return r;
	}
	loop_add_fd(&c->fd);
	*ret = c;
	return 0;
}

void channel_close(struct channel *c)
{
	struct call *next;

	if (!c)
		return;
	c->closed = true;
	loop_remove_fd(&c->fd);
	loop_unpost(&c->want_write);
	closep(&c->fd.fd);
	closep(&c->in_fd);
	for (; c->calls; c->calls = next) {
		next = c->calls->next;
		free(c->calls);
	}
	for (unsigned i = 0; i < c->n_methods; i++)
		free(c->methods[i].name);
	out_queue_deinit(&c->out);
	pthread_mutex_destroy(&c->lock);
	if (!c->reads)
		channel_free(c);
}

void channel_forget(struct channel *c)
{
	closep(&c->fd.fd);
	closep(&c->in_fd);
	pthread_mutex_init(&c->lock, NULL);
}
