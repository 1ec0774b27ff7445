/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/ftrace_scan.h"
#include "base/core/err.h"
#include "cli/report/record_facts.h"
#include "config/trace_config.pb-c.h"

/* Requests of a config that the kernel, sonda-probes or the service refused. */

/* Refusals of filters, probes and function graphs. */

enum refused_options {
	OPTIONS_ACCEPTED,
	OPTIONS_REFUSED, /* the kernel does not have one of them, or this user must not use it */
	OPTIONS_WRONG, /* one of them is misspelled */
};

/* Returns the message of a recording that is discarded for that reason. */
const char *refused_options_text(enum refused_options refused);

/* Returns the worst that happened to an option of the config. A filter counts if none of its events
 * accepted it. The filter of a pattern does not count, because some of the events that the pattern
 * matches may lack the fields. */
enum refused_options refused_options(const Pb__TraceConfig *config, const struct ftrace_scan *s);

/* Returns true, and sets why, if a data source recorded nothing because it was refused or no
 * producer has it. all: only if this is true of all data sources, except those that only name
 * processes for the events of words. */
bool refusals_find_sources(const struct record_facts *f, bool all, struct err_text *why);
