/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/setup.h"
#include "ftrace/tracefs/instance.h"

/*
 * Attaches to the instance that a config names: one of root/instances, or "hyp" and "hypervisor"
 * next to that directory. state: see struct override_target. Returns 0, -EINVAL (not a name that a
 * session may use), -ENOENT (the instance does not exist) or -errno; sets e on failure.
 */
int session_instance_attach_named(struct instance *i, const char *root, const char *state,
				  const char *name, struct err_text *e);

/*
 * Opens the instance that a session records in.
 *
 *	config				instance
 *	-				own: sonda-PID-SESSION, made now
 *	instance_name			attached: an existing instance; "hyp" and "hypervisor"
 *					are next to `instances`
 *	preserve_ftrace_buffer alone	attached: the top level
 *
 * The first session of an attached instance stops the recording, clears the rings, and sets clock
 * and size. Further sessions, and any session with preserve_ftrace_buffer, leave all that
 * unchanged. Only root may attach to an instance.
 *
 * Returns 0 with the instance, which does not record unless it was recording and its rings are
 * kept; or -errno with a fatal setup error. *ret_buffer_kb: KiB requested for each ring.
 */
int session_instance_open(const struct setup *s, const struct ftrace_settings *settings,
			  struct instance *ret, uint32_t *ret_buffer_kb);

/*
 * Reports the first setting that this session could not set because of another session of the same
 * instance. Call it after all setup steps.
 */
void session_instance_report_conflicts(const struct setup *s);
