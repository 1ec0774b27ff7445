/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.event_triggers: actions of the kernel on an event, in the session's instance.
 *
 * A trigger acts as soon as it is written, recording or not. So triggers are prepared during
 * setup, when their filters are also tried, and written at the start.
 */
#define EVENT_TRIGGERS_MAX 16384u /* of one session; further ones are refused and reported */

struct event_trigger {
	char *file; /* owned: "events/GROUP/NAME/trigger" */
	char *command; /* owned: "stacktrace:5 if prev_prio < 100" */
	bool written;
};

struct event_triggers {
	struct event_trigger *list; /* owned */
	size_t n;
	size_t cap;
	/* A trigger starts the recording and none pauses it: recording is off until then. */
	bool begin_paused;
	bool on_markers; /* a trigger acts on ftrace/print or ftrace/raw_data */
};

/* Returns true if a trigger of the config pauses the recording or delays its start. */
bool event_triggers_can_pause(const Pb__FtraceConfig *config);
/* Returns true if the recording can go on after a pause: it has both traceoff and traceon. */
bool event_triggers_can_resume(const Pb__FtraceConfig *config);

/* Adds ftrace/kernel_stack to the selection if there is a stacktrace trigger. Returns 0 or
 * -ENOMEM. */
int event_triggers_add_implied_events(struct event_selection *events, const struct setup *s);

/* Prepares the triggers. A stacktrace requires a selected and compiled event, and follows only
 * records that pass the event's filter. traceon and traceoff may use any event of the kernel; with
 * s->later, only those of the selection. Reports triggers that are impossible. Returns 0,
 * -ENOMEM or -ECANCELED. */
int event_triggers_prepare(const struct event_selection *events, const struct setup *s,
			   struct event_triggers *ret);

/* Starts the recording, immediately or with the first traceon, and activates the triggers. If the
 * kernel accepts no traceon, starts immediately. Returns 0, or -errno: nothing is recorded. */
int event_triggers_start(struct event_triggers *t, const struct instance *i,
			 struct setup_errors *r);
/* Moves the triggers of `more`, which were prepared for events that appeared while recording, to t
 * and activates them. Returns 0 or -ENOMEM. */
int event_triggers_add(struct event_triggers *t, struct event_triggers *more,
		       const struct instance *i, struct setup_errors *r);
/* Stops the recording; no trigger can restart it. */
void event_triggers_stop_recording(struct event_triggers *t, const struct instance *i);
/* Zeroed is allowed. */
void event_triggers_deinit(struct event_triggers *t);
