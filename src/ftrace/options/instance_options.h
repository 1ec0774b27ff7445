/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * All that restricts what a session records, in the order in which it has to happen. 0, or -errno
 * with a problem (-ENOMEM may be without): the records would be others than those asked for.
 */

/* Of the whole instance: its switches, its CPUs, its threads. */
int instance_options_set(const struct setup *s, const char *proc_root);
/* Of the selected events: adds those that an option implies, writes the filters of each, and drops
 * those that cannot be filtered as they should be. */
int instance_options_restrict_events(struct event_selection *events, const struct setup *s);
