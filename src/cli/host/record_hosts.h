/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/terminal/console.h"

/*
 * `sonda record --host`: records on other machines, over ssh. The trace of one machine is written
 * while it is recorded. With several machines each has a file of its own until the end, when the
 * files are merged.
 */

struct record_hosts {
	int argc; /* of sonda record, as typed */
	char **argv;
	const char *const *hosts; /* of --host */
	size_t n;
	const char *output; /* of -o; NULL: a name with the machine and the time */
	const char *config; /* of -c; NULL: none */
	bool has_command;
	bool sudo;
	struct console *console;
};

/* Checks the names of the machines. Returns 0, -EINVAL and sets e, or -ENOMEM. */
int record_hosts_check(const char *const *hosts, size_t n, struct err_text *e);
/* Records, and prints errors. Returns the exit code: that of the first machine whose code is not 0,
 * or EXIT_FAILED if the recording as a whole failed or was aborted. */
int record_hosts_run(const struct record_hosts *setup);
