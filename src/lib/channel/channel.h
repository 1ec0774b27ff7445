/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/backend.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One connection to a port of the service, on the library's loop: binds the port by name, then
 * calls its methods by name.
 *
 *	channel_open ---> on_bound ---> channel_call ... reply, reply ---> on_lost
 *
 * All functions are for the loop's thread, except channel_send(), channel_drain() and
 * channel_queued(), which any thread may call after on_bound. Any callback may close the channel;
 * then no other callback follows.
 */
struct channel;

#define CHANNEL_MAX_FRAME 131068u

struct channel_ops {
	void (*on_bound)(void *ctx);
	/* The last callback, which must close the channel. Open calls get no reply. error: 0 (the
	 * peer has closed), -EPROTO (the peer does not have the port) or another -errno. */
	void (*on_lost)(void *ctx, int error);
};

/* How to reach a service. Everything is borrowed. */
struct channel_target {
	const char *address; /* NULL: the default of the port */
	/* Replaces the address, as in struct sonda_backend_options; NULL: none. */
	int (*connect)(void *ctx, enum sonda_port port);
	void *ctx;
};

struct channel_reply {
	bool success; /* false: the service refused the call; no data */
	bool has_more; /* the call stays open */
	const uint8_t *data; /* borrowed during the callback */
	size_t len;
};

typedef void (*channel_reply_fn)(void *ctx, const struct channel_reply *reply);

/* Returns 0, or -errno if the target refuses at once. -EKEYREJECTED: the listener at the address is
 * not trusted (client/transport/service_trust.h). */
int channel_open(const struct channel_target *target, enum sonda_port port,
		 const struct channel_ops *ops, void *ctx, struct channel **ret);
/* No callback follows. Other threads must not use the channel any more. No-op for NULL. */
void channel_close(struct channel *c);
/* Call in a child after fork(). Closes the descriptors, frees nothing. */
void channel_forget(struct channel *c);

/* Returns true if the service has the method. */
bool channel_has(const struct channel *c, const char *method);
/* Returns true if the socket can pass descriptors, so it is a unix socket. */
bool channel_passes_fds(const struct channel *c);
/* Calls a method. fd: sent with the call, borrowed; -1: none. Returns 0, -ENOSYS (the service does
 * not have it), -EMSGSIZE, -ENOMEM, or -errno of the connection. */
int channel_call(struct channel *c, const char *method, const void *args, size_t len, int fd,
		 channel_reply_fn fn, void *ctx);
/* Calls a method without a reply. Any thread. */
int channel_send(struct channel *c, const char *method, const void *args, size_t len);
/* Sends the queue. If the socket is full, waits for it once, at most timeout_ms. Returns 0, -EAGAIN
 * (bytes are left) or -EPIPE. Any thread. */
int channel_drain(struct channel *c, int timeout_ms);
/* Returns the number of queued bytes. Any thread. */
size_t channel_queued(struct channel *c);
/* Pauses the reading of replies, or continues it. */
void channel_pause(struct channel *c, bool pause);
/* Returns the descriptor that came with a reply, which the caller owns; or -1. */
int channel_take_fd(struct channel *c);
