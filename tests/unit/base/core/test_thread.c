/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "base/core/thread.h"
#include "unit/test.h"

static void *note_mask(void *mask)
{
	pthread_sigmask(SIG_BLOCK, NULL, mask);
	return mask;
}

TEST(a_thread_blocks_all_signals_but_that_of_a_filter)
{
	sigset_t before, after, mask;
	pthread_t thread;
	void *ret;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(thread_start(&thread, 256 << 10, note_mask, &mask), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, &mask);
	for (int s = SIGHUP; s < 32; s++)
		if (s != SIGKILL && s != SIGSTOP)
			assert_int_equal(sigismember(&mask, s), s != SIGSYS);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int s = SIGHUP; s < 32; s++)
		assert_int_equal(sigismember(&after, s), sigismember(&before, s));
}

static void *post(void *done)
{
	__atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(a_detached_thread_runs)
{
	static int done;

	assert_int_equal(thread_start(NULL, 0, post, &done), 0);
	for (int i = 0; i < 60000 && !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	assert_int_equal(done, 1);
}
