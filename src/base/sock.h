/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Stream sockets by address text:
 *
 *   @name                    abstract AF_UNIX
 *   vsock://CID:PORT         AF_VSOCK
 *   HOST:PORT, [IPV6]:PORT   TCP
 *   anything else            a path, AF_UNIX
 *
 * (the syntax of PERFETTO_PRODUCER_SOCK_NAME). All sockets are close-on-exec and non-blocking.
 */

enum sock_family {
	SOCK_FAMILY_UNIX_PATH,
	SOCK_FAMILY_UNIX_ABSTRACT,
	SOCK_FAMILY_TCP,
	SOCK_FAMILY_VSOCK
};

enum sock_family sock_family_of(const char *address);

/* Connects; a unix connect is immediate. 0 with *ret_fd, or -errno (-ENOENT, -ECONNREFUSED: nobody
 * listens). */
int sock_connect(const char *address, int *ret_fd);

/* Listens. A path that nobody answers on is removed first; one that a live server answers on gives
 * -EADDRINUSE. */
int sock_listen(const char *address, int *ret_fd, struct err_text *e);

/* Accepts one; -EAGAIN when none waits. */
int sock_accept(int listen_fd, int *ret_fd);

/* SO_PEERCRED of an AF_UNIX socket. -errno for other families. */
int sock_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);

/* Default addresses of the tracing protocol: the environment's
 * PERFETTO_{PRODUCER,CONSUMER}_SOCK_NAME, else /run/perfetto/traced-*.sock where that folder can be
 * searched, else /tmp/perfetto-*. Borrowed from static memory or the environment. The producer's
 * may be a comma-separated list. */
const char *sock_default_producer(void);
const char *sock_default_consumer(void);
