/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/*
 * Sockets that were opened by whoever started this process:
 *
 *	systemd	LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES: descriptors from 3 on. The consumers' is
 *		the one with FileDescriptorName=consumer, else the one with the consumers' default
 *		address, else the last one; the others are the producers'
 *	Android	ANDROID_SOCKET_traced_producer and ANDROID_SOCKET_traced_consumer: the number of
 *		the descriptor; both or none
 */
#define INHERITED_MAX 16

struct inherited {
	int fds[INHERITED_MAX]; /* the caller's: listening, close-on-exec, non-blocking */
	size_t n; /* 0: none were passed; else at least 2, of which the last is the consumers' */
};

/* Takes them out of the environment. 0; or -errno with the reason when what was passed cannot be
 * used. */
int inherited_find(struct inherited *ret, struct err_text *e);
