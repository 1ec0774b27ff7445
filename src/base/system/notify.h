/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * Reports readiness to the process that started this one, in two ways:
 *
 *	VARIABLE=FD	of the environment (TRACED_NOTIFY_FD): "1" is written to FD, which is then
 *			closed
 *	NOTIFY_SOCKET	of systemd, for units of Type=notify: READY=1, with our process id
 *
 * notify_open() looks for both and opens the socket, so that notify_ready() works after the process
 * has lost the right to open one.
 */
struct notify {
	const char *variable; /* borrowed */
	int fd; /* owned; -1: not requested, or reported already */
	int systemd; /* owned: socket to systemd; -1 as for fd */
};

/* Returns 0, also if neither is requested; or -errno and sets e if one of them cannot be used. The
 * other one is used then. The caller calls notify_close() in either case. */
int notify_open(struct notify *n, const char *variable, struct err_text *e);
/* Reports only to systemd: READY=1, which ends the start of the unit, with a sentence for
 * `systemctl status` (at most 150 bytes). For a process that works but still waits for another one:
 * its start must not time out. Returns 0, or -errno and sets e. */
int notify_systemd(const struct notify *n, const char *status, struct err_text *e);
/* Reports once, without a sentence; further calls do nothing. Returns 0, or -errno and sets e. */
int notify_ready(struct notify *n, struct err_text *e);
void notify_close(struct notify *n);
