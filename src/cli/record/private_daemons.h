/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct event_base;

/* A private tracing service and producer, for machines where no service runs: sondad and
 * sonda-probes on sockets in a directory of mode 0700. Each has its own process group, so that
 * Ctrl-C does not reach it, and the kernel ends both when this process ends.
 * private_daemons_free() also removes the directory. */
struct private_daemons;

#define PRIVATE_START_TIMEOUT_MS 30000 /* for each of the two to become ready */
#define PRIVATE_STOP_TIMEOUT_MS 10000 /* time for each daemon to end before it is killed */

struct private_daemons_ops {
	/* Both are ready: the caller may connect to private_daemons_address(). */
	void (*on_ready)(void *ctx);
	/* A daemon could not be started, or the service has ended. Called once; then the caller may
	 * only free. */
	void (*on_failed)(void *ctx, const char *why);
	/* After on_ready: the producer has ended, the service has not. Called once. */
	void (*on_producer_ended)(void *ctx, const char *why);
	/* A line of a daemon's log with priority warning or higher, or without priority. */
	void (*on_line)(void *ctx, const char *line);
};

/* The service may create files in the directory of output_path, an absolute path (sondad
 * --output-dir); NULL: nowhere. ops is borrowed until private_daemons_free. The programs are found
 * beside this one or in PATH. Returns 0, or -errno and sets e. */
int private_daemons_start(struct event_base *loop, const char *output_path,
			  const struct private_daemons_ops *ops, void *ctx, struct err_text *e,
			  struct private_daemons **ret);

/* Returns the address of the consumer socket, valid as long as the daemons. */
const char *private_daemons_address(const struct private_daemons *p);
/* The same for the producer socket. */
const char *private_daemons_producer_address(const struct private_daemons *p);

/* Returns true if the service has ended, or the producer before it was ready. Does not run the
 * loop. If so, sets why (may be NULL) to the reason, with the last line of the daemon's log unless
 * SIGKILL ended the daemon. */
bool private_daemons_check_failed(struct private_daemons *p, struct err_text *why);

/* After a connection has broken: waits a moment for a daemon to end, which would explain it.
 * Returns as private_daemons_check_failed(). */
bool private_daemons_await_failure(struct private_daemons *p, struct err_text *why);

/* Ends the producer first, so that it can restore tracefs, then the service. Waits for both.
 * Returns the CPU time that both used, with their children, in ns. NULL is allowed. */
uint64_t private_daemons_free(struct private_daemons *p);
