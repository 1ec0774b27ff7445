/* SPDX-License-Identifier: Apache-2.0 */
/* Passes and slices over rings that are files, on a real loop. */

#include <event2/event.h>

#include "base/core/clock.h"
#include "ftrace/ring/ring_poll.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/ftrace/page_maker.h"
#include "unit/ftrace/rows.h"

#define CPU_PAGES (RING_POLL_CPU_BYTES / PAGE_MAKER_SIZE)
#define TURN_PAGES (RING_POLL_SLICE_BYTES / PAGE_MAKER_SIZE)

static struct event_table table;
static struct page_encoder *t;
static struct writer *w;
static struct cpu_readers r;
static struct cpu_stream streams[8];
static struct event_base *loop;
static struct ring_poll *d;

static unsigned slices, passes, most_pages;
static unsigned through; /* slices after which every ring was through */
static uint64_t read_until;
static uint32_t pages_before;
static void (*in_pass_over)(void);
static void (*in_after_turn)(void);

static uint32_t pages_read(void)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < r.n; i++)
		n += (uint32_t)streams[i].events; /* one record a page */
	return n;
}

static void before_slice(void *ctx)
{
	pages_before = pages_read();
}

static void after_slice(void *ctx)
{
	slices++;
	through += ring_poll_pass_is_done(d, &read_until);
	most_pages = MAX(most_pages, pages_read() - pages_before);
	if (in_after_turn)
		in_after_turn();
}

static unsigned targets(void *ctx, unsigned cpu, struct page_encode_target **ret)
{
	static struct page_encode_target to;

	to = (struct page_encode_target){.t = t, .cpu = &streams[cpu]};
	*ret = &to;
	return 1;
}

static void pass_over(void *ctx)
{
	passes++;
	assert_int_equal(passes, ring_poll_count_finished_passes(d));
	if (in_pass_over)
		in_pass_over();
}

static const struct ring_poll_ops ops = {before_slice, targets, after_slice, pass_over};

SETUP
{
	fake_root_new();
	add_wait(&table, 1);
	w = fake_writer_new(4096);
	assert_int_equal(page_encoder_new(&table, &page_maker_layout, w, &t), 0);
	loop = event_base_new();
	slices = passes = most_pages = through = 0;
	in_pass_over = in_after_turn = NULL;
	memset(streams, 0, sizeof(streams));
	r = (struct cpu_readers){0};
}

TEARDOWN
{
	d = ring_poll_free(d);
	event_base_free(loop);
	cpu_readers_close(&r);
	t = page_encoder_free(t);
	event_table_deinit(&table);
	writer_free(w);
	fake_root_remove();
}

/* Rings of so many pages that are nearly full, each with one event in it. */
static void start(unsigned cpus, const unsigned *pages, uint32_t period_ms)
{
	static uint8_t payload[4000] = {1};
	struct page_maker m;

	page_begin(&m, 1);
	ring_record(&m, 1, payload, sizeof(payload));
	page_end(&m, 0, 0);
	r.cpus = calloc(cpus, sizeof(*r.cpus));
	r.page = malloc(PAGE_MAKER_SIZE);
	r.page_size = PAGE_MAKER_SIZE;
	r.sys_root = "/nowhere";
	r.pass_max = UINT32_MAX;
	for (unsigned i = 0; i < cpus; i++) {
		char name[16];
		FILE *f;

		snprintf(name, sizeof(name), "ring%u", i);
		f = fopen(fake_path(name), "w");
		for (unsigned n = 0; n < pages[i]; n++)
			assert_int_equal(fwrite(m.bytes, sizeof(m.bytes), 1, f), 1);
		fclose(f);
		r.cpus[r.n++] = (struct cpu_reader){
			.cpu = i,
			.fd = open(fake_path(name), O_RDONLY),
			.done = true,
			.stats_fd = -1,
		};
	}
	assert_int_equal(ring_poll_new(
				 &(struct ring_poll_options){
					 .loop = loop,
					 .readers = &r,
					 .ops = &ops,
				 },
				 &d),
			 0);
	ring_poll_set_period(d, period_ms);
}

