/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "base/system/priority_boost.h"

struct sessions;

/*
 * How urgently the service runs while there are sessions: as their TraceConfig.priority_boost says,
 * the strongest of them; a session without one has PRIORITY_BOOST_BUDGETED where service.is_timely says so.
 * What the service does late is lost in the memory that it shares with producers.
 */

/* How urgently the service, and the thread that writes the session's file, work for such a session. */
struct priority_boost priority_of(const struct sessions *s, const Pb__TraceConfig *config);

/* Returns 0, or -EINVAL if priority_boost has an unknown policy or a priority outside its range. */
int priority_check(const Pb__TraceConfig *config, struct err_text *e);

/* Runs as the sessions that there are want, and this config too, which may be NULL: without any
 * session as before the first. 0; -errno of the kernel for what a config asks for: nothing has
 * changed. */
int priority_apply(struct sessions *s, const Pb__TraceConfig *also);

struct sessions;

/* Is there room for one more session, of this config and this user, among those that there are? 0,
 * -EBUSY, -EDQUOT or -EPERM with the reason. */
int admission_check(struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e);

/* The session of this config begins: with exclusive_prio all others end, but for clones. */
void admission_stop_others(struct sessions *s, const Pb__TraceConfig *config);
/* Remembers that a session of this config has begun, if it has enable_extra_guardrails: another one
 * with these and the same unique_session_name may not begin for GUARDRAIL_RESTART_S. */
void admission_remember(struct sessions *s, const Pb__TraceConfig *config);

/* What is remembered. free: NULL is fine; gives NULL. */
struct recent_sessions;
struct recent_sessions *recent_sessions_free(struct recent_sessions *r);
