/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "base/system/priority_boost.h"
#include "config/trace_config.pb-c.h"
#include "service/session/session.h"

struct sessions;

/*
 * TraceConfig.priority_boost: the strongest request of all sessions sets the scheduling priority of
 * the service. A session without one has PRIORITY_BOOST_BUDGETED if sessions.is_timely is set. If
 * the service runs late, the memory shared with producers fills up and data is lost.
 */

/* Returns the priority that a session of this config needs: of the service, and of the thread that
 * writes the session's file. */
struct priority_boost session_boost_of_config(const struct sessions *s,
					      const Pb__TraceConfig *config);

/* Applies the strongest request of all sessions and of `also` (may be NULL); without any session,
 * the original priority. If the kernel refuses PRIORITY_BOOST_BUDGETED, clears is_timely and goes
 * on without it. Returns 0, or -errno of the kernel if it refuses the request of a config. */
int priority_apply(struct sessions *s, const Pb__TraceConfig *also);

struct received_trigger;

/* Creates a session in DISABLED, in no list, without a config and a trace. Returns 0 or -ENOMEM. */
int session_alloc(struct sessions *sessions, struct session_owner owner, uid_t uid,
		  struct session **ret);

/* Call when an instance was started, stopped or withdrawn. If all instances are started (stopped)
 * now, the session reports it to its owner (becomes DISABLED). */
void session_check_all_started(struct session *s);
void session_check_all_stopped(struct session *s);

/*
 * Acts on a trigger that the session has accepted. Records it in the trace, with a snapshot of the
 * clocks. Then, by trigger_mode:
 *
 *	START_TRACING	the session waits in CONFIGURED; it starts, and ends after stop_delay_ms
 *	STOP_TRACING	it runs; it ends stop_delay_ms after the first trigger
 *	CLONE_SNAPSHOT	it runs; stop_delay_ms after each trigger the consumer is notified
 *
 * Without a trigger within trigger_timeout_ms the session ends without data.
 */
void session_apply_trigger(struct session *s, const struct received_trigger *trigger);

/* Flushes the session, then stops it, or frees it if it is detached and has no file. All of that
 * happens after the return, unless the flush is refused. */
void session_flush_and_end(struct session *s);
/* Call when the session is DISABLED or CLONED, and its file, if any, is closed: reports to the
 * owner, which frees a clone whose file could not be written. Without an owner, a session with a
 * file is freed from the loop. */
void session_report_end(struct session *s);
