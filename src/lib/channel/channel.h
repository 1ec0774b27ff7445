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
 * All is for the loop's thread, but channel_send() and channel_drain(), which any thread may
 * call after on_bound. Any callback may close the channel; then no other follows.
 */
struct channel;

#define CHANNEL_MAX_FRAME 131068u

struct channel_ops {
	void (*on_bound)(void *ctx);
	/* The last callback; error: 0 the peer closed, -EPROTO it does not have the port, -errno.
	 * Open calls end with it. The callback closes the channel. */
	void (*on_lost)(void *ctx, int error);
};

/* How to reach a service. Everything is borrowed. */
struct channel_target {
	const char *address; /* NULL: the default of the port */
	/* In place of an address, as in struct sonda_backend_options; NULL: none. */
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

/* Returns 0, or -errno if the target refuses at once; -EKEYREJECTED: the listener at the address is
 * not to be trusted as a service (client/transport/service_trust.h). */
int channel_open(const struct channel_target *target, enum sonda_port port,
		 const struct channel_ops *ops, void *ctx, struct channel **ret);
/* No callback follows. No other thread may use it any more. No-op for NULL. */
void channel_close(struct channel *c);
/* In a child after fork(): closes the descriptor, frees nothing. */
void channel_forget(struct channel *c);

bool channel_has(const struct channel *c, const char *method);
/* Returns true if the socket passes descriptors: a unix socket. */
bool channel_passes_fds(const struct channel *c);
/* fd: sent along, borrowed; -1: none. Returns 0, -ENOSYS, -EMSGSIZE, -EPIPE or -ENOMEM. */
int channel_call(struct channel *c, const char *method, const void *args, size_t len, int fd,
		 channel_reply_fn fn, void *ctx);
/* Calls a method without a reply. Any thread. */
int channel_send(struct channel *c, const char *method, const void *args, size_t len);
/* Any thread: waits at most timeout_ms until all is sent. Returns 0, -EAGAIN or -EPIPE. */
int channel_drain(struct channel *c, int timeout_ms);
/* Any thread: returns the bytes that wait for the socket. */
size_t channel_queued(struct channel *c);
/* Reads no replies, or does again: its owner has enough. */
void channel_pause(struct channel *c, bool pause);
/* In a reply: the descriptor that came along, which the caller then owns; or -1. */
int channel_take_fd(struct channel *c);
