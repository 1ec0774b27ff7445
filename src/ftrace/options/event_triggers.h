/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.event_triggers: what the kernel does when an event comes, in the session's instance.
 *
 * Triggers act from the moment that they are written, recording or not, so they are prepared while
 * the session is set up (their filters tried, too) and written when it starts.
 */
#define EVENT_TRIGGERS_MAX 16384u /* of one session; further ones are refused, and reported */

struct event_trigger {
	char *file; /* owned: "events/GROUP/NAME/trigger" */
	char *command; /* owned: "stacktrace:5 if prev_prio < 100" */
	bool written;
};

struct event_triggers {
	struct event_trigger *list; /* owned */
	size_t n;
	size_t cap;
	/* There is something that begins the recording and nothing that pauses it: it is off until
	 * then. */
	bool begin_paused;
};

/* Does the config pause the recording, or begin it late? And may it go on after a pause? */
bool event_triggers_pause(const Pb__FtraceConfig *config);
bool event_triggers_resume(const Pb__FtraceConfig *config);

/* Adds ftrace/kernel_stack to the selection where there is a stacktrace to come. 0 or -ENOMEM. */
int event_triggers_imply(struct event_selection *events, const struct setup *s);

/*
 * Prepares them. A stacktrace is for events that are selected and have a row, and comes only behind
 * a record that passes the event's own filters; traceon and traceoff are for any event of the
 * kernel, or, with s->later, for those of the selection. What cannot be had is reported. 0 or
 * -ENOMEM.
 */
int event_triggers_prepare(const struct event_selection *events, const struct setup *s,
			   struct event_triggers *ret);

/* Begins the recording, at once or with the first traceon, and lets them act. 0, or -errno: nothing
 * is recorded. */
int event_triggers_start(struct event_triggers *t, const struct instance *i,
			 struct setup_errors *r);
/* Takes over those that were prepared for events that came later, and lets them act at once. 0 or
 * -ENOMEM. */
int event_triggers_add(struct event_triggers *t, struct event_triggers *more,
		       const struct instance *i, struct setup_errors *r);
/* Ends the recording: none can begin it again. */
void event_triggers_stop(struct event_triggers *t, const struct instance *i);
/* Zeroed is fine. */
void event_triggers_deinit(struct event_triggers *t);
