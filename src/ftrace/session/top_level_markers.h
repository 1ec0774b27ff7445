/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/session/ftrace_session.h"

struct override;

/*
 * The copies of markers at the top level while a session with marker copies runs. The kernel copies
 * a marker to one instance after the other. At the first instance that does not record, it stops
 * and the write to trace_marker fails with EBADF, although this session has the marker. So the top
 * level gets no copies while its tracing_on is 0.
 */

/*
 * Turns the copies at the top level off if its tracing_on is 0, else on again. *off: the caller
 * frees it with override_free(), which turns them on; NULL: they are unchanged. Errors are ignored:
 * the session loses nothing.
 */
void top_level_markers_update(const struct ftrace_session *session, struct override **off);
