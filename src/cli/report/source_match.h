/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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
