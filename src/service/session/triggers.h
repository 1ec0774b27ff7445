/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "base/event_loop/loop_timer.h"

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

struct sessions;
struct session;

/*
 * Triggers: a producer says a name, and every session that waits for it acts.
 *
 *	START_TRACING	the session waits in CONFIGURED; it starts, and ends after stop_delay_ms
 *	STOP_TRACING	it runs; it ends stop_delay_ms after the first trigger
 *	CLONE_SNAPSHOT	it runs; stop_delay_ms after each trigger its consumer is told to clone it
 *
 * Without a trigger within trigger_timeout_ms the session ends, and there is nothing to read.
 */

struct session_triggers {
	bool hit; /* some trigger counted, ever */
	struct due_trigger *due; /* owned; CLONE_SNAPSHOT: delayed */
	size_t n_due, cap_due;
	struct loop_timer timeout; /* START_TRACING: gives up */
	struct loop_timer delay; /* STOP_TRACING: the end; CLONE_SNAPSHOT: the next that is due */
};

/* 0 or -ENOMEM; deinit is fine on zeroed memory. */
int triggers_init(struct session *s);
void triggers_deinit(struct session_triggers *t);

/* The session is CONFIGURED. False: it must not start yet, it waits for a trigger. */
bool triggers_begin(struct session *s);
/* The session records no longer: nothing is waited for. */
void triggers_end(struct session *s);

/* A producer activates a trigger. *budget: steps of regular expressions that its request has left
 * (name_regex.h); without any left a trigger with an expression does not count. */
void triggers_activate(struct sessions *v, const char *producer, uid_t uid, const char *name,
		       uint64_t *budget);

/* Has nothing to give out: it waits for a trigger, or is there to be cloned only. */
bool triggers_withhold_data(const struct session *s);
