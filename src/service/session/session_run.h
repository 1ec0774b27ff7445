/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

struct session;

/*
 * A session from its beginning to its end:
 *
 *	session_new --> CONFIGURED --start--> STARTED --disable--> STOPPING --acks or timeout--+
 *	                    |                    |      (somebody will notify)               |
 *	                    +--disable-----------+--disable (nobody will)--> DISABLED <------+
 *
 * A clone of a session is CLONED for all its life: there is nothing in it but a trace to read.
 *
 * It calls its consumer when it gets DISABLED. One that has no consumer when its time is over frees
 * itself: nobody is there to read it.
 */

/* Sets up the data sources that match, and starts unless the config defers that. Once. */
void session_begin(struct session *s);
/* No effect but in CONFIGURED. */
void session_start(struct session *s);
/* Stops the data sources, without a flush. at_once: waits for no acknowledgement. No effect in
 * DISABLED. */
void session_disable(struct session *s, bool at_once);
/* What the consumer is told when the session ends; the first word counts. */
void session_set_error(struct session *s, const char *text);
/* Why the session ends, for TraceStats.end_reason; the first word counts. An error is one too. */
void session_set_end(struct session *s, const char *reason);
/* NULL: it goes on. */
const char *session_end_reason(const struct session *s);
/* DISABLED or CLONED, and its file, if any, is closed: tells the consumer. Frees a clone whose file
 * could not be written. */
void session_ended(struct session *s);
bool session_has_ended(const struct session *s);
/* Has it a file that is not all written? Then it cannot be freed without waiting for that. */
bool session_writes_file(const struct session *s);
/* As when the duration is over: flushes, and then stops, or, with no consumer, frees the session.
 * Nothing of that is done before this returns, unless the flush is refused. */
void session_flush_and_end(struct session *s);

/* An instance was started, stopped or withdrawn: is that what the session waited for? */
void session_check_all_started(struct session *s);
void session_check_all_stopped(struct session *s);

/* For service/session/session_life.h: 0 or -ENOMEM; deinit is fine after both. */
int session_init_timers(struct session *s);
void session_deinit_timers(struct session *s);
