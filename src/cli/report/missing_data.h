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
 * Would a service give a data source of a config to a producer? A forecast by the service's own
 * rules, from what it tells of the producer. In doubt it is SOURCE_GIVEN: nobody is to be alarmed
 * by our not knowing.
 */
enum source_match {
	SOURCE_GIVEN,
	SOURCE_OTHER_PRODUCER, /* producer_name_filter, producer_name_regex_filter */
	SOURCE_OTHER_MACHINE, /* machine_name_filter; without one: trace_all_machines is not set */
};

enum source_match source_match(const Pb__TraceConfig *config,
			       const Pb__TraceConfig__DataSource *source,
			       const Pb__TracingServiceState__Producer *producer);

/* What a config asks for and does not get. Lines come without an indent, each ended. */

#define MISSING_NEAREST 20 /* names that the nearest one is looked up of: it takes its time */

/*
 * Events, and what depends on them: what the producer said in the trace (ftrace may be NULL: nothing yet), and what this
 * machine's kernel does not list (events may be NULL: not known, or another machine's). A line for
 * each, with the name that was probably meant. Returns how many there are.
 */
size_t missing_events(const Pb__TraceConfig *config, const struct ftrace_scan *ftrace,
		      const struct tracefs_events *events, struct strbuf *lines);
/* Is the config about kernel events only, by name, of which none is in this list? Then a line for each,
 * as above; else nothing. */
bool missing_all_events(const Pb__TraceConfig *config, const struct tracefs_events *events,
			struct strbuf *lines);
/* Words with '!' that took nothing away. */
size_t missing_idle(const struct event_requests *idle, const struct tracefs_events *events,
		    struct strbuf *lines);

/*
 * Adds the names of the config's data sources that nobody has registered; and of those that are
 * registered, but that the config's filters give to no producer, a sentence each.
 */
void missing_sources(const Pb__TraceConfig *config, const Pb__TracingServiceState *state,
		     struct name_list *ret_names, struct name_list *ret_left_out);

/* Does the config ask for ftrace? And for nothing else? */
bool asks_for_ftrace(const Pb__TraceConfig *config);
bool asks_for_ftrace_only(const Pb__TraceConfig *config);
bool asks_for_source(const Pb__TraceConfig *config, const char *name);
