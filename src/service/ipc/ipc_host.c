/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only on_connection_close(), which the loop calls, frees a connection while the host exists. So a
 * method can send to any connection, including its own, and no connection is freed meanwhile.
 *
 * The host's service has number 1, the extra service of an entrance number 2.
 */
#include "service/ipc/ipc_host.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "base/system/background_close.h"
#include "base/system/log.h"
#include "service/ipc/limits.h"
#include "service/ipc/msgsock.h"
#include "wire/frame.h"
#include "wire/pb_enc.h"

/*
 * The loop handles no other event while urgent ones are due. So after each batch of accepts the
 * sockets of an urgent host pause, until all other due events are handled, or have had as much time
 * as the batch took:
 *
 *	accept 16 --> pause --+-- others_ran: the other events are handled ----+--> resume
 *	                      +-- resume: they had as much time as the batch --+
 */

struct ipc_entrance;
struct listener;

/* The listening sockets of a host. They accept at most 16 connections, then the loop handles its
 * other events, even if the host is urgent and more connections wait. */
struct listeners {
	struct event_base *loop; /* borrowed */
	/* A connection was accepted; the callee owns fd. */
	void (*on_connection)(void *ctx, int fd, const struct ipc_entrance *entrance);
	/* No connection can be accepted for now: -errno, such as -EMFILE. */
	void (*on_failure)(void *ctx, int error);
	void *ctx;
	bool is_urgent; /* accepts before events of other priorities */
	LIST_HEAD(, listener) list; /* owned */
	struct event *resume; /* owned: timer that ends a pause; as urgent as the sockets */
	struct event *others_ran; /* owned: ends the pause after all other due events */
};

#define ACCEPTS_AT_ONCE 16
#define FAILURE_PAUSE_NS (200 * NS_PER_MS)
#define LEAST_PAUSE_NS (NS_PER_MS / 5)

struct listener {
	LIST_ENTRY(listener) link;
	struct listeners *all; /* borrowed: it owns us */
	struct event *readable; /* owned */
	int fd; /* owned */
	const struct ipc_entrance *entrance; /* borrowed */
};

static void pause_accepting(struct listeners *l, uint64_t ns)
{
	struct listener *one;

	LIST_FOREACH (one, &l->list, link)
		event_del(one->readable);
	/* Makes the timer start now, not at the start of this loop iteration. */
	(void)event_base_update_cache_time(l->loop);
	event_timer_us(l->resume, ns / 1000);
}

static void resume_accepting(evutil_socket_t fd, short what, void *ctx)
{
	struct listeners *l = ctx;
	struct listener *one;

	event_del(l->resume);
	event_del(l->others_ran);
	LIST_FOREACH (one, &l->list, link)
		event_add(one->readable, NULL);
}

/* Accepts connections that wait, at most ACCEPTS_AT_ONCE. Returns 0, or -errno if one of them
 * cannot be accepted. */
static int accept_waiting(struct listener *one)
{
	int fd, r;

	for (unsigned i = 0; i < ACCEPTS_AT_ONCE; i++) {
		r = sock_accept(one->fd, &fd);
		if (r < 0)
			return r == -EAGAIN ? 0 : r;
		one->all->on_connection(one->all->ctx, fd, one->entrance);
	}
	return 0;
}

static void on_acceptable(evutil_socket_t fd, short what, void *ctx)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct listener *one = ctx;
	struct listeners *l = one->all;
	int r = accept_waiting(one);

	if (r < 0) {
		/* The kernel keeps reporting that a peer waits. */
		l->on_failure(l->ctx, r);
		pause_accepting(l, FAILURE_PAUSE_NS);
	} else if (l->is_urgent) {
		pause_accepting(l, MAX(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin, LEAST_PAUSE_NS));
		event_active(l->others_ran, EV_TIMEOUT, 0);
	}
}

static void listener_free(struct listener *one)
{
	event_freep(&one->readable);
	closep(&one->fd);
	free(one);
}

/* Accepts connections on a listening socket. Takes ownership of the socket, even on failure.
 * entrance is borrowed. Returns 0 or -ENOMEM. */
