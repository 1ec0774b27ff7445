/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* The data source linux.ftrace: the kernel's trace rings as FtraceEventBundle packets. */
extern const struct data_source ftrace_data_source;

/*
 * Puts tracefs in order after a sonda-probes that was killed. Call both once, in this order, before
 * the first session: puts back what it has changed elsewhere, by the records in state_root (see
 * struct ds_env); removes the instances that it has made, and then its events, which are on nowhere
 * any more. Each gives how many there were, of places and of instances, or -errno.
 */
int ftrace_undo_stale_overrides(const char *tracefs_root, const char *state_root);
int ftrace_remove_stale_instances(const char *tracefs_root);
