/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/ipc/ipc_peer.h"
#include "service/output/file_helper.h"
#include "service/socket_permissions.h"

struct service;

/*
 * The listening sockets of the service: those that were passed to this process (inherited.h), else
 * those of the environment, with the permissions and for the peers that the person asks for.
 */
#define MAX_SOCKETS 16 /* PERFETTO_PRODUCER_SOCK_NAME may be a list */

struct socket_options {
	struct remote_allow allow; /* from where producers may come on TCP and vsock */
	bool relay; /* RelayPort on every producer socket */
	const char *relay_on[MAX_SOCKETS]; /* borrowed from argv: on these */
	size_t n_relay_on;
	bool has_permissions;
	struct socket_permissions permissions[2]; /* of files; SOCKET_OF_... */
};

struct sockets {
	struct {
		char *address; /* owned; NULL: it was passed to us */
		int fd; /* owned until the service takes it */
		/* to be removed at the end if it is still the same; ino 0: none */
		struct output_file file;
		bool is_relay; /* offers RelayPort */
	} list[MAX_SOCKETS];
	size_t n;
	size_t n_producers; /* the first ones; the last one is the consumers' */
	bool files_are_given; /* a child removes them, sockets_close() does not */
};

/* 0, or -errno with the reason; sockets_close() in any case. */
int sockets_open(struct sockets *s, const struct socket_options *o, struct err_text *e);
/* The service takes them, the rules of o are borrowed for its life. 0 or -errno. */
int sockets_give(struct sockets *s, const struct socket_options *o, struct service *service);
/* Puts their files into the list of o; the paths are borrowed from s. */
void sockets_give_files(struct sockets *s, struct file_helper_options *o);
/* Closes what was not given away, and removes the files of the others: whoever comes later shall
 * see that nobody is here. */
void sockets_close(struct sockets *s);
