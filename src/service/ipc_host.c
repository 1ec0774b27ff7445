/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection is made by accept and ended by on_close alone, from the loop: so a method can send
 * to any connection, its own too, without one vanishing under it.
 *
 * A host has one service, hence the one service id.
 */
#include "service/ipc_host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/uio.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/msgsock.h"
#include "base/sock.h"
#include "wire/frame.h"
#include "wire/pb_mem.h"

#define SERVICE_ID 1
#define ACCEPTS_PER_TURN 16 /* then the others of the loop have their turn */
#define ACCEPT_PAUSE_MS 200 /* when the process is out of descriptors */

struct ipc_conn {
	LIST_ENTRY(ipc_conn) link;
	struct ipc_host *host; /* borrowed: it owns us */
	struct msgsock *sock; /* owned */
	void *endpoint; /* owned through the service's open and close; NULL before the first call */
	uid_t uid;
	pid_t pid;
};

struct listener {
	LIST_ENTRY(listener) link;
	struct ipc_host *host; /* borrowed: it owns us */
	struct event *readable; /* owned */
	int fd; /* owned */
};

struct ipc_host {
	struct event_base *loop; /* borrowed */
	const struct ipc_service *service;
	void *ctx;
	LIST_HEAD(, ipc_conn) conns;
	LIST_HEAD(, listener) listeners;
	struct event *resume; /* owned: ends a pause of the listeners */
	struct log_limit complaints;
};

/* ---- replies ---- */

static int send_reply(struct ipc_conn *c, const struct ipc_call *call, bool success, bool has_more,
		      struct iovec payload, int fd)
{
	uint8_t head[FRAME_MAX_HEAD];
	struct iovec pieces[2];

	pieces[0].iov_base = head;
	pieces[0].iov_len =
		frame_put_reply(head, call->request_id, success, has_more, payload.iov_len);
	pieces[1] = payload;
	return msgsock_send(c->sock, pieces, payload.iov_len ? 2 : 1, fd);
}

int ipc_reply(struct ipc_conn *c, const struct ipc_call *call, bool has_more, const void *payload,
	      size_t len, int fd)
{
	struct iovec bytes = {.iov_base = (void *)payload, .iov_len = len};

	return call->wants_reply ? send_reply(c, call, true, has_more, bytes, fd) : 0;
}

void ipc_reply_empty(struct ipc_conn *c, const struct ipc_call *call)
{
	ipc_reply(c, call, false, NULL, 0, -1);
}

void ipc_reject(struct ipc_conn *c, const struct ipc_call *call)
{
	if (call->wants_reply)
		send_reply(c, call, false, false, (struct iovec){0}, -1);
}

/* ---- frames ---- */

static void send_frame(struct ipc_conn *c, const struct pb_mem *m)
{
	struct iovec piece = {.iov_base = m->buf, .iov_len = pb_mem_len(m)};

	if (!m->failed)
		msgsock_send(c->sock, &piece, 1, -1);
}

static void answer_bind(struct ipc_conn *c, const struct frame *f)
{
	const struct ipc_service *s = c->host->service;
	bool known = strlen(s->name) == f->text_len && !memcmp(s->name, f->text, f->text_len);
	struct frame_method methods[IPC_MAX_METHODS];
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0)
		return;
	for (size_t i = 0; i < s->n_methods; i++)
		methods[i] =
			(struct frame_method){.id = (uint32_t)i + 1, .name = s->methods[i].name};
	frame_put_bind_reply(&m.enc, f->request_id, known, known ? SERVICE_ID : 0, methods,
			     known ? s->n_methods : 0);
	send_frame(c, &m);
}

static int call_method(struct ipc_conn *c, const struct ipc_call *call, const struct frame *f)
{
	const struct ipc_service *s = c->host->service;
	int r;

	if (f->service_id != SERVICE_ID || f->method_id == 0 || f->method_id > s->n_methods)
		return -EBADMSG;
	if (!s->methods[f->method_id - 1].call) {
		log_write_limited(&c->host->complaints, LOG_LEVEL_WARN, "%s: %s is not supported",
				  s->name, s->methods[f->method_id - 1].name);
		return -ENOSYS;
	}
	if (!c->endpoint) {
		r = s->open(c->host->ctx, c, &c->endpoint);
		if (r < 0)
			return r;
	}
	return s->methods[f->method_id - 1].call(c->endpoint, call, f->payload, f->payload_len);
}

static void answer_invoke(struct ipc_conn *c, const struct frame *f)
{
	struct ipc_call call = {.request_id = f->request_id, .wants_reply = !f->drop_reply};
	int r = call_method(c, &call, f);

	if (r == -EBADMSG)
		call.wants_reply = true;
	if (r < 0)
		ipc_reject(c, &call);
}

static void answer_unknown(struct ipc_conn *c, const struct frame *f)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0)
		return;
	frame_put_error(&m.enc, f->request_id, "unknown request");
	send_frame(c, &m);
}

static void on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct ipc_conn *c = ctx;
	struct frame f;

	if (frame_decode(data, len, &f) < 0)
		return;
	switch (f.kind) {
	case FRAME_BIND_SERVICE:
		answer_bind(c, &f);
		break;
	case FRAME_INVOKE_METHOD:
		answer_invoke(c, &f);
		break;
	case FRAME_SET_PEER_IDENTITY:
		break; /* of relays; the kernel has told us who this is */
	default:
		answer_unknown(c, &f);
	}
}

/* ---- connections ---- */

static void conn_free(struct ipc_conn *c)
{
	LIST_REMOVE(c, link);
	if (c->endpoint)
		c->host->service->close(c->endpoint);
	msgsock_free(c->sock);
	free(c);
}

