/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/session.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "client/transport/consumer.h"
#include "lib/library_loop.h"
#include "wire/pb_dec.h"

/*
 * Each session has its own connection to the service. The caller's thread posts a call to the
 * loop's thread, and sleeps until the reply or event that it waits for:
 *
 *	caller                      loop
 *	session_call() ---task----> consumer_flush() ...
 *	   sleeps                   on_done(): session.out, reply_done
 *	   wakes  <-----cond------
 *
 * `lost` is set when the session cannot be used any more; the loop's thread frees its consumer.
 * Therefore replies with -EPIPE are ignored.
 */

struct session_bytes {
	uint8_t *data; /* owned */
	size_t len, cap;
};

enum session_state {
	SESSION_NEW, /* the connection has no tracing session */
	SESSION_TRACING, /* the connection has a session, which runs or has ended */
	SESSION_COPY, /* the connection has a clone, which can be read */
	SESSION_OVER, /* the start failed, or it was detached */
};

/* The arguments of a call; those of its request are set. */
struct session_args {
	const void *config;
	size_t len;
	const char *name; /* a key, or unique_session_name */
	uint32_t ms;
};

/* Sends a request to the consumer, with the session as ctx. On the loop's thread. */
typedef int (*session_request)(struct sonda_session *s, const struct session_args *a);

struct sonda_session {
	/* The caller's: */
	struct channel_target target; /* its address is owned */
	enum session_state state;
	char error[512];
	/* For the loop's thread: */
	struct consumer *consumer; /* owned */
	struct io_task task; /* makes the call, connects or disconnects */
	struct io_task resume;
	session_request request; /* of the call */
	const struct session_args *args;
	struct sonda_session *next; /* in the list of those with a consumer */
	/* With the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int lost; /* 0, or -errno: why the session cannot be used */
	bool bound, started, ended;
	int observe_error; /* -errno: `started` will not be set */
	int end_error;
	bool reply_done;
	int reply_error;
	bool paused; /* the consumer reads no replies until `out` is taken */
	struct session_bytes packet; /* an incomplete packet */
	struct session_bytes out; /* data of replies */
	int event_fd; /* owned; -1: the program does not use events */
	struct sonda_session_event *events; /* owned; not taken by the program yet */
	size_t n_events, cap_events;
	char call_text[512]; /* the service's message about the call */
	char end_text[512]; /* and about the end of tracing */
};

struct session_deadline {
	bool never;
	struct timespec end; /* CLOCK_MONOTONIC */
};

/* timeout_ms < 0: no deadline. */
struct session_deadline session_deadline(int timeout_ms);

/* Sleeps until s->changed is signalled. Returns 0 or -ETIMEDOUT. Call with s->lock held. */
int session_sleep(struct sonda_session *s, const struct session_deadline *d);
/* Waits until *what, which s->lock protects, is true. Returns 0, -ETIMEDOUT or the error of a lost
 * connection. */
int session_wait_for(struct sonda_session *s, const bool *what, const struct session_deadline *d);

/* The steps of a call: session_reset() clears the results of the last one. session_post() sends the
 * request; a (may be NULL) is borrowed. */
void session_reset(struct sonda_session *s);
int session_post(struct sonda_session *s, session_request request, const struct session_args *a);
/* Sends a request and waits until session_finish_call() is called with the reply. Closes the
 * connection on a timeout. Returns 0, -ETIMEDOUT or another -errno. */
int session_call(struct sonda_session *s, session_request request, const struct session_args *a,
		 const struct session_deadline *d);
/* Sets the result of the call; the first error is kept. Call with s->lock held. */
void session_finish_call(struct sonda_session *s, int error);
/* Closes the connection, so that no later reply comes. Returns error. */
int session_disconnect(struct sonda_session *s, int error);

/* Queues an event for the program's own loop (connection.c). Call with s->lock held. */
void session_queue_simple_event(struct sonda_session *s, enum sonda_session_event_type type);
/* Adds the event of a field of ObservableEvents. */
void session_queue_observed(struct sonda_session *s, const struct pb_field *event);

/* Appends bytes. Returns 0, -ENOMEM, or -EMSGSIZE if b would exceed 256 MiB. */
int session_append(struct session_bytes *b, const void *data, size_t len);
