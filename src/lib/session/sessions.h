/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The library's end, and a child after fork(), for all sessions of the process; on the loop's
 * thread, or where there is none. */
void sessions_lost(void);
void sessions_forget(void);
