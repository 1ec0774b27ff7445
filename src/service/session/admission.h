/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

struct sessions;

/* Checks the limits of the service, and the user's rights, for another session of this config. The
 * names of sessions, semaphores and guardrails are separate for each user. Returns 0, -EBUSY,
 * -EDQUOT or -EPERM and sets e. */
int admission_check(struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e);

/* Call when a session of this config begins. If the config has exclusive_prio, ends all other
 * sessions, except clones. */
void admission_stop_others(struct sessions *s, const Pb__TraceConfig *config);
/* Records the start of a session with enable_extra_guardrails: another such session of the user
 * with the same unique_session_name is refused for GUARDRAIL_RESTART_S. */
void admission_record_session(struct sessions *s, const Pb__TraceConfig *config, uid_t uid);

/* The recorded starts of sessions. recent_sessions_free() accepts NULL and returns NULL. */
struct recent_sessions;
struct recent_sessions *recent_sessions_free(struct recent_sessions *r);