static void run_until(unsigned *counter, unsigned want)
{
	while (*counter < want)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

FIXTURE_TEST(all_of_it_in_bounded_time_slices)
{
	start(2, (const unsigned[]){700, 10}, 60000);
	ring_poll_read_all(d);
	assert_int_equal(slices, 0); /* not from inside */
	run_until(&passes, 1);
	assert_int_equal(pages_read(), 710);
	assert_int_equal(most_pages, CPU_PAGES + 10);
	assert_true(slices >= 700 / CPU_PAGES);
	assert_int_equal(passes, 1);
}

/* Only then is it known that nothing older is to come from any ring. */
FIXTURE_TEST(how_far_all_rings_have_been_read)
{
	uint64_t before = clock_boot_ns(), after, until = 0;

	assert_int_equal(through, 0);
	start(2, (const unsigned[]){700, 10}, 60000);
	ring_poll_read_all(d);
	after = clock_boot_ns();
	run_until(&passes, 1);
	assert_int_equal(through, 1);
	assert_true(slices > 1);
	assert_in_range(read_until, before, after);
	assert_false(ring_poll_pass_is_done(d, &until)); /* no pass is on */
	assert_true(until == 0);
	before = clock_boot_ns();
	ring_poll_read_all(d);
	run_until(&passes, 2);
	assert_int_equal(through, 2);
	assert_true(read_until >= before);
}

FIXTURE_TEST(a_turn_of_many_cpus_is_bounded_too)
{
	static const unsigned pages[] = {100, 100, 100, 100, 100, 100, 100, 100};

	start(8, pages, 60000);
	ring_poll_read_all(d);
	run_until(&slices, 1);
	assert_int_equal(most_pages, TURN_PAGES);
	assert_int_equal(streams[3].events, CPU_PAGES);
	assert_int_equal(streams[4].events, 0);
	run_until(&slices, 2); /* goes on with those that had no turn */
	assert_int_equal(streams[0].events, CPU_PAGES);
	assert_int_equal(streams[7].events, CPU_PAGES);
	run_until(&passes, 1);
	assert_int_equal(pages_read(), 800);
}

static unsigned served_at;

static void on_command(evutil_socket_t fd, short what, void *arg)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
	served_at = slices;
}

/* In the middle of a long pass. */
FIXTURE_TEST(others_are_served_between_time_slices)
{
	struct event *command;
	int fds[2];

	start(1, (const unsigned[]){2000}, 60000);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	command = event_new(loop, fds[0], EV_READ | EV_PERSIST, on_command, NULL);
	event_add(command, NULL);
	ring_poll_read_all(d);
	for (unsigned at = 5; at < 25; at += 5) {
		run_until(&slices, at);
		assert_int_equal(write(fds[1], "x", 1), 1);
		run_until(&slices, at + 2);
		assert_in_range(served_at, at, at + 2);
	}
	event_free(command);
	close(fds[0]);
	close(fds[1]);
}

static uint64_t asked_from_inside;

static void ask_once_more(void)
{
	in_pass_over = NULL;
	asked_from_inside = ring_poll_read_all(d);
}

FIXTURE_TEST(requests_during_a_pass_share_the_next_pass)
{
	start(1, (const unsigned[]){300}, 60000);
	assert_int_equal(ring_poll_read_all(d), 1);
	assert_int_equal(ring_poll_read_all(d), 1); /* nothing has been read yet */
	run_until(&slices, 2);
	/* The pass that is on may have gone by what is asked for now; the first one need not
	 * wait. */
	assert_int_equal(ring_poll_read_all(d), 2);
	assert_int_equal(ring_poll_read_all(d), 2);
	run_until(&passes, 1);
	assert_int_equal(pages_read(), 300);
	run_until(&passes, 2);
	in_pass_over = ask_once_more;
	assert_int_equal(ring_poll_read_all(d), 3);
	run_until(&passes, 3);
	assert_int_equal(asked_from_inside, 4);
	run_until(&passes, 4);
}

FIXTURE_TEST(a_tick_becomes_a_pass_to_the_end)
{
	start(1, (const unsigned[]){300}, 1);
	run_until(&slices, 1);
	assert_int_equal(pages_read(), CPU_PAGES);
	assert_int_equal(ring_poll_read_all(d), 1);
	run_until(&passes, 1);
	assert_int_equal(pages_read(), 300);
}

/* ---- the watermark ---- */

/* Rings that are pipes with so many pages in them; their other ends. */
static int pipes[8];

