/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/event_table.h"
#include "ftrace/events/reports.h"

/* FtraceConfig as a session uses it: defaults filled in, limits kept. */
struct ftrace_settings {
	uint32_t drain_period_ms;
	bool period_is_set; /* by the config */
	uint32_t buffer_size_kb; /* of each CPU's ring */
	uint32_t subbuf_size_kb; /* 0: to be chosen */
	uint32_t watermark; /* percent of a ring, 0: none */
	bool mono_raw_clock;
	bool keep_broken_pages;
	bool preserve; /* what is in the rings already is wanted */
	struct event_table_options events;
};

#define RINGS_RAM_SHARE 4u /* a session's rings together may take one part of so many */

struct ftrace_machine {
	uint64_t ram_bytes;
	unsigned cpus;
};

/*
 * Reads the config (NULL: all defaults) for a machine. Fields that are not known to us are reported
 * by their numbers, and rings that are too large for it.
 */
void ftrace_settings_read(const Pb__FtraceConfig *config, const struct ftrace_machine *machine,
			  struct ftrace_settings *ret, struct reports *reports);
