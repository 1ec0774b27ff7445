/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/open/trace_server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/system/tcp_peer.h"
#include "base/text/str.h"

#define ADDRESS "127.0.0.1"
#define MAX_HEADER_BYTES 16384
/* A client that neither sends nor reads for this time is disconnected. */
#define TIMEOUT_S 10
/* If no descriptor is free, no connection is accepted for this time. */
#define PAUSE_US 100000
#define FILES_WANTED 4096u
#define NO_CONTENT 204
#define FORBIDDEN 403

struct trace_server {
	struct trace_server_config config;
	struct evhttp *http; /* owned */
	uint16_t port;
	struct log_limit refusals;
};

/* ---- the client ---- */

/* Finds the user of the client. Returns 0, -errno, or the error of tcp_peer_find_user(). */
static int find_request_user(struct evhttp_request *req, uid_t *ret_uid)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(req);
	int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
	struct sockaddr_in local, peer;
	socklen_t len = sizeof(local), peer_len = sizeof(peer);

	if (getsockname(fd, (struct sockaddr *)&local, &len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return -errno;
	return tcp_peer_find_user(&local, &peer, ret_uid);
}

static bool is_user_allowed(struct trace_server *s, struct evhttp_request *req)
{
	uid_t uid = (uid_t)-1;
	int r = find_request_user(req, &uid);

	for (size_t i = 0; r == 0 && i < s->config.n_users; i++)
		if (s->config.users[i] == uid)
			return true;
	if (r == 0)
		log_write_limited(&s->refusals, LOG_LEVEL_WARN,
				  "open: refused a request from user %u", (unsigned)uid);
	else
		log_write_limited(&s->refusals, LOG_LEVEL_WARN,
				  "open: refused a request from an unknown user: %s", strerror(-r));
	return false;
}

static bool is_host_ours(const struct trace_server *s, const char *host)
{
	char own[2][32];

	snprintf(own[0], sizeof(own[0]), ADDRESS ":%u", s->port);
	snprintf(own[1], sizeof(own[1]), "localhost:%u", s->port);
	return host && (!strcmp(host, own[0]) || !strcmp(host, own[1]));
}

/* Browsers send Origin with fetch(). Without it, Sec-Fetch-Site shows whether the request is from a
 * page of another site, for an image for example. Programs such as curl send neither. */
static bool is_origin_allowed(const struct trace_server *s, const struct evkeyvalq *headers)
{
	const char *origin = evhttp_find_header(headers, "Origin");
	const char *site = evhttp_find_header(headers, "Sec-Fetch-Site");

	if (origin)
		return !strcmp(origin, s->config.origin);
	return !site || !strcmp(site, "none") || !strcmp(site, "same-origin");
}

static bool request_is_allowed(struct trace_server *s, struct evhttp_request *req)
{
	const struct evkeyvalq *headers = evhttp_request_get_input_headers(req);
	const char *host = evhttp_find_header(headers, "Host");
	const char *origin = evhttp_find_header(headers, "Origin");

	if (!is_user_allowed(s, req))
		return false;
	if (is_host_ours(s, host) && is_origin_allowed(s, headers))
		return true;
	log_write_limited(&s->refusals, LOG_LEVEL_WARN,
			  "open: refused a request for the host %.80s from the page %.80s",
			  host ? host : "(none)", origin ? origin : "(none)");
	return false;
}

/* ---- answers ---- */

static void add_headers(const struct trace_server *s, struct evhttp_request *req)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(req);

	evhttp_add_header(out, "Access-Control-Allow-Origin", s->config.origin);
	evhttp_add_header(out, "Vary", "Origin");
	evhttp_add_header(out, "Cache-Control", "no-store");
	evhttp_add_header(out, "Cross-Origin-Resource-Policy", "same-origin");
	evhttp_add_header(out, "X-Content-Type-Options", "nosniff");
	evhttp_add_header(out, "Connection", "close");
}

/* Answers the preflight request that a browser sends before a page from the network may access this
 * machine. */
static void answer_preflight(struct evhttp_request *req)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(req);

	evhttp_add_header(out, "Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
	evhttp_add_header(out, "Access-Control-Allow-Private-Network", "true");
	evhttp_add_header(out, "Access-Control-Max-Age", "600");
	evhttp_send_reply(req, NO_CONTENT, NULL, NULL);
}

static void on_file_sent(struct evhttp_request *req, void *ctx)
{
	struct trace_server *s = ctx;

	s->config.on_fetched(s->config.ctx);
}

