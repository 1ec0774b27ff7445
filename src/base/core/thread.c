/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/thread.h"

#include <errno.h>
#include <signal.h>

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t detached;
	int r;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	if (!ret)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret ?: &detached, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
