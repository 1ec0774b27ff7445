/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * How many writer threads a user may have. They are shared as service/ipc/quota.h shares other
 * resources: a quarter for root, and a user may have half of what the other users leave, a quarter
 * of all at most. A thread counts until it has ended, which only the thread knows: it writes its
 * place into a pipe.
 */

/* Returns a place, -EDQUOT if the user has its share, -EUSERS if there is none, or -errno. */
int write_thread_take_place(uint64_t user, bool is_root);
/* The thread of this place was not started. */
void write_thread_leave_place(int place);
/* Returns the pipe that a thread writes its place into, one byte, when it ends. Valid after the
 * first place was taken. */
int write_thread_ended_fd(void);
