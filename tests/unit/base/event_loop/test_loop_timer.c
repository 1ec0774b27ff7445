/* SPDX-License-Identifier: Apache-2.0 */

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/event_loop/loop_timer.h"
#include "unit/test.h"

struct fixture {
	struct event_base *loop;
	struct loop_timer t;
	unsigned fired, stop_at;
	uint64_t last_ns;
	bool in_start; /* fire must not come from inside of start */
};

static void fire(void *ctx)
{
	struct fixture *f = ctx;

	assert_false(f->in_start);
	f->fired++;
	f->last_ns = clock_mono_ns();
	if (f->fired == f->stop_at)
		event_base_loopbreak(f->loop);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->loop = event_base_new();
	f->stop_at = 1;
	assert_int_equal(loop_timer_init(&f->t, f->loop, fire, f), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_timer_deinit(&f->t);
	loop_timer_deinit(&f->t);
	event_base_free(f->loop);
	free(f);
	return 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *f)

FIXTURE_TEST(once_fires_once_and_not_early)
{
	for (int boot = 0; boot < 2; boot++) {
		uint64_t begin = clock_mono_ns();

		f->fired = 0;
		loop_timer_once(&f->t, 30, boot);
		event_base_dispatch(f->loop);
		assert_int_equal(f->fired, 1);
		assert_true(f->last_ns - begin >= 30 * NS_PER_MS);
		/* Nothing is left to wait for. */
		event_base_loop(f->loop, EVLOOP_NONBLOCK);
		assert_int_equal(event_base_get_num_events(f->loop, EVENT_BASE_COUNT_ADDED), 0);
	}
}

FIXTURE_TEST(zero_fires_on_the_next_turn)
{
	f->in_start = true;
	loop_timer_once(&f->t, 0, false);
	f->in_start = false;
	assert_int_equal(f->fired, 0);
	event_base_dispatch(f->loop);
	assert_int_equal(f->fired, 1);
}

FIXTURE_TEST(periods_are_multiples_of_the_clock)
{
	for (int boot = 0; boot < 2; boot++) {
		uint64_t begin = clock_mono_ns() / (20 * NS_PER_MS), end;

		f->fired = 0;
		f->stop_at = 5;
		loop_timer_every(&f->t, 20, boot);
		event_base_dispatch(f->loop);
		end = f->last_ns / (20 * NS_PER_MS);
		assert_int_equal(f->fired, 5);
		/* Never two in one period; on a busy machine some may be missed. */
		if (!boot)
			assert_true(end - begin >= 5);
		loop_timer_stop(&f->t);
	}
}

FIXTURE_TEST(monotonic_tick_comes_in_its_period)
{
	uint64_t last = clock_mono_ns() / (10 * NS_PER_MS);

	loop_timer_every(&f->t, 10, false);
	for (f->stop_at = 1; f->stop_at <= 8; f->stop_at++) {
		event_base_dispatch(f->loop);
		assert_true(f->last_ns / (10 * NS_PER_MS) > last);
		last = f->last_ns / (10 * NS_PER_MS);
	}
}

FIXTURE_TEST(stopped_timer_does_not_fire)
{
	for (int boot = 0; boot < 2; boot++) {
		loop_timer_once(&f->t, 0, boot);
		loop_timer_stop(&f->t);
		event_base_loop(f->loop, EVLOOP_NONBLOCK);
		event_base_loop(f->loop, EVLOOP_NONBLOCK);
		assert_int_equal(f->fired, 0);
	}
}

FIXTURE_TEST(start_replaces_what_ran)
{
	uint64_t begin = clock_mono_ns();

	loop_timer_every(&f->t, 1, false);
	loop_timer_once(&f->t, 1, true);
	loop_timer_once(&f->t, 40, false);
	event_base_dispatch(f->loop);
	assert_int_equal(f->fired, 1);
	assert_true(f->last_ns - begin >= 40 * NS_PER_MS);
	event_base_dispatch(f->loop); /* nothing */
	assert_int_equal(f->fired, 1);
}

/* A timer of libevent would be in its heap, and end the wait of epoll every 35 minutes. */
FIXTURE_TEST(long_timer_leaves_libevent_no_timeout)
{
	for (int periodic = 0; periodic < 2; periodic++) {
		if (periodic)
			loop_timer_every(&f->t, 7 * 24 * 3600 * 1000, false);
		else
			loop_timer_once(&f->t, 3600 * 1000, false);
		assert_int_equal(evtimer_pending(f->t.event, NULL), 0);
		assert_int_equal(event_base_get_num_events(f->loop, EVENT_BASE_COUNT_ADDED), 1);
		loop_timer_stop(&f->t);
		assert_int_equal(event_base_get_num_events(f->loop, EVENT_BASE_COUNT_ADDED), 0);
	}
	loop_timer_every(&f->t, 1000, false);
	assert_true(evtimer_pending(f->t.event, NULL));
}

FIXTURE_TEST(deinit_while_running_is_fine)
{
	loop_timer_every(&f->t, 1, true);
	loop_timer_deinit(&f->t);
	assert_int_equal(event_base_get_num_events(f->loop, EVENT_BASE_COUNT_ADDED), 0);
	memset(&f->t, 0, sizeof(f->t));
	loop_timer_deinit(&f->t);
}