static void put_pages(unsigned cpu, unsigned pages)
{
	static uint8_t payload[4000] = {1};
	struct page_maker m;

	page_begin(&m, 1);
	ring_record(&m, 1, payload, sizeof(payload));
	page_end(&m, 0, 0);
	while (pages--)
		assert_int_equal(write(pipes[cpu], m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
}

static void watch(unsigned cpus, uint32_t period_ms)
{
	start(cpus, (const unsigned[8]){0}, period_ms);
	for (unsigned i = 0; i < cpus; i++) {
		int fds[2];

		assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
		close(r.cpus[i].fd);
		r.cpus[i].fd = fds[0];
		pipes[i] = fds[1];
	}
	assert_int_equal(ring_poll_prepare_watch(d), 0);
	ring_poll_set_watching(d, true);
}

/* The second of two is not watched, until a tick has come. */
static void watch_first(uint32_t period_ms)
{
	watch(2, period_ms);
	ring_poll_set_watching(d, false);
	r.cpus[1].absent = true;
	ring_poll_set_watching(d, true);
}

static void stop_watching(unsigned cpus)
{
	d = ring_poll_free(d);
	for (unsigned i = 0; i < cpus; i++)
		close(pipes[i]);
}

FIXTURE_TEST(a_full_ring_is_read_before_the_tick)
{
	watch(2, 60000);
	event_base_loop(loop, EVLOOP_NONBLOCK);
	assert_int_equal(slices, 0);
	put_pages(1, 3);
	run_until(&slices, 1);
	assert_int_equal(streams[1].events, 3);
	put_pages(0, 2);
	put_pages(1, 5);
	run_until(&slices, 2); /* both in one pass */
	assert_int_equal(pages_read(), 10);
	put_pages(1, 2);
	run_until(&slices, 3);
	assert_int_equal(pages_read(), 12);
	assert_int_equal(passes, 0);
	stop_watching(2);
}

FIXTURE_TEST(only_the_full_ring_is_read)
{
	uint64_t until;

	watch_first(60000);
	put_pages(0, 4);
	put_pages(1, 1);
	run_until(&slices, 1);
	assert_int_equal(streams[0].events, 4);
	assert_int_equal(streams[1].events, 0);
	assert_false(ring_poll_pass_is_done(d, &until)); /* the other was not read */
	stop_watching(2);
}

/* Poll says yes for ever (the other end is closed), and nothing is there. */
FIXTURE_TEST(a_ring_that_is_always_readable_costs_a_turn_a_tick)
{
	watch(1, 20);
	close(pipes[0]);
	pipes[0] = -1;
	event_base_loopexit(loop, &(struct timeval){.tv_usec = 200000});
	assert_int_equal(event_base_loop(loop, 0), 0);
	/* 10 ticks, and a wake-up after each; the machine may be slow, so fewer is fine. */
	assert_in_range(slices, 2, 24);
	stop_watching(0);
}

FIXTURE_TEST(a_wake_up_becomes_a_pass_to_the_end)
{
	watch(2, 60000);
	put_pages(0, 3);
	event_base_loop(loop, EVLOOP_NONBLOCK);
	put_pages(1, 1);
	assert_int_equal(ring_poll_read_all(d), 1);
	run_until(&passes, 1);
	assert_int_equal(pages_read(), 4);
	put_pages(0, 3); /* and the watch is armed again */
	run_until(&slices, slices + 1);
	assert_int_equal(pages_read(), 7);
	stop_watching(2);
}

/* A ring that keeps waking us does not put off the tick of the others. */
FIXTURE_TEST(ticks_come_in_spite_of_wake_ups)
{
	watch_first(1);
	put_pages(1, 1);
	while (!streams[1].events) {
		put_pages(0, 2);
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	}
	stop_watching(2);
}

static void fill_first_ring(void)
{
	put_pages(0, 2);
}

/* Nor one that is full enough again after every time slice. */
FIXTURE_TEST(ticks_come_though_wake_ups_never_end)
{
	uint64_t until = 0;

	watch_first(1);
	put_pages(1, 1);
	in_after_turn = fill_first_ring;
	fill_first_ring();
	while (!streams[1].events) {
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
		assert_true(slices < 100000);
	}
	assert_true(through > 0); /* as a tick's pass, which shows how far all has been read */
	assert_false(ring_poll_pass_is_done(d, &until));
	stop_watching(2);
}

FIXTURE_TEST(a_ring_that_woke_for_little_waits_for_a_pass_over_all)
{
	watch(2, 60000);
	put_pages(0, 1);
	run_until(&slices, 1);
	put_pages(0, 5);
	put_pages(1, 2);
	run_until(&slices, 2);
	assert_int_equal(streams[0].events, 1);
	assert_int_equal(streams[1].events, 2);
	ring_poll_read_all(d);
	run_until(&passes, 1);
	assert_int_equal(streams[0].events, 6);
	put_pages(0, 2);
	run_until(&slices, slices + 1);
	assert_int_equal(streams[0].events, 8);
	stop_watching(2);
}

FIXTURE_TEST(which_rings_can_be_watched)
{
	int fds[2];

	start(1, (const unsigned[]){1}, 60000);
	assert_int_equal(ring_poll_prepare_watch(d), -EOPNOTSUPP); /* a file is always readable */
	close(r.cpus[0].fd);
	r.cpus[0].fd = open("/dev/zero", O_RDONLY | O_CLOEXEC); /* it does not wait */
	assert_int_equal(ring_poll_prepare_watch(d), -EOPNOTSUPP);
	close(r.cpus[0].fd);
	r.cpus[0].fd = -1; /* no ring at all */
	assert_int_equal(ring_poll_prepare_watch(d), -EOPNOTSUPP);
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	r.cpus[0].fd = fds[0];
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(ring_poll_prepare_watch(d), -EOPNOTSUPP);
	assert_int_equal(read(fds[0], &(char){0}, 1), 1);
	assert_int_equal(ring_poll_prepare_watch(d), 0);
	close(fds[1]);
	/* One that epoll refuses is read by the ticks. */
	close(r.cpus[0].fd);
	r.cpus[0].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ring_poll_set_watching(d, true);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 0);
	assert_int_equal(slices, 0);
}
