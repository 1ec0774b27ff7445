/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_SERVICE_H
#define SONDA_SERVICE_H

#include <stddef.h>

#include <sonda/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The tracing service in this process: libsonda-service. A program can record itself without a
 * daemon, without root, and without a socket that others can connect to. The service creates no
 * file, no process and no listening socket. It is one thread, named sonda-service, with all signals
 * except SIGSYS blocked.
 *
 *	sonda_service_start(NULL, &service);
 *	sonda_init(&(struct sonda_init_options){.size = sizeof(struct sonda_init_options),
 *						.backends = SONDA_BACKEND_NONE});
 *	sonda_backend_add(&(struct sonda_backend_options){
 *		.size = sizeof(struct sonda_backend_options),
 *		.connect = sonda_service_connect, .ctx = service}, &backend);
 *	sonda_session_new_on(backend, 5000, &session);
 *	...
 *	sonda_session_free(session);
 *	sonda_backend_remove(backend);
 *	sonda_service_stop(service);
 *
 * The service runs the code of sondad, with the same limits and statistics, and records the track
 * events and the data sources of the process. The library needs libevent_core, libprotobuf-c,
 * libseccomp, libcap-ng, zlib and libzstd, as sondad does.
 *
 * After fork() the child has no service: it keeps the descriptors until it calls exec() or ends.
 */
struct sonda_service;

struct sonda_service_options {
	size_t size; /* sizeof(struct sonda_service_options) */
	/* Not 0: the service writes its messages to stderr, as sondad does. */
	int log_to_stderr;
};

/* Starts the service. options may be NULL. Returns 0, -EBUSY (the process has a service), -EINVAL,
 * -ENOMEM or -errno of the thread. */
int sonda_service_start(const struct sonda_service_options *options, struct sonda_service **ret);

/* Returns the descriptor of a new connection to the service, which the caller owns, or -errno. For
 * sonda_backend_options.connect; service is a struct sonda_service. Any thread. */
int sonda_service_connect(void *service, enum sonda_port port);

/* Ends all sessions and the thread, and frees the service. Remove its backends and free its
 * sessions first: otherwise the call waits until no consumer has read a session for 3 s. Files of
 * sessions are completed. No-op for NULL. */
void sonda_service_stop(struct sonda_service *service);

#ifdef __cplusplus
}
#endif

#endif
