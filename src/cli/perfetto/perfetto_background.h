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
 * Continues in a child with a session(7) of its own, with "/" as its directory and without the
 * terminal. The parent prints the child's pid and ends: at once, or, with wait, when the child has
 * called perfetto_notify(), whose `how` is the exit code. Returns, in the child, the descriptor to
 * notify, or -1 without wait; in the parent, only if there is no child, -errno - 1.
 *
 * With hold_signals, SIGINT and SIGTERM are blocked in the child: a program that reads the pid may
 * send a signal before the child handles it. termination_signals_watch() takes them.
 */
int perfetto_background(bool wait, bool hold_signals);

/* Writes the byte to fd and closes it. No-op for -1. */
void perfetto_notify(int *fd, enum perfetto_started how);
