/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/core/err.h"

/*
 * The addresses that may connect to a producer socket on TCP or vsock. These protocols do not
 * authenticate the peer; only its address is known.
 *
 *	127.0.0.1   10.0.0.0/8   ::1   fd00::/8   vsock://3
 *
 * Host names are not supported, because a name server could then grant access. An IPv4 peer of an
 * IPv6 socket has its IPv4 address; IPv6 rules do not match it.
 */

#define REMOTE_ALLOW_MAX 64 /* rules */

struct remote_address {
	sa_family_t family; /* AF_INET, AF_INET6, AF_VSOCK; AF_UNSPEC: another one */
	uint8_t ip[16]; /* network order; AF_INET uses the first 4 bytes */
	uint32_t cid;
};

struct remote_allow {
	size_t n;
	struct {
		struct remote_address address;
		unsigned bits; /* length of the prefix of ip that must match */
	} rules[REMOTE_ALLOW_MAX];
};

/* Adds the rules of a comma-separated list. Returns 0, -ENOMEM, or -EINVAL or -E2BIG and sets e. */
int remote_allow_add(struct remote_allow *a, const char *list, struct err_text *e);

bool remote_address_same(const struct remote_address *a, const struct remote_address *b);
/* Bytes of an address as text, with a NUL: "10.0.0.1", "fd00::1", "vsock://3". */
#define REMOTE_ADDRESS_TEXT 64

/*
 * The peer of a connection.
 *
 *	AF_UNIX      the credentials of the kernel (SO_PEERCRED) only
 *	TCP, vsock   the address, if it is allowed; and the identity that the peer sends once
 *	             before its first call, which is written into traces and never trusted
 *	a relay on   both: the user that the kernel names is its address
 *	AF_UNIX
 *
 * The uid of a remote peer is never that of root: it would be root of another machine, or invented.
 */
struct ipc_peer {
	bool is_remote;
	bool introduced; /* has sent its identity */
	uid_t uid; /* remote: from its identity; UID_UNKNOWN for root or without identity */
	pid_t pid; /* 0: unknown */
	struct remote_address address; /* remote only */
	uint32_t machine_id; /* 0: this machine, or a loopback peer without identity */
	char *machine_name; /* owned; of a remote peer; NULL: none */
};

#define UID_UNKNOWN ((uid_t)-1)
#define MAX_MACHINE_NAME 256 /* bytes; a longer name is ignored */

/* Identifies the peer of a connected socket. allow (may be NULL): the allowed remote peers. Returns
 * 0, -EACCES if a remote peer is not allowed (*ret has its address), or -errno of the kernel. */
int ipc_peer_identify(int fd, const struct remote_allow *allow, struct ipc_peer *ret);
void ipc_peer_deinit(struct ipc_peer *p);
/* Returns the user for quotas: a uid of this machine, or a number above all uids for a remote
 * address. */
uint64_t ipc_peer_user(const struct ipc_peer *p);
/* Call it for a local peer that turns out to be a relay, before ipc_peer_set_identity(). */
void ipc_peer_set_relayed(struct ipc_peer *p);
/* Stores the identity of a SetPeerIdentity frame. No-op for a local peer, and after the first such
 * frame. */
void ipc_peer_set_identity(struct ipc_peer *p, const uint8_t *identity, size_t len);

/* Writes the peer's name for messages: "process 12 of uid 1000", "10.0.0.1". */
#define IPC_PEER_TEXT 80
void ipc_peer_text(const struct ipc_peer *p, char ret_text[static IPC_PEER_TEXT]);
