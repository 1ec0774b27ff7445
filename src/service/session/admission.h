/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "base/system/priority_boost.h"

struct sessions;

/*
 * TraceConfig.priority_boost: the strongest request of all sessions sets the scheduling priority of
 * the service. A session without one has PRIORITY_BOOST_BUDGETED if sessions.is_timely is set. If
 * the service runs late, the memory shared with producers fills up and data is lost.
 */

/* Returns the priority that a session of this config needs: of the service, and of the thread that
 * writes the session's file. */
struct priority_boost priority_of(const struct sessions *s, const Pb__TraceConfig *config);

/* Returns 0, or -EINVAL if priority_boost has an unknown policy or a priority outside its range. */
int priority_check(const Pb__TraceConfig *config, struct err_text *e);

/* Applies the strongest request of all sessions and of `also` (may be NULL); without any session,
 * the original priority. If the kernel refuses PRIORITY_BOOST_BUDGETED, clears is_timely and goes
 * on without it. Returns 0, or -errno of the kernel if it refuses the request of a config. */
int priority_apply(struct sessions *s, const Pb__TraceConfig *also);

/* Checks the limits of the service, and the user's rights, for another session of this config. Each
 * user has names of sessions, of semaphores and of guardrails of its own. Returns 0, -EBUSY, -EDQUOT
 * or -EPERM and sets e. */
int admission_check(struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e);

/* Call when a session of this config begins. If the config has exclusive_prio, ends all other
 * sessions, except clones. */
void admission_stop_others(struct sessions *s, const Pb__TraceConfig *config);
/* Records the start of a session with enable_extra_guardrails: another such session of the user with
 * the same unique_session_name is refused for GUARDRAIL_RESTART_S. */
void admission_remember(struct sessions *s, const Pb__TraceConfig *config, uid_t uid);

/* The recorded starts. No-op for NULL; returns NULL. */
struct recent_sessions;
struct recent_sessions *recent_sessions_free(struct recent_sessions *r);
