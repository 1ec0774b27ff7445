/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* TraceConfig.trigger_config, and the hits of triggers. */

enum trigger_mode {
	TRIGGER_NONE,
	TRIGGER_START, /* records after a trigger */
	TRIGGER_STOP, /* records until a while after the first trigger */
	TRIGGER_CLONE, /* continues, and notifies the consumer of each trigger */
};

/* config must have been checked. */
enum trigger_mode trigger_mode(const Pb__TraceConfig *config);
/* Returns the trigger of this name that the config declares, or NULL. */
const Pb__TraceConfig__TriggerConfig__Trigger *trigger_find(const Pb__TraceConfig *config,
							    const char *name);

/* The first function checks the mode and the times, the second the triggers. session_config_check()
 * makes other checks between them, as Perfetto does. Return 0, or -EINVAL and set e. */
int trigger_config_check_times(const Pb__TraceConfig *config, struct err_text *e);
int trigger_config_check_triggers(const Pb__TraceConfig *config, struct err_text *e);

/*
 * The hits of each trigger within 24 hours, in all sessions, for max_per_24_h. The newest
 * MAX_TRIGGER_HITS_PER_NAME of each name are kept, and the newest MAX_TRIGGER_HITS of all names
 * (service/ipc/limits.h). So a trigger that is activated all the time does not displace others.
 */
struct trigger_history {
	struct trigger_hit *hits; /* owned; the oldest first */
	size_t n, cap;
};

void trigger_history_deinit(struct trigger_history *h);
/* Adds a hit. boot_ns: CLOCK_BOOTTIME, not less than in an earlier call. Without memory the hit is
 * dropped. Returns true if this or an older hit was dropped. */
bool trigger_history_add(struct trigger_history *h, const char *name, uint64_t boot_ns);
size_t trigger_history_count(struct trigger_history *h, const char *name, uint64_t boot_ns);
