/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Limits the writer threads of each user, as service/ipc/quota.h limits other resources: a quarter
 * is reserved for root, and a user may have half of what the other users leave, at most a quarter
 * of all. A thread counts until it has ended. It reports its end by writing its place into a pipe.
 */

/* Returns a place, or -EDQUOT (the user has no share left), -EUSERS (all places are taken) or
 * another -errno. */
int write_thread_take_place(uint64_t user, bool is_root);
/* Frees the place of a thread that was not started. */
void write_thread_leave_place(int place);
/* Returns the pipe that a thread writes its place into, one byte, when it ends. Valid after the
 * first place was taken. */
int write_thread_ended_fd(void);
