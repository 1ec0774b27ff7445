/* SPDX-License-Identifier: Apache-2.0 */
/* A FIFO with pages stands in for the ring of a boot before. */

#include <event2/event.h>

#include "base/system/log.h"
#include "ftrace/session/data_sources.h"
#include "unit/ftrace/fake_producer.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"
#include "unit/ftrace/packets.h"
#include "unit/ftrace/page_maker.h"

#define ID 7
#define UNKNOWN_ID 8

static struct ds_handle h;
static struct event_base *loop;
static void *instance;
static int pipe_fd;

SETUP
{
	static const char *const files[][2] = {
		{"tracing_on", "0\n"},
		{"trace", "records"},
		{"trace_clock", "[local] boot\n"},
		{"buffer_size_kb", "400\n"},
		{"last_boot_info", "ffffffff81000000\t[kernel]\nffffffffc0400000\tgone_mod\n"},
		{"per_cpu/cpu0/stats", "entries: 0\noverrun: 3\nnow ts:  14.957748\n"},
		{"events/header_page", HEADER_PAGE},
	};
	char path[300];

	fake_root_new();
	log_set_level(LOG_LEVEL_ERROR);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		fake_put(files[i][1], "instances/x/%s", files[i][0]);
	}
	fake_text(
		"instances/x/events/sched/sched_process_wait/format",
		format_text("sched_process_wait", ID, FORMAT_COMMON, FIELD("pid_t pid", 8, 4, 1)));
	fake_text("events/sched/sched_process_wait/format", "");
	snprintf(path, sizeof(path), "%s/instances/x/per_cpu/cpu0/trace_pipe_raw", fake_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	pipe_fd = open(path, O_RDWR | O_NONBLOCK);
	h = (struct ds_handle){.session_id = 9};
	loop = event_base_new();
	instance = NULL;
}

TEARDOWN
{
	if (instance)
		boot_trace_data_source.destroy(instance);
	event_base_free(loop);
	close(pipe_fd);
	fake_root_remove();
}

static void create(const char *root, const char *name)
{
	const struct ds_env env = {.loop = loop,
				   .sys_root = "/nowhere",
				   .proc_root = fake_path("proc"),
				   .tracefs_root = root};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FrozenFtraceConfig frozen = PB__FROZEN_FTRACE_CONFIG__INIT;

	frozen.instance_name = (char *)name;
	config.frozen_ftrace_config = &frozen;
	assert_int_equal(boot_trace_data_source.create(&h, &env, &config, &instance), 0);
}

