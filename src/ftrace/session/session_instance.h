/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/tracefs/instance.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/setup.h"

/*
 * Takes the instance that a config names, on loan: one of root/instances, or "hyp" and "hypervisor"
 * beside that folder. state: see struct override_target. 0; -EINVAL (no name), -ENOENT (not there), or
 * -errno, with a sentence that begins with the name.
 */
int named_instance_attach(struct instance *i, const char *root, const char *state, const char *name,
			  struct err_text *e);

/*
 * Where a session records: in an instance of its own, or where its config says.
 *
 *	nothing				sonda-PID-SESSION, made now
 *	instance_name			an instance that somebody has made; "hyp" and "hypervisor" are
 *					folders beside `instances`
 *	preserve_ftrace_buffer alone	the top level
 *
 * The first session of a lent place switches it off, drops what is in its rings, and sets clock and
 * size; with preserve_ftrace_buffer all of that stays as it is, and so it does for further sessions.
 * 0 with the instance, off but where others have it on; or -errno with a problem reported.
 */
int session_instance_open(const struct setup *s, const struct ftrace_settings *settings,
			  struct instance *ret, uint32_t *ret_buffer_kb);

/* After all steps: what another session of the same place wanted otherwise is told. */
void session_instance_report_conflicts(const struct setup *s);
