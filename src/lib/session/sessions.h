/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/session.h>

#include "lib/channel/channel.h"

/* sonda_session_new() for any target, which is copied. */
int session_new(const struct channel_target *target, int timeout_ms, struct sonda_session **ret);

/* The library's end, and a child after fork(), for all sessions of the process; on the loop's
 * thread, or where there is none. */
void sessions_lost(void);
void sessions_forget(void);