static int listeners_add(struct listeners *l, int taken_fd, const struct ipc_entrance *entrance)
{
	_cleanup_(closep) int fd = taken_fd;
	struct listener *one = calloc(1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	one->all = l;
	one->fd = TAKE_FD(fd);
	one->entrance = entrance;
	one->readable = event_new(l->loop, one->fd, EV_READ | EV_PERSIST, on_acceptable, one);
	if (one->readable && l->is_urgent)
		(void)event_priority_set(one->readable, 0);
	if (!one->readable || event_add(one->readable, NULL) < 0) {
		listener_free(one);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&l->list, one, link);
	return 0;
}

/* No-op on zeroed memory. */
static void listeners_deinit(struct listeners *l)
{
	struct listener *one;

	while ((one = LIST_FIRST(&l->list))) {
		LIST_REMOVE(one, link);
		listener_free(one);
	}
	event_freep(&l->resume);
	event_freep(&l->others_ran);
}

/* The caller has set the fields up to is_urgent. Returns 0 or -ENOMEM. */
static int listeners_init(struct listeners *l)
{
	LIST_INIT(&l->list);
	l->resume = evtimer_new(l->loop, resume_accepting, l);
	l->others_ran = evtimer_new(l->loop, resume_accepting, l);
	if (!l->resume || !l->others_ran) {
		listeners_deinit(l);
		return -ENOMEM;
	}
	if (l->is_urgent)
		(void)event_priority_set(l->resume, 0);
	return 0;
}

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* since Linux 6.16 */
#endif

#define TIME_SLICE_NS (2 * NS_PER_MS) /* time of a connection in a loop iteration */
/* Requests of an urgent service are handled first: those of root always, those of other users only
 * while their recent work (urgent_busy_ns()) is at most URGENT_NS. The work is counted up to
 * URGENT_MOST_NS and falls by 1/URGENT_PART of the elapsed time, so the others lose this right for
 * at most 8 s. */
#define URGENT_NS (4 * NS_PER_MS)
#define URGENT_MOST_NS NS_PER_S
#define URGENT_PART 8
#define N_SERVICES 2 /* services of a connection, numbered from 1 */

struct ipc_conn {
	LIST_ENTRY(ipc_conn) link;
	struct ipc_host *host; /* borrowed: it owns us */
	struct msgsock *sock; /* owned */
	struct {
		const struct ipc_service *service; /* borrowed; NULL: no service has this number */
		void *ctx; /* borrowed: argument of service->open */
		void *endpoint; /* owned: from open to close; NULL before the first call */
	} services[N_SERVICES];
	struct ipc_peer peer; /* owned */
	bool takes_relays; /* see struct ipc_entrance */
	struct quota_account account; /* of the peer */
};

struct ipc_host {
	struct event_base *loop; /* borrowed, as the next three */
	const struct ipc_service *service;
	void *ctx; /* argument of service->open */
	struct quota *quota;
	LIST_HEAD(, ipc_conn) conns;
	struct listeners listeners;
	bool refuses_descriptors; /* connections refuse descriptors before they bind a service */
	/* For an urgent service: the CPU time that requests of users other than root have used, as
	 * of busy_at_ns (CLOCK_MONOTONIC). An eighth of the elapsed time is subtracted from it. */
	uint64_t busy_ns, busy_at_ns;
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

/* Returns the number of the service of this name; 0 if this host has no such service. */
static uint32_t find_service(const struct ipc_conn *c, const char *name, size_t len)
{
	for (uint32_t id = 1; id <= N_SERVICES; id++) {
		const struct ipc_service *s = c->services[id - 1].service;

		if (s && strlen(s->name) == len && !memcmp(s->name, name, len))
			return id;
	}
	return 0;
}

static void answer_bind(struct ipc_conn *c, const struct frame *f)
{
	uint32_t id = find_service(c, f->text, f->text_len);
	struct frame_method methods[IPC_MAX_METHODS];
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	size_t n = id ? c->services[id - 1].service->n_methods : 0;

	if (pb_mem_init(&m) < 0) {
		/* Without a reply the peer would wait forever. */
		shutdown(msgsock_fd(c->sock), SHUT_RDWR);
		return;
	}
	if (id && c->services[id - 1].service->descriptors_when_bound)
		ipc_conn_allow_descriptors(c, true);
	for (size_t i = 0; i < n; i++)
		methods[i] =
			(struct frame_method){.id = (uint32_t)i + 1,
					      .name = c->services[id - 1].service->methods[i].name};
	frame_put_bind_reply(&m.enc, f->request_id, id != 0, id, methods, n);
	send_frame(c, &m);
}

/* Calls the method that the frame names; the first call of a service opens its endpoint. Returns 0
 * or -errno, as ipc_method.call. */
static int call_method(struct ipc_conn *c, const struct ipc_call *call, const struct frame *f)
{
	const struct ipc_method *method;
	const struct ipc_service *s;
	void **endpoint;
	int r;

	if (f->service_id == 0 || f->service_id > N_SERVICES)
		return -EBADMSG;
	s = c->services[f->service_id - 1].service;
	endpoint = &c->services[f->service_id - 1].endpoint;
	if (!s || f->method_id == 0 || f->method_id > s->n_methods)
		return -EBADMSG;
	method = &s->methods[f->method_id - 1];
	if (!method->call) {
		quota_log(c->host->quota, c->account.user, LOG_LEVEL_WARN,
			  "%s: %s is not supported", s->name, method->name);
		return -ENOSYS;
	}
	if (!*endpoint) {
		r = s->open(c->services[f->service_id - 1].ctx, c, endpoint);
		if (r < 0)
			return r;
	}
	r = s->check ? s->check(*endpoint, method) : 0;
	return r < 0 ? r : method->call(*endpoint, call, f->payload, f->payload_len);
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

static void ipc_host_refuse(struct ipc_host *h, const struct ipc_peer *peer, const char *why)
{
	char who[IPC_PEER_TEXT];

	ipc_peer_text(peer, who);
	quota_log(h->quota, ipc_peer_user(peer), LOG_LEVEL_WARN, "%s: %s is refused: %s",
		  h->service->name, who, why);
}

/* Stores the identity that the peer has sent, unless a method was called before: an endpoint relies
 * on its peer not to change. On a unix socket, only relays send an identity. A socket that does not
 * accept relays disconnects the peer; otherwise the producers of another machine would be taken for
 * processes of this one. */
static void set_peer_identity(struct ipc_conn *c, const struct frame *f)
{
	if (c->services[0].endpoint || c->services[1].endpoint)
		return;
	if (!c->peer.is_remote && !c->takes_relays) {
		ipc_host_refuse(
			c->host, &c->peer,
			"relays are not accepted on this socket; pass it to "
			"--enable-relay-endpoint-on, or let the relay connect by TCP or vsock");
		shutdown(msgsock_fd(c->sock), SHUT_RDWR);
		return;
	}
	if (!c->peer.is_remote)
		ipc_peer_set_relayed(&c->peer);
	ipc_peer_set_identity(&c->peer, f->payload, f->payload_len);
}

static void handle_frame(struct ipc_conn *c, const uint8_t *data, size_t len)
{
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
		set_peer_identity(c, &f);
		break;
	default:
		answer_unknown(c, &f);
	}
}

/* Returns the busy_ns of an urgent service as of now_ns. */
static uint64_t urgent_busy_ns(const struct ipc_host *h, uint64_t now_ns)
{
	return h->busy_ns - MIN(h->busy_ns, (now_ns - h->busy_at_ns) / URGENT_PART);
}

/* Returns the time from which the work for this user is measured, or 0 for root, whose work is not
 * measured. On a busy machine the elapsed time includes the work of other processes, so CPU time is
 * measured where it limits something. Measuring it takes a system call. */
static uint64_t measure_work_begin(const struct ipc_host *h, uint64_t user)
{
	if (quota_is_root(h->quota, user))
		return 0;
	return h->service->is_urgent ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : clock_mono_ns();
}

static void measure_work_end(struct ipc_host *h, uint64_t begin_ns)
{
	uint64_t now = clock_mono_ns();

	if (begin_ns == 0)
		return;
	if (!h->service->is_urgent) {
		h->quota->producers_ns += now - begin_ns;
		return;
	}
	h->busy_ns = MIN(urgent_busy_ns(h, now) + clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns,
			 URGENT_MOST_NS);
	h->busy_at_ns = now;
}

/* The connection stays valid: only on_connection_close() ends it. */
static void ipc_host_on_message(void *ctx, const uint8_t *data, size_t len)
{
	struct ipc_conn *c = ctx;
	uint64_t begin = measure_work_begin(c->host, c->account.user);

	handle_frame(c, data, len);
	measure_work_end(c->host, begin);
}

static bool connection_may_be_urgent(void *ctx)
{
	const struct ipc_conn *c = ctx;

	return quota_is_root(c->host->quota, c->account.user) ||
	       urgent_busy_ns(c->host, clock_mono_ns()) <= URGENT_NS;
}

/* ---- connections ---- */

static void connection_free(struct ipc_conn *c)
{
	LIST_REMOVE(c, link);
	for (size_t i = N_SERVICES; i-- > 0;)
		if (c->services[i].endpoint)
			c->services[i].service->close(c->services[i].endpoint);
	msgsock_free(c->sock);
	quota_close(&c->account);
	ipc_peer_deinit(&c->peer);
	free(c);
}

static void on_connection_close(void *ctx, int error)
{
	struct ipc_conn *c = ctx;
	struct ipc_host *h = c->host;
	uint64_t user = c->account.user;
	uint64_t begin = measure_work_begin(h, user);
	const char *why = error == -ENOBUFS    ? "does not read its socket"
			  : error == -EDQUOT   ? "has too much data queued in the service"
			  : error == -EMSGSIZE ? "sent a frame that is too long"
			  : error == -ETOOMANYREFS
				  ? "sent more file descriptors at once than can be received"
				  : NULL;
	char who[IPC_PEER_TEXT];

	c->host->quota->refused[QUOTA_CONN_BYTES] += error == -ENOBUFS;
	if (why) {
		ipc_peer_text(&c->peer, who);
		quota_log(c->host->quota, c->account.user, LOG_LEVEL_WARN,
			  "%s: %s %s; disconnected", c->host->service->name, who, why);
	}
	connection_free(c);
	measure_work_end(h, begin);
}

static void on_connection_drained(void *ctx)
{
	struct ipc_conn *c = ctx;

	if (c->services[0].endpoint && c->host->service->on_drained)
		c->host->service->on_drained(c->services[0].endpoint);
}

static int account_connection_memory(void *ctx, size_t before, size_t now)
{
	struct ipc_conn *c = ctx;

	if (now > before)
		return quota_charge(&c->account, QUOTA_CONN_BYTES, now - before, NULL);
	quota_release(&c->account, QUOTA_CONN_BYTES, before - now);
	return 0;
}

/* Closes a descriptor in the background. Disconnects the peer if too many descriptors of its user
 * wait to be closed. */
static void close_fd_in_background(void *ctx, int fd)
{
	struct ipc_conn *c = ctx;

	background_close(fd, c->account.user);
	if (c->sock && msgsock_fd(c->sock) >= 0 &&
	    background_close_count_waiting(c->account.user) > MAX_CLOSING)
		shutdown(msgsock_fd(c->sock), SHUT_RDWR);
}

static const struct msgsock_ops sock_ops = {
	.on_message = ipc_host_on_message,
	.on_close = on_connection_close,
	.on_drained = on_connection_drained,
	.on_memory = account_connection_memory,
	.close_fd = close_fd_in_background,
	.may_be_urgent = connection_may_be_urgent,
};

/* Sets whether a socket accepts descriptors, which it can refuse since Linux 6.16. Connections
 * inherit that from the listening socket. Returns 0 or -errno. */
static int set_allows_descriptors(int fd, int on)
{
	return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on)) < 0 ? -errno : 0;
}

