/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

#include "base/core/mem.h"

/*
 * For functions of libraries that hold a lock, or what only they can release, over a call which is
 * a cancellation point: a thread that is cancelled (pthread_cancel(3)) goes on until the end of the
 * block. It makes no system call.
 */
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
