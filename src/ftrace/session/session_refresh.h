/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/session/ftrace_session.h"

#define SESSION_REFRESH_MS 1000

/*
 * Keeps the events of a recording session what its config means, while the kernel's change: events
 * that came (a module was loaded, somebody made a probe) and that it asked for are set up and
 * switched on as those of the beginning; such that went or were made anew are forgotten, so that
 * their ids can mean others. What went, and what cannot be had of what came, is reported. Where it
 * fails half-way, for want of memory, the next call tries again.
 *
 * Costs some 50 us where nothing has changed (event_enable.h). Between turns of reading, every
 * SESSION_REFRESH_MS and before the rings are read to the end.
 */
void session_refresh(struct ftrace_session *s);