/* Adds the file to the reply. The kernel sends it by sendfile(2), so the file is not read into
 * memory. Returns 0 or -errno. */
static int trace_server_add_file(const struct trace_server *s, struct evhttp_request *req,
				 off_t size)
{
	struct evbuffer *out = evhttp_request_get_output_buffer(req);
	int fd = fcntl(s->config.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	evbuffer_set_flags(out, EVBUFFER_FLAG_DRAINS_TO_FD);
	if (evbuffer_add_file(out, fd, 0, size) == 0)
		return 0;
	close(fd);
	return -ENOMEM;
}

static void answer_file(struct trace_server *s, struct evhttp_request *req)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(req);
	bool is_get = evhttp_request_get_command(req) == EVHTTP_REQ_GET;
	char length[32];
	struct stat st;

	if (fstat(s->config.fd, &st) < 0 ||
	    (is_get && trace_server_add_file(s, req, st.st_size) < 0)) {
		evhttp_send_error(req, HTTP_INTERNAL, NULL);
		return;
	}
	snprintf(length, sizeof(length), "%jd", (intmax_t)st.st_size);
	evhttp_add_header(out, "Content-Length", length);
	evhttp_add_header(out, "Content-Type", "application/octet-stream");
	evhttp_add_header(out, "Accept-Ranges", "none");
	if (is_get)
		evhttp_request_set_on_complete_cb(req, on_file_sent, s);
	evhttp_send_reply(req, HTTP_OK, NULL, NULL);
}

static void on_request(struct evhttp_request *req, void *ctx)
{
	struct trace_server *s = ctx;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	if (!request_is_allowed(s, req)) {
		evhttp_send_error(req, FORBIDDEN, "Forbidden");
		return;
	}
	if (!path || path[0] != '/' || strcmp(path + 1, s->config.name) != 0) {
		evhttp_send_error(req, HTTP_NOTFOUND, NULL);
		return;
	}
	add_headers(s, req);
	if (evhttp_request_get_command(req) == EVHTTP_REQ_OPTIONS)
		answer_preflight(req);
	else
		answer_file(s, req);
}

/* ---- the server ---- */

static void on_accept_pause_over(evutil_socket_t fd, short what, void *listener)
{
	evconnlistener_enable(listener);
}

/* Accepts no connection for PAUSE_US. Another user may have opened connections until this process
 * had no free descriptors. */
static void on_accept_error(struct evconnlistener *listener, void *http)
{
	static const struct timeval pause = {.tv_usec = PAUSE_US};
	static struct log_limit pauses;

	log_write_limited(&pauses, LOG_LEVEL_WARN, "open: cannot accept a connection: %s",
			  evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
	if (event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, on_accept_pause_over,
			    listener, &pause) == 0)
		evconnlistener_disable(listener);
}

static int listen_on_port(struct trace_server *s)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_in own;
	socklen_t len = sizeof(own);

	errno = 0;
	bound = evhttp_bind_socket_with_handle(s->http, ADDRESS, s->config.port);
	if (!bound)
		return errno ? -errno : -EADDRINUSE;
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), on_accept_error);
	if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&own, &len) < 0)
		return -errno;
	s->port = ntohs(own.sin_port);
	return 0;
}

int trace_server_new(struct event_base *loop, const struct trace_server_config *config,
		     struct trace_server **ret)
{
	_cleanup_(trace_server_freep) struct trace_server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->config = *config;
	fs_raise_file_limit(FILES_WANTED);
	s->http = evhttp_new(loop);
	if (!s->http)
		return -ENOMEM;
	evhttp_set_timeout(s->http, TIMEOUT_S);
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_OPTIONS);
	evhttp_set_max_headers_size(s->http, MAX_HEADER_BYTES);
	evhttp_set_max_body_size(s->http, MAX_HEADER_BYTES);
	evhttp_set_gencb(s->http, on_request, s);
	r = listen_on_port(s);
	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

void trace_server_freep(struct trace_server **s)
{
	if (*s && (*s)->http)
		evhttp_free((*s)->http);
	free(*s);
	*s = NULL;
}

uint16_t trace_server_port(const struct trace_server *s)
{
	return s->port;
}

void trace_server_make_name(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	char *c;

	snprintf(buf, size, "%s", slash ? slash + 1 : path);
	for (c = buf; *c; c++)
		if (!isascii((unsigned char)*c) ||
		    (!isalnum((unsigned char)*c) && !strchr("-_.", *c)))
			*c = '_';
}
