/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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

/* 0, or -EINVAL: a policy or a priority that is none. */
int priority_check(const Pb__TraceConfig *config, struct err_text *e);

/* Runs as the sessions that there are want, and this config too, which may be NULL: without any
 * session as before the first. 0; -errno of the kernel for what a config asks for: nothing has
 * changed. */
int priority_apply(struct sessions *s, const Pb__TraceConfig *also);
