/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

/*
 * Finds the user of the other end of a TCP connection within this machine, in the kernel's lists of
 * sockets (proc_pid_net(5), tcp and tcp6). The user who opens a connection cannot influence what
 * these lists show.
 *
 * local and peer: as getsockname() and getpeername() of this end. Returns 0; -ENOENT if the kernel
 * lists no such socket (the other end is in another network namespace) or its process has closed
 * it; or -errno.
 */
int tcp_peer_find_user(const struct sockaddr_in *local, const struct sockaddr_in *peer,
		       uid_t *ret_uid);
