/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ftrace/events/event_select.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/setup.h"
#include "ftrace/ring/ring.h"
#include "ftrace/tracefs/instance.h"

/* Attaches to the instance that a config names: one of root/instances, or "hyp" and "hypervisor"
 * next to that directory. state: see struct override_target. Returns 0, -EINVAL (not a name that a
 * session may use), -ENOENT (the instance does not exist) or -errno; sets e on failure. */
int session_instance_attach_named(struct instance *i, const char *root, const char *state,
				  const char *name, struct err_text *e);

/*
 * Opens the instance that a session records in.
 *
 *	config				instance
 *	-				own: sonda-PID-SESSION, made now
 *	kept_instance			kept: sonda-kept-NAME, made now or by a session that was
 *					killed. For root only
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

/* Reports the first setting that this session could not set because of another session of the same
 * instance. Call it after all setup steps. */
void session_instance_report_conflicts(const struct setup *s);

/*
 * Changes by other privileged processes in a session's own instance while it recorded: then events
 * are missing that no kernel counter reports. The recording and the rings are checked at each flush
 * and at the end, other settings at the end.
 *
 * Zero-initialise.
 */
struct foreign_changes {
	int tracing_on; /* owned: the file of the instance, plus 1; 0: not open */
	char **settings; /* owned list of libtracefs: file, value, file, value ... at the start */
	char *events; /* owned: set_event at the start */
	char **found; /* owned list of libtracefs: sentences about the changes, each once */
};

/* Stores the settings. Call it when the events are switched on, and before the instance records.
 * pauses: triggers of the session turn tracing_on off and on. Does nothing for an attached
 * instance, whose settings are its owner's. */
void foreign_changes_begin(struct foreign_changes *f, const struct instance *i,
			   const struct event_selection *events, bool pauses);
/* Checks tracing_on and the rings, without waiting for locks of tracefs. now: their counters. */
void foreign_changes_check(struct foreign_changes *f, const struct ring_listener *l,
			   const struct ring_stats_all *now);
/* Checks tracing_on alone. Call it before the session sets tracing_on to 0. */
void foreign_changes_check_recording(struct foreign_changes *f);
/* Checks the settings. Call it when the instance does not record any more: it may wait for other
 * users of tracefs, and its rings would fill meanwhile. */
void foreign_changes_check_settings(struct foreign_changes *f, const struct instance *i);
/* Closes the file, so that the instance can be removed. `found` stays. */
void foreign_changes_end(struct foreign_changes *f);
void foreign_changes_deinit(struct foreign_changes *f);
