/* SPDX-License-Identifier: Apache-2.0 */
/* Each behaviour is tested for both kinds of loop: on a thread of its own, and inside a libevent loop. */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "client/loop/event_base_loop.h"
#include "client/loop/io_loop.h"
#include "unit/test.h"

struct rig {
	struct io_loop own; /* on a thread */
	struct event_base *base; /* NULL: the loop is on a thread */
	struct io_loop *loop;
	pthread_mutex_t lock;
	struct strbuf story; /* with the lock */
	struct io_task task, second;
	struct io_timer late, early;
	struct io_fd fd;
	int peer; /* of fd */
	uint64_t armed_ns;
};

static struct rig *rig;

static void note(const char *text)
{
	pthread_mutex_lock(&rig->lock);
	strbuf_puts(&rig->story, text);
	pthread_mutex_unlock(&rig->lock);
}

static bool story_is(const char *text)
{
	bool is;

	pthread_mutex_lock(&rig->lock);
	is = strcmp(rig->story.s ? rig->story.s : "", text) == 0;
	pthread_mutex_unlock(&rig->lock);
	return is;
}

/* Runs the loop until the story is this one. */
static void expect(struct rig *r, const char *text)
{
	uint64_t end = clock_mono_ns() + 10 * NS_PER_S;

	while (!story_is(text)) {
		if (r->base)
			event_base_loop(r->base, EVLOOP_NONBLOCK);
		usleep(500);
		if (clock_mono_ns() > end)
			fail_msg("expected \"%s\", got \"%s\"", text, r->story.s);
	}
}

