/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/metrics/http_server.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/sock.h"
#include "base/system/log.h"
#include "base/system/tcp_peer.h"
#include "base/text/str.h"

#define ACCEPT_PAUSE_MS 100 /* if no descriptor is free */
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

struct http_body {
	char *bytes; /* owned */
	size_t len;
	unsigned refs;
};

/*
 *	reading the head --> reading the body --> writing the answer --> closed
 *
 * The deadline closes it in each of these states.
 */
struct http_connection {
	LIST_ENTRY(http_connection) entry;
	struct http_server *server; /* borrowed */
	int fd; /* owned */
	struct event *io, *deadline; /* owned */
	struct strbuf in, head; /* the request; the head of the answer */
	struct http_request request;
	size_t head_len; /* of the request; 0: not complete */
	bool is_writing, has_continued;
	struct http_body *body; /* a reference */
	size_t written;
};

struct http_listener {
	struct http_server *server; /* borrowed */
	int fd; /* owned */
	struct event *event, *pause; /* owned */
};

struct http_server {
	struct http_server_config config;
	struct http_listener listeners[HTTP_LISTENERS_MAX];
	size_t n_listeners;
	LIST_HEAD(, http_connection) connections;
	unsigned n_connections;
	struct log_limit refusals;
};

/* ---- bodies ---- */

struct http_body *http_body_new(char *bytes, size_t len)
{
	struct http_body *b = bytes ? malloc(sizeof(*b)) : NULL;

	if (!b)
		free(bytes);
	else
		*b = (struct http_body){.bytes = bytes, .len = len, .refs = 1};
	return b;
}

struct http_body *http_body_ref(struct http_body *b)
{
	b->refs++;
	return b;
}

void http_body_unref(struct http_body *b)
{
	if (!b || --b->refs)
		return;
	free(b->bytes);
	free(b);
}

/* ---- the peer ---- */

/* Returns 0 or -errno. */
static int find_peer_user(int fd, uid_t *ret_uid)
{
	struct sockaddr_storage local = {0}, peer = {0};
	socklen_t len = sizeof(local), peer_len = sizeof(peer);
	pid_t pid;

	if (getsockname(fd, (struct sockaddr *)&local, &len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return -errno;
	if (local.ss_family == AF_UNIX)
		return sock_peer(fd, ret_uid, &pid);
	if (local.ss_family != AF_INET)
		return -EAFNOSUPPORT;
	return tcp_peer_find_user((const struct sockaddr_in *)&local,
				  (const struct sockaddr_in *)&peer, ret_uid);
}

/* Returns true if the client has ended the connection. Its user then need not be searched for,
 * which takes long on a machine with many sockets. */
static bool connection_has_ended(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool is_user_allowed(struct http_server *s, int fd)
{
	uid_t uid;
	int r = connection_has_ended(fd) ? -ENOTCONN : find_peer_user(fd, &uid);

	for (size_t i = 0; r == 0 && i < s->config.n_users; i++)
		if (s->config.users[i] == uid)
			return true;
	if (r == 0)
		log_write_limited(&s->refusals, LOG_LEVEL_WARN,
				  "refused a connection from user %u; allow it with --allow",
				  (unsigned)uid);
	else
		log_write_limited(&s->refusals, LOG_LEVEL_WARN,
				  "refused a connection from an unknown user: %s", strerror(-r));
	return false;
}

/* Returns true if the header Host has a name of this machine for itself, with any port. Also for a
 * unix socket, which has no name that a page could use, and for HTTP/1.0 without Host. */
static bool is_host_ours(const struct http_connection *c)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	size_t len = strcspn(c->request.host, ":");
	struct sockaddr_storage local = {0};
	socklen_t size = sizeof(local);

	if (getsockname(c->fd, (struct sockaddr *)&local, &size) == 0 && local.ss_family == AF_UNIX)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], c->request.host, len))
			return true;
	return !c->request.is_1_1 && !len;
}

/* ---- a connection ---- */

static void http_server_watch(struct http_server *s);

