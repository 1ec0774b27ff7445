/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/session/ftrace_session.h"

#define SESSION_REFRESH_MS 1000

/*
 * Keeps the events of a recording session up to date while the kernel's set of events changes. New
 * events that the config requests (a module was loaded, a probe was made) are set up and enabled
 * like those of the start. Events that disappeared or were re-created are removed, so that their
 * ids can be reused. Removals and failures are reported. If it runs out of memory, the next call
 * tries again.
 *
 * Takes about 50 us if nothing has changed (event_enable.h). Call it between slices of reading,
 * every SESSION_REFRESH_MS, and before the rings are read to the end.
 */
void session_refresh(struct ftrace_session *s);
