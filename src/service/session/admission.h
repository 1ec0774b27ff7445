/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

struct sessions;

/* Is there room for one more session, of this config and this user, among those that there are? 0,
 * -EBUSY, -EDQUOT or -EPERM with the reason. */
int admission_check(struct sessions *s, const Pb__TraceConfig *config, uid_t uid,
		    struct err_text *e);

/* The session of this config begins: with exclusive_prio all others end, but for clones. */
void admission_make_way(struct sessions *s, const Pb__TraceConfig *config);
/* Remembers that a session of this config has begun, if it has enable_extra_guardrails: another one
 * with these and the same unique_session_name may not begin for GUARDRAIL_RESTART_S. */
void admission_remember(struct sessions *s, const Pb__TraceConfig *config);

/* What is remembered. free: NULL is fine; gives NULL. */
struct recent_sessions;
struct recent_sessions *recent_sessions_free(struct recent_sessions *r);
