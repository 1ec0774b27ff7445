/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"

/* linux.ftrace: records of the kernel's trace rings as FtraceEventBundle packets. */
extern const struct data_source ftrace_data_source;

/*
 * linux.frozen_ftrace: reads once what a persistent instance holds from before the last reboot
 * (reserve_mem and trace_instance on the kernel's command line).
 *
 * Timestamps are those of the previous boot's clock, which also started at zero. Event ids are
 * assumed to have the same meaning as in the running kernel.
 */
extern const struct data_source boot_trace_data_source;

/*
 * Clean up after a sonda-probes that was killed. Call both once, in this order, before the first
 * session.
 *
 * ftrace_undo_stale_overrides() restores the settings that the undo logs in state_root list (see
 * struct ds_env). Returns the number of directories restored, or -errno.
 *
 * ftrace_remove_stale_instances() removes the instances of such a process, then its dynamic events,
 * which no instance enables any more. Returns the number of instances removed, or -errno.
 */
int ftrace_undo_stale_overrides(const char *tracefs_root, const char *state_root);
int ftrace_remove_stale_instances(const char *tracefs_root);
