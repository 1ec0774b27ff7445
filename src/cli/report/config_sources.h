/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "analyze/name_list.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

/* The data sources that a config requests, and those that no producer starts. */

/* Returns the ftrace_config of a data source; NULL if it is not linux.ftrace or has none. */
const Pb__FtraceConfig *config_source_ftrace(const Pb__TraceConfig__DataSource *source);
/* Returns the config of the first linux.perf that has one, or NULL. */
const Pb__PerfEventConfig *config_source_perf(const Pb__TraceConfig *config);
/* The first returns true if the config requests ftrace, the second if it requests ftrace and
 * nothing else. */
bool config_requests_ftrace(const Pb__TraceConfig *config);
bool config_requests_only_ftrace(const Pb__TraceConfig *config);
bool config_requests_source(const Pb__TraceConfig *config, const char *name);
/* Returns true if the data source only names processes, and records nothing by itself. */
bool config_source_only_names_processes(const Pb__DataSourceConfig *c);

/* Predicts whether the service will start a data source of a config on this producer, by the rules
 * of the service and its description of the producer. In doubt the answer is SOURCE_GIVEN, to avoid
 * false warnings. */
enum config_source_match {
	SOURCE_GIVEN,
	SOURCE_OTHER_PRODUCER, /* producer_name_filter, producer_name_regex_filter */
	SOURCE_OTHER_MACHINE, /* machine_name_filter; without one: trace_all_machines is not set */
};

enum config_source_match config_sources_match(const Pb__TraceConfig *config,
					      const Pb__TraceConfig__DataSource *source,
					      const Pb__TracingServiceState__Producer *producer);

/* Adds the names of the config's data sources that no producer has registered, and a sentence for
 * each that is registered but excluded by the config's filters. */
void config_sources_list_missing(const Pb__TraceConfig *config,
				 const Pb__TracingServiceState *state, struct name_list *ret_names,
				 struct name_list *ret_left_out);

/* Returns the offered data source whose name is nearest; NULL if none is similar. Borrowed. */
const char *config_sources_nearest(const struct name_list *offered, const char *name);
/* Returns true if nothing would be recorded: a daemon with kernel data sources is connected, but
 * each source that the config requests is one of these and is missing
 * (config_sources_list_missing). */
bool config_sources_are_all_missing(const Pb__TraceConfig *config, const struct name_list *missing,
				    const struct name_list *offered);
