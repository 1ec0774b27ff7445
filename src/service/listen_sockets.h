/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "base/event_loop/sock_file.h"
#include "service/ipc/ipc_peer.h"
#include "service/output/file_helper.h"
#include "service/service.h"

enum { SOCKET_OF_PRODUCERS, SOCKET_OF_CONSUMERS };

/* Parses PGROUP:PMODE:CGROUP:CMODE. A group is a name or a number; a mode is four octal digits.
 * Returns 0, or -EINVAL, -ENOENT (no such group) or -ENOMEM and sets e. */
int socket_permissions_parse(const char *text, struct sock_permissions ret[static 2],
			     struct err_text *e);

/* The listening sockets of the service: those that another process has passed to this one (socket
 * activation), else those of the default addresses (sock_default_producer(): from the environment,
 * else built in). The last one is for consumers, the others for producers. */
#define MAX_SOCKETS 16 /* PERFETTO_PRODUCER_SOCK_NAME may be a list */

struct socket_options {
	struct remote_allow allow; /* addresses of producers on TCP and vsock */
	bool relay; /* offers RelayPort on every producer socket */
	const char *relay_on[MAX_SOCKETS]; /* borrowed from argv: addresses with RelayPort */
	size_t n_relay_on;
	bool has_permissions;
	struct sock_permissions permissions[2]; /* index: SOCKET_OF_... */
};

struct sockets {
	struct {
		char *address; /* owned; NULL: the socket was passed to us */
		int fd; /* owned until the service takes it */
		/* removed at the end if the path still names it; ino 0: none */
		struct output_file file;
		enum producer_socket kind;
	} list[MAX_SOCKETS];
	size_t n;
	size_t n_producers; /* the first ones of the list are for producers */
	bool files_are_given; /* the file helper removes them, sockets_close() does not */
};

/* Returns 0, or -errno and sets e. Call sockets_close() in either case. */
int sockets_open(struct sockets *s, const struct socket_options *o, struct err_text *e);
/* Gives the sockets to the service, which borrows o->allow for its life. Returns 0 or -errno. */
int sockets_pass_to_service(struct sockets *s, const struct socket_options *o,
			    struct service *service);
/* Adds the files of the sockets to o->remove. The paths are borrowed from s. */
void sockets_pass_files_to_helper(struct sockets *s, struct file_helper_options *o);
/* Closes the sockets that the service did not take. Unless the file helper does it, removes the
 * files of all sockets, so that a later connect() fails at once. */
void sockets_close(struct sockets *s);
