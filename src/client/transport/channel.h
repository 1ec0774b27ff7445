/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io_loop;

/*
 * One connection to a port of the service: binds the port by name, then calls its methods by name.
 *
 *	channel_open ---> on_bound ---> channel_call ... reply, reply ---> on_lost
 *	               or on_lost, when the service refuses or disconnects first
 *
 * A call for which channel_call() returned 0 ends exactly once: with a reply without has_more, or
 * with an error. When the connection is lost, each open call ends with -EPIPE, in the order of the
 * calls; then on_lost is called. From the first of these callbacks on, calls return -EPIPE.
 *
 * All functions are for the loop's thread, except channel_send(), channel_drain() and
 * channel_queued(), which any thread may call after on_bound. Any callback may close the channel;
 * then no other callback follows.
 */
struct channel;

#define CHANNEL_MAX_FRAME 131068u
#define CHANNEL_SEND_LIMIT                                                                         \
	(4u << 20) /* bytes queued for the socket; above it the connection ends */

enum channel_port { CHANNEL_PRODUCER = 1, CHANNEL_CONSUMER = 2, CHANNEL_RELAY = 3 };

struct channel_ops {
	/* The port is bound, and its methods are known. */
	void (*on_bound)(void *ctx);
	/* The last callback, which must close the channel. error: 0 (the peer has closed), -EPROTO
	 * (the peer does not have the port) or another -errno. */
	void (*on_lost)(void *ctx, int error);
};

/* How to reach a service. Everything is borrowed. */
struct channel_target {
	const char *address; /* NULL: the default of the port; a relay has none */
	/* Replaces the address: returns a connected socket, which the channel owns, or -errno.
	 * NULL: none. */
	int (*connect)(void *ctx, enum channel_port port);
	void *ctx;
	/* This process is one of sonda's programs: it trusts its environment, waits up to a second
	 * for a listener that is busy, and sends its identity over TCP and vsock. */
	bool of_program;
};

struct channel_reply {
	int error; /* 0; -EPROTO: the service refused the call; -EPIPE: the connection is lost */
	bool has_more; /* the call stays open. Never with an error */
	const uint8_t *data; /* borrowed during the callback; may be empty */
	size_t len;
};

typedef void (*channel_reply_fn)(void *ctx, const struct channel_reply *reply);

/* Returns 0, or -errno if the target refuses at once (-ECONNREFUSED, -ENOENT, -EACCES ...).
 * -EKEYREJECTED: the listener at the address is not trusted (client/transport/service_trust.h);
 * nothing was sent then. */
int channel_open(struct io_loop *loop, const struct channel_target *target, enum channel_port port,
		 const struct channel_ops *ops, void *ctx, struct channel **ret);
/* Closes the connection and frees the channel; no callback follows. Other threads must not use the
 * channel any more. No-op for NULL. */
void channel_close(struct channel *c);
/* Call in a child after fork(). Closes the descriptors, frees nothing. */
void channel_after_fork_in_child(struct channel *c);

/* Returns true if the service has the method. Use it to test for a feature. */
bool channel_has_method(const struct channel *c, const char *method);
/* Returns true if the socket can pass descriptors, so it is a unix socket. */
bool channel_passes_fds(const struct channel *c);
/* Returns service_trust_speaks_for_root() of the peer. */
bool channel_speaks_for_root(const struct channel *c);
/* Returns the process that listens at the other end of a unix socket; 0: it is not known. */
int32_t channel_peer_pid(const struct channel *c);
/* Calls a method. fd: sent with the call, borrowed; -1: none. Returns 0, or an error, and then fn
 * is never called: -ENOSYS (the service lacks the method, or nothing is bound yet), -EMSGSIZE
 * (larger than a frame), -EPIPE (lost), -ENOMEM, or -errno of the connection. */
int channel_call(struct channel *c, const char *method, const void *args, size_t len, int fd,
		 channel_reply_fn fn, void *ctx);
/* Calls a method without a reply. Returns 0 or an error, as channel_call(). Any thread. */
int channel_send(struct channel *c, const char *method, const void *args, size_t len);
/* Sends the queue, and waits for the socket at most timeout_ms. Returns 0, -EAGAIN (bytes are left)
 * or -EPIPE (also if the queue is empty and the peer has closed the connection). Any thread. */
int channel_drain(struct channel *c, int timeout_ms);
/* Returns the number of queued bytes. Any thread. */
size_t channel_queued(struct channel *c);
/* Pauses or resumes the reading of replies. */
void channel_pause(struct channel *c, bool pause);
/* Returns the descriptor that came with a reply, which the caller owns; or -1. */
int channel_take_fd(struct channel *c);
