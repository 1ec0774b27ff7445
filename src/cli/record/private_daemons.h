/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

struct event_base;

/*
 * A tracing service and a producer of this process's own, for machines where no service runs:
 * sondad and sonda-probes on sockets in a folder that nobody else may enter. They end with this
 * process, however it ends; private_daemons_free also removes the folder.
 */
struct private_daemons;

#define PRIVATE_START_TIMEOUT_MS 10000 /* for each of the two to become ready */
#define PRIVATE_STOP_TIMEOUT_MS 10000 /* for each to end before it is killed */

struct private_daemons_ops {
	/* Both are ready: connect to private_daemons_address. */
	void (*on_ready)(void *ctx);
	/* They cannot start, or the service has ended, sooner or later. Comes once; only freeing
	 * remains. */
	void (*on_failed)(void *ctx, const char *why);
	/* After on_ready: the producer has ended, the service has not. Comes once. */
	void (*on_producer_ended)(void *ctx, const char *why);
	/* A warning of one of them. */
	void (*on_line)(void *ctx, const char *line);
};

/*
 * The service may make files in the folder of output_path, an absolute path (sondad --output-dir);
 * NULL: in none. ops is borrowed until private_daemons_free. The programs are found beside this one or
 * in PATH. Returns 0, or -errno and sets e.
 */
int private_daemons_start(struct event_base *loop, const char *output_path,
			  const struct private_daemons_ops *ops, void *ctx, struct err_text *e,
			  struct private_daemons **ret);

/* The consumer socket. Lives as long as the daemons. */
const char *private_daemons_address(const struct private_daemons *p);

/* Has the service ended, or the producer before it was ready? Looks without waiting for the loop;
 * why as for daemon_process. */
bool private_daemons_have_failed(struct private_daemons *p, struct err_text *why);

/* Ends them, the producer first so that it can give back what it took from the kernel; waits until
 * they are gone. No-op for NULL. */
void private_daemons_free(struct private_daemons *p);
