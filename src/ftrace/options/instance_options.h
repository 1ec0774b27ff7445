/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/* FtraceConfig.atrace_categories and related options. A category stands for kernel events and for
 * user-space events of Android. Adds those kernel events that this kernel has and for which we
 * have messages (unless atrace_userspace_only is set). Reports once that there are no user-space
 * events on this system. Each of these options adds ftrace/print. Returns 0, -ENOMEM or
 * -ECANCELED. */
int atrace_categories_apply(struct event_selection *events, const struct setup *s);

/*
 * Apply the options that restrict what a session records. Call both functions in this order. They
 * return 0, or -errno with a fatal setup error, because records other than those requested would be
 * recorded. -ENOMEM and -ECANCELED may be without a fatal setup error.
 */

/* Applies the options of the whole instance: tracefs_options, CPUs, pid filter. */
int instance_options_set(const struct setup *s, const char *proc_root);
/* Applies the options of events: adds implied events, combines filters, and drops events that
 * cannot be filtered as requested. */
int instance_options_restrict_events(struct event_selection *events, const struct setup *s);
