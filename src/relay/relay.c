/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/relay.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "base/system/background_close.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "client/transport/machine_identity.h"
#include "relay/back_off.h"
#include "relay/stream.h"
#include "wire/pb_enc.h"

#define ACCEPTS_AT_ONCE 16
#define ACCEPT_FAILURE_PAUSE_MS 200
#define SWEEP_MS 10000
#define FRAME_LENGTH 4 /* bytes before a frame: its size, little-endian */

/*
 *	accepted --> connecting --> connected: both streams run --> freed
 *	    ^             |
 *	    +-- waits <---+ the service cannot be reached
 */
struct relayed {
	TAILQ_ENTRY(relayed) link;
	struct relay *relay; /* borrowed: it owns us */
	uid_t uid;
	pid_t pid;
	int producer, service; /* owned; service -1: waits */
	struct event *connected; /* owned; NULL: waits */
	struct stream there, back;
	bool runs; /* the streams were started */
	uint64_t moved_ns; /* CLOCK_MONOTONIC, when a stream last changed */
};

struct relay_listener {
	int fd; /* owned, as the following */
	struct event *readable;
};

struct relay {
	struct event_base *loop; /* borrowed, as the following */
	const char *service;
	struct machine_identity machine;
	struct relay_listener listeners[RELAY_MAX_LISTENERS];
	size_t n_listeners;
	TAILQ_HEAD(, relayed) list; /* owned */
	size_t n;
	struct event *resume; /* owned; pending: nothing is accepted or connected meanwhile */
	struct event *sweep, *deadline; /* owned */
	struct back_off back_off;
	bool ends;
	struct log_limit refusals;
};

static void relayed_free(struct relayed *c)
{
	struct relay *r = c->relay;

	stream_stop(&c->there);
	stream_stop(&c->back);
	event_freep(&c->connected);
	closep(&c->service);
	/* The queue of the socket may hold descriptors, which may block when they are closed. */
	background_close(TAKE_FD(c->producer), c->uid);
	TAILQ_REMOVE(&r->list, c, link);
	r->n--;
	log_debug("process %d of uid %u: %llu bytes to the service, %llu back", (int)c->pid,
		  (unsigned)c->uid, (unsigned long long)c->there.n_bytes,
		  (unsigned long long)c->back.n_bytes);
	free(c);
	if (r->ends && r->n == 0)
		event_base_loopbreak(r->loop);
}

/* ---- pauses ---- */

static void relay_pause(struct relay *r, uint32_t ms)
{
	for (size_t i = 0; i < r->n_listeners; i++)
		event_del(r->listeners[i].readable);
	event_timer_ms(r->resume, ms);
}

/* ---- a connection ---- */

static void relayed_on_change(void *ctx)
{
	struct relayed *c = ctx;
	const struct stream *there = &c->there, *back = &c->back;

	c->moved_ns = clock_mono_ns();
	/* Either the producer has disconnected and the service has read everything and closed the
	 * connection; or the service has disconnected and everything it sent was forwarded to the
	 * producer. */
	if (there->misbehaves || (back->has_ended && (there->has_ended || there->discards)))
		relayed_free(c);
}

/* Encodes the frame that identifies the producer to the service. Returns 0 or -ENOMEM. */
static int relayed_encode_identity(const struct relayed *c, struct pb_mem *m)
{
	uint32_t len;
	int r = pb_mem_init(m);

	if (r < 0)
		return r;
	pb_enc_raw(&m->enc, &(uint32_t){0}, FRAME_LENGTH);
	machine_identity_put(&m->enc, &c->relay->machine, c->pid, (int32_t)c->uid);
	if (m->failed)
		return -ENOMEM;
	len = (uint32_t)pb_mem_len(m) - FRAME_LENGTH;
	memcpy(m->buf, &len, FRAME_LENGTH);
	return 0;
}