static void http_connection_close(struct http_connection *c)
{
	struct http_server *s = c->server;

	LIST_REMOVE(c, entry);
	s->n_connections--;
	event_freep(&c->io);
	event_freep(&c->deadline);
	closep(&c->fd);
	strbuf_deinit(&c->in);
	strbuf_deinit(&c->head);
	http_body_unref(c->body);
	free(c);
	http_server_watch(s);
}

static const char *http_status_text(unsigned status)
{
	static const struct {
		unsigned status;
		const char *text;
	} texts[] = {
		{200, "OK"},
		{202, "Accepted"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{411, "Length Required"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Internal Server Error";
}

/* Writes what the socket accepts. Returns false if the connection was closed, after all was written
 * or an error. */
static bool http_connection_write(struct http_connection *c)
{
	while (true) {
		bool in_head = c->written < c->head.len;
		size_t at = in_head ? c->written : c->written - c->head.len;
		const char *from = in_head ? c->head.s : c->body ? c->body->bytes : "";
		size_t len = in_head ? c->head.len : c->body ? c->body->len : 0;
		ssize_t n;

		if (at == len)
			break;
		n = send(c->fd, from + at, len - at, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			break;
		c->written += (size_t)n;
	}
	http_connection_close(c);
	return false;
}

static void on_io(evutil_socket_t fd, short what, void *ctx);

static void http_connection_answer(struct http_connection *c, const struct http_answer *a)
{
	const char *text = http_status_text(a->status);
	struct event_base *loop = c->server->config.loop;

	c->body = a->body;
	if (!c->body) {
		char *line = NULL;
		int n = asprintf(&line, "%s\n", text);

		c->body = http_body_new(n < 0 ? NULL : line, n < 0 ? 0 : (size_t)n);
	}
	strbuf_printf(&c->head,
		      "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		      "Connection: close\r\nCache-Control: no-store\r\n"
		      "X-Content-Type-Options: nosniff\r\n",
		      a->status, text, a->type ? a->type : "text/plain; charset=utf-8",
		      c->body ? c->body->len : 0);
	if (a->allow)
		strbuf_printf(&c->head, "Allow: %s\r\n", a->allow);
	if (a->status == 401)
		strbuf_puts(&c->head, "WWW-Authenticate: Bearer\r\n");
	strbuf_puts(&c->head, "\r\n");
	if (c->request.method == HTTP_HEAD && c->head_len) {
		http_body_unref(c->body);
		c->body = NULL;
	}
	c->is_writing = true;
	event_freep(&c->io);
	c->io = event_new(loop, c->fd, EV_WRITE | EV_PERSIST, on_io, c);
	if (c->head.failed || !c->io || event_add(c->io, NULL) < 0)
		http_connection_close(c);
	else
		http_connection_write(c);
}

static void http_connection_refuse(struct http_connection *c, unsigned status)
{
	http_connection_answer(c, &(struct http_answer){.status = status});
}

/* Checks a request whose head is complete. Returns false if it was refused. */
static bool http_connection_check_request(struct http_connection *c)
{
	const struct http_request *r = &c->request;

	if (r->is_of_page || !is_host_ours(c)) {
		log_write_limited(&c->server->refusals, LOG_LEVEL_WARN,
				  "refused a request for the host %.80s%s", r->host,
				  r->is_of_page ? ", from a web page" : "");
		http_connection_refuse(c, 403);
		return false;
	}
	if (r->length > HTTP_BODY_MAX) {
		http_connection_refuse(c, 413);
		return false;
	}
	if (r->awaits_continue && r->length && !c->has_continued)
		(void)!send(c->fd, CONTINUE, strlen(CONTINUE), MSG_NOSIGNAL);
	c->has_continued = true;
	return true;
}

static void http_connection_process_request(struct http_connection *c)
{
	struct http_answer answer = {.status = 404};
	unsigned status = 400;

	if (!c->head_len) {
		switch (http_request_parse(c->in.s, c->in.len, &c->request, &c->head_len,
					   &status)) {
		case HTTP_INCOMPLETE:
			return;
		case HTTP_REFUSED:
			c->head_len = 0;
			http_connection_refuse(c, status);
			return;
		case HTTP_COMPLETE:
			if (!http_connection_check_request(c))
				return;
		}
	}
	if (c->in.len < c->head_len + c->request.length)
		return;
	/* What follows the request is not read. */
	c->in.s[c->head_len + c->request.length] = '\0';
	c->server->config.answer(c->server->config.ctx, &c->request, c->in.s + c->head_len,
				 &answer);
	http_connection_answer(c, &answer);
}

static void http_connection_read(struct http_connection *c)
{
	char bytes[16384];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		strbuf_add(&c->in, bytes, (size_t)n);
	if (n <= 0 || c->in.failed)
		http_connection_close(c);
	else
		http_connection_process_request(c);
}

static void on_io(evutil_socket_t fd, short what, void *ctx)
{
	struct http_connection *c = ctx;

	(void)fd;
	(void)what;
	if (c->is_writing)
		http_connection_write(c);
	else
		http_connection_read(c);
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	http_connection_close(ctx);
}

/* Serves an accepted connection. Becomes the owner of fd, and closes it if its user is not
 * allowed. */
static void http_server_serve_fd(struct http_server *s, int fd)
{
	struct http_connection *c = is_user_allowed(s, fd) ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		close(fd);
		return;
	}
	c->server = s;
	c->fd = fd;
	LIST_INSERT_HEAD(&s->connections, c, entry);
	s->n_connections++;
	c->io = event_new(s->config.loop, fd, EV_READ | EV_PERSIST, on_io, c);
	c->deadline = evtimer_new(s->config.loop, on_deadline, c);
	if (!c->io || !c->deadline || event_add(c->io, NULL) < 0 ||
	    event_timer_ms(c->deadline, HTTP_PATIENCE_MS) < 0)
		http_connection_close(c);
}

/* ---- listeners ---- */

/* Starts or stops accepting connections. While all connections are in use, new ones wait in the
 * kernel. */
static void http_server_watch(struct http_server *s)
{
	for (size_t i = 0; i < s->n_listeners; i++)
		if (s->n_connections >= HTTP_CONNECTIONS_MAX)
			event_del(s->listeners[i].event);
		else if (!evtimer_pending(s->listeners[i].pause, NULL))
			event_add(s->listeners[i].event, NULL);
}

static void on_accept(evutil_socket_t fd, short what, void *ctx)
{
	struct http_listener *l = ctx;
	int connection, r = sock_accept(fd, &connection);

	(void)what;
	if (r == 0) {
		http_server_serve_fd(l->server, connection);
		http_server_watch(l->server);
	} else if (r != -EAGAIN) {
		log_write_limited(&l->server->refusals, LOG_LEVEL_WARN,
				  "cannot accept a connection: %s", strerror(-r));
		event_del(l->event);
		event_timer_ms(l->pause, ACCEPT_PAUSE_MS);
	}
}

static void on_pause_over(evutil_socket_t fd, short what, void *ctx)
{
	struct http_listener *l = ctx;

	(void)fd;
	(void)what;
	http_server_watch(l->server);
}

int http_server_listen(struct http_server *s, int fd)
{
	struct http_listener *l = &s->listeners[s->n_listeners];

	if (s->n_listeners == HTTP_LISTENERS_MAX) {
		close(fd);
		return -E2BIG;
	}
	s->n_listeners++;
	*l = (struct http_listener){.server = s, .fd = fd};
	l->event = event_new(s->config.loop, fd, EV_READ | EV_PERSIST, on_accept, l);
	l->pause = evtimer_new(s->config.loop, on_pause_over, l);
	return l->event && l->pause && event_add(l->event, NULL) == 0 ? 0 : -ENOMEM;
}

int http_server_new(const struct http_server_config *config, struct http_server **ret)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->config = *config;
	LIST_INIT(&s->connections);
	*ret = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_listeners; i++) {
		event_freep(&s->listeners[i].event);
		event_freep(&s->listeners[i].pause);
		closep(&s->listeners[i].fd);
	}
	s->n_listeners = 0;
	while (!LIST_EMPTY(&s->connections))
		http_connection_close(LIST_FIRST(&s->connections));
	free(s);
}
