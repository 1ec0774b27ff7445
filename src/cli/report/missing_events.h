/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/ftrace_scan.h"
#include "base/text/str.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "config/trace_config.pb-c.h"

/*
 * Events of a config that are not recorded. Each line ends with a newline. A line that begins with
 * a blank continues the line before.
 */

#define MISSING_NEAREST 20 /* names for which the nearest name is looked up; the search is slow */

/* Appends a line for each missing event, with the nearest name: events that the producer reported
 * in the trace (ftrace; may be NULL), and events that this kernel does not list (events NULL:
 * unknown, or another machine). Also appends lines for events and options that were rejected, and
 * for other problems of ftrace. Returns the number of all these items. */
size_t missing_events_write(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
			    const struct tracefs_events *events, struct strbuf *lines);
/* If the config requests only kernel events by name, and none of them exists: appends a line for
 * each, as above, and returns true. */
bool missing_events_write_if_all_missing(const Pb__TraceConfig *config,
					 const struct tracefs_events *events, struct strbuf *lines);
/* Appends a line for each pattern with '!' that excluded no event. Returns their number. */
size_t missing_events_write_idle(const struct event_requests *idle,
				 const struct tracefs_events *events, struct strbuf *lines);
