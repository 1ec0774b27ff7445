/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_SESSION_H
#define SONDA_SESSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tracing sessions in the system's service, like those of `sonda record`.
 *
 *	sonda_session_new(NULL, 5000, &s);
 *	sonda_session_start(s, config, len, 5000);
 *	...
 *	sonda_session_stop(s, 10000);
 *	sonda_session_read_fd(s, fd, 10000);
 *	sonda_session_free(s);
 *
 * Calls with a timeout block for at most timeout_ms (negative: no limit). No call is a cancellation
 * point of pthread_cancel(3). Any thread except the library's may call them, one at a time for each
 * session. They need sonda_init(); with SONDA_BACKEND_NONE the process is not a producer. All calls
 * return:
 *	0
 *	-ETIMEDOUT
 *	-EPIPE		the connection is lost, also after sonda_shutdown() or fork() (in the child)
 *	-EPROTO		the service refused the call: sonda_session_error()
 *	-EINVAL		the session was not started, or was detached
 *	-EBUSY		the session was started, cloned or attached before
 *	-ENOSYS		the service does not have this call
 *	-EMSGSIZE	the request is larger than 128 KiB, or the answer larger than 256 MiB
 *	-ENOTCONN	sonda_init() was not called, or not again after sonda_shutdown() or fork()
 *	-EDEADLK	called on the library's thread
 *	-ENOMEM
 * A timeout ends the connection and the session, except in sonda_session_wait().
 */
struct sonda_session;

/* Connects. socket: NULL: $PERFETTO_CONSUMER_SOCK_NAME, or the default. Also returns -errno of the
 * connection (-ENOENT, -ECONNREFUSED: no service; -EKEYREJECTED: the listener is not trusted), or
 * -EMFILE (the process has 32 sessions). */
int sonda_session_new(const char *socket, int timeout_ms, struct sonda_session **ret);
/* Ends the session, unless it is detached. The service frees its buffers. No-op for NULL. */
void sonda_session_free(struct sonda_session *s);

/* Starts tracing. config: a serialized TraceConfig (protos/config/trace_config.proto), borrowed
 * during the call; sonda_config_from_text() (sonda/config.h) makes it from text. Returns when all
 * data sources have started, or tracing has ended already. Returns -EINVAL if the service refuses
 * the config: sonda_session_error(). After an error, only sonda_session_free() is valid. */
int sonda_session_start(struct sonda_session *s, const void *config, size_t len, int timeout_ms);
/* Commits the data of all data sources. The service waits timeout_ms for them (negative or 0: the
 * config's timeout), and then refuses the flush if one has not answered. The call waits for the
 * service at most timeout_ms + 2 s (negative or 0: no limit). */
int sonda_session_flush(struct sonda_session *s, int timeout_ms);
/* Stops tracing, and waits until all data sources have stopped. */
int sonda_session_stop(struct sonda_session *s, int timeout_ms);
/* Waits until tracing has ended by itself (duration_ms, a trigger). Returns -EPROTO if it ended
 * with an error. */
int sonda_session_wait(struct sonda_session *s, int timeout_ms);

/* Reads the data from the buffers, which empties them. Calls fn on the calling thread with parts of
 * a trace file, each of whole packets, borrowed during the call. If fn returns a value other than
 * 0, reading ends and that value is returned. After that, and after an error, only
 * sonda_session_free() is valid. timeout_ms applies to each part. */
int sonda_session_read(struct sonda_session *s, int (*fn)(void *ctx, const void *data, size_t len),
		       void *ctx, int timeout_ms);
/* Like sonda_session_read(), but into a file, pipe or socket, which may be non-blocking. Also
 * returns -errno of write(2). A pipe without a reader raises SIGPIPE, unless the program ignores
 * it. */
int sonda_session_read_fd(struct sonda_session *s, int fd, int timeout_ms);

/* Makes s, which must be new, a copy of the running session with this unique_session_name. The copy
 * can only be read. */
int sonda_session_clone(struct sonda_session *s, const char *unique_session_name, int timeout_ms);

/* Detach: the tracing session continues without this connection, under a key (not ""). Then s can
 * only be freed. Attach: a new session, of any process of the same user, takes over the tracing
 * session, as if it had started it. If no session is attached when tracing ends, the service frees
 * the buffers, and only the file of the config (write_into_file) has the trace. Detach returns
 * -EPROTO if the user has another detached session with this key; attach returns it if there is
 * none. */
int sonda_session_detach(struct sonda_session *s, const char *key, int timeout_ms);
int sonda_session_attach(struct sonda_session *s, const char *key, int timeout_ms);

/* Set *ret to a serialized TraceStats or TracingServiceState, which the caller frees with
 * free(3). */
int sonda_session_stats(struct sonda_session *s, int timeout_ms, void **ret, size_t *ret_len);
int sonda_session_query(struct sonda_session *s, int timeout_ms, void **ret, size_t *ret_len);

/* Events, for a program with its own loop. Call sonda_session_fd() before the start: it enables
 * events, and returns a descriptor (owned by the session) to poll for POLLIN, or -errno.
 * sonda_session_next_event() returns 1 and the next event, or 0. Neither blocks. */
#define SONDA_SESSION_TEXT 128

enum sonda_session_event_type {
	SONDA_SESSION_SOURCE_STARTED = 1, /* producer, name: a data source of the session */
	SONDA_SESSION_SOURCE_STOPPED = 2, /* the data source has stopped, or has not started yet */
	SONDA_SESSION_ALL_STARTED = 3, /* all data sources have started */
	SONDA_SESSION_ENDED = 4, /* tracing has ended; sonda_session_wait() returns at once */
	SONDA_SESSION_CLONE_TRIGGER = 5, /* producer, name: a trigger requests a clone */
	SONDA_SESSION_LOST = 6, /* the connection is lost; this is the last event */
	SONDA_SESSION_EVENTS_LOST = 7, /* more than 1024 events waited; see sonda_session_query() */
};

struct sonda_session_event {
	enum sonda_session_event_type type;
	char producer[SONDA_SESSION_TEXT]; /* may be truncated; "" if it does not apply */
	char name[SONDA_SESSION_TEXT];
};

int sonda_session_fd(struct sonda_session *s);
int sonda_session_next_event(struct sonda_session *s, struct sonda_session_event *ret);
/* Start and stop without waiting for the service. An event follows. */
int sonda_session_begin(struct sonda_session *s, const void *config, size_t len);
int sonda_session_end(struct sonda_session *s);

/* Returns the service's message about the last failure, or "". Valid until the next call. */
const char *sonda_session_error(const struct sonda_session *s);

#ifdef __cplusplus
}
#endif

#endif
