/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the work and the loop do is noted, a letter a step; a kernel call that lasts is the reading
 * of an empty pipe.
 */

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/event_loop/coroutine.h"
#include "base/event_loop/time_slice.h"
#include "unit/fixture.h"

static struct event_base *loop;
static struct coroutine *work;
static char notes[64];
static int pipe_fds[2];
static unsigned slices; /* of the loop's timer */
static int last_pause;

static void note(char c)
{
	notes[strlen(notes)] = c;
}

SETUP
{
	loop = event_base_new();
	memset(notes, 0, sizeof(notes));
	slices = 0;
	last_pause = 0;
	assert_int_equal(pipe(pipe_fds), 0);
}

TEARDOWN
{
	assert_null(work);
	event_base_free(loop);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void on_done(void *ctx)
{
	assert_ptr_equal(ctx, notes);
	assert_null(work);
	note('d');
}

static void begin(void (*run)(void *ctx))
{
	static struct coroutine_ops ops;

	ops = (struct coroutine_ops){.run = run, .done = on_done};
	coroutine_start(&work, loop, &ops, notes);
}

static void run_short(void *ctx)
{
	note('a');
	assert_int_equal(coroutine_yield(), 0);
	note('b');
}

FIXTURE_TEST(short_work_ends_at_once)
{
	bool at_once = false;

	/* Another process may have the CPU for longer than a time slice, but not always. */
	for (unsigned i = 0; i < 100 && !at_once; i++) {
		memset(notes, 0, sizeof(notes));
		begin(run_short);
		at_once = !work;
		event_base_dispatch(loop);
		assert_string_equal(notes, "abd");
	}
	assert_true(at_once);
}

/* ---- slices ---- */

static void use_up_turn(void)
{
	uint64_t until = clock_mono_ns() + TIME_SLICE_NS;

	while (clock_mono_ns() < until)
		;
}

static void run_long(void *ctx)
{
	for (unsigned i = 0; i < 5; i++) {
		note('a');
		use_up_turn();
		last_pause = coroutine_yield();
		if (last_pause)
			break;
	}
	note('z');
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	slices++;
	note('.');
}

/* Whatever else waits on the loop has its turn in each round that the work has one in. */
FIXTURE_TEST(the_loop_goes_on_between_time_slices)
{
	struct event *timer = event_new(loop, -1, EV_PERSIST, on_timer, NULL);
	const struct timeval soon = {.tv_usec = 1};

	event_add(timer, &soon);
	begin(run_long);
	assert_string_equal(notes, "a");
	while (work)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_true(slices >= 2);
	assert_null(strstr(notes, "aaa"));
	assert_non_null(strstr(notes, "zd"));
	event_free(timer);
}

FIXTURE_TEST(work_that_is_cancelled)
{
	begin(run_long);
	coroutine_cancel(work);
	while (work)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_string_equal(notes, "azd");
	assert_int_equal(last_pause, -ECANCELED);
}

FIXTURE_TEST(an_end_in_the_middle)
{
	begin(run_long);
	coroutine_finish(work);
	assert_null(work);
	assert_string_equal(notes, "az");
}

/* ---- the kernel ---- */

static void run_away(void *ctx)
{
	char c = 0;
	ssize_t n;

	note('a');
	coroutine_block_begin();
	n = read(pipe_fds[0], &c, 1);
	errno = EBUSY;
	coroutine_block_end();
	assert_int_equal(errno, EBUSY);
	assert_int_equal(n, 1);
	note(c);
	last_pause = coroutine_yield();
}

FIXTURE_TEST(the_loop_goes_on_while_the_kernel_works)
{
	begin(run_away);
	note('.');
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 0);
	note('.');
	assert_int_equal(write(pipe_fds[1], "k", 1), 1);
	while (work)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_string_equal(notes, "a..kd");
	assert_int_equal(last_pause, 0);
}

/* What is in the kernel is waited for. */
FIXTURE_TEST(an_end_while_the_kernel_works)
{
	begin(run_away);
	assert_int_equal(write(pipe_fds[1], "k", 1), 1);
	coroutine_finish(work);
	assert_string_equal(notes, "ak");
	assert_int_equal(last_pause, -ECANCELED);
}

static void run_other(void *ctx)
{
	note('o');
}

static void done_other(void *ctx)
{
	note('p');
}

/* Two at once, of which one has begun while the other was in the kernel. */
FIXTURE_TEST(two_of_them)
{
	static const struct coroutine_ops ops = {run_other, done_other};
	struct coroutine *other;

	begin(run_away);
	coroutine_start(&other, loop, &ops, NULL);
	assert_null(other);
	assert_int_equal(write(pipe_fds[1], "k", 1), 1);
	while (work)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_string_equal(notes, "aopkd");
}

FIXTURE_TEST(elsewhere_nothing_happens)
{
	assert_int_equal(coroutine_yield(), 0);
	coroutine_block_begin();
	coroutine_block_end();
	coroutine_cancel(NULL);
	coroutine_finish(NULL);
}
