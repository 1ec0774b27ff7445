/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/store/store.h"
#include "analyze/store/strings.h"

/*
 * The addresses and ports of sockets, as the events of the trace show them:
 *
 *	"10.71.1.1:41068 10.71.2.1:5001"	the socket's own address, a space, that of its peer
 *
 * An event contains the addresses (tcp_retransmit_skb), or only the hash of the socket
 * (sock_send_length, kfree_skb). The caller passes the events of a trace in the order of time, so
 * that a socket has the addresses that it had at that time.
 */
struct connections {
	struct connection_socket *sockets; /* owned hash */
	struct strings texts;
	struct budget budget;
	struct arg_list list; /* owned */
	bool failed; /* out of memory */
};

void connections_init(struct connections *c);
void connections_deinit(struct connections *c);

/* Returns true if events of this name have addresses or the hash of a socket. */
bool connections_has_event(const char *name, size_t len);

/* Reads a row of ftrace_event whose name connections_has_event() accepts. Returns the id in texts
 * of the addresses of its socket; NULL_U32: not known. */
uint32_t connections_read(struct connections *c, const struct store *s, uint32_t row);
