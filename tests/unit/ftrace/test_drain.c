// SPDX-License-Identifier: Apache-2.0
/* Passes and turns over rings that are files, on a real loop. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/mem.h"
#include "fake_writer.h"
#include "formats.h"
#include "ftrace/drain.h"
#include "page_maker.h"
#include "temp_dir.h"

static struct event_table table;
static struct translator *t;
static struct writer *w;
static struct cpu_readers r;
static struct event_base *loop;
static struct drain *d;

static unsigned turns, all_reads, most_pages;
static uint32_t pages_before;
static void (*in_all_read)(void);

static uint32_t pages_read(void)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < r.n; i++)
		n += (uint32_t)r.cpus[i].stream.events; /* one record a page */
	return n;
}

static void before_turn(void *ctx)
{
	(void)ctx;
	pages_before = pages_read();
}

static void after_turn(void *ctx)
{
	(void)ctx;
	turns++;
	most_pages = MAX(most_pages, pages_read() - pages_before);
}

static void all_read(void *ctx)
{
	(void)ctx;
	all_reads++;
	if (in_all_read)
		in_all_read();
}

static const struct drain_ops ops = {before_turn, after_turn, all_read};

static int setup(void **state)
{
	const struct event_table_options o = {0};
	uint16_t id;

	if (temp_dir_setup(state))
		return -1;
	assert_int_equal(event_table_add(&table, "sched", "sched_process_wait",
					 format_text("sched_process_wait", 1, FORMAT_COMMON,
						     FIELD("pid_t pid", 8, 4, 1)),
					 &o, &id),
			 0);
	w = fake_writer_new(4096);
	assert_int_equal(translator_new(&table, &page_maker_layout, w, &t), 0);
	loop = event_base_new();
	turns = all_reads = most_pages = 0;
	in_all_read = NULL;
	return 0;
}

static int teardown(void **state)
{
	d = drain_free(d);
	event_base_free(loop);
	cpu_readers_close(&r);
	t = translator_free(t);
	event_table_deinit(&table);
	writer_free(w);
	return temp_dir_teardown(state);
}

/* Rings of so many pages that are nearly full, each with one event in it. */
static void start(void **state, unsigned cpus, const unsigned *pages, uint32_t period_ms)
{
	static uint8_t payload[4000] = {1};
	struct page_maker m;

	page_begin(&m, 1);
	page_record(&m, 1, payload, sizeof(payload));
	page_end(&m, 0, 0);
	r.cpus = calloc(cpus, sizeof(*r.cpus));
	r.page = malloc(PAGE_MAKER_SIZE);
	r.max_pages = 100000;
	for (unsigned i = 0; i < cpus; i++) {
		char name[16];
		FILE *f;

		snprintf(name, sizeof(name), "ring%u", i);
		f = fopen(temp_dir_path(state, 0, name), "w");
		for (unsigned n = 0; n < pages[i]; n++)
			assert_int_equal(fwrite(m.bytes, sizeof(m.bytes), 1, f), 1);
		fclose(f);
		r.cpus[r.n++] = (struct cpu_reader){
			.fd = open(temp_dir_path(state, 0, name), O_RDONLY),
			.done = true,
			.stream = {.cpu = i},
		};
	}
	assert_int_equal(drain_new(
				 &(struct drain_options){
					 .loop = loop,
					 .readers = &r,
					 .translator = t,
					 .period_ms = period_ms,
					 .ops = &ops,
				 },
				 &d),
			 0);
	drain_start(d);
}

static void run_until(unsigned *counter, unsigned want)
{
	while (*counter < want)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

static void test_all_of_it_in_bounded_turns(void **state)
{
	start(state, 2, (const unsigned[]){700, 10}, 60000);
	drain_all(d);
	assert_int_equal(turns, 0); /* not from inside */
	run_until(&all_reads, 1);
	assert_int_equal(pages_read(), 710);
	assert_int_equal(most_pages, DRAIN_CPU_PAGES + 10);
	assert_true(turns >= 700 / DRAIN_CPU_PAGES);
	assert_int_equal(all_reads, 1);
}

static void test_a_turn_of_many_cpus_is_bounded_too(void **state)
{
	static const unsigned pages[] = {100, 100, 100, 100, 100, 100, 100, 100};

	start(state, 8, pages, 60000);
	drain_all(d);
	run_until(&turns, 1);
	assert_int_equal(most_pages, DRAIN_TURN_PAGES);
	assert_int_equal(r.cpus[3].stream.events, DRAIN_CPU_PAGES);
	assert_int_equal(r.cpus[4].stream.events, 0);
	run_until(&turns, 2); /* goes on with those that had no turn */
	assert_int_equal(r.cpus[0].stream.events, DRAIN_CPU_PAGES);
	assert_int_equal(r.cpus[7].stream.events, DRAIN_CPU_PAGES);
	run_until(&all_reads, 1);
	assert_int_equal(pages_read(), 800);
}

static void test_ticks(void **state)
{
	start(state, 1, (const unsigned[]){5}, 1);
	run_until(&turns, 5);
	assert_int_equal(pages_read(), 5);
	assert_int_equal(all_reads, 0);
	drain_halt(d);
	turns = 0;
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1); /* no event is left */
	assert_int_equal(turns, 0);
	drain_all(d);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

static void ask_once_more(void)
{
	in_all_read = NULL;
	drain_all(d);
}

static void test_asked_again_meanwhile(void **state)
{
	start(state, 1, (const unsigned[]){300}, 60000);
	drain_all(d);
	run_until(&turns, 2);
	drain_all(d); /* the same pass serves both */
	run_until(&all_reads, 1);
	assert_int_equal(pages_read(), 300);
	in_all_read = ask_once_more;
	drain_all(d);
	run_until(&all_reads, 3);
}

static void halt(void)
{
	drain_halt(d);
}

static void test_halt_from_inside(void **state)
{
	start(state, 1, (const unsigned[]){3}, 1);
	in_all_read = halt;
	drain_all(d);
	run_until(&all_reads, 1);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

static void test_no_rings(void **state)
{
	start(state, 0, NULL, 1);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1); /* does not tick */
	drain_all(d);
	run_until(&all_reads, 1);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

#define WITH_LOOP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(test_all_of_it_in_bounded_turns),
		WITH_LOOP(test_a_turn_of_many_cpus_is_bounded_too),
		WITH_LOOP(test_ticks),
		WITH_LOOP(test_asked_again_meanwhile),
		WITH_LOOP(test_halt_from_inside),
		WITH_LOOP(test_no_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
