/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * Apply the options that restrict what a session records. Call both functions in this order. They
 * return 0, or -errno with a fatal setup error, because other records than requested would be
 * recorded. -ENOMEM and -ECANCELED may be without a fatal setup error.
 */

/* Applies the options of the whole instance: tracefs_options, CPUs, pid filter. */
int instance_options_set(const struct setup *s, const char *proc_root);
/*
 * Applies the options of events: adds implied events, combines filters, and drops events that
 * cannot be filtered as requested.
 */
int instance_options_restrict_events(struct event_selection *events, const struct setup *s);
