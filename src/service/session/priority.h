/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "base/system/priority_boost.h"
#include "config/trace_config.pb-c.h"

struct sessions;

/*
 * TraceConfig.priority_boost: the strongest request of all sessions sets the scheduling priority of
 * the service. A session without one has PRIORITY_BOOST_BUDGETED if sessions.is_timely is set. If
 * the service runs late, the memory shared with producers fills up and data is lost.
 */

/* Returns the priority that a session of this config needs: of the service, and of the thread that
 * writes the session's file. */
struct priority_boost priority_of(const struct sessions *s, const Pb__TraceConfig *config);

/* Applies the strongest request of all sessions and of `also` (may be NULL); without any session,
 * the original priority. If the kernel refuses PRIORITY_BOOST_BUDGETED, clears is_timely and goes
 * on without it. Returns 0, or -errno of the kernel if it refuses the request of a config. */
int priority_apply(struct sessions *s, const Pb__TraceConfig *also);
