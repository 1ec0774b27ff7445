/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/* The switches in an instance's folder `options`. */

/*
 * A new instance starts with what top level has just then, so that somebody else's `stacktrace` or
 * `nooverwrite` would be ours: what decides about the records gets the kernel's own defaults.
 */
void tracefs_options_reset(const struct instance *i);

/* FtraceConfig.tracefs_options. What cannot be had is reported: names that the kernel does not
 * have, with the nearest one, and switches that are everybody's. */
void tracefs_options_set(const struct setup *s);

/* Adds ftrace/kernel_stack and user_stack where the config sets the options that make them. 0 or
 * -ENOMEM. */
int tracefs_options_imply(struct event_selection *events, const struct setup *s);
