/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

/*
 * The client end of one protocol connection: binds one service by name, then calls its methods by
 * name. One thread, one libevent loop. connection_drain blocks; so does connection_new, for up to a
 * second while the backlog of a unix socket is full, or while a host name is looked up.
 *
 *	connection_new ---> on_bound ---> connection_call ... reply, reply ---> on_lost
 *	                 or on_lost, when the service refuses or disconnects first
 *
 * A call with a reply function for which connection_call() returned 0 ends exactly once: with a
 * reply without has_more, or with an error. When the connection is lost, each open call ends with
 * -EPIPE, in the order of the calls; then on_lost is called. From the first of these callbacks on,
 * connection_call() returns -EPIPE. Any callback may free the connection; then no other callback
 * follows.
 */
struct connection;

#define CONNECTION_MAX_METHODS 64 /* of a bind reply; further ones are ignored */
#define CONNECTION_SEND_LIMIT                                                                      \
	(4u << 20) /* bytes queued for the socket; above it the connection ends */

struct connection_ops {
	/* The service is bound and its methods are known. */
	void (*on_bound)(void *ctx);
	/* The last callback, called once. error 0: the peer closed; -EPROTO: the peer does not have
	 * the service; else -errno of the socket. The callback usually frees the connection. */
	void (*on_lost)(void *ctx, int error);
};

struct connection_reply {
	int error; /* 0; -EPROTO: the service refused the call; -EPIPE: the connection is lost */
	bool has_more; /* a stream: the call stays open. Never with an error */
	const uint8_t *data; /* the serialized reply, borrowed during the call; may be empty */
	size_t len;
};

typedef void (*connection_reply_fn)(void *ctx, const struct connection_reply *reply);

/*
 * Connects and binds the service ("ProducerPort"); the loop reports the result. Over TCP and vsock
 * it sends the identity of this process first. Returns 0, or -errno if the address refuses at once
 * (-ECONNREFUSED, -ENOENT, -EACCES, ...). Returns -EKEYREJECTED if the peer is not trusted as a
 * service (client/transport/service_trust.h); nothing was sent then. ops is borrowed until free.
 */
int connection_new(struct event_base *loop, const char *address, const char *service,
		   const struct connection_ops *ops, void *ctx, struct connection **ret);
/* Disconnects. Callbacks of open calls and on_lost are not called. No-op for NULL. */
void connection_free(struct connection *c);

/* Returns true if the service is bound and has this method. Use it to test for a feature. */
bool connection_has(const struct connection *c, const char *method);

/*
 * Calls a method. fn NULL: no reply is requested. fd: passed along, borrowed, -1 for none. Returns
 * 0, or an error, and then fn is never called: -ENOSYS (the peer lacks the method, or nothing is
 * bound yet), -EMSGSIZE (arguments larger than a frame), -EPIPE (lost), -ENOMEM.
 */
int connection_call(struct connection *c, const char *method, const void *args, size_t len, int fd,
		    connection_reply_fn fn, void *ctx);
/* As connection_call(), for a protobuf-c message, without a descriptor. */
int connection_call_msg(struct connection *c, const char *method, const ProtobufCMessage *args,
			connection_reply_fn fn, void *ctx);

/* Returns service_trust_speaks_for_root() of the peer; false after the connection is lost. */
bool connection_service_is_privileged(const struct connection *c);

/* In a reply callback: returns the descriptor that came with the frame, which the caller then owns,
 * or -1. */
int connection_take_fd(struct connection *c);

/* Returns the number of bytes queued for the socket. */
size_t connection_queued(const struct connection *c);
/* Blocks up to timeout_ms until the send queue is empty; calls no callback. Returns 0, -EAGAIN
 * (data is left) or -EPIPE. */
int connection_drain(struct connection *c, int timeout_ms);
