/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct event_base;

/*
 * A connected stream socket that carries messages: a 4-byte little-endian length, then that many
 * bytes; file descriptors ride along (SCM_RIGHTS, AF_UNIX only). It lives on one libevent loop and
 * never blocks it: one wake-up reads about one buffer's worth.
 *
 * Reading: a message longer than the limit, an error or the end of the stream closes the
 * connection; a message of length 0 is skipped. At most one received descriptor is kept: a newer
 * one replaces it. Writing: what the socket does not take at once is queued, up to a limit in
 * bytes; past it the connection is closed.
 */
struct msgsock;

/* The protocol receives into 128 KiB, length word included. */
#define MSGSOCK_MAX_MESSAGE (131072 - 4)

struct msgsock_ops {
	/* One whole message; data is valid during the call. The callee may free the msgsock. */
	void (*on_message)(void *ctx, const uint8_t *data, size_t len);
	/*
	 * The connection is over: 0 = the peer closed; -EPIPE or -ECONNRESET = it closed while we
	 * had something to say; -EMSGSIZE = a message was too large; -ETOOMANYREFS = more
	 * descriptors came at once than can be received; -ENOBUFS = the send queue was full; or
	 * another -errno. Called once, from the loop, never from inside
	 * msgsock_send, after every message that arrived before. The callee usually frees.
	 */
	void (*on_close)(void *ctx, int error);
	/* Optional: the send queue became empty after it was not. From the loop. */
	void (*on_drained)(void *ctx);
	/*
	 * Optional: the bytes of memory for what is received and what waits, before and now; 0 at
	 * the end. Where it gives -errno for more, the connection ends with that. It may be called
	 * from inside of any function here.
	 */
	int (*on_memory)(void *ctx, size_t before, size_t now);
	/*
	 * Optional, close(2) by default: closes a descriptor that the peer sent and nobody took, or
	 * the socket itself, whose queue may hold others. It may be called from inside of any
	 * function here.
	 */
	void (*close_fd)(void *ctx, int fd);
};

/* fd (non-blocking) is taken on success. ops is borrowed for the life of the msgsock. Returns 0, or -errno
 * with nothing taken. */
int msgsock_new(struct event_base *loop, int fd, size_t send_limit, const struct msgsock_ops *ops,
		void *ctx, struct msgsock **ret);
/* Closes and frees; on_close is not called. No-op for NULL. Safe inside a callback of its own. */
void msgsock_free(struct msgsock *m);

/*
 * Sends one message made of the pieces, with fd (borrowed, -1 for none) on its first byte. The
 * bytes are copied where they must wait. 0; -EMSGSIZE when longer than MSGSOCK_MAX_MESSAGE (nothing
 * sent); -EPIPE when the connection is over or is going to be (on_close follows).
 */
int msgsock_send(struct msgsock *m, const struct iovec *pieces, int n_pieces, int fd);

/*
 * From now on, while more than limit bytes wait to be sent, nothing is received and on_message is
 * not called, until the queue is empty: for a side that answers, so that a peer that asks and does
 * not read waits itself. For one side of a connection only; two that hold can wait for each other.
 */
void msgsock_hold_reads(struct msgsock *m, size_t limit);

/*
 * From now on a wake-up hands out messages for about time_slice_ns of time, at least one, and then gives the
 * others of the loop their turn. is_urgent: on a loop with priorities this socket is served before
 * others of the default priority, until a turn was too short for all that it had sent; then it is
 * served as they are, until nothing is left.
 */
void msgsock_set_turn(struct msgsock *m, uint64_t time_slice_ns, bool is_urgent);

/* Tries for up to timeout_ms to empty the send queue, blocking. 0; -EAGAIN: some is left; -EPIPE: the
 * connection is over, or the peer has closed it, which is found also with nothing to send. */
int msgsock_drain(struct msgsock *m, int timeout_ms);

/* Bytes that wait to be sent, lengths included. */
size_t msgsock_queued(const struct msgsock *m);
/* The last descriptor received, now the caller's, or -1. Close-on-exec. */
int msgsock_take_fd(struct msgsock *m);
int msgsock_fd(const struct msgsock *m);