void ipc_conn_allow_descriptors(struct ipc_conn *c, bool on)
{
	if (!c->peer.is_remote)
		(void)set_allows_descriptors(msgsock_fd(c->sock), on);
}

/* Returns false, and counts the refusal, if a limit of remote peers is reached. Their uids are not
 * trusted, so the limits are per address and for all of them. */
static bool check_remote_limits(struct ipc_host *h, const struct ipc_peer *peer)
{
	unsigned n = 0, n_same = 0;
	const struct ipc_conn *c;

	LIST_FOREACH (c, &h->conns, link) {
		n += c->peer.is_remote && c->peer.address.family != AF_UNIX;
		n_same +=
			c->peer.is_remote && remote_address_same(&c->peer.address, &peer->address);
	}
	if (n_same >= h->service->max_conns_per_address) {
		h->quota->refused[REFUSED_PRODUCERS_OF_ADDRESS]++;
		return false;
	}
	if (n >= h->service->max_remote_conns) {
		h->quota->refused[REFUSED_REMOTE_PRODUCERS]++;
		return false;
	}
	return true;
}

/* Checks the limits and charges the account for a connection. Returns 0 or -errno (-EDQUOT). */
static int charge_connection(struct ipc_host *h, const struct ipc_peer *peer,
			     struct quota_account *account)
{
	if (peer->is_remote && !check_remote_limits(h, peer))
		return -EDQUOT;
	if (background_close_count_waiting(account->user) > MAX_CLOSING)
		return -EDQUOT;
	return quota_charge(account, h->service->connections, 1, NULL);
}

