/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Closes descriptors that another process passed, in dedicated threads: close(2) of a TCP socket
 * with SO_LINGER, or of a file of FUSE, takes as long as that process wants. A unix socket is such
 * a descriptor too, as its queue may hold others that were never received.
 *
 * Each owner (a user) occupies at most two threads, so a slow owner delays only its own
 * descriptors. Before background_close_start(), if it failed, and in a child process, descriptors
 * are closed at once.
 *
 * One thread, the loop, makes all these calls. None of them waits until a descriptor is closed.
 */

/* Starts the threads. They inherit the restrictions of the caller (capabilities, Landlock, system
 * call filter). Returns 0, or -errno: then background_close() closes descriptors itself. */
int background_close_start(void);

/* Returns an eventfd (borrowed; -1: not started) that becomes readable when a thread has closed its
 * descriptor. The loop then calls background_close_continue(), which gives the thread the next
 * one. */
int background_close_finished_fd(void);
void background_close_continue(void);

/* Closes fd, now or later. No-op if fd < 0. */
void background_close(int fd, uint64_t owner);

/* Returns the number of an owner's descriptors that are not closed yet. */
unsigned background_close_count_waiting(uint64_t owner);
