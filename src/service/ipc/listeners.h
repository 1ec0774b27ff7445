/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include <event2/event.h>

struct ipc_entrance;
struct listener;

/*
 * The listening sockets of a host. They accept at most 16 connections, then the loop handles its
 * other events, even if the host is urgent and more connections wait.
 */
struct listeners {
	struct event_base *loop; /* borrowed */
	/* A connection was accepted; the callee owns fd. */
	void (*on_connection)(void *ctx, int fd, const struct ipc_entrance *entrance);
	/* No connection can be accepted for now: -errno, such as -EMFILE. */
	void (*on_failure)(void *ctx, int error);
	void *ctx;
	bool is_urgent; /* accepts before events of other priorities */
	LIST_HEAD(, listener) list; /* owned */
	struct event *resume; /* owned: timer that ends a pause; as urgent as the sockets */
	struct event *others_ran; /* owned: ends the pause after all other due events */
};

/* The caller has set the fields up to is_urgent. Returns 0 or -ENOMEM. */
int listeners_init(struct listeners *l);
/* No-op on zeroed memory. */
void listeners_deinit(struct listeners *l);
/* Takes a listening socket, also on failure. entrance is borrowed. Returns 0 or -ENOMEM. */
int listeners_add(struct listeners *l, int fd, const struct ipc_entrance *entrance);
