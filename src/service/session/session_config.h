/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* The producer filters of a data source in a config. A producer must match producer_name_filter
 * (exact) or producer_name_regex_filter (the whole name), if one of them is set; and
 * machine_name_filter, in which "host" also names this machine. Without machine_name_filter,
 * producers of other machines need trace_all_machines. */
struct source_of {
	const char *producer; /* name */
	const char *machine; /* name, or NULL */
	bool is_remote;
};

/* Returns 0, or -EINVAL and sets e if an expression is invalid. */
int session_config_check_filter(const Pb__TraceConfig__DataSource *source, struct err_text *e);

/* *budget: remaining steps of expressions, see name_regex_matches(). */
bool session_config_filter_matches(const Pb__TraceConfig *config,
				   const Pb__TraceConfig__DataSource *source,
				   const struct source_of *of, uint64_t *budget);

/*
 * Checks a TraceConfig. A field that would change the recorded data and is not supported is refused
 * by name. admission_check() checks the limits of the service.
 *
 * Returns 0, -EINVAL (invalid, or above a limit of a config) or -ENOTSUP (not supported), and sets
 * e to the first reason.
 */
int session_config_check(const Pb__TraceConfig *config, struct err_text *e);

/* Sets *ret_index to the index in config->buffers that a data source writes to. Returns 0, or
 * -EINVAL and sets e (may be NULL). */
int session_config_target_buffer(const Pb__TraceConfig *config, const Pb__DataSourceConfig *source,
				 uint32_t *ret_index, struct err_text *e);

/* ---- TraceConfig.trigger_config ---- */

enum trigger_mode {
	TRIGGER_NONE,
	TRIGGER_START, /* records after a trigger */
	TRIGGER_STOP, /* records until a while after the first trigger */
	TRIGGER_CLONE, /* continues, and notifies the consumer of each trigger */
};

/* config must have been checked. */
enum trigger_mode session_config_trigger_mode(const Pb__TraceConfig *config);
/* Returns the trigger of this name that the config declares, or NULL. */
const Pb__TraceConfig__TriggerConfig__Trigger *session_config_find_trigger(
	const Pb__TraceConfig *config, const char *name);
