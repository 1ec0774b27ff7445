/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * How often each trigger did something within 24 hours, in any session: what max_per_24_h is
 * compared with. Of a name the newest MAX_TRIGGER_HITS_PER_NAME are known, of all names the newest
 * MAX_TRIGGER_HITS (service/ipc/limits.h), so that one that is pulled without end makes no other one
 * forgotten.
 */
struct trigger_history {
	struct trigger_hit *hits; /* owned; the oldest first */
	size_t n, cap;
};

void trigger_history_deinit(struct trigger_history *h);
/* boot_ns: CLOCK_BOOTTIME, never before that of an earlier call. Not remembered when memory is
 * out. True: an older one was forgotten for it. */
bool trigger_history_add(struct trigger_history *h, const char *name, uint64_t boot_ns);
size_t trigger_history_count(struct trigger_history *h, const char *name, uint64_t boot_ns);
