/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * Tells whoever started this process that it is ready, in the two ways there are:
 *
 *	VARIABLE=FD	of the environment (TRACED_NOTIFY_FD): "1" is written there, and it is
 *			closed
 *	NOTIFY_SOCKET	of systemd, for units of Type=notify: READY=1, with our process id
 *
 * notify_open() looks for both, and opens what is needed, so that notify_ready() works without the
 * right to open a socket.
 */
struct notify {
	const char *variable; /* borrowed for our life */
	int fd; /* owned; -1: nobody waits, or was reported */
	int systemd; /* the same */
};

/* 0 (there may be nobody), or -errno with the reason: then what is there is reported all the same. */
int notify_open(struct notify *n, const char *variable, struct err_text *e);
/* Once; further calls do nothing. Returns 0 or -errno with the reason. */
int notify_ready(struct notify *n, struct err_text *e);
void notify_close(struct notify *n);
