/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/ftrace_scan.h"
#include "analyze/name_list.h"
#include "base/text/str.h"
#include "cli/terminal/event_patterns.h"
#include "cli/terminal/kernel_events.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Predicts whether the service will start a data source of a config on this producer, by the rules
 * of the service and its description of the producer. In doubt the answer is SOURCE_GIVEN, to avoid
 * false warnings.
 */
enum source_match {
	SOURCE_GIVEN,
	SOURCE_OTHER_PRODUCER, /* producer_name_filter, producer_name_regex_filter */
	SOURCE_OTHER_MACHINE, /* machine_name_filter; without one: trace_all_machines is not set */
};

enum source_match source_match(const Pb__TraceConfig *config,
			       const Pb__TraceConfig__DataSource *source,
			       const Pb__TracingServiceState__Producer *producer);

/* Parts of a config that the service does not provide. Each line ends with a newline and has no
 * indent. */

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

/*
 * Adds the names of the config's data sources that no producer has registered, and a sentence for
 * each that is registered but excluded by the config's filters.
 */
void missing_sources(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_names, struct name_list *ret_left_out);

/* Return true if the config requests ftrace, and if it requests nothing else. */
bool asks_for_ftrace(const Pb__TraceConfig *config);
bool asks_for_ftrace_only(const Pb__TraceConfig *config);
bool asks_for_source(const Pb__TraceConfig *config, const char *name);
