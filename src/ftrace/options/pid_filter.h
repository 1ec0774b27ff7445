/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/pid_set.h"
#include "ftrace/options/setup.h"

/*
 * FtraceConfig.tids_to_trace, follow_children and pids_to_trace: in the session's instance the
 * kernel records only while one of these threads runs. Invalid thread ids are reported and left
 * out. Threads that do not exist now are reported and stay in the filter. For processes, all
 * threads are included, even those created during the setup.
 *
 * proc_root: "/proc". Returns 0, -ENOMEM, or another -errno with a fatal setup error, because all
 * threads would be recorded.
 */
int pid_filter_set(const struct setup *s, const char *proc_root);
/* Returns true if the config restricts the threads. */
bool pid_filter_is_requested(const Pb__FtraceConfig *config);
/* Returns true if the config also records threads that the restricted threads create. */
bool pid_filter_follows_children(const Pb__FtraceConfig *config);
/* Restricts the threads whose functions are traced in s->instance: the top level, for a session
 * that traces functions there. Reports nothing, because pid_filter_set() has reported it. Returns 0
 * or -errno. */
int pid_filter_set_functions(const struct setup *s);
/* Adds the threads that the kernel's list has now, which is after pid_filter_set() at least those
 * of the config. */
void pid_filter_add_listed(const struct instance *i, struct pid_set *to);
