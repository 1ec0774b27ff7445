/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/record/record_session_state.h"

/* Private to record_session.c: reading the data, and the end of the session. */

struct event_base;

/* Prepares to read packets during the recording. Returns 0 or -ENOMEM. */
int record_session_new_passes(struct record_session *s, struct event_base *loop);
/* Tracing has started: starts reading, if it was prepared. */
void record_session_begin_passes(struct record_session *s);
/* Reads the data that the service has now. */
void record_session_begin_pass(struct record_session *s);
/* Tracing has ended: reads the data. */
void record_session_read(struct record_session *s);
/* The hold is over: frees the session in the service, if only that remains. */
void record_session_release(struct record_session *s);
