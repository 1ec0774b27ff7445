/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.tids_to_trace, follow_children and pids_to_trace: the kernel keeps only what happens
 * while one of these threads runs, in the session's instance. Numbers that cannot be a thread are
 * reported and left out; threads that are not there now are reported and stay in the list. With
 * processes no thread of theirs is missing, though they make some all the time.
 *
 * proc_root: "/proc". 0; or -errno with a problem: everybody would be recorded.
 */
int pid_filter_set(const struct setup *s, const char *proc_root);
/* Does the config ask for some threads alone? And for their children? */
bool pid_filter_wanted(const Pb__FtraceConfig *config);
bool pid_filter_follows_children(const Pb__FtraceConfig *config);
/* The same for functions that are traced in another instance than the session's: s->instance. 0 or
 * -errno; nothing is reported twice. */
int pid_filter_set_functions(const struct setup *s);
