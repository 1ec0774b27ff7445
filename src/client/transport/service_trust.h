/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * Checks whether the peer of a unix socket may be trusted as the tracing service. Any user can
 * listen at an address before the service does, so a client asks the kernel for the user that
 * called listen(2) (SO_PEERCRED) before it sends anything. Trusted users are
 *
 *	root
 *	the user of this process, real or effective
 *	the owner of /run/perfetto, which only root can create: the service's own user if a unit has
 *	RuntimeDirectory=perfetto
 *	the user that SONDA_SERVICE_USER names, by name or number; set-user-id programs ignore it
 *	any user at an address in /dev/socket, if only root may write there: Android's init binds the
 *	sockets, and the service, which runs as nobody, listens
 *
 * TCP and vsock have no such proof, and are used only where an address names them.
 */
#define SERVICE_USER_VARIABLE "SONDA_SERVICE_USER"

/* Returns 0 if fd, which is connected to address, is not a unix socket or its peer is trusted;
 * -EKEYREJECTED if it is not; or -errno. */
int service_trust_check(int fd, const char *address);
/* Like service_trust_check(), for a library. A program with more rights than the user who started
 * it (set-user-id, set-group-id, file capabilities) does not trust a service of that user. */
int service_trust_check_secure(int fd, const char *address);

/* Returns true if the service's statements, such as the uid of a consumer, are trusted like those
 * of root. This excludes a remote service, and one that is trusted only because it runs as the user
 * of this process. */
bool service_trust_speaks_for_root(int fd);

/* Sets e for the last -EKEYREJECTED of this thread: which user listens at address, and the remedy.
 * Returns -EKEYREJECTED. */
int service_trust_explain(const char *address, struct err_text *e);
