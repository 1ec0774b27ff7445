/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* --background, --background-wait and --notify-fd. */

enum perfetto_started {
	PERFETTO_STARTED = 0, /* all data sources */
	PERFETTO_FAILED = 1,
	PERFETTO_TIMEOUT = 2, /* after 30 s */
};

#define PERFETTO_START_TIMEOUT_MS 30000

/*
 * Continues in a child of its own session, with "/" as its directory and without the terminal. The
 * parent prints the child's pid and ends: at once, or, with wait, when the child has called
 * perfetto_notify(), with that as exit code. Returns in the child only: the descriptor to notify,
 * -1 without wait; or -errno below -1.
 *
 * With hold_signals, SIGINT and SIGTERM are blocked in the child: a program that reads the pid may
 * send one before the child handles it. termination_signals_watch() takes them.
 */
int perfetto_background(bool wait, bool hold_signals);

/* Writes the byte to fd and closes it. No-op for -1. */
void perfetto_notify(int *fd, enum perfetto_started how);
