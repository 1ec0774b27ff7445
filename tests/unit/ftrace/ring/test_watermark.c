/* SPDX-License-Identifier: Apache-2.0 */
/* A FIFO stands in for a ring: poll of one in which nothing is waits. */
#include <sys/utsname.h>

#include <event2/event.h>

#include "ftrace/ring/ring_config.h"
#include "unit/ftrace/fake_tracefs.h"

/* Takes the place of uname(2). */
static const char *release;

int uname(struct utsname *u)
{
	*u = (struct utsname){0};
	strcpy(u->release, release);
	return 0;
}

static struct event_base *loop;
static struct instance instance;
static struct setup_errors errors;
static struct ring_listener l;
static int ring;

SETUP
{
	char path[300];

	fake_root_new();
	release = "6.12.0";
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
	ring_config_set_watermark(&instance, &s, &l, &errors);
	ring_close(&l);
}

static void assert_report(const char *part)
{
	assert_non_null(errors.failed);
	assert_non_null(strstr(errors.failed[0], part));
	setup_errors_deinit(&errors);
}

FIXTURE_TEST(kernels)
{
	static const struct {
		const char *release;
		bool can;
	} rows[] = {{"6.9.0", true},	     {"6.18.44-fc-v657", true}, {"7.0-rc1", true},
		    {"6.8.12-amd64", false}, {"6.1.0-30-amd64", false}, {"5.15.0", false},
		    {"Linux", false}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		release = rows[i].release;
		set_up(50, false);
		assert_int_equal(l.watch, rows[i].can);
		if (!rows[i].can)
			assert_report(
				"option:drain_buffer_percent (50: requires Linux 6.9 or later");
		set_up(0, false);
		assert_int_equal(l.watch, rows[i].can);
		assert_null(errors.failed);
	}
}

/* At least two sub-buffers, because the kernel counts the one that it writes to. */
FIXTURE_TEST(the_least_percent)
{
	static const struct {
		const char *ring_kb;
		uint32_t percent;
		const char *written; /* NULL: too few sub-buffers */
	} rows[] = {{"256", 50, "50"}, {"64", 1, "13"}, {"800", 1, "2"},
		    {"804", 1, "1"},   {"4", 50, NULL}, {"40000", 1, "1"}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_text("instances/x/buffer_size_kb", rows[i].ring_kb);
		set_up(rows[i].percent, false);
		assert_int_equal(l.watch, rows[i].written != NULL);
		if (rows[i].written)
			assert_string_equal(fake_read("instances/x/buffer_percent"),
					    rows[i].written);
	}
}

FIXTURE_TEST(as_asked)
{
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
	assert_report("option:drain_buffer_percent (3: the ring has few sub-buffers; using 13");
}

FIXTURE_TEST(not_asked)
{
	set_up(0, true);
	assert_false(l.watch);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "77\n");
	set_up(0, false);
	assert_true(l.watch);
	assert_int_equal(l.period_ms, 1000);
	assert_string_equal(fake_read("instances/x/buffer_percent"), "25");
}

FIXTURE_TEST(watermarks_that_are_not_possible)
{
	set_up(101, false);
	assert_report("option:drain_buffer_percent (101: more than 100");
	fake_text("instances/x/buffer_size_kb", "7\n");
	set_up(50, false);
	assert_report("too few");
	instance.keeps_ring = true;
	set_up(50, false);
	assert_report("must stay unchanged");
	instance.keeps_ring = false;
	set_up(0, false);
	assert_null(errors.failed); /* the config does not set it */
	assert_false(l.watch);
	assert_int_equal(l.period_ms, 100);
	fake_text("instances/x/buffer_size_kb", "64\n");
	assert_int_equal(write(ring, "x", 1), 1); /* never waits */
	set_up(50, false);
	assert_report("ignores buffer_percent");
	assert_false(l.watch);
	assert_int_equal(l.period_ms, 100);
	assert_int_equal(unlink(fake_path("instances/x/buffer_percent")), 0);
	set_up(50, false);
	assert_report("No such file");
}
