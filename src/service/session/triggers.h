/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;
struct session_triggers;
struct sessions;

/*
 * Triggers: a producer says a name, and every session that waits for it acts.
 *
 *	START_TRACING	the session waits in CONFIGURED; it starts, and ends after stop_delay_ms
 *	STOP_TRACING	it runs; it ends stop_delay_ms after the first trigger
 *	CLONE_SNAPSHOT	it runs; stop_delay_ms after each trigger its consumer is told to clone it
 *
 * Without a trigger within trigger_timeout_ms the session ends, and there is nothing to read.
 */

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
