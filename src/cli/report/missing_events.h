/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/ftrace_scan.h"
#include "base/text/str.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "config/trace_config.pb-c.h"

/* Events of a config that are not recorded. Each line ends with a newline and has no indent. */

#define MISSING_NEAREST 20 /* names for which the nearest name is looked up; the search is slow */

/*
 * Missing events and what depends on them: those that the producer reported in the trace (ftrace
 * may be NULL), and those that this kernel does not list (events NULL: unknown, or another
 * machine). Appends one line each, with the nearest name. Returns their number.
 */
size_t missing_events(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
		      const struct tracefs_events *events, struct strbuf *lines);
/* If the config requests only kernel events by name, and none of them exists: appends a line for
 * each, as above, and returns true. */
bool missing_all_events(const Pb__TraceConfig *config, const struct tracefs_events *events,
			struct strbuf *lines);
/* Appends the patterns with '!' that excluded no event. */
size_t missing_idle(const struct event_requests *idle, const struct tracefs_events *events,
		    struct strbuf *lines);
