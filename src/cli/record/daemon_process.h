/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/core/err.h"

struct event_base;

/*
 * One daemon as a child of this process. It has its own process group, so that Ctrl-C does not
 * reach it, and the kernel kills it when this process ends. The daemon reports readiness by writing
 * "1" to the descriptor that an environment variable names. It logs to stderr.
 */
struct daemon_process;

#define DAEMON_MAX_ARGS 2
#define DAEMON_MAX_LINE 512 /* bytes of a line of its log, with a NUL; the rest is cut */

struct daemon_process_ops {
	/* The daemon wrote its "1". */
	void (*on_ready)(void *ctx, struct daemon_process *d);
	/* The daemon closed the descriptor without writing: it is ending, or ignores the
	 * variable. */
	void (*on_not_ready)(void *ctx, struct daemon_process *d);
	/* A line of its log with priority warning or higher, or without priority. Must not be
	 * NULL. */
	void (*on_line)(void *ctx, const char *line);
};

/* A variable of the child's environment. */
struct daemon_env {
	const char *name;
	const char *value;
};

/*
 * Starts the program at path. args are its arguments, at most DAEMON_MAX_ARGS, NULL-terminated.
 * notify_env is the variable that gets the number of the descriptor. env ends with a NULL name. ops
 * and name are borrowed until daemon_process_free. Returns 0, or -errno and sets e.
 */
int daemon_process_start(struct event_base *loop, const char *name, const char *path,
			 const char *const args[static 1], const char *notify_env,
			 const struct daemon_env *env, const struct daemon_process_ops *ops,
			 void *ctx, struct err_text *e, struct daemon_process **ret);

/* Returns true if the daemon has ended; then why (may be NULL) is set to the reason, with the last
 * line of its log unless SIGKILL ended it. Never blocks. */
bool daemon_process_has_ended(struct daemon_process *d, struct err_text *why);

/* Ends the daemon with SIGTERM, and with SIGKILL after timeout_ms. Waits for its end, then frees d.
 * No-op for NULL. */
void daemon_process_free(struct daemon_process *d, int timeout_ms);
