// SPDX-License-Identifier: Apache-2.0
/* A FIFO stands in for a ring: poll of one in which nothing is waits. */
#include <sys/utsname.h>

#include <event2/event.h>

#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/ring/ring_config.c"

static struct event_base *loop;
static struct instance instance;
static struct setup_errors errors;
static struct ring_listener l;
static int ring;

SETUP
{
	char path[300];

	fake_root_new();
	fake_text("instances/x/events/header_page", HEADER_PAGE);
	fake_text("instances/x/buffer_size_kb", "64\n");
	fake_text("instances/x/buffer_subbuf_size_kb", "4\n");
	fake_text("instances/x/buffer_percent", "77\n");
	fake_text("instances/x/trace_clock", "[boot]\n");
	fake_text("instances/x/per_cpu/cpu0/stats", "");
	snprintf(path, sizeof(path), "%s/instances/x/per_cpu/cpu0/trace_pipe_raw", fake_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	ring = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	instance = fake_instance();
	loop = event_base_new();
}

TEARDOWN
{
	close(ring);
	event_base_free(loop);
	fake_instance_free(&instance);
	fake_root_remove();
}

/* Leaves the listener as it came out, and buffer_percent in the file. */
static void set_up(uint32_t percent, bool period_is_set)
{
	struct ftrace_settings s = {.watermark = percent, .period_is_set = period_is_set};
	struct err_text e;

	setup_errors_deinit(&errors);
	l = (struct ring_listener){.period_ms = 100};
	assert_int_equal(ring_open(&l, loop, "/nowhere", &instance, &e), 0);
	watermark_set_up(&instance, &s, &l, &errors);
	ring_close(&l);
}

static bool kernel_can(void)
{
	struct utsname u;

	return !uname(&u) && watermark_kernel_can(u.release);
}

static void assert_report(const char *part)
{
	assert_non_null(errors.failed);
	assert_non_null(strstr(errors.failed[0], part));
	setup_errors_deinit(&errors);
}

TEST(test_kernels)
{
	assert_true(watermark_kernel_can("6.9.0"));
	assert_true(watermark_kernel_can("6.18.44-fc-v657"));
	assert_true(watermark_kernel_can("7.0-rc1"));
	assert_false(watermark_kernel_can("6.8.12-amd64"));
	assert_false(watermark_kernel_can("6.1.0-30-amd64"));
	assert_false(watermark_kernel_can("5.15.0"));
	assert_false(watermark_kernel_can("Linux"));
}

TEST(test_the_least_percent)
{
	assert_int_equal(watermark_least(50, 64), 50);
	assert_int_equal(watermark_least(1, 16), 13);
	assert_int_equal(watermark_least(1, 200), 2);
	assert_int_equal(watermark_least(1, 201), 1);
	assert_true(watermark_least(50, 1) > 100);
	assert_true(watermark_least(50, 0) > 100);
	/* More than one of those that are told from the one that is written to. */
	for (uint32_t n = 3; n < 1000; n++)
		assert_true(watermark_least(1, n) * n > 200);
}

FIXTURE_TEST(test_as_asked)
{
	if (!kernel_can())
		skip();
	set_up(40, false);
	assert_true(l.watch);
	assert_int_equal(l.period_ms, 1000);
	assert_null(errors.failed);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "40");
	set_up(100, true);
	assert_true(l.watch);
	assert_int_equal(l.period_ms, 100); /* the config says when */
	set_up(3, false);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "13");
	assert_report("option:drain_buffer_percent (3: 13 is used");
}

FIXTURE_TEST(test_not_asked)
{
	if (!kernel_can())
		skip();
	set_up(0, true);
	assert_false(l.watch);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "77\n");
	set_up(0, false);
	assert_true(l.watch);
	assert_int_equal(l.period_ms, 1000);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "25");
}

FIXTURE_TEST(test_what_cannot_be_had)
{
	set_up(101, false);
	assert_report("option:drain_buffer_percent (101: more than 100");
	fake_text("instances/x/buffer_size_kb", "7\n");
	set_up(50, false);
	assert_report("too few");
	instance.keeps_ring = true;
	set_up(50, false);
	assert_report("must not change");
	instance.keeps_ring = false;
	set_up(0, false);
	assert_null(errors.failed); /* nobody asked */
	assert_false(l.watch);
	assert_int_equal(l.period_ms, 100);
	fake_text("instances/x/buffer_size_kb", "64\n");
	if (!kernel_can()) {
		set_up(50, false);
		assert_report("Linux 6.9");
		return;
	}
	assert_int_equal(write(ring, "x", 1), 1); /* never waits */
	set_up(50, false);
	assert_report("does not wait");
	assert_false(l.watch);
	assert_int_equal(l.period_ms, 100);
	assert_int_equal(unlink(fake_path("instances/x/buffer_percent")), 0);
	set_up(50, false);
	assert_report("No such file");
}
