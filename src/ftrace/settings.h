/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/event_table.h"
#include "ftrace/reports.h"

/* FtraceConfig as a session uses it: defaults filled in, limits kept. */
struct ftrace_settings {
	uint32_t drain_period_ms;
	uint32_t buffer_size_kb; /* of each CPU's ring */
	bool mono_raw_clock;
	struct event_table_options events;
};

/*
 * Reads the config (NULL: all defaults) for a machine with so much memory. Every field that would
 * change what is recorded and is not built is reported by its name; the rest counts. 0, or
 * -EOPNOTSUPP with a problem reported: without such a field events would be recorded that nobody
 * asked for, or those of other places.
 */
int ftrace_settings_read(const Pb__FtraceConfig *config, uint64_t ram_bytes,
			 struct ftrace_settings *ret, struct reports *reports);
