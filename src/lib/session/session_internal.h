/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/session.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "lib/channel/channel.h"
#include "lib/loop/loop.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/*
 * A session is a connection of its own to the service. The caller's thread posts a call to the
 * loop's thread and sleeps until its reply, or what it waits for, is there:
 *
 *	caller                      loop
 *	session_call() ---task----> channel_call()
 *	   sleeps                   on_reply(): session.out, reply_done
 *	   wakes  <-----cond------
 *
 * A session that is of no use any more has `lost`; its channel is closed by the loop.
 */

struct session_bytes {
	uint8_t *data; /* owned */
	size_t len, cap;
};

enum session_state {
	SESSION_NEW, /* the connection has no tracing session */
	SESSION_TRACING, /* it has one, which runs or has ended */
	SESSION_COPY, /* it has a clone, which can be read */
	SESSION_OVER, /* the start failed, or it was detached */
};

struct sonda_session {
	/* The caller's: */
	struct channel_target target; /* its address is owned */
	enum session_state state;
	char error[512];
	/* For the loop's thread: */
	struct channel *channel; /* owned */
	struct loop_task task; /* of the call that runs, or the end */
	struct loop_task resume;
	const char *method;
	const struct pb_mem *args;
	channel_reply_fn reply;
	struct sonda_session *next; /* all with a channel */
	/* With the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int lost; /* 0, or why */
	bool bound, started, ended;
	int observe_error; /* why `started` will never come */
	int end_error;
	bool reply_done;
	int reply_error;
	bool paused; /* the channel reads no replies until `out` is taken */
	struct session_bytes packet; /* a packet whose end has not come */
	struct session_bytes out; /* data of replies */
	int event_fd; /* owned; -1: the program wants no events */
	struct sonda_session_event *events; /* owned; that the program has not taken */
	size_t n_events, cap_events;
	char said[512]; /* the service's words on the call, */
	char end_said[512]; /* and on the end of tracing */
};

struct session_deadline {
	bool never;
	struct timespec end; /* CLOCK_MONOTONIC */
};

/* timeout_ms < 0: never. */
struct session_deadline session_deadline(int timeout_ms);

/* Returns 0, -EDEADLK, -ENOTCONN or the error of a lost connection. */
int session_check_caller(struct sonda_session *s);
/* Sleeps until something changes. Returns 0 or -ETIMEDOUT. s->lock is held. */
int session_sleep(struct sonda_session *s, const struct session_deadline *d);
/* Waits until *what, which s->lock protects, is true. Returns 0, -ETIMEDOUT or why the
 * connection is lost. */
int session_wait_for(struct sonda_session *s, const bool *what, const struct session_deadline *d);

/* Forgets the last call's results; posts a call, whose replies are given to `reply` on the
 * loop's thread; waits until session_finish(). args: borrowed by session_post(). A call that
 * times out ends the connection. */
void session_reset(struct sonda_session *s);
int session_post(struct sonda_session *s, const char *method, const struct pb_mem *args,
		 channel_reply_fn reply);
int session_end_call(struct sonda_session *s, const struct session_deadline *d);
/* All three. */
int session_call(struct sonda_session *s, const char *method, const struct pb_mem *args,
		 channel_reply_fn reply, const struct session_deadline *d);
/* The call has its result, of which the first error counts. s->lock is held. */
void session_finish(struct sonda_session *s, int error);
/* Closes the connection, so that no late reply finds the session. Returns error. */
int session_give_up(struct sonda_session *s, int error);

/* Events for the program's own loop (events.c). s->lock is held. */
void session_put_event(struct sonda_session *s, const struct sonda_session_event *event);
void session_put_simple_event(struct sonda_session *s, enum sonda_session_event_type type);
/* A field of ObservableEvents. */
void session_put_observed(struct sonda_session *s, const struct pb_field *event);
void session_events_deinit(struct sonda_session *s);

/* Returns 0, -ENOMEM, or -EMSGSIZE: more than any trace packet has. */
int session_append(struct session_bytes *b, const void *data, size_t len);
