/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"

/*
 * --set-socket-permissions PGROUP:PMODE:CGROUP:CMODE: who may connect to the producers' and to the
 * consumers' sockets. A group is a name or a number; a mode is four octal digits.
 */
struct socket_permissions {
	gid_t group;
	mode_t mode;
};

enum { SOCKET_OF_PRODUCERS, SOCKET_OF_CONSUMERS };

/* 0; -EINVAL or -ENOENT (no such group) with the reason, for a person who typed it. */
int socket_permissions_parse(const char *text, struct socket_permissions ret[static 2],
			     struct err_text *e);
/* Of a socket's file that this process has made. 0 or -errno with the reason. */
int socket_permissions_set(const char *path, const struct socket_permissions *p,
			   struct err_text *e);
