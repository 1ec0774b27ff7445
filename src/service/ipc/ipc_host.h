/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/ipc/ipc_peer.h"
#include "service/ipc/quota.h"

struct event_base;

/*
 * The host side of the protocol's sockets: accepts connections, answers binds, calls methods out of
 * a table by number, and carries their replies back. It knows nothing of tracing.
 *
 *	listener --accept--> ipc_conn --first call--> open() ... method() ... close()
 *
 * Who a peer is, service/ipc/ipc_peer.h says. A frame that is too long ends the connection, one that
 * does not parse is dropped, a request that makes no sense is answered with an error.
 */
struct ipc_host;
struct ipc_conn;

/* One request; replies go to it while its connection lives. */
struct ipc_call {
	uint64_t request_id;
	bool wants_reply;
};

struct ipc_method {
	const char *name;
	/*
	 * 0: it was answered, or will be. -errno: the host answers success = false, for -EBADMSG
	 * (the arguments do not parse) even if no reply was asked for. NULL: a method that is
	 * listed, but always refused.
	 */
	int (*call)(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);
};

#define IPC_MAX_METHODS 16

/* What is bound by name; methods are numbered from 1 by their place. All borrowed for the life of
 * the host. */
struct ipc_service {
	const char *name;
	const struct ipc_method *methods;
	size_t n_methods; /* <= IPC_MAX_METHODS */
	/* What the methods work on: made at the first call, ended with the connection. */
	int (*open)(void *ctx, struct ipc_conn *conn, void **ret_endpoint);
	void (*close)(void *endpoint);
	/* Optional: all replies of the connection are out, after some had to wait. */
	void (*on_drained)(void *endpoint);
	size_t send_limit; /* bytes of replies that may wait; past it the connection is closed */
	/* Past so many no further request is taken until all are out; 0: always taken. */
	size_t hold_limit;
	/* A peer may send descriptors once it has bound the service, not before, where the kernel can
	 * refuse them (Linux 6.16). False: always. */
	bool descriptors_when_bound;
	bool is_urgent; /* served before others, as long as it asks for little (msgsock_set_time_slice) */
	enum quota_kind connections; /* what a connection counts as */
	unsigned max_remote_conns; /* of these */
	unsigned max_conns_per_address;
};

/* What a listening socket is for. Borrowed for the life of the host; NULL is all zero. */
struct ipc_entrance {
	/* Remote peers that are let in; NULL: none. */
	const struct remote_allow *allow;
	/* A second service that can be bound here; NULL: none. Only its open, close, name and methods
	 * count. */
	const struct ipc_service *extra;
	void *extra_ctx; /* for its open */
	/* Only peers of root and of quota.own_user are let in. */
	bool own_user_only;
};

/* quota is borrowed for the life of the host. 0 or -ENOMEM. */
int ipc_host_new(struct event_base *loop, const struct ipc_service *service, void *ctx,
		 struct quota *quota, struct ipc_host **ret);
/* Closes every connection, endpoints first. NULL is fine. */
void ipc_host_free(struct ipc_host *h);

/* Takes a listening socket, also on failure. */
int ipc_host_listen(struct ipc_host *h, int fd, const struct ipc_entrance *entrance);
/* Takes a connected socket, also on failure: -EDQUOT (a limit), -EACCES (a remote peer that is not
 * let in), -ENOMEM, or what the kernel says. */
int ipc_host_adopt(struct ipc_host *h, int fd, const struct ipc_entrance *entrance);
/* The same, of a peer (taken, also on failure) that is known already. */
int ipc_host_adopt_peer(struct ipc_host *h, int fd, const struct ipc_entrance *entrance,
			struct ipc_peer *peer);

/* Does not change once a method of the connection was called. */
const struct ipc_peer *ipc_conn_peer(const struct ipc_conn *c);
/* The last file descriptor that the peer sent, now the caller's, or -1. */
int ipc_conn_take_fd(struct ipc_conn *c);
/* Closes it in the background, if it is one: closing may take as long as the peer wants. */
void ipc_conn_close_fd(struct ipc_conn *c, int fd);
/* Whether the peer may send descriptors from now on, where the kernel can refuse them. */
void ipc_conn_take_descriptors(struct ipc_conn *c, bool on);
/* Bytes that wait for the peer to read. */
size_t ipc_conn_queued(const struct ipc_conn *c);

/*
 * Sends a reply; nothing when none is wanted. fd rides along (borrowed, -1 for none). 0; -EMSGSIZE:
 * larger than a frame, and nothing was sent; -EPIPE: the connection is over, close() follows.
 */
int ipc_reply(struct ipc_conn *c, const struct ipc_call *call, bool has_more, const void *payload,
	      size_t len, int fd);
/* A last reply with nothing in it. */
void ipc_reply_empty(struct ipc_conn *c, const struct ipc_call *call);
/* success = false, which ends a stream too. */
void ipc_reject(struct ipc_conn *c, const struct ipc_call *call);
