/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

/*
 * The client end of one protocol connection: binds one service by name, then calls its methods by
 * name. One thread, one libevent loop; nothing blocks but connection_drain.
 *
 *	connection_new ---> on_bound ---> connection_call ... reply, reply ---> on_lost
 *	                 or on_lost, when the service refuses or disconnects first
 *
 * A call with a reply function for which connection_call() returned 0 ends exactly once: with a reply without
 * has_more, or with an error. When the connection is lost each open call is completed with -EPIPE, in
 * the order of the calls, and then on_lost comes; from the first of them on connection_call gives -EPIPE.
 * Any callback may free the connection; then no other callback follows.
 */
struct connection;

#define CONNECTION_MAX_METHODS 64 /* of a bind reply; further ones are ignored */
#define CONNECTION_SEND_LIMIT                                                                      \
	(4u << 20) /* bytes that wait for the socket; past it the connection ends */

struct connection_ops {
	/* The service is bound and its methods are known. */
	void (*on_bound)(void *ctx);
	/* Once, and the last callback: 0 the peer closed, -EPROTO it does not know the service,
	 * else -errno of the socket. The callee usually frees. */
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
 * Connects and binds the service ("ProducerPort"); the result comes from the loop. Over TCP and vsock it
 * sends the identity of this process first (send_identity()). Returns 0; -errno if the address refuses at
 * once (-ECONNREFUSED, -ENOENT, -EACCES, ...);
 * -EKEYREJECTED: the peer is not trusted to be the service (client/transport/service_trust.h), and no byte was
 * sent. ops is borrowed for the life of the conn.
 */
int connection_new(struct event_base *loop, const char *address, const char *service,
		   const struct connection_ops *ops, void *ctx, struct connection **ret);
/* As connection_new(), on a connected socket whose peer the caller trusts. fd is taken even on failure. */
int connection_new_fd(struct event_base *loop, int fd, const char *service,
		      const struct connection_ops *ops, void *ctx, struct connection **ret);
/* Disconnects. Callbacks of open calls and on_lost are not called. No-op for NULL. */
void connection_free(struct connection *c);

/* Returns true if the service is bound and has this method: the way to test for a feature. */
bool connection_has(const struct connection *c, const char *method);

/*
 * Calls a method. fn NULL: no reply is requested. fd: passed along, borrowed, -1 for none.
 * Returns 0, or an error, and then fn is never called: -ENOSYS (the peer lacks the method, or nothing is bound
 * yet), -EMSGSIZE (arguments larger than a frame), -EPIPE (lost), -ENOMEM.
 */
int connection_call(struct connection *c, const char *method, const void *args, size_t len, int fd,
		    connection_reply_fn fn, void *ctx);
/* The same for a protobuf-c message, without a descriptor. */
int connection_call_msg(struct connection *c, const char *method, const ProtobufCMessage *args,
			connection_reply_fn fn, void *ctx);

/* service_trust_speaks_for_root() of the peer; false once the connection is lost. */
bool connection_service_is_privileged(const struct connection *c);

/* In a reply callback: returns the descriptor that came with the frame, which the caller then owns, or -1. */
int connection_take_fd(struct connection *c);

/* Bytes that wait for the socket. */
size_t connection_queued(const struct connection *c);
/* Blocks up to timeout_ms until the send queue is empty; calls no callback. Returns 0, -EAGAIN (data is left)
 * or -EPIPE. */
int connection_drain(struct connection *c, int timeout_ms);