static int relayed_start_streams(struct relayed *c)
{
	_cleanup_(pb_mem_deinit) struct pb_mem identity = {0};
	int r = relayed_encode_identity(c, &identity);

	c->there = (struct stream){.from = c->producer, .to = c->service};
	c->back = (struct stream){.from = c->service, .to = c->producer};
	c->there.owner = c->back.owner = c->uid;
	c->there.ctx = c->back.ctx = c;
	c->there.on_change = c->back.on_change = relayed_on_change;
	c->moved_ns = clock_mono_ns();
	if (r == 0)
		r = stream_start(&c->there, c->relay->loop, identity.buf, pb_mem_len(&identity));
	if (r == 0)
		r = stream_start(&c->back, c->relay->loop, NULL, 0);
	c->runs = true;
	return r;
}

/* Closes the socket to the service, and retries after a pause, together with all connections that
 * wait. */
static void relayed_retry_later(struct relayed *c, int error)
{
	struct relay *r = c->relay;

	event_freep(&c->connected);
	closep(&c->service);
	log_debug("process %d of uid %u is waiting: %s", (int)c->pid, (unsigned)c->uid,
		  strerror(-error));
	if (!evtimer_pending(r->resume, NULL))
		relay_pause(r, back_off_next_ms(&r->back_off));
}

static void relayed_on_connected(evutil_socket_t fd, short what, void *ctx)
{
	struct relayed *c = ctx;
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		relayed_retry_later(c, -error);
		return;
	}
	c->relay->back_off.ms = 0;
	event_freep(&c->connected);
	if (relayed_start_streams(c) < 0)
		relayed_free(c);
}

static void relayed_connect(struct relayed *c)
{
	int r = sock_connect(c->relay->service, &c->service);

	if (r < 0) {
		relayed_retry_later(c, r);
		return;
	}
	c->connected = event_new(c->relay->loop, c->service, EV_WRITE, relayed_on_connected, c);
	if (!c->connected || event_add(c->connected, NULL) < 0)
		relayed_free(c);
}

/* ---- listeners ---- */

static bool relay_has_room(const struct relay *r, uid_t uid)
{
	const struct relayed *c;
	size_t n = 0;

	if (r->n >= RELAY_MAX_CONNECTIONS)
		return false;
	TAILQ_FOREACH (c, &r->list, link)
		n += c->uid == uid;
	return uid == 0 || n < RELAY_MAX_CONNECTIONS_PER_USER;
}

/* Adds the producer that has connected as fd, or refuses it. Takes ownership of fd. */
static void relay_add_producer(struct relay *r, int fd)
{
	struct relayed *c = NULL;
	uid_t uid = 0;
	pid_t pid = 0;

	if (sock_peer(fd, &uid, &pid) < 0) {
		close(fd);
		return;
	}
	if (relay_has_room(r, uid))
		c = calloc(1, sizeof(*c));
	if (!c) {
		log_write_limited(&r->refusals, LOG_LEVEL_WARN,
				  "process %d of uid %u is refused: too many connections", (int)pid,
				  (unsigned)uid);
		background_close(fd, uid);
		return;
	}
	*c = (struct relayed){.relay = r, .uid = uid, .pid = pid, .producer = fd, .service = -1};
	TAILQ_INSERT_TAIL(&r->list, c, link);
	r->n++;
	relayed_connect(c);
}

static void relay_on_acceptable(evutil_socket_t fd, short what, void *ctx)
{
	struct relay *r = ctx;
	int producer, e;

	for (int i = 0; i < ACCEPTS_AT_ONCE && !evtimer_pending(r->resume, NULL); i++) {
		e = sock_accept(fd, &producer);
		if (e == -EAGAIN)
			return;
		if (e < 0) {
			log_write_limited(&r->refusals, LOG_LEVEL_WARN,
					  "cannot accept a connection: %s", strerror(-e));
			relay_pause(r, ACCEPT_FAILURE_PAUSE_MS);
			return;
		}
		relay_add_producer(r, producer);
	}
}

