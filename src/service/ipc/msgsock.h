/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct event_base;

/*
 * A connected stream socket that carries messages: a 4-byte little-endian length, then that many
 * bytes; descriptors may accompany them (SCM_RIGHTS, AF_UNIX only). It belongs to one libevent
 * loop and never blocks it: one wake-up reads at most about one buffer.
 *
 * Reading: a message longer than the limit, an error or the end of the stream closes the
 * connection; a message of length 0 is skipped. At most one received descriptor is kept: a newer
 * one replaces it. Writing: data that the socket does not accept at once is queued, up to a
 * limit in bytes; above the limit the connection is closed.
 */
struct msgsock;

/* The limit of the protocol: 128 KiB with the length word. */
#define MSGSOCK_MAX_MESSAGE (131072 - 4)

struct msgsock_ops {
	/* One whole message; data is valid during the call. The callee may free the msgsock. */
	void (*on_message)(void *ctx, const uint8_t *data, size_t len);
	/* The connection is over: 0 = the peer closed; -EPIPE or -ECONNRESET = it closed while we
	 * had data to send; -EMSGSIZE = a message was too large; -ETOOMANYREFS = more
	 * than two descriptors came with one read, or this process had none left for them;
	 * -ENOBUFS = the send queue was full; or another -errno. Called once, from the loop, never
	 * from inside msgsock_send, after every message that arrived before. The callee usually
	 * frees the msgsock. */
	void (*on_close)(void *ctx, int error);
	/* Optional: the send queue has become empty. Called from the loop. */
	void (*on_drained)(void *ctx);
	/* Optional: the size of the receive buffer and the send queue in bytes has changed;
	 * msgsock_free() reports 0. If the callee returns -errno for an increase, the connection
	 * ends with that error. Any function of this header may call it. */
	int (*on_memory)(void *ctx, size_t before, size_t now);
	/* Optional, close(2) by default: closes a descriptor that the peer sent and
	 * msgsock_pop_fd() did not take, or the socket itself, whose queue may hold such
	 * descriptors. Any function of this header may call it. */
	void (*close_fd)(void *ctx, int fd);
	/* Optional, for an urgent socket (msgsock_set_scheduling): called each time before the
	 * socket is served ahead of others. Returns false if this time it must be served like
	 * them. */
	bool (*may_be_urgent)(void *ctx);
};

/* Takes ownership of fd (non-blocking) on success; on failure the caller keeps it. ops is borrowed
 * for the life of the msgsock. Returns 0 or -errno. */
int msgsock_new(struct event_base *loop, int fd, size_t send_limit, const struct msgsock_ops *ops,
		void *ctx, struct msgsock **ret);
/* Closes the socket and frees m, without calling on_close. No-op for NULL. May be called in a
 * callback of m. */
void msgsock_free(struct msgsock *m);

/* Sends one message made of the pieces, with fd (borrowed, -1 for none) on its first byte. Bytes
 * that cannot be sent at once are copied. Returns 0; -EMSGSIZE if longer than MSGSOCK_MAX_MESSAGE
 * (nothing is sent); -EPIPE if the connection is over or about to end (on_close follows). */
int msgsock_send(struct msgsock *m, const struct iovec *pieces, int n_pieces, int fd);

/* Backpressure: when more than limit bytes wait to be sent, receiving stops until the queue is
 * empty. It is for the side that answers: a peer which sends requests and does not read replies has
 * to wait. Use it on one side of a connection only; if both sides hold, each can wait for the
 * other. */
void msgsock_set_hold_limit(struct msgsock *m, size_t limit);

/* Limits one wake-up to about time_slice_ns of messages, at least one; then the loop continues with
 * other events. is_urgent: on a loop with priorities this socket is served before those of the
 * default priority, until one time slice was too short for its messages; then it has the default
 * priority until it has caught up. */
void msgsock_set_scheduling(struct msgsock *m, uint64_t time_slice_ns, bool is_urgent);

/* Returns the number of bytes that wait to be sent, length words included. */
size_t msgsock_queued(const struct msgsock *m);
/* Returns the last descriptor received (close-on-exec), which the caller then owns, or -1. */
int msgsock_pop_fd(struct msgsock *m);
int msgsock_fd(const struct msgsock *m);
