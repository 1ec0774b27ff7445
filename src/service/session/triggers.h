/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;
struct session_triggers;
struct sessions;

/*
 * Triggers: a producer activates a name, and every session that declares it acts.
 *
 *	START_TRACING	the session waits in CONFIGURED; it starts, and ends after stop_delay_ms
 *	STOP_TRACING	it runs; it ends stop_delay_ms after the first trigger
 *	CLONE_SNAPSHOT	it runs; stop_delay_ms after each trigger the consumer is notified
 *
 * Without a trigger within trigger_timeout_ms the session ends without data.
 */

/* Returns 0 or -ENOMEM. deinit may be called on zeroed memory. */
int triggers_init(struct session *s);
void triggers_deinit(struct session_triggers *t);

/* Call in CONFIGURED. Returns false if the session must wait for a trigger before it starts. */
bool triggers_begin(struct session *s);
/* Call when the session stops. Cancels the timers. */
void triggers_end(struct session *s);

/* Call when a producer activates a trigger. *budget: remaining steps of regular expressions for the
 * request (name_regex.h); at 0 a trigger with an expression is ignored. */
void triggers_activate(struct sessions *v, const char *producer, uid_t uid, const char *name,
		       uint64_t *budget);

/* Returns true if the session waits for a trigger or is only for clones, so it cannot be read. */
bool triggers_withhold_data(const struct session *s);