static void on_close(void *ctx, int error)
{
	struct ipc_conn *c = ctx;
	const char *why = error == -ENOBUFS    ? "does not read its socket"
			  : error == -EMSGSIZE ? "sent a frame that is too long"
			  : error == -ETOOMANYREFS
				  ? "sent more file descriptors at once than can be received"
				  : NULL;

	if (why)
		log_write_limited(&c->host->complaints, LOG_LEVEL_WARN,
				  "%s: process %d %s; disconnected", c->host->service->name,
				  (int)c->pid, why);
	conn_free(c);
}

static void on_drained(void *ctx)
{
	struct ipc_conn *c = ctx;

	if (c->endpoint && c->host->service->on_drained)
		c->host->service->on_drained(c->endpoint);
}

static const struct msgsock_ops sock_ops = {
	.on_message = on_message,
	.on_close = on_close,
	.on_drained = on_drained,
};

static bool has_room(const struct ipc_host *h, uid_t uid)
{
	unsigned n = 0, n_uid = 0;
	const struct ipc_conn *c;

	LIST_FOREACH (c, &h->conns, link) {
		n++;
		n_uid += c->uid == uid;
	}
	return n < h->service->max_conns && n_uid < h->service->max_conns_per_uid;
}

int ipc_host_adopt(struct ipc_host *h, int taken_fd)
{
	_cleanup_(closep) int fd = taken_fd;
	_cleanup_(freep) struct ipc_conn *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = sock_peer(fd, &c->uid, &c->pid);
	if (r < 0)
		return r;
	if (!has_room(h, c->uid)) {
		log_write_limited(&h->complaints, LOG_LEVEL_WARN,
				  "%s: too many connections; process %d of uid %u is refused",
				  h->service->name, (int)c->pid, (unsigned)c->uid);
		return -ENFILE;
	}
	c->host = h;
	r = msgsock_new(h->loop, fd, h->service->send_limit, &sock_ops, c, &c->sock);
	if (r < 0)
		return r;
	fd = -1; /* the msgsock has it */
	if (h->service->hold_limit > 0)
		msgsock_hold_reads(c->sock, h->service->hold_limit);
	LIST_INSERT_HEAD(&h->conns, c, link);
	c = NULL;
	return 0;
}

uid_t ipc_conn_uid(const struct ipc_conn *c)
{
	return c->uid;
}

pid_t ipc_conn_pid(const struct ipc_conn *c)
{
	return c->pid;
}

int ipc_conn_take_fd(struct ipc_conn *c)
{
	return msgsock_take_fd(c->sock);
}

size_t ipc_conn_queued(const struct ipc_conn *c)
{
	return msgsock_queued(c->sock);
}

/* ---- listeners ---- */

/* Out of descriptors, say: the kernel goes on telling that a peer waits, so look away for a
 * while. */
static void pause_listeners(struct ipc_host *h)
{
	struct timeval pause = {.tv_usec = ACCEPT_PAUSE_MS * 1000};
	struct listener *l;

	LIST_FOREACH (l, &h->listeners, link)
		event_del(l->readable);
	evtimer_add(h->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *ctx)
{
	struct ipc_host *h = ctx;
	struct listener *l;

	(void)fd, (void)what;
	LIST_FOREACH (l, &h->listeners, link)
		event_add(l->readable, NULL);
}

static void on_acceptable(evutil_socket_t listen_fd, short what, void *ctx)
{
	struct listener *l = ctx;
	int fd, r;

	(void)what;
	for (unsigned i = 0; i < ACCEPTS_PER_TURN; i++) {
		r = sock_accept(listen_fd, &fd);
		if (r == -EAGAIN)
			return;
		if (r < 0) {
			log_write_limited(&l->host->complaints, LOG_LEVEL_WARN,
					  "%s: cannot accept a connection: %s",
					  l->host->service->name, strerror(-r));
			pause_listeners(l->host);
			return;
		}
		ipc_host_adopt(l->host, fd);
	}
}

static void listener_free(struct listener *l)
{
	if (l->readable)
		event_free(l->readable);
	closep(&l->fd);
	free(l);
}

int ipc_host_listen(struct ipc_host *h, int taken_fd)
{
	_cleanup_(closep) int fd = taken_fd;
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->host = h;
	l->fd = TAKE_FD(fd);
	l->readable = event_new(h->loop, l->fd, EV_READ | EV_PERSIST, on_acceptable, l);
	if (!l->readable || event_add(l->readable, NULL) < 0) {
		listener_free(l);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&h->listeners, l, link);
	return 0;
}

/* ---- the host ---- */

int ipc_host_new(struct event_base *loop, const struct ipc_service *service, void *ctx,
		 struct ipc_host **ret)
{
	struct ipc_host *h = calloc(1, sizeof(*h));

	assert(service->n_methods <= IPC_MAX_METHODS);
	if (!h)
		return -ENOMEM;
	h->loop = loop;
	h->service = service;
	h->ctx = ctx;
	LIST_INIT(&h->conns);
	LIST_INIT(&h->listeners);
	h->resume = evtimer_new(loop, on_resume, h);
	if (!h->resume) {
		free(h);
		return -ENOMEM;
	}
	*ret = h;
	return 0;
}

void ipc_host_free(struct ipc_host *h)
{
	struct listener *l;
	struct ipc_conn *c;

	if (!h)
		return;
	while ((l = LIST_FIRST(&h->listeners))) {
		LIST_REMOVE(l, link);
		listener_free(l);
	}
	while ((c = LIST_FIRST(&h->conns)))
		conn_free(c);
	event_free(h->resume);
	free(h);
}