/* Setting up may take more than one turn. */
static void start(void)
{
	boot_trace_data_source.start(instance);
	while (!h.started)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

static void put_page(uint64_t time, uint8_t id)
{
	struct page_maker m;

	page_begin(&m, time);
	ring_record(&m, 1, (const uint8_t[12]){id}, 12);
	page_end(&m, 0, 0);
	assert_int_equal(write(pipe_fd, m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
}

/* How often the stats have that text. */
static unsigned in_stats(const char *part)
{
	return packets_count(h.writer, part);
}

#define START "phase: 1"
#define END "phase: 2"
#define FAILED "failed_ftrace_events: "
#define PROBLEM "atrace_errors: "

FIXTURE_TEST(read_once)
{
	put_page(1000, ID);
	put_page(2000, ID);
	create(fake_root, "x");
	start();
	assert_int_equal(h.started, 1);
	assert_int_equal(in_stats(START), 1);
	assert_int_equal(in_stats("preserve_ftrace_buffer"), 1);
	assert_int_equal(in_stats(FAILED), 1); /* a module is gone */
	assert_int_equal(in_stats(END), 0);

	/* Answered when all is there. */
	boot_trace_data_source.flush(instance, 5);
	boot_trace_data_source.stop(instance);
	boot_trace_data_source.stop(instance);
	assert_int_equal(h.flushed, 0);
	while (!h.stopped)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_int_equal(h.flushed, 1);
	assert_int_equal(h.stopped, 1);
	assert_true(h.writer->flushes > 0);
	assert_int_equal(in_stats(END), 1);
	assert_int_equal(in_stats("cpu_stats"), 1);
	assert_int_equal(in_stats(FAILED), 1);

	/* After the stats packet of the start; times as they are, on the boot clock. */
	assert_int_equal(in_stats("ftrace_events {"), 1);
	assert_int_equal(in_stats(" event { "), 2);

	/* Nothing is left, and nothing else has changed. */
	assert_string_equal(fake_read("instances/x/trace"), "records");
	boot_trace_data_source.destroy(instance);
	instance = NULL;
	assert_string_equal(fake_read("instances/x/trace"), "");
	assert_string_equal(fake_read("instances/x/tracing_on"), "0\n");
	assert_string_equal(fake_read("instances/x/trace_clock"), "[local] boot\n");
	assert_string_equal(fake_read("instances/x/buffer_size_kb"), "400\n");
}

FIXTURE_TEST(flushed_and_stopped_later)
{
	create(fake_root, "x");
	start();
	while (!in_stats(END))
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	boot_trace_data_source.flush(instance, 3);
	assert_int_equal(h.last_flush, 3);
	boot_trace_data_source.stop(instance);
	assert_int_equal(h.stopped, 1);
	boot_trace_data_source.flush(instance, 4);
	assert_int_equal(h.flushed, 2);
	assert_int_equal(h.stopped, 1);
}

FIXTURE_TEST(records_of_another_kernel)
{
	put_page(1000, UNKNOWN_ID);
	create(fake_root, "x");
	start();
	boot_trace_data_source.stop(instance);
	while (!h.stopped)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_int_equal(in_stats(FAILED), 2);
}

/* It starts, says why, and is empty. */
FIXTURE_TEST(nothing_to_read)
{
	const struct {
		const char *root, *name;
	} places[] = {{NULL, "x"}, {fake_root, NULL}, {fake_root, "y"}, {fake_root, "../x"}};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		h = (struct ds_handle){.session_id = 9};
		create(places[i].root, places[i].name);
		start();
		boot_trace_data_source.flush(instance, 1);
		boot_trace_data_source.stop(instance);
		assert_int_equal(h.started, 1);
		assert_int_equal(h.flushed, 1);
		assert_int_equal(h.stopped, 1);
		assert_int_equal(in_stats(PROBLEM), 1);
		assert_int_equal(in_stats(END), 1);
		boot_trace_data_source.destroy(instance);
	}
	instance = NULL;
	assert_string_equal(fake_read("instances/x/trace"), "records");
}

/* Not another error's text. */
FIXTURE_TEST(the_reason_is_the_kernels)
{
	assert_int_equal(unlink(fake_path("instances/x/tracing_on")), 0);
	mkdir(fake_path("instances/x/tracing_on"), 0755);
	create(fake_root, "x");
	start();
	assert_int_equal(in_stats(PROBLEM "'nothing is recorded: Permission denied"), 1);
}

FIXTURE_TEST(destroyed_before_the_start)
{
	create(fake_root, "x");
	boot_trace_data_source.destroy(instance);
	instance = NULL;
	assert_string_equal(fake_read("instances/x/trace"), "records");
}

FIXTURE_TEST(only_root_reads_the_boot_before)
{
	h.consumer_uid = 4242;
	put_page(1000, ID);
	create(fake_root, "x");
	start();
	assert_int_equal(in_stats(PROBLEM), 1);
	assert_int_equal(in_stats("cpu_stats"), 0);
	boot_trace_data_source.stop(instance);
	boot_trace_data_source.destroy(instance);
	instance = NULL;
	assert_string_equal(fake_read("instances/x/trace"), "records");
}

/* last_boot_info as Linux 6.12 to 7.2 write it, and /proc/modules. */
FIXTURE_TEST(which_boot_the_records_are_from)
{
	static const char loaded[] = "ffffffff81000000\t[kernel]\nffffffffc0400000\tvirtio_blk\n"
				     "ffffffffc0500000\txfs\n";
	static const struct {
		const char *info, *modules, *report;
	} rows[] = {
		{"# Current\n", "", "the instance holds only records from the current boot"},
		{"0\t[kernel]\n", "", "the instance holds no records from an earlier boot"},
		{NULL, "", "the instance does not survive reboots"},
		{"text delta:\t0\ndata delta:\t0\n", "", ""},
		{"Offset: 1000000\n", "", ""},
		{"", "", ""},
		{loaded, "", "other events: virtio_blk, xfs)"},
		{loaded, "xfs 1 2 - Live 0x0\nvirtio_blk 24576 0 - Live 0x0\n", ""},
		{loaded, "virtio_blk_old 24576 0\nblk 1 0\nxfs 1 0\n", "other events: virtio_blk)"},
		{loaded, "virtio_blk", "other events: virtio_blk, xfs)"},
		{"ffffffffc0400000\tvirtio_blk", "\n\n", "other events: virtio_blk)"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].info)
			fake_text("instances/x/last_boot_info", rows[i].info);
		else
			unlink(fake_path("instances/x/last_boot_info"));
		fake_text("proc/modules", rows[i].modules);
		h = (struct ds_handle){.session_id = 9};
		create(fake_root, "x");
		start();
		if (in_stats(FAILED) != (*rows[i].report != '\0') ||
		    (*rows[i].report && !in_stats(rows[i].report)))
			fail_msg("row %u: %s", i, packets_text(h.writer));
		boot_trace_data_source.destroy(instance);
		instance = NULL;
	}
}
