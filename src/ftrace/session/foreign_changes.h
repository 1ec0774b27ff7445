/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ftrace/events/event_select.h"
#include "ftrace/ring/ring.h"
#include "ftrace/tracefs/instance.h"

/*
 * What another process with the rights for it has changed in a session's own instance while it
 * recorded: then events are missing that no counter of the kernel has. The recording and the rings
 * are checked at each flush and at the end, other settings at the end.
 *
 * Zero-initialise.
 */
struct foreign_changes {
	int tracing_on; /* owned: the file of the instance, plus 1; 0: not open */
	char **settings; /* owned list of libtracefs: file, value, file, value ... at the start */
	char *events; /* owned: set_event at the start */
	char **found; /* owned list of libtracefs: sentences about the changes, each once */
};

/*
 * Stores the settings. Call it when the events are switched on, and before the instance records. pauses: triggers of the session turn
 * tracing_on off and on. Does nothing for an attached instance, whose settings are its owner's.
 */
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
