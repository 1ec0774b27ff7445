/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hits of each trigger within 24 hours, in all sessions, for max_per_24_h. The newest
 * MAX_TRIGGER_HITS_PER_NAME of each name are kept, and the newest MAX_TRIGGER_HITS of all names
 * (service/ipc/limits.h). So a trigger that is activated all the time does not displace others. */
struct trigger_history {
	struct trigger_hit *hits; /* owned; the oldest first */
	size_t n, cap;
};

void trigger_history_deinit(struct trigger_history *h);
/* Adds a hit. boot_ns: CLOCK_BOOTTIME, not less than in an earlier call. Without memory the hit is
 * dropped. Returns true if this or an older hit was dropped. */
bool trigger_history_add(struct trigger_history *h, const char *name, uint64_t boot_ns);
size_t trigger_history_count(struct trigger_history *h, const char *name, uint64_t boot_ns);
