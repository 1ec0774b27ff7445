/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.atrace_categories and what belongs to them. A category stands for events of the
 * kernel, which are added to the selection as far as this kernel has them and we have messages for
 * them (unless atrace_userspace_only), and for what Android's own processes write; there are none
 * of those here, which is told once. Any of these options adds ftrace/print. 0 or -ENOMEM.
 */
int atrace_categories_apply(struct event_selection *events, const struct setup *s);
