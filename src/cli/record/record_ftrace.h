/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/record/record_options.h"
#include "cli/terminal/event_patterns.h"
#include "config/ftrace/ftrace_config.pb-c.h"

/* Converts the options about kernel events to the config of linux.ftrace. events and presets
 * may be NULL. The functions return 0, -EINVAL and set e, or -ENOMEM. */

/* Replaces the events of f by those that f and the words select together. Words with '!' that
 * exclude nothing are added to ret_idle. */
int record_ftrace_put_events(const struct record_options *o, const struct tracefs_events *events,
			     struct presets *presets, struct event_requests *ret_idle,
			     Pb__FtraceConfig *f, struct err_text *e);

/* Adds filters and triggers of the words, and options that create events. */
int record_ftrace_put_options(const struct record_options *o, const struct tracefs_events *events,
			      struct presets *presets, Pb__FtraceConfig *f, struct err_text *e);
/* Adds the options of the rings, -C among them. */
int record_ftrace_put_rings(const struct record_options *o, Pb__FtraceConfig *f);