static void rig_init(struct rig *r, bool on_thread)
{
	int fds[2];

	*r = (struct rig){.own = IO_LOOP_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};
	rig = r;
	r->loop = &r->own;
	if (on_thread) {
		assert_int_equal(io_loop_start(r->loop, "test"), 0);
		assert_int_equal(io_loop_start(r->loop, "test"), -EALREADY);
	} else {
		r->base = event_base_new();
		r->loop = event_base_loop_new(r->base);
		assert_non_null(r->loop);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	r->fd.fd = fds[0];
	r->peer = fds[1];
}

static void rig_deinit(struct rig *r)
{
	if (r->base) {
		event_base_loop_free(r->loop);
		event_base_free(r->base);
	} else {
		io_loop_stop(r->loop);
		io_loop_stop(r->loop);
	}
	close(r->fd.fd);
	close(r->peer);
	strbuf_deinit(&r->story);
}

#define LOOP_TEST(name)                                                                            \
	static void name(struct rig *r);                                                           \
	TEST(name##_on_a_thread)                                                                   \
	{                                                                                          \
		static struct rig r;                                                               \
		rig_init(&r, true);                                                                \
		name(&r);                                                                          \
		rig_deinit(&r);                                                                    \
	}                                                                                          \
	TEST(name##_in_an_event_base)                                                              \
	{                                                                                          \
		static struct rig r;                                                               \
		rig_init(&r, false);                                                               \
		name(&r);                                                                          \
		rig_deinit(&r);                                                                    \
	}                                                                                          \
	static void name(struct rig *r)

static void on_first(struct io_task *t)
{
	note("first ");
	io_post(rig->loop, &rig->second); /* from inside a turn */
}

static void on_second(struct io_task *t)
{
	note("second ");
}

LOOP_TEST(tasks_run_once_for_each_post_and_in_order)
{
	r->task.fn = on_first;
	r->second.fn = on_second;
	io_post(r->loop, &r->task);
	expect(r, "first second ");
	io_post(r->loop, &r->second);
	expect(r, "first second second ");
}

static void on_late(struct io_timer *t)
{
	note(clock_mono_ns() - rig->armed_ns >= 60 * NS_PER_MS ? "late " : "too early ");
}

static void on_early(struct io_timer *t)
{
	note("early ");
	io_timer_disarm(rig->loop, &rig->early); /* it is not armed any more */
}

/* Timers and descriptors belong to the loop's thread. */
static void arm_both(struct io_task *t)
{
	rig->armed_ns = clock_mono_ns();
	io_timer_arm(rig->loop, &rig->late, 3600 * 1000);
	io_timer_arm(rig->loop, &rig->late, 60); /* again, for less */
	io_timer_arm(rig->loop, &rig->early, 20);
}

LOOP_TEST(timers_fire_at_their_deadlines)
{
	r->late.fn = on_late;
	r->early.fn = on_early;
	r->task.fn = arm_both;
	io_post(r->loop, &r->task);
	expect(r, "early late ");
	assert_false(r->late.armed || r->early.armed);
}

static void disarm_late(struct io_timer *t)
{
	note("early ");
	io_timer_disarm(rig->loop, &rig->late);
	io_timer_arm(rig->loop, &rig->early, 100);
	rig->early.fn = on_early;
}

LOOP_TEST(disarmed_timers_do_not_fire)
{
	r->late.fn = on_late;
	r->early.fn = disarm_late;
	r->task.fn = arm_both;
	io_post(r->loop, &r->task);
	expect(r, "early early "); /* 120 ms later, which is after the deadline of late */
}

/* A task must not wait for a deadline that is far away. */
LOOP_TEST(a_task_does_not_wait_for_a_timer)
{
	uint64_t start = clock_mono_ns();

	r->late.fn = on_late;
	r->early.fn = on_early;
	r->second.fn = on_second;
	r->task.fn = arm_both;
	io_call(r->loop, &r->task);
	expect(r, "early late ");
	r->armed_ns = clock_mono_ns();
	io_post(r->loop, &r->second);
	expect(r, "early late second ");
	assert_true(clock_mono_ns() - start < 5 * NS_PER_S);
}

static void on_fd(struct io_fd *f, uint32_t events)
{
	char byte;

	if (events & EPOLLOUT) {
		note("writable ");
		io_set_events(rig->loop, f, EPOLLIN);
	}
	if (events & EPOLLIN && read(f->fd, &byte, 1) == 1)
		note("byte ");
	if (events & EPOLLHUP) {
		note("end ");
		io_unwatch(rig->loop, f);
		io_unwatch(rig->loop, f); /* it is not watched any more */
	}
}

static void watch(struct io_task *t)
{
	rig->fd.fn = on_fd;
	assert_int_equal(io_watch(rig->loop, &rig->fd), 0);
}

static void want_to_write(struct io_task *t)
{
	io_set_events(rig->loop, &rig->fd, EPOLLIN | EPOLLOUT);
}

LOOP_TEST(descriptors_report_what_is_wanted)
{
	r->fd.events = EPOLLIN;
	r->task.fn = watch;
	io_call(r->loop, &r->task);
	assert_int_equal(write(r->peer, "x", 1), 1);
	expect(r, "byte ");
	r->second.fn = want_to_write;
	io_post(r->loop, &r->second);
	expect(r, "byte writable ");
	assert_int_equal(write(r->peer, "x", 1), 1);
	expect(r, "byte writable byte ");
	close(r->peer);
	r->peer = -1;
	expect(r, "byte writable byte end ");
}

LOOP_TEST(a_descriptor_that_cannot_be_polled_is_refused)
{
	struct io_fd bad = {.fd = -1, .events = EPOLLIN};

	assert_int_equal(io_watch(r->loop, &bad), -EBADF);
	io_unwatch(r->loop, &bad);
}

static void check_thread(struct io_task *t)
{
	note(io_loop_is_current(rig->loop) ? "here " : "elsewhere ");
}

TEST(a_call_runs_on_the_thread_and_after_it_directly)
{
	static struct rig r;

	rig_init(&r, true);
	r.task.fn = check_thread;
	assert_true(io_loop_runs(r.loop));
	assert_false(io_loop_is_current(r.loop));
	io_call(r.loop, &r.task);
	assert_true(story_is("here "));
	io_loop_stop(r.loop);
	assert_false(io_loop_runs(r.loop));
	io_call(r.loop, &r.task);
	assert_true(story_is("here elsewhere "));
	io_post(r.loop, &r.task);
	io_remove_posted(r.loop, &r.task);
	io_post(r.loop, &r.task); /* before the start */
	assert_int_equal(io_loop_start(r.loop, "test"), 0);
	expect(&r, "here elsewhere here ");
	rig_deinit(&r);
}

static void free_loop(struct io_task *t)
{
	note("freed ");
	event_base_loop_free(TAKE_PTR(rig->loop));
}

TEST(a_task_may_free_its_loop)
{
	static struct rig r;

	rig_init(&r, false);
	r.task.fn = free_loop;
	io_post(r.loop, &r.task);
	expect(&r, "freed ");
	assert_int_equal(event_base_get_num_events(r.base, EVENT_BASE_COUNT_ADDED), 0);
	rig_deinit(&r); /* of a loop that is NULL */
}
