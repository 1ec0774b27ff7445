/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* Returns true if a runnable thread does not run because its control group, or one above it, has used
 * up cpu.max. Include it after common.h. */
static __always_inline int is_throttled(struct task_struct *t)
{
	if (bpf_core_field_exists(t->throttled))
		return t->throttled;
	return bpf_core_field_exists(t->se.cfs_rq->throttle_count) &&
	       t->se.cfs_rq->throttle_count > 0;
}
