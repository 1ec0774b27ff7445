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
 * The host side of the protocol's sockets: accepts connections, answers BindService, calls methods
 * of a table by number, and sends their replies. It is independent of tracing.
 *
 *	listener --accept--> ipc_conn --first call--> open() ... method() ... close()
 *
 * service/ipc/ipc_peer.h identifies peers. A frame that is too long ends the connection, a
 * malformed frame is dropped, an invalid request is answered with an error.
 */
struct ipc_host;
struct ipc_conn;

/* One request, valid for replies while its connection exists. */
struct ipc_call {
	uint64_t request_id;
	bool wants_reply;
};

struct ipc_method {
	const char *name;
	/* Returns 0 if the call was answered or will be. Returns -errno to answer with success =
	 * false. For -EBADMSG (malformed arguments), that answer is sent even if no reply was
	 * requested. NULL: a method that is listed, but always refused. */
	int (*call)(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len);
};

#define IPC_MAX_METHODS 16

/* A service that clients bind by name; methods are numbered from 1 in the order of the table.
 * Everything is borrowed for the life of the host. */
struct ipc_service {
	const char *name;
	const struct ipc_method *methods;
	size_t n_methods; /* <= IPC_MAX_METHODS */
	/* Creates the endpoint that methods get, at the first call. Returns 0 or -errno. The
	 * endpoint is closed with the connection. */
	int (*open)(void *ctx, struct ipc_conn *conn, void **ret_endpoint);
	void (*close)(void *endpoint);
	/* Optional: returns -errno for a method that the endpoint refuses in its present state. */
	int (*check)(void *endpoint, const struct ipc_method *method);
	/* Optional: all queued replies of the connection were sent. */
	void (*on_drained)(void *endpoint);
	size_t send_limit; /* bytes of queued replies; above it the connection is closed */
	/* Above this many queued bytes no request is read until all were sent; 0: always read. */
	size_t hold_limit;
	/* A peer may send descriptors only after it has bound the service, if the kernel can refuse
	 * them (Linux 6.16). False: at any time. */
	bool descriptors_when_bound;
	bool is_urgent; /* served before others while its requests are short
			   (msgsock_set_scheduling) */
	enum quota_kind connections; /* the quota that a connection is charged to */
	unsigned max_remote_conns; /* connections from other machines */
	unsigned max_conns_per_address;
};

/* The rules of a listening socket. Borrowed for the life of the host; NULL: all zero. */
struct ipc_entrance {
	/* Remote peers that may connect; NULL: none. */
	const struct remote_allow *allow;
	/* A second service that can be bound here; NULL: none. Only its open, close, name and
	 * methods are used. */
	const struct ipc_service *extra;
	void *extra_ctx; /* argument of its open */
	/* Peers of this unix socket may be relays, which send the identity of another machine. On
	 * other unix sockets, a peer that sends an identity is disconnected. */
	bool takes_relays;
	/* Only root and quota.own_user may connect. */
	bool own_user_only;
};

/* quota is borrowed for the life of the host. Returns 0 or -ENOMEM. */
int ipc_host_new(struct event_base *loop, const struct ipc_service *service, void *ctx,
		 struct quota *quota, struct ipc_host **ret);
/* Closes every connection, endpoints first. No-op for NULL. */
void ipc_host_free(struct ipc_host *h);

/* Accepts connections on a listening socket. Takes ownership of fd, even on failure. Returns 0 or
 * -ENOMEM. */
int ipc_host_listen(struct ipc_host *h, int fd, const struct ipc_entrance *entrance);
/* Adds the connection of a connected socket. Takes ownership of fd, even on failure. Returns 0,
 * -EDQUOT (a limit), -EACCES (a remote peer that is not allowed), -ENOMEM, or -errno of the
 * kernel. */
int ipc_host_adopt(struct ipc_host *h, int fd, const struct ipc_entrance *entrance);
/* Like ipc_host_adopt(), for a peer that was identified before. Takes ownership of the members of
 * peer, too, even on failure. */
int ipc_host_adopt_peer(struct ipc_host *h, int fd, const struct ipc_entrance *entrance,
			struct ipc_peer *peer);

/* Returns the peer, which does not change after the first call of a method. */
const struct ipc_peer *ipc_conn_peer(const struct ipc_conn *c);
/* Returns the last descriptor that the peer sent, now owned by the caller, or -1. */
int ipc_conn_pop_fd(struct ipc_conn *c);
/* Closes a descriptor of the peer in the background, since close(2) may block. No-op for -1. */
void ipc_conn_close_fd(struct ipc_conn *c, int fd);
/* Allows or refuses descriptors of the peer from now on, if the kernel can refuse them. */
void ipc_conn_allow_descriptors(struct ipc_conn *c, bool on);
/* Returns the bytes of queued replies. */
size_t ipc_conn_queued(const struct ipc_conn *c);

/* Sends a reply, unless the call wants none. fd (borrowed, -1 for none) is sent with it. Returns 0,
 * -EMSGSIZE (larger than a frame: nothing was sent) or -EPIPE (the connection is lost; close()
 * follows). */
int ipc_reply(struct ipc_conn *c, const struct ipc_call *call, bool has_more, const void *payload,
	      size_t len, int fd);
/* Sends a last, empty reply. */
void ipc_reply_empty(struct ipc_conn *c, const struct ipc_call *call);
/* Answers with success = false, which also ends a stream. */
void ipc_reject(struct ipc_conn *c, const struct ipc_call *call);
