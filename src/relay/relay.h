/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

struct event_base;

/*
 * Accepts producers on unix sockets, and connects each to the producer socket of a service on
 * another machine:
 *
 *	producer --> | relay | -- SetPeerIdentity, then the producer's bytes --> service
 *	         <-- |       | <-------------- the service's bytes -------------
 *
 * The identity is the process and user of the producer, as the kernel reports them. Everything else
 * passes unchanged, except descriptors, which are closed.
 *
 * An end of one side is passed on when all bytes before it are sent. A connection is closed when
 * both sides have ended, or when one has ended and no byte could be moved for RELAY_LINGER_MS.
 *
 * While the service cannot be reached, producers wait: those that were accepted, and further ones
 * in the backlog of the socket.
 */
struct relay;

#define RELAY_MAX_LISTENERS 16
#define RELAY_MAX_CONNECTIONS 512
#define RELAY_MAX_CONNECTIONS_PER_USER 128 /* of a user other than root */
#define RELAY_LINGER_MS 60000
#define RELAY_END_MS 5000

/* service is an address of base/event_loop/sock.h, without a host name; borrowed. Returns 0 or
 * -ENOMEM. */
int relay_new(struct event_base *loop, const char *service, struct relay **ret);
/* Accepts producers on a listening unix socket. Takes ownership of fd, even on failure. Returns 0
 * or -errno. */
int relay_add_listener(struct relay *r, int fd);
/* Accepts no more, passes on what the producers have sent already, and ends the loop when this is
 * done, after RELAY_END_MS at the latest. */
void relay_begin_end(struct relay *r);
void relay_free(struct relay *r); /* No-op for NULL */
