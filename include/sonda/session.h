/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_SESSION_H
#define SONDA_SESSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Tracing sessions of the system's service: what `sonda record` does, from a program.
 *
 *	sonda_session_new(NULL, 5000, &s);
 *	sonda_session_start(s, config, len, 5000);
 *	...
 *	sonda_session_stop(s, 10000);
 *	sonda_session_read_fd(s, fd, 10000);
 *	sonda_session_free(s);
 *
 * All calls with a timeout block, at most timeout_ms (negative: no limit); none is a cancellation
 * point of pthread_cancel(3). All are for any thread
 * but the library's, one at a time for each session. They need sonda_init(); with
 * SONDA_BACKEND_NONE it does not make the process a producer. Returns of all:
 *	0
 *	-ETIMEDOUT
 *	-EPIPE		the connection is lost, or sonda_shutdown(), or a child after fork()
 *	-EPROTO		the service refused: sonda_session_error()
 *	-EINVAL		the session does not trace (was not started, or was detached)
 *	-EBUSY		a start, clone or attach of a session that has one of these behind it
 *	-ENOSYS		the service does not have this call
 *	-EMSGSIZE	the request has more than 128 KiB, or the answer more than 256 MiB
 *	-ENOTCONN	no sonda_init()
 *	-EDEADLK	on the library's thread
 *	-ENOMEM
 * A call that times out, but sonda_session_wait(), ends the connection and with it the session.
 */
struct sonda_session;

/* Connects. socket: NULL for $PERFETTO_CONSUMER_SOCK_NAME, else the default. Also -errno of the
 * connection (-ENOENT, -ECONNREFUSED: no service), -EMFILE: the process has 32 sessions. */
int sonda_session_new(const char *socket, int timeout_ms, struct sonda_session **ret);
/* Ends the session, if it is not detached: the service frees its buffers. No-op for NULL. */
void sonda_session_free(struct sonda_session *s);

/* Starts tracing. config: a serialized TraceConfig (protos/config/trace_config.proto), borrowed
 * during the call; sonda_config_from_text() (sonda/config.h) makes it of text. Returns when all
 * data sources have started, or tracing has ended already;
 * -EINVAL if the service says that the config is wrong: sonda_session_error(). After an error
 * the session is of no use any more. */
int sonda_session_start(struct sonda_session *s, const void *config, size_t len, int timeout_ms);
/* Asks all data sources for what they have written. The service waits timeout_ms for them
 * (negative or 0: as the config says), and refuses if one did not answer; for its answer we wait
 * 2 s more. */
int sonda_session_flush(struct sonda_session *s, int timeout_ms);
/* Stops tracing, and waits until all data sources have stopped. */
int sonda_session_stop(struct sonda_session *s, int timeout_ms);
/* Waits until tracing has ended by itself (duration_ms, a trigger). -EPROTO: it ended with an
 * error. */
int sonda_session_wait(struct sonda_session *s, int timeout_ms);

/*
 * Reads what is in the buffers, which empties them. fn is called on the calling thread with
 * parts of a trace file, each of whole packets, borrowed during the call; a value other than 0
 * ends the reading and is returned. After that, as after an error, the session is of no use any
 * more. timeout_ms is for each part.
 */
int sonda_session_read(struct sonda_session *s, int (*fn)(void *ctx, const void *data, size_t len),
		       void *ctx, int timeout_ms);
/* As sonda_session_read(), into a file, pipe or socket, which may be non-blocking. Also -errno
 * of write(2); a pipe without a reader raises SIGPIPE, if the program does not ignore it. */
int sonda_session_read_fd(struct sonda_session *s, int fd, int timeout_ms);

/* Makes this new session a copy of the running one with this unique_session_name; then read it. */
int sonda_session_clone(struct sonda_session *s, const char *unique_session_name, int timeout_ms);

/*
 * Leaves the tracing session running without this connection, under a key (not ""); s can only
 * be freed then. A session of this process or another one of the same user attaches to it: what
 * it gets is as if it had started it. Without a session attached to it, the service frees the
 * buffers when tracing ends, and only a file that the config names (write_into_file) keeps the
 * trace. -EPROTO: the user has another detached session with this key; there is none.
 */
int sonda_session_detach(struct sonda_session *s, const char *key, int timeout_ms);
int sonda_session_attach(struct sonda_session *s, const char *key, int timeout_ms);

/* Return a serialized TraceStats, and TracingServiceState, which the caller frees with free(3). */
int sonda_session_stats(struct sonda_session *s, int timeout_ms, void **ret, size_t *ret_len);
int sonda_session_query(struct sonda_session *s, int timeout_ms, void **ret, size_t *ret_len);

/*
 * For a program with a loop of its own. sonda_session_fd() makes events: it is called before the
 * start, and returns a descriptor (the session's) to poll for POLLIN, or -errno.
 * sonda_session_next_event() returns 1 and the next event, or 0. Neither blocks.
 */
#define SONDA_SESSION_TEXT 128

enum sonda_session_event_type {
	SONDA_SESSION_SOURCE_STARTED = 1, /* producer, name: a data source of the session */
	SONDA_SESSION_SOURCE_STOPPED = 2, /* also those that have not started yet */
	SONDA_SESSION_ALL_STARTED = 3, /* of them */
	SONDA_SESSION_ENDED = 4, /* tracing; sonda_session_wait() returns why, at once */
	SONDA_SESSION_CLONE_TRIGGER = 5, /* producer, name: a trigger; it is time to clone */
	SONDA_SESSION_LOST = 6, /* the connection; the last event */
	SONDA_SESSION_EVENTS_LOST = 7, /* too many waited: sonda_session_query() */
};

struct sonda_session_event {
	enum sonda_session_event_type type;
	char producer[SONDA_SESSION_TEXT]; /* cut if it is longer; "" if it does not apply */
	char name[SONDA_SESSION_TEXT];
};

int sonda_session_fd(struct sonda_session *s);
int sonda_session_next_event(struct sonda_session *s, struct sonda_session_event *ret);
/* Start and stop without waiting for the service: an event follows. */
int sonda_session_begin(struct sonda_session *s, const void *config, size_t len);
int sonda_session_end(struct sonda_session *s);

/* What the service said of the last failure; "" if nothing. Valid until the next call. */
const char *sonda_session_error(const struct sonda_session *s);

#ifdef __cplusplus
}
#endif

#endif
