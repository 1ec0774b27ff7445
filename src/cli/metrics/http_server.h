/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "cli/metrics/http_request.h"

struct event_base;

/*
 * A small HTTP server for users of this machine: one request a connection, then it closes. It
 * refuses
 *
 *	users who are not in the list	on TCP, their processes are found in the kernel's list of sockets
 *	a Host that is another name	a page may make its own name point to 127.0.0.1 (DNS rebinding)
 *	a request for a page of a site	(Origin, Sec-Fetch-Site)
 *
 * A connection has HTTP_PATIENCE_MS for its whole request and answer. At most HTTP_CONNECTIONS_MAX
 * are served at a time; further ones wait in the kernel.
 */
#define HTTP_CONNECTIONS_MAX 32
#define HTTP_PATIENCE_MS 10000
#define HTTP_BODY_MAX (1u << 20)
#define HTTP_LISTENERS_MAX 4

/* A body that several answers share. */
struct http_body;
/* Becomes the owner of bytes from malloc(), and returns a reference; NULL, and frees them, if
 * memory runs out. bytes NULL: returns NULL. */
struct http_body *http_body_new(char *bytes, size_t len);
struct http_body *http_body_ref(struct http_body *b);
/* No-op for NULL. */
void http_body_unref(struct http_body *b);

struct http_answer {
	unsigned status; /* 200 and others that http_status_text() knows */
	const char *type; /* Content-Type; NULL: text/plain */
	const char *allow; /* methods, for status 405; NULL: none */
	struct http_body
		*body; /* a reference, which becomes the server's; NULL: the text of the status */
};

struct http_server_config {
	struct event_base *loop; /* borrowed, as users */
	const uid_t *users;
	size_t n_users;
	/* Answers a request. body: NUL-terminated, of r->length bytes. */
	void (*answer)(void *ctx, const struct http_request *r, const char *body,
		       struct http_answer *ret);
	void *ctx;
};

struct http_server;

/* Returns 0 or -ENOMEM. */
int http_server_new(const struct http_server_config *config, struct http_server **ret);
void http_server_free(struct http_server *s);
/* Serves connections of a listening socket. Becomes the owner of fd, also on failure. Returns 0;
 * -E2BIG if there are too many sockets; or -ENOMEM. */
int http_server_listen(struct http_server *s, int fd);