static void relay_on_resume(evutil_socket_t fd, short what, void *ctx)
{
	struct relay *r = ctx;
	struct relayed *c, *next;

	for (c = TAILQ_FIRST(&r->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (!c->runs && !c->connected)
			relayed_connect(c);
		if (evtimer_pending(r->resume, NULL))
			return;
	}
	for (size_t i = 0; i < r->n_listeners; i++)
		event_add(r->listeners[i].readable, NULL);
}

int relay_add_listener(struct relay *r, int taken_fd)
{
	_cleanup_(closep) int fd = taken_fd;
	struct relay_listener *l = &r->listeners[r->n_listeners];

	if (r->n_listeners == RELAY_MAX_LISTENERS)
		return -E2BIG;
	l->readable = event_new(r->loop, fd, EV_READ | EV_PERSIST, relay_on_acceptable, r);
	if (!l->readable || event_add(l->readable, NULL) < 0) {
		event_freep(&l->readable);
		return -ENOMEM;
	}
	l->fd = TAKE_FD(fd);
	r->n_listeners++;
	return 0;
}

/* ---- life ---- */

static void relay_on_sweep(evutil_socket_t fd, short what, void *ctx)
{
	uint64_t now = clock_mono_ns();
	struct relay *r = ctx;
	struct relayed *c, *next;

	for (c = TAILQ_FIRST(&r->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (!c->runs || !(c->there.has_ended || c->there.discards || c->back.has_ended ||
				  c->back.discards))
			continue;
		if (now - c->moved_ns < RELAY_LINGER_MS * NS_PER_MS)
			continue;
		log_write_limited(&r->refusals, LOG_LEVEL_WARN,
				  "process %d of uid %u: one side has closed the connection and "
				  "the other does not read; dropped %zu bytes",
				  (int)c->pid, (unsigned)c->uid,
				  stream_count_waiting(&c->there) + stream_count_waiting(&c->back));
		relayed_free(c);
	}
}

static void relay_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	char count[STR_COUNT_SIZE];
	struct relay *r = ctx;

	log_warn("timed out waiting for %s to close", str_count(r->n, "connection", count));
	event_base_loopbreak(r->loop);
}

int relay_new(struct event_base *loop, const char *service, struct relay **ret)
{
	const struct timeval period = {.tv_sec = SWEEP_MS / 1000};
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->loop = loop;
	r->service = service;
	TAILQ_INIT(&r->list);
	machine_identity_read(&r->machine);
	r->resume = evtimer_new(loop, relay_on_resume, r);
	r->deadline = evtimer_new(loop, relay_on_deadline, r);
	r->sweep = event_new(loop, -1, EV_PERSIST, relay_on_sweep, r);
	if (!r->resume || !r->deadline || !r->sweep || event_add(r->sweep, &period) < 0) {
		relay_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

static void relay_close_listeners(struct relay *r)
{
	for (; r->n_listeners > 0; r->n_listeners--) {
		event_freep(&r->listeners[r->n_listeners - 1].readable);
		closep(&r->listeners[r->n_listeners - 1].fd);
	}
}

/* What the producers have sent until now is read to its end; they cannot send more. */
void relay_begin_end(struct relay *r)
{
	struct relayed *c, *next;

	relay_close_listeners(r);
	event_del(r->resume);
	event_timer_ms(r->deadline, RELAY_END_MS);
	r->ends = true;
	if (r->n == 0)
		event_base_loopbreak(r->loop);
	for (c = TAILQ_FIRST(&r->list); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->runs || c->connected)
			(void)shutdown(c->producer, SHUT_RD);
		else
			relayed_free(c);
	}
}

void relay_free(struct relay *r)
{
	struct relayed *c;

	if (!r)
		return;
	relay_close_listeners(r);
	while ((c = TAILQ_FIRST(&r->list)))
		relayed_free(c);
	event_freep(&r->resume);
	event_freep(&r->deadline);
	event_freep(&r->sweep);
	free(r);
}
