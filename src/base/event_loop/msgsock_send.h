/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_loop/msgsock.h"

/* What msgsock.c (life, receiving) and msgsock_send.c share; nobody else looks in. */

#define LENGTH_WORD 4u

struct queued_fd {
	size_t at; /* index in out */
	int fd; /* owned */
};

struct msgsock {
	const struct msgsock_ops *ops;
	void *ctx;
	int fd;
	int got_fd; /* owned, -1: none */
	int error; /* of sending; told by on_close once the reader is at the end */
	bool closed; /* on_close was called */
	bool freed; /* in a callback: the memory goes when it returns */
	unsigned busy; /* callbacks that we are in */

	uint8_t *in;
	size_t in_len, in_cap;
	bool held; /* the reader looks away until it is woken up */
	bool paused; /* its turn ended with whole messages left */
	bool is_urgent; /* on_readable has priority 0 while there is little to read */
	uint64_t time_slice_ns; /* UINT64_MAX: no end */
	uint64_t turn_start_ns;

	uint8_t *out;
	size_t out_head, out_len, out_cap;
	struct queued_fd *fds;
	size_t n_fds, fds_cap;
	size_t send_limit;
	size_t hold_limit; /* SIZE_MAX: never */
	size_t memory; /* last value passed to on_memory */

	struct event on_readable, on_writable;
};

/* Tells what the buffers take now. 0 or what on_memory says. */
int msgsock_tell_memory(struct msgsock *m);

/* Callbacks are called between enter and leave; leave gives false when m is no more. */
static inline void msgsock_enter(struct msgsock *m)
{
	m->busy++;
}

bool msgsock_leave(struct msgsock *m);

/* Has the reader, if it looks away, look at what it has. */
void msgsock_wake_reader(struct msgsock *m);

/* Nothing of what waits is sent. */
void msgsock_drop_queue(struct msgsock *m);
/* libevent's callback for a socket that takes bytes again. */
void msgsock_writable(int fd, short what, void *arg);
