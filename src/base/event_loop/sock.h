/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/core/err.h"

/*
 * Stream sockets by address text:
 *
 *	@name                    abstract AF_UNIX
 *	vsock://CID:PORT         AF_VSOCK (CID -1: any)
 *	HOST:PORT, [IPV6]:PORT   TCP; a name is looked up, and that may block
 *	anything else            a path, AF_UNIX; so is any text with a '/'
 *
 * This is the syntax of PERFETTO_PRODUCER_SOCK_NAME. All sockets are close-on-exec and
 * non-blocking. A TCP connection whose peer has vanished is closed within a minute.
 */

enum sock_family {
	SOCK_FAMILY_UNIX_PATH,
	SOCK_FAMILY_UNIX_ABSTRACT,
	SOCK_FAMILY_TCP,
	SOCK_FAMILY_VSOCK,
};

enum sock_family sock_family_of(const char *address);
/* Returns true if the family is not AF_UNIX: the kernel then provides no peer credentials and
 * passes no descriptors. */
static inline bool sock_is_remote(const char *address)
{
	enum sock_family family = sock_family_of(address);

	return family == SOCK_FAMILY_TCP || family == SOCK_FAMILY_VSOCK;
}

/* Checks the form of an address, without a look-up of a host. Returns 0, -EINVAL or
 * -ENAMETOOLONG. */
int sock_check(const char *address);

/* Writes the address with its host name replaced by the numeric address that the name has now, so
 * that later connections need no look-up. Returns 0 or -errno. */
#define SOCK_RESOLVED_TEXT 300
int sock_resolve(const char *address, char ret_text[static SOCK_RESOLVED_TEXT]);

/* Connects. Returns 0 with *ret_fd, or -errno (-ENOENT, -ECONNREFUSED: no listener; -EAGAIN: the
 * server's backlog is full; -ENAMETOOLONG). A unix socket is connected then. The others may still
 * be connecting; if that fails, the first read returns the error. */
int sock_connect(const char *address, int *ret_fd);
/* Like sock_connect(), but waits up to wait_ms for room in the backlog of a unix socket, which
 * other users may keep full. */
int sock_connect_within(const char *address, unsigned wait_ms, int *ret_fd);

/* The maximum number of connections that wait to be accepted. */
#define SOCK_BACKLOG 256

/* Listens. A socket file without a live server is removed first. Returns 0 with *ret_fd, or -errno
 * and sets e (may be NULL): -EADDRINUSE if a server answers or the file is not a socket. If several
 * processes do this at once, one of them succeeds. */
int sock_listen(const char *address, int *ret_fd, struct err_text *e);

/* Accepts a connection. Returns 0, -EAGAIN if none waits, else -errno (-EMFILE: the caller should
 * pause). */
int sock_accept(int listen_fd, int *ret_fd);

/* Returns the user and process of an AF_UNIX socket's peer (SO_PEERCRED), or -errno (-EOPNOTSUPP
 * for other families). */
int sock_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);

/* Default addresses of the tracing protocol: the environment's
 * PERFETTO_{PRODUCER,CONSUMER}_SOCK_NAME, else /dev/socket/traced_* if that directory exists (on
 * Android), else /run/perfetto/traced-*.sock if the process is root or can search that directory,
 * else /tmp/perfetto-*. Borrowed from static memory or the environment. The producer's may be a
 * comma-separated list. */
#define SOCK_RUN_DIR "/run/perfetto/"
#define SOCK_ANDROID_DIR "/dev/socket/"
const char *sock_default_producer(void);
const char *sock_default_consumer(void);
/* The same for a library: a set-user-id program ignores the variables (secure_getenv(3)). */
const char *sock_default_producer_secure(void);
const char *sock_default_consumer_secure(void);
