/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "config/trace_config.pb-c.h"

struct service;

/*
 * TraceConfig.priority_boost: how urgently sessions want the service to run, for as long as they
 * live. The strongest wish holds: SCHED_FIFO before SCHED_OTHER, then the number.
 */

/* 0, or -EINVAL: a policy or a priority that is none. */
int priority_check(const Pb__TraceConfig *config, struct err_text *e);

/* Runs as the sessions that there are want, and this config too, which may be NULL: without any
 * wish as before the first. 0; -errno of the kernel: nothing has changed. */
int priority_apply(struct service *s, const Pb__TraceConfig *also);
