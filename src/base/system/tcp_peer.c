/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/tcp_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "base/core/mem.h"
#include "base/text/str.h"

static void tcp_peer_close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* Formats an address as /proc/net/tcp does. In tcp6, an IPv4-mapped address ends with the same
 * eight digits. */
static void print_address(const struct sockaddr_in *a, char buf[static 16])
{
	snprintf(buf, 16, "%08X:%04X", a->sin_addr.s_addr, ntohs(a->sin_port));
}

/*
 * Finds the user of the socket with these two addresses in /proc/net/tcp or tcp6. Returns 0,
 * -ENOENT or -errno. The first line of the file names its columns:
 *
 *	sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
 */
static int find_user_of_socket(const char *path, const char *from, const char *to, uid_t *ret_uid)
{
	_cleanup_(tcp_peer_close_file) FILE *f = fopen(path, "re");
	char line[512], local[64], remote[64];
	unsigned long inode;
	unsigned uid;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*[^:]: %63s %63s %*s %*s %*s %*s %u %*s %lu", local, remote,
			   &uid, &inode) != 4 ||
		    !str_ends(local, from) || !str_ends(remote, to))
			continue;
		/* The kernel shows root as the user of a socket that its process has closed. */
		if (inode == 0)
			return -ENOENT;
		*ret_uid = uid;
		return 0;
	}
	return ferror(f) ? -EIO : -ENOENT;
}

int tcp_peer_find_user(const struct sockaddr_in *local, const struct sockaddr_in *peer,
		       uid_t *ret_uid)
{
	char from[16], to[16];
	int r;

	print_address(peer, from);
	print_address(local, to);
	r = find_user_of_socket("/proc/net/tcp", from, to, ret_uid);
	return r == -ENOENT ? find_user_of_socket("/proc/net/tcp6", from, to, ret_uid) : r;
}
