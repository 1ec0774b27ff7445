/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * May the process at the other end of a unix socket be the tracing service of this process? Any user
 * can listen at an address before the service does, so a client asks the kernel (SO_PEERCRED: who
 * called listen) before it sends anything. Trusted are
 *
 *	root
 *	the user of this process, real or effective
 *	the owner of /run/perfetto, which root alone can make: the service's own user where a unit
 *	gives it that folder (RuntimeDirectory=perfetto)
 *	the user that SONDA_SERVICE_USER names, by name or number. A set-user-id program ignores it
 *
 * TCP and vsock have no such proof, and are used only where an address names them.
 */
#define SERVICE_USER_VARIABLE "SONDA_SERVICE_USER"

/* 0 where fd is not an unix socket or its peer is trusted; -EKEYREJECTED where it is not; -errno. */
int service_trust_check(int fd);

/*
 * May the service of a connection speak for root, as where it says which user a consumer is? Not one
 * that is trusted only because it is this process' user's, nor one of another machine.
 */
bool service_trust_speaks_for_root(int fd);

/* The sentence for the last -EKEYREJECTED of this thread: who listens at address, and what to do. Returns
 * -EKEYREJECTED. */
int service_trust_explain(const char *address, struct err_text *e);