/* Closes the socket in the background if its queue may contain descriptors, which may take long to
 * close. */
static void close_socket(const struct ipc_host *h, int fd, uint64_t user)
{
	if (h->refuses_descriptors)
		close(fd);
	else
		background_close(fd, user);
}

int ipc_host_adopt_peer(struct ipc_host *h, int taken_fd, const struct ipc_entrance *entrance,
			struct ipc_peer *peer)
{
	_cleanup_(closep) int fd = taken_fd;
	_cleanup_(ipc_peer_deinit) struct ipc_peer taken = *peer;
	_cleanup_(freep) struct ipc_conn *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	quota_open(&c->account, h->quota, ipc_peer_user(&taken));
	r = charge_connection(h, &taken, &c->account);
	if (r < 0) {
		ipc_host_refuse(h, &taken, "too many connections");
		close_socket(h, TAKE_FD(fd), ipc_peer_user(&taken));
		return r;
	}
	c->host = h;
	c->services[0].service = h->service;
	c->services[0].ctx = h->ctx;
	c->services[1].service = entrance ? entrance->extra : NULL;
	c->services[1].ctx = entrance ? entrance->extra_ctx : NULL;
	c->takes_relays = entrance && entrance->takes_relays;
	r = msgsock_new(h->loop, fd, h->service->send_limit, &sock_ops, c, &c->sock);
	if (r < 0) {
		quota_close(&c->account);
		return r;
	}
	fd = -1; /* the msgsock has it */
	msgsock_set_scheduling(c->sock, TIME_SLICE_NS, h->service->is_urgent);
	if (h->service->hold_limit > 0)
		msgsock_set_hold_limit(c->sock, h->service->hold_limit);
	c->peer = taken;
	taken.machine_name = NULL;
	LIST_INSERT_HEAD(&h->conns, c, link);
	c = NULL;
	return 0;
}

