/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"
#include "cli/recorder/recorder_options.h"
#include "config/trace_config.pb-c.h"

/*
 * sonda recorder --in-kernel: events stay in rings of the kernel, which overwrites the oldest of
 * them. Only a snapshot, a trigger and the end of the session read them. Between these, no process
 * of the recorder runs.
 *
 *	sonda-kept-recorder-HASH	the events of the words; on a busy machine a few minutes
 *	sonda-kept-recorder-HASH-names	start, exec, rename and end of tasks, which are rarer:
 *					the names of threads that ended before a snapshot
 *
 * The instances outlive a killed sonda-probes, whose successor reads them.
 */

/* Changes the config of the session, which has its parts. Returns 0; -EINVAL and sets e (a word
 * needs more than kernel events, or the machine has too little memory); or -ENOMEM. */
int recorder_kernel_set_config(const struct recorder_options *o, Pb__TraceConfig *c,
			       struct err_text *e);

/* Removes the instances of the recorder with this directory, if its processes were killed and none
 * has taken them over. */
void recorder_kernel_remove(const char *dir);

/* What the rings hold now. */
struct recorder_kernel_rings {
	uint64_t bytes;
	uint64_t covers_s; /* age of the event from which on all CPUs are complete */
	bool wraps; /* false: nothing was overwritten since the rings were read or armed */
};

/* Returns 0, -ENOENT if there is no such instance, or -errno. */
int recorder_kernel_read(const char *dir, struct recorder_kernel_rings *ret);
