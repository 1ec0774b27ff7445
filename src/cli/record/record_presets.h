/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "cli/record/record_options.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/presets.h"
#include "config/trace_config.pb-c.h"

/* Checks that the words of -P are presets. Returns 0, or -EINVAL and sets e, with the nearest
 * preset. */
int record_presets_check(const struct record_options *o, struct presets *presets,
			 struct err_text *e);

/*
 * Adds the data sources of the presets that the words name (presets may be NULL), without
 * ftrace_events, which are selected with the events of all words. buffer: for new data sources.
 * Words with '!' that exclude a preset are removed from idle. Returns 0, -EINVAL and sets e, or
 * -ENOMEM.
 */
int record_presets_put(const struct record_options *o, struct presets *presets,
		       struct event_requests *idle, uint32_t buffer, Pb__TraceConfig *config,
		       struct err_text *e);
