/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/core/err.h"

/*
 * The addresses that may connect to a producer socket on TCP or vsock. On those nobody proves who
 * is at the other end; the address is all that there is to go by.
 *
 *	127.0.0.1   10.0.0.0/8   ::1   fd00::/8   vsock://3
 *
 * No names: what they stand for is for others to say. An IPv4 peer of an IPv6 socket is an IPv4
 * address. An IPv6 rule never covers it.
 */

#define REMOTE_ALLOW_MAX 64 /* rules */

struct remote_address {
	sa_family_t family; /* AF_INET, AF_INET6, AF_VSOCK; AF_UNSPEC: none of these */
	uint8_t ip[16]; /* network order; of AF_INET the first 4 */
	uint32_t cid;
};

struct remote_allow {
	size_t n;
	struct {
		struct remote_address address;
		unsigned bits; /* of ip that must be the same */
	} rules[REMOTE_ALLOW_MAX];
};

/* Adds the rules of a list separated by commas. 0, or with the reason in e -EINVAL or -E2BIG. */
int remote_allow_add(struct remote_allow *a, const char *list, struct err_text *e);

/* 127.0.0.0/8 and ::1 */
bool remote_address_same(const struct remote_address *a, const struct remote_address *b);
/* As in a rule: "10.0.0.1", "fd00::1", "vsock://3". */
#define REMOTE_ADDRESS_TEXT 64

/*
 * Who is at the other end of a connection.
 *
 *	AF_UNIX      what the kernel says (SO_PEERCRED), and nothing else
 *	TCP, vsock   the address, if it is allowed; and what the peer says of itself, once, before
 *	             its first call: told to readers of a trace, believed by nobody
 *
 * A remote peer's user is never root: that would be another machine's, or a lie.
 */
struct ipc_peer {
	bool is_remote;
	bool introduced; /* has said who it is */
	uid_t uid; /* remote: as it says; UID_UNKNOWN for root, and until then */
	pid_t pid; /* 0: unknown */
	struct remote_address address; /* remote only */
	uint32_t
		machine_id; /* 0: this machine. Of a remote peer only on loopback, without identity */
	char *machine_name; /* owned; of a remote peer, NULL: it has none */
};

#define UID_UNKNOWN ((uid_t)-1)
#define MAX_MACHINE_NAME 256 /* bytes; a longer one is none */

/* Of a connected socket. allow (may be NULL): remote peers that are let in. 0; -EACCES: a remote
 * one that is not, with its address in *ret; -errno of the kernel. */
int ipc_peer_of(int fd, const struct remote_allow *allow, struct ipc_peer *ret);
void ipc_peer_deinit(struct ipc_peer *p);
/* Whose limits it counts against: a uid of this machine, or a number above all uids that stands for
 * the address. */
uint64_t ipc_peer_user(const struct ipc_peer *p);
/* SetPeerIdentity: of a remote peer, the first; else no effect. */
void ipc_peer_introduce(struct ipc_peer *p, const uint8_t *identity, size_t len);

/* "process 12 of uid 1000", "10.0.0.1"; for messages. */
#define IPC_PEER_TEXT 80
void ipc_peer_text(const struct ipc_peer *p, char ret_text[static IPC_PEER_TEXT]);
