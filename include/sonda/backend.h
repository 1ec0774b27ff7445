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
 * Further services that record this process, beside the system's of sonda_init(): one in this
 * process (sonda/service.h), one that is reached by a transport of the program's own, or another
 * one on this machine. The process is a producer of each. All its data sources are registered with
 * each, and an event is written for each session of any service that records it.
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
	/*
	 * In place of addresses: returns a connected stream socket, which the library then owns, or
	 * -errno. It runs on the library's thread: at first, and again after a connection is lost
	 * or could not be made; it must not block. Memory is shared over a unix socket whose other
	 * end is the service. Over TCP and vsock the events go through the socket. For any other
	 * transport it returns one end of a socketpair(2), and the program carries the bytes of the
	 * other end to a TCP socket of the service. ctx must be valid until sonda_backend_remove().
	 */
	int (*connect)(void *ctx, enum sonda_port port);
	void *ctx;
	const char *producer_name; /* NULL: the first word of /proc/self/cmdline */
	uint32_t shm_size; /* bytes, a hint to the service; 0: 1 MiB */
	uint32_t shm_page_size; /* 0: 4096 */
	/* Not 0: this process makes the shared memory, of shm_size bytes, and passes it when it
	 * connects, so that the service has to make none. A service may refuse it: then the memory
	 * is the service's. */
	int own_memory;
	/* Problems, in one sentence each, from the library's thread. NULL: they are not reported.
	 */
	void (*on_trouble)(void *ctx, const char *sentence);
};

/*
 * Adds a service and begins to connect to it. Returns 0; -ENOTCONN: no sonda_init(); -EINVAL,
 * -ENOMEM. It is no error if the service is not there: the library tries again.
 */
int sonda_backend_add(const struct sonda_backend_options *options, struct sonda_backend **ret);

/* Waits until the service has accepted this process's data sources. Returns 0, -ETIMEDOUT or
 * -ENOTCONN (after sonda_shutdown(), or in a child after fork()). */
int sonda_backend_wait(struct sonda_backend *b, int timeout_ms);

/* Sends what all threads have written for this service, disconnects and frees b. Sessions of the
 * service go on until sonda_session_free(). After sonda_shutdown(), and in a child after fork(), a
 * backend can only be removed. Not from a callback. No-op for NULL. */
void sonda_backend_remove(struct sonda_backend *b);

/* As sonda_session_new(), of this service. Also what `connect` returns. */
int sonda_session_new_on(struct sonda_backend *b, int timeout_ms, struct sonda_session **ret);

#ifdef __cplusplus
}
#endif

#endif
