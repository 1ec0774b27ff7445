/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event_loop/msgsock.h"

/* Private to msgsock.c (life, receiving) and msgsock_send.c. */

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
	int error; /* of sending; reported by on_close after the last message */
	bool closed; /* on_close was called */
	bool freed; /* in a callback: freed when the callback returns */
	unsigned busy; /* number of active callbacks */

	uint8_t *in;
	size_t in_len, in_cap;
	bool held; /* reading is suspended until msgsock_wake_reader() */
	bool paused; /* its time slice ended with complete messages left */
	bool is_urgent; /* on_readable has priority 0 while there is little to read */
	bool hurries; /* it has priority 0 now */
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

/* Reports the size of the buffers. Returns 0 or the result of on_memory. */
int msgsock_tell_memory(struct msgsock *m);

/* Callbacks are called between enter and leave; msgsock_leave() returns false if m was freed. */
static inline void msgsock_enter(struct msgsock *m)
{
	m->busy++;
}

bool msgsock_leave(struct msgsock *m);

/* Resumes reading if it is suspended. */
void msgsock_wake_reader(struct msgsock *m);

/* Discards the send queue. */
void msgsock_drop_queue(struct msgsock *m);
/* libevent's callback: the socket is writable again. */
void msgsock_writable(int fd, short what, void *arg);
