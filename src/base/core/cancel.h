/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

#include "base/core/mem.h"

/* NO_CANCEL() disables cancellation of the thread (pthread_cancel(3)) until the end of the block.
 * It is for functions of a library that call a cancellation point while they hold a lock or own a
 * resource. It makes no system call. */
static inline int cancel_disable(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restorep(int *before)
{
	pthread_setcancelstate(*before, before);
}

#define NO_CANCEL()                                                                                \
	_cleanup_(cancel_restorep) __attribute__((unused)) int no_cancel_ = cancel_disable()
