/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* TraceConfig.trigger_config: what a session waits for, and what happens then. */

enum trigger_mode {
	TRIGGER_NONE,
	TRIGGER_START, /* records after a trigger */
	TRIGGER_STOP, /* records until a while after the first trigger */
	TRIGGER_CLONE, /* records on, and tells the consumer of each trigger */
};

/* Of a checked config. */
enum trigger_mode trigger_mode(const Pb__TraceConfig *config);
/* The trigger of this name that the config declares, or NULL. */
const Pb__TraceConfig__TriggerConfig__Trigger *trigger_find(const Pb__TraceConfig *config,
							    const char *name);

/* 0, or -EINVAL with the reason: the mode and the times; and, which the protocol's order checks
 * later, the triggers themselves. */
int trigger_config_check_times(const Pb__TraceConfig *config, struct err_text *e);
int trigger_config_check_triggers(const Pb__TraceConfig *config, struct err_text *e);
