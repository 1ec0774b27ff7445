// SPDX-License-Identifier: Apache-2.0
/* Pipes stand in for rings: one is over its watermark when anything is in it. */

#include <event2/event.h>

#include "unit/fixture.h"
#include "ftrace/ring/ring_poll.c"

#define CPUS 3

static struct event_base *loop;
static struct cpu_reader cpus[CPUS];
static struct cpu_readers r;
static struct poll_events *w;
static int ends[CPUS];
static unsigned wakes[CPUS];

static void wake(void *ctx, struct cpu_reader *cpu)
{
	assert_ptr_equal(ctx, &loop);
	wakes[cpu - cpus]++;
}

SETUP
{
	int fds[2];

	for (unsigned i = 0; i < CPUS; i++) {
		assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
		cpus[i] = (struct cpu_reader){.cpu = i, .fd = fds[0], .stats_fd = -1};
		ends[i] = fds[1];
		wakes[i] = 0;
	}
	r = (struct cpu_readers){.cpus = cpus, .n = CPUS, .page_size = 4096};
	loop = event_base_new();
	assert_int_equal(poll_events_new(loop, &r, wake, &loop, &w), 0);
}

TEARDOWN
{
	w = poll_events_free(w);
	event_base_free(loop);
	for (unsigned i = 0; i < CPUS; i++) {
		if (cpus[i].fd >= 0)
			close(cpus[i].fd);
		if (ends[i] >= 0)
			close(ends[i]);
	}
}

static void fill(unsigned cpu)
{
	assert_int_equal(write(ends[cpu], "x", 1), 1);
}

static void look(void)
{
	for (unsigned i = 0; i < 5; i++)
		event_base_loop(loop, EVLOOP_NONBLOCK);
}

FIXTURE_TEST(test_one_wake_each_time_it_is_armed)
{
	fill(1);
	look();
	assert_int_equal(wakes[1], 0);
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0], 0);
	assert_int_equal(wakes[1], 1);
	fill(0);
	look();
	assert_int_equal(wakes[0], 1);
	assert_int_equal(wakes[1], 1);
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0], 2);
	assert_int_equal(wakes[1], 2);
	poll_events_arm(w, true);
	poll_events_disarm(w);
	look();
	assert_int_equal(wakes[0], 2);
}

FIXTURE_TEST(test_one_that_woke_us_for_little_waits)
{
	fill(0);
	fill(1);
	poll_events_arm(w, true);
	look();
	cpus[0].pass_bytes = 4096; /* what was read of it then */
	cpus[1].pass_bytes = 8192;
	poll_events_arm(w, false);
	look();
	assert_int_equal(wakes[0], 1);
	assert_int_equal(wakes[1], 2);
	cpus[1].pass_bytes = 0;
	poll_events_arm(w, false);
	look();
	assert_int_equal(wakes[1], 2);
	/* The one that has not woken us is armed all the while. */
	fill(2);
	look();
	assert_int_equal(wakes[2], 1);
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0], 2);
	assert_int_equal(wakes[1], 3);
}

FIXTURE_TEST(test_rings_that_are_not_there)
{
	int fd = cpus[0].fd;

	cpus[0].fd = -1;
	cpus[1].absent = true;
	fill(0);
	fill(1);
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0] + wakes[1], 0);
	cpus[0].fd = fd; /* plugged in */
	cpus[1].absent = false;
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0], 1);
	assert_int_equal(wakes[1], 1);
}

FIXTURE_TEST(test_a_file_that_cannot_be_polled)
{
	close(cpus[0].fd);
	cpus[0].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	poll_events_arm(w, true);
	look();
	assert_int_equal(wakes[0], 0);
}

FIXTURE_TEST(test_can)
{
	assert_true(poll_events_can(&r));
	fill(0); /* says that there is something, while there is nothing */
	assert_false(poll_events_can(&r));
	close(cpus[0].fd);
	cpus[0].fd = -1;
	assert_true(poll_events_can(&r));
	close(cpus[1].fd);
	cpus[1].fd = open("/dev/zero", O_RDONLY | O_CLOEXEC); /* does not know what waiting is */
	assert_false(poll_events_can(&r));
	close(cpus[1].fd);
	close(cpus[2].fd);
	cpus[1].fd = cpus[2].fd = -1;
	assert_false(poll_events_can(&r)); /* there is none */
}