int ipc_host_adopt(struct ipc_host *h, int taken_fd, const struct ipc_entrance *entrance)
{
	_cleanup_(closep) int fd = taken_fd;
	struct ipc_peer peer;
	int r = ipc_peer_identify(fd, entrance ? entrance->allow : NULL, &peer);

	if (r == -EACCES)
		ipc_host_refuse(h, &peer, "the peer's address is not listed in --allow-remote");
	if (r == 0 && entrance && entrance->own_user_only && peer.uid != 0 &&
	    peer.uid != h->quota->own_user) {
		ipc_host_refuse(h, &peer,
				"only root and the service's own user may use an abstract socket");
		close_socket(h, TAKE_FD(fd), ipc_peer_user(&peer));
		r = -EACCES;
	}
	return r < 0 ? r : ipc_host_adopt_peer(h, TAKE_FD(fd), entrance, &peer);
}

const struct ipc_peer *ipc_conn_peer(const struct ipc_conn *c)
{
	return &c->peer;
}

int ipc_conn_pop_fd(struct ipc_conn *c)
{
	return msgsock_pop_fd(c->sock);
}

void ipc_conn_close_fd(struct ipc_conn *c, int fd)
{
	background_close(fd, c->account.user);
}

size_t ipc_conn_queued(const struct ipc_conn *c)
{
	return msgsock_queued(c->sock);
}

/* ---- listeners ---- */

static void on_connection(void *ctx, int fd, const struct ipc_entrance *entrance)
{
	ipc_host_adopt(ctx, fd, entrance);
}

static void on_accept_failure(void *ctx, int error)
{
	struct ipc_host *h = ctx;

	quota_log(h->quota, QUOTA_NO_USER, LOG_LEVEL_WARN, "%s: cannot accept a connection: %s",
		  h->service->name, strerror(-error));
}

int ipc_host_listen(struct ipc_host *h, int fd, const struct ipc_entrance *entrance)
{
	h->refuses_descriptors =
		h->service->descriptors_when_bound && set_allows_descriptors(fd, 0) == 0;
	return listeners_add(&h->listeners, fd, entrance);
}

/* ---- the host ---- */

int ipc_host_new(struct event_base *loop, const struct ipc_service *service, void *ctx,
		 struct quota *quota, struct ipc_host **ret)
{
	struct ipc_host *h = calloc(1, sizeof(*h));

	assert(service->n_methods <= IPC_MAX_METHODS);
	if (!h)
		return -ENOMEM;
	h->loop = loop;
	h->service = service;
	h->ctx = ctx;
	h->quota = quota;
	LIST_INIT(&h->conns);
	h->listeners = (struct listeners){.loop = loop,
					  .on_connection = on_connection,
					  .on_failure = on_accept_failure,
					  .ctx = h,
					  .is_urgent = service->is_urgent};
	if (listeners_init(&h->listeners) < 0) {
		free(h);
		return -ENOMEM;
	}
	*ret = h;
	return 0;
}

void ipc_host_free(struct ipc_host *h)
{
	struct ipc_conn *c;

	if (!h)
		return;
	listeners_deinit(&h->listeners);
	while ((c = LIST_FIRST(&h->conns)))
		connection_free(c);
	free(h);
}
