// SPDX-License-Identifier: Apache-2.0
/* The life of the data source, where there is no kernel to record: it answers everything, and its
 * stats say why it is empty. With a kernel: tests/root/test_ftrace.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/log.h"
#include "fake_producer.h"
#include "ftrace/ftrace_ds.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

static struct ds_handle h;
static struct event_base *loop;
static void *instance;

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	h = (struct ds_handle){.session_id = 9};
	loop = event_base_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	event_base_free(loop);
	return 0;
}

static void create(void)
{
	const struct ds_env env = {.loop = loop, .sys_root = "/nowhere", .proc_root = "/nowhere"};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	char *events[] = {"sched/sched_switch"};

	ftrace.ftrace_events = events;
	ftrace.n_ftrace_events = 1;
	config.ftrace_config = &ftrace;
	assert_int_equal(ftrace_data_source.create(&h, &env, &config, &instance), 0);
}

static void run_until(const unsigned *counter, unsigned want)
{
	while (*counter < want)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

/* FtraceStats of a phase in the trace; told: how many name a problem. */
static unsigned count_stats(uint64_t phase, unsigned *told)
{
	struct pb_field packet, stats, f;
	struct pb_dec d, dp, ds;
	unsigned n = 0;

	pb_dec_init(&d, h.writer->begin, fake_writer_len(h.writer));
	while (pb_dec_next(&d, &packet)) {
		pb_dec_init(&dp, packet.data, packet.len);
		assert_true(pb_dec_next(&dp, &stats));
		assert_int_equal(stats.id, PB_TRACE_PACKET_FTRACE_STATS);
		pb_dec_init(&ds, stats.data, stats.len);
		assert_true(pb_dec_next(&ds, &f) && f.id == PB_FTRACE_STATS_PHASE);
		n += f.u64 == phase;
		while (pb_dec_next(&ds, &f))
			*told += f.id == PB_FTRACE_STATS_ATRACE_ERRORS;
		assert_true(pb_dec_ok(&ds));
	}
	assert_true(pb_dec_ok(&d));
	return n;
}

static void test_start_flush_stop(void **state)
{
	unsigned told = 0;

	(void)state;
	create();
	ftrace_data_source.start(instance);
	assert_int_equal(h.started, 1);
	ftrace_data_source.flush(instance, 5);
	assert_int_equal(h.flushed, 0); /* when the rings have been read */
	ftrace_data_source.flush(instance, 6);
	run_until(&h.flushed, 2);
	assert_int_equal(h.last_flush, 6);
	assert_true(h.writer->flushes > 0);
	assert_int_equal(count_stats(1, &told), 1);
	assert_int_equal(count_stats(2, &told), 1);
	assert_int_equal(told, 2); /* once in each count */

	ftrace_data_source.stop(instance);
	ftrace_data_source.stop(instance);
	run_until(&h.stopped, 1);
	assert_int_equal(count_stats(1, &told), 1); /* nothing new to say */
	ftrace_data_source.flush(instance, 7);
	assert_int_equal(h.last_flush, 7);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	ftrace_data_source.destroy(instance);
	assert_int_equal(h.stopped, 1);
}

static void test_a_stop_without_a_flush_has_stats_too(void **state)
{
	unsigned told = 0;

	(void)state;
	create();
	ftrace_data_source.start(instance);
	ftrace_data_source.stop(instance);
	run_until(&h.stopped, 1);
	assert_int_equal(count_stats(2, &told), 1);
	ftrace_data_source.destroy(instance);
}

static void stop_from_inside(struct ds_handle *handle)
{
	if (handle->flushed && !handle->stopped) {
		handle->on_answer = NULL;
		ftrace_data_source.stop(instance);
	}
}

static void test_a_stop_from_inside_an_answer(void **state)
{
	(void)state;
	create();
	h.on_answer = stop_from_inside;
	ftrace_data_source.start(instance);
	ftrace_data_source.flush(instance, 1);
	run_until(&h.flushed, 1);
	assert_int_equal(h.stopped, 0); /* the rings once more, first */
	run_until(&h.stopped, 1);
	ftrace_data_source.destroy(instance);
}

static void test_destroyed_at_any_time(void **state)
{
	(void)state;
	create();
	ftrace_data_source.destroy(instance);

	create();
	ftrace_data_source.start(instance);
	ftrace_data_source.destroy(instance);

	create();
	ftrace_data_source.start(instance);
	ftrace_data_source.flush(instance, 1);
	ftrace_data_source.stop(instance); /* a lost service */
	ftrace_data_source.destroy(instance);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	assert_int_equal(h.flushed, 0);
}

static void test_more_flushes_than_it_remembers(void **state)
{
	(void)state;
	create();
	ftrace_data_source.start(instance);
	for (uint64_t i = 1; i <= 1000; i++)
		ftrace_data_source.flush(instance, i);
	run_until(&h.flushed, 1);
	assert_int_equal(h.last_flush, 1000);
	assert_in_range(h.flushed, 10, 100);
	ftrace_data_source.destroy(instance);
}

static void test_no_config(void **state)
{
	const struct ds_env env = {.loop = loop, .sys_root = "/nowhere", .proc_root = "/nowhere"};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;

	(void)state;
	assert_int_equal(ftrace_data_source.create(&h, &env, &config, &instance), 0);
	ftrace_data_source.start(instance);
	ftrace_data_source.destroy(instance);
}

static void test_descriptor(void **state)
{
	struct pb_mem m;
	struct pb_field f;
	struct pb_dec d;

	(void)state;
	assert_string_equal(ftrace_data_source.name, "linux.ftrace");
	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_data_source.describe(&m.enc);
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_DATA_SOURCE_DESCRIPTOR_FTRACE_DESCRIPTOR);
	assert_int_equal(f.len, 0);
	pb_mem_deinit(&m);
}

#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(test_start_flush_stop),
		WITH_LOOP(test_a_stop_without_a_flush_has_stats_too),
		WITH_LOOP(test_a_stop_from_inside_an_answer),
		WITH_LOOP(test_destroyed_at_any_time),
		WITH_LOOP(test_more_flushes_than_it_remembers),
		WITH_LOOP(test_no_config),
		WITH_LOOP(test_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
