/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that blocks all signals, so that the other threads handle them. SIGSYS is not
 * blocked: a system call filter sends it to the thread itself. Threads that it starts inherit that.
 * stack_bytes 0: the default size. *ret is for pthread_join(3); ret NULL: the thread is detached.
 * Returns 0 or -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *arg), void *arg);
