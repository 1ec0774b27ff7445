/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.atrace_categories and related options. A category stands for kernel events and for
 * user-space events of Android. Adds those kernel events that this kernel has and for which we
 * have messages (unless atrace_userspace_only is set). Reports once that there are no user-space
 * events on this system. Each of these options adds ftrace/print. Returns 0, -ENOMEM or -ECANCELED.
 */
int atrace_categories_apply(struct event_selection *events, const struct setup *s);
