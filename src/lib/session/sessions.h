/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/session.h>

#include "client/transport/channel.h"

/* Like sonda_session_new(), but connects to any target. Copies *target. */
int session_new(const struct channel_target *target, int timeout_ms, struct sonda_session **ret);

/* These two are for all sessions of the process. Call them on the loop's thread, or when there is
 * no such thread. sessions_disconnect() is for the shutdown of the library, the other one for a
 * child after fork(). */
void sessions_disconnect(void);
void sessions_after_fork_in_child(void);
