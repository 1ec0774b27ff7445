/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "service/session/session.h"

struct received_trigger;

/* Creates a session in DISABLED, in no list, without a config and a trace. Returns 0 or -ENOMEM. */
int session_alloc(struct sessions *sessions, struct session_owner owner, uid_t uid,
		  struct session **ret);

/* An instance was started, stopped or withdrawn: checks whether the session waited for that. */
void session_check_all_started(struct session *s);
void session_check_all_stopped(struct session *s);

/*
 * The session has accepted a trigger, which is recorded in its trace with a snapshot of the clocks:
 *
 *	START_TRACING	the session waits in CONFIGURED; it starts, and ends after stop_delay_ms
 *	STOP_TRACING	it runs; it ends stop_delay_ms after the first trigger
 *	CLONE_SNAPSHOT	it runs; stop_delay_ms after each trigger the consumer is notified
 *
 * Without a trigger within trigger_timeout_ms the session ends without data.
 */
void session_trigger(struct session *s, const struct received_trigger *trigger);

/* Flushes the session, then stops it, or frees it if it is detached and has no file. All of that
 * happens after the return, unless the flush is refused. */
void session_flush_and_end(struct session *s);
/* Call when the session is DISABLED or CLONED, and its file, if any, is closed: reports to the
 * owner, which frees a clone whose file could not be written. Without an owner, a session with a
 * file is freed from the loop. */
void session_ended(struct session *s);
