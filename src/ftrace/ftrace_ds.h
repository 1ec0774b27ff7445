/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/data_source.h"

/* The data source linux.ftrace: the kernel's trace rings as FtraceEventBundle packets. */
extern const struct data_source ftrace_data_source;

/*
 * Removes what sonda-probes left in tracefs when it was killed. Call it once, before the first
 * session. Gives how many instances were removed, or -errno.
 */
int ftrace_remove_stale_instances(const char *tracefs_root);
