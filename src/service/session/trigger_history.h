/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
