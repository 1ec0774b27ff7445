/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"

struct event_base;

/*
 * Serves one file over HTTP on 127.0.0.1 to the pages of one origin, and calls on_fetched when all
 * of it was sent. It answers GET, HEAD and OPTIONS of that one path. It refuses
 *
 *	a Host header of another name		a page may make its own name point to 127.0.0.1 (DNS
 *						rebinding)
 *	an Origin header of another page	also a request without this header that a browser
 *						makes for a page of another site
 *	a connection of another user		other users of this machine reach 127.0.0.1 as well
 */
struct trace_server;

struct trace_server_config {
	int fd; /* the file, regular; borrowed */
	const char *name; /* path of the URL without '/', from trace_server_make_name(); borrowed */
	const char *origin; /* "https://ui.perfetto.dev"; borrowed */
	uint16_t port; /* 0: the kernel chooses */
	const uid_t *users; /* users who may fetch; borrowed */
	size_t n_users;
	void (*on_fetched)(void *ctx); /* from the loop */
	void *ctx;
};

/* Returns 0; -EADDRINUSE if the port is taken; or -errno. */
int trace_server_new(struct event_base *loop, const struct trace_server_config *config,
		     struct trace_server **ret);
void trace_server_freep(struct trace_server **s);

uint16_t trace_server_port(const struct trace_server *s);

/* Makes the name of a file in a URL: the last component of its path, cut to the size, with '_' for
 * all characters but ASCII letters and digits, '-', '_' and '.'. */
void trace_server_make_name(const char *path, char *buf, size_t size);
