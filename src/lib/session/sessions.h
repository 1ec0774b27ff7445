/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/session.h>

#include "client/transport/channel.h"

/* As sonda_session_new(), for any target, which is copied. */
int session_new(const struct channel_target *target, int timeout_ms, struct sonda_session **ret);

/* For all sessions of the process: sessions_lost() at the end of the library, sessions_forget() in
 * a child after fork(). Call on the loop's thread, or if there is none. */
void sessions_lost(void);
void sessions_forget(void);
