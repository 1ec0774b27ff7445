/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_BACKEND_H
#define SONDA_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include <sonda/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Services that record this process in addition to the system's service, which sonda_init()
 * connects to: one in this process (sonda/service.h), one that the program reaches through its own
 * transport, or another one on this machine. The process is a producer of each service. All its
 * data sources are registered with each service, and an event is written into every session that
 * records it, whichever service runs the session.
 *
 *	sonda_init(&(struct sonda_init_options){.size = sizeof(struct sonda_init_options),
 *						.backends = SONDA_BACKEND_NONE});
 *	sonda_backend_add(&options, &backend);
 *	sonda_session_new_on(backend, 5000, &session);
 *	...
 *	sonda_session_free(session);
 *	sonda_backend_remove(backend);
 */
struct sonda_backend;

/* The two ports of a service, each with a socket of its own. */
enum sonda_port {
	SONDA_PORT_PRODUCER = 1, /* data of this process */
	SONDA_PORT_CONSUMER = 2, /* sessions */
};

struct sonda_backend_options {
	size_t size; /* sizeof(struct sonda_backend_options) */
	/* Addresses of the service's sockets, copied: PATH, @ABSTRACT, and for producers HOST:PORT
	 * or vsock://CID:PORT. NULL: the default, as for sonda_init(). */
	const char *producer_socket;
	const char *consumer_socket;
	/* Replaces the addresses. Returns a connected stream socket, which the library then owns,
	 * or -errno. The library's thread calls it for the first connection, and again after a
	 * connection is lost or has failed. It must not block. Memory is shared over a unix socket
	 * whose other end is the service. Over TCP and vsock, the events go through the socket. For
	 * any other transport, return one end of a socketpair(2), and copy the bytes between its
	 * other end and a TCP socket of the service. ctx must be valid until
	 * sonda_backend_remove(). */
	int (*connect)(void *ctx, enum sonda_port port);
	void *ctx;
	const char *producer_name; /* NULL: the first argument in /proc/self/cmdline */
	uint32_t shm_size; /* bytes, a hint to the service; 0: 1 MiB */
	uint32_t shm_page_size; /* 0: 4096 */
	/* Not 0: this process creates the shared memory, of shm_size bytes, and passes it when it
	 * connects. A service may refuse it and create the memory itself instead. */
	int own_memory;
	/* Called on the library's thread with a sentence about a problem. NULL: not reported. */
	void (*on_trouble)(void *ctx, const char *sentence);
};

/* Adds a service and begins to connect to it. If the service does not run, the library tries again
 * later. Returns 0, -ENOTCONN (sonda_init() was not called), -EINVAL or -ENOMEM. */
int sonda_backend_add(const struct sonda_backend_options *options, struct sonda_backend **ret);

/* Waits until the service has accepted this process's data sources, at most timeout_ms (negative:
 * does not wait). Returns 0, -ETIMEDOUT or -ENOTCONN (after sonda_shutdown(), or in a child after
 * fork()). */
int sonda_backend_wait(struct sonda_backend *b, int timeout_ms);

/* Sends the data of all threads for this service, disconnects and frees b. Sessions of the service
 * continue until sonda_session_free(). After sonda_shutdown(), and in a child after fork(), this is
 * the only valid call for b. Do not call it from a callback. No-op for NULL. */
void sonda_backend_remove(struct sonda_backend *b);

/* Like sonda_session_new(), but for this service. Also returns the errors of `connect`. */
int sonda_session_new_on(struct sonda_backend *b, int timeout_ms, struct sonda_session **ret);

#ifdef __cplusplus
}
#endif

#endif
