/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct event_base;
struct extensions;
struct remote_allow;
struct sessions;

/*
 * The tracing service: puts its parts together. One thread, one loop.
 *
 *	producers --register--> registry --instances--> sessions --owned by--> consumers
 *	    |                                              |
 *	    +-------------- chunks ------> buffers <-------+
 */
struct service;

/* Everything is borrowed for the life of the service. */
struct service_options {
	const struct extensions *extensions; /* for the head of each trace; NULL: none */
	bool is_timely; /* sessions without a priority_boost have PRIORITY_BOOST_BUDGETED */
	const uid_t *system_users; /* users that may register data sources of the system */
	size_t n_system_users;
};

/* Makes the loop that a service runs on, for one thread, or returns NULL. The caller frees it. */
struct event_base *service_loop_new(void);

/* options may be NULL. Returns 0, -ENOMEM or -errno. */
int service_new(struct event_base *loop, const struct service_options *options,
		struct service **ret);
/* Ends every session and connection. NULL is allowed. */
void service_free(struct service *s);

/* Each of the two calls below accepts connections on a listening socket. It owns the socket, even
 * on failure; several of each kind are allowed. Consumers connect by AF_UNIX. An abstract socket
 * has no permissions, so it serves root and our own user only. Producers may connect by TCP and
 * vsock from the addresses in allow (borrowed for the service's life; NULL: none). Returns 0 or
 * -errno. */
enum producer_socket {
	PRODUCERS_ONLY,
	PRODUCERS_AND_RELAYS, /* RelayPort is offered beside ProducerPort */
	PRODUCERS_AND_UNIX_RELAYS, /* also to relays that reach us through a unix socket */
};
int service_listen_producers(struct service *s, int fd, const struct remote_allow *allow,
			     enum producer_socket kind);
int service_listen_consumers(struct service *s, int fd);

/* Each of these two calls adds a connected unix socket, which it owns even on failure. Returns 0,
 * -EDQUOT (a limit), -ENOMEM or -errno. */
int service_adopt_producer(struct service *s, int fd);
int service_adopt_consumer(struct service *s, int fd);

/* Returns the sessions (borrowed), for the shutdown of the service. */
struct sessions *service_sessions(struct service *s);
/* Call before each iteration of the loop: applies the budget of the real-time priority. */
void service_tick(struct service *s);
