/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"

/*
 * What a daemon needs in order to listen: the group and the mode of a socket's file, the directory
 * of the default addresses, and the sockets that systemd passes.
 */

/* Group and mode of a socket's file, from --set-socket-permissions. */
struct sock_permissions {
	gid_t group;
	mode_t mode;
};

/* Parses a group, which is a name or a number, and a mode, which is four octal digits. Returns 0,
 * or -EINVAL or -ENOENT (no such group) and sets e. */
int sock_permissions_parse(const char *group, const char *mode, struct sock_permissions *ret,
			   struct err_text *e);

/* Listens as sock_listen(), and sets the permissions of the socket's file before another user can
 * connect. p NULL: the umask determines the mode. TCP and vsock addresses have no file, so p is
 * ignored; an abstract address with permissions is -EINVAL. Returns 0, or -errno and sets e. If the
 * permissions cannot be set, *ret_fd is set nevertheless and the caller closes it. */
int sock_listen_with(const char *address, const struct sock_permissions *p, int *ret_fd,
		     struct err_text *e);
/* Like sock_listen(), with mode 0600: only this user and root may connect. */
int sock_listen_for_own_user(const char *address, int *ret_fd, struct err_text *e);

/* As root, creates the directory of the default addresses if the address is in it, unless a unit of
 * systemd has created it. If this fails, sock_listen() reports the error. */
void sock_make_run_dir(const char *address);

/* ---- sockets that systemd passes (sd_listen_fds(3)) ---- */

#define SOCK_FIRST_PASSED 3 /* their descriptors are this one and the next */

/* Makes the passed sockets close-on-exec and non-blocking. Returns 0 with their number, which is 0
 * if none are for this process, or -errno and sets e. */
int sock_find_passed(size_t max, size_t *ret_n, struct err_text *e);
/* Checks that a passed descriptor is a unix stream socket, and makes it listen if it does not.
 * Returns 0, or -errno and sets e. */
int sock_prepare_passed(int fd, struct err_text *e);
