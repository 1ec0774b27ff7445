/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.tids_to_trace, follow_children and pids_to_trace: in the session's instance the
 * kernel records only while one of these threads runs. Invalid thread ids are reported and left
 * out. Threads that do not exist now are reported and stay in the filter. For processes, all
 * threads are included, even those created during the setup.
 *
 * proc_root: "/proc". Returns 0, or -errno with a fatal setup error, because all threads would be
 * recorded.
 */
int pid_filter_set(const struct setup *s, const char *proc_root);
/* Return true if the config restricts the threads; if it includes their children. */
bool pid_filter_wanted(const Pb__FtraceConfig *config);
bool pid_filter_follows_children(const Pb__FtraceConfig *config);
/*
 * Sets the filter of functions that are traced in another instance than the session's:
 * s->instance. Reports nothing twice. Returns 0 or -errno.
 */
int pid_filter_set_functions(const struct setup *s);
