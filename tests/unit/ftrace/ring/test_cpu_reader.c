/* SPDX-License-Identifier: Apache-2.0 */
/* Files of pages stand in for rings: reading is the same, but for the end. */

#include "ftrace/ring/cpu_reader.h"
#include "unit/ftrace/bundles.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/page_maker.h"
#include "unit/ftrace/rows.h"

#define MANY 200

static struct event_table table;
static struct page_encoder *t;
static struct writer *w;
static struct cpu_readers r;
static struct cpu_stream streams[16];
static struct instance instance;

SETUP
{
	fake_root_new();
	add_wait(&table, 1);
	w = fake_writer_new(4096);
	r = (struct cpu_readers){0};
	memset(streams, 0, sizeof(streams));
	instance = (struct instance){0};
	assert_int_equal(page_encoder_new(&table, &page_maker_layout, w, &t), 0);
}

TEARDOWN
{
	cpu_readers_close(&r);
	if (instance.tracefs)
		fake_instance_free(&instance);
	t = page_encoder_free(t);
	event_table_deinit(&table);
	writer_free(w);
	fake_root_remove();
}

/* A ring of pages, each with so many records. */
static void make_ring_of(unsigned cpu, unsigned pages, const unsigned *records)
{
	static uint8_t bytes[MANY * PAGE_MAKER_SIZE];
	static const uint8_t payload[12] = {1};
	struct page_maker m;
	char name[128];

	for (unsigned i = 0; i < pages; i++) {
		page_begin(&m, 1000 * (i + 1));
		for (unsigned n = 0; n < records[i]; n++)
			ring_record(&m, 1, payload, sizeof(payload));
		page_end(&m, 0, 0);
		memcpy(bytes + i * PAGE_MAKER_SIZE, m.bytes, PAGE_MAKER_SIZE);
	}
	snprintf(name, sizeof(name), "instances/x/per_cpu/cpu%u/trace_pipe_raw", cpu);
	fake_file(name, bytes, pages * PAGE_MAKER_SIZE);
}

/* As many in each. */
static void make_ring(unsigned cpu, unsigned pages, unsigned records)
{
	unsigned each[MANY];

	for (unsigned i = 0; i < pages; i++)
		each[i] = records;
	make_ring_of(cpu, pages, each);
}

static void open_rings(uint32_t buffer_kb)
{
	struct err_text e;

	instance = fake_instance();
	assert_int_equal(
		cpu_readers_open(&r, &instance, fake_root, &page_maker_layout, buffer_kb, &e), 0);
	cpu_readers_begin_pass(&r);
}

static uint32_t run(unsigned i, uint32_t max, bool to_the_end)
{
	struct page_encode_target to = {.t = t, .cpu = &streams[i]};

	return cpu_reader_read_pages(&r, &r.cpus[i], &to, 1, max * PAGE_MAKER_SIZE, to_the_end) /
	       PAGE_MAKER_SIZE;
}

FIXTURE_TEST(rings_in_the_order_of_cpus)
{
	make_ring(10, 1, 1);
	make_ring(2, 1, 1);
	make_ring(0, 1, 1);
	fake_text("instances/x/per_cpu/cpux/trace_pipe_raw", "");
	fake_text("instances/x/per_cpu/stats", "");
	open_rings(4);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.cpus[0].cpu, 0);
	assert_int_equal(r.cpus[1].cpu, 2);
	assert_int_equal(r.cpus[2].cpu, 10);
}

/* "x": the CPU has a ring that is open. */
static const char *open_of(unsigned n)
{
	static char text[64];

	for (unsigned i = 0; i < n; i++)
		text[i] = r.cpus[i].fd >= 0 ? 'x' : '-';
	text[n] = '\0';
	return text;
}

FIXTURE_TEST(lists_of_present_cpus)
{
	static const struct {
		const char *list, *open;
	} rows[] = {
		{NULL, "xxxxxxxxxxxx"}, /* it cannot be read */
		{"0-1\n", "xx----------"},
		{"0\n", "x-----------"},
		{"0-3,8,10-8191\n", "xxxx----x-xx"},
		{"1,3", "-x-x--------"},
		{"5-2,7\n", "-------x----"},
		{"nonsense\n", "------------"},
		{",", "------------"},
	};
	char list[8192];
	size_t n = 0;

	for (unsigned i = 0; i < 12; i++)
		make_ring(i, 1, 1);
	for (unsigned i = 0; i <= ARRAY_SIZE(rows); i++) {
		/* The last list is longer than a page. */
		for (unsigned k = 0; i == ARRAY_SIZE(rows) && n < sizeof(list) - 10; k += 2)
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%u,", k);
		if (i && i < ARRAY_SIZE(rows))
			strcpy(list, rows[i].list);
		if (i)
			fake_text("devices/system/cpu/present", list);
		open_rings(4);
		assert_string_equal(open_of(12),
				    i < ARRAY_SIZE(rows) ? rows[i].open : "x-x-x-x-x-x-");
		cpu_readers_close(&r);
		r = (struct cpu_readers){0};
		fake_instance_free(&instance);
	}
}

FIXTURE_TEST(cpus_that_are_not_there_are_left_out)
{
	make_ring(0, 1, 1);
	make_ring(1, 1, 1);
	make_ring(2, 1, 1);
	fake_text("devices/system/cpu/present", "0,2\n");
	open_rings(4);
	assert_int_equal(r.n, 3);
	assert_int_equal(run(0, 10, true), 1);
	assert_true(r.cpus[1].done);
	assert_int_equal(run(1, 10, true), 0);
	assert_int_equal(run(2, 10, true), 1);
	cpu_readers_open_new(&r);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(1, 10, true), 0);
	fake_text("devices/system/cpu/present", "0-2\n"); /* plugged in */
	cpu_readers_open_new(&r);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(1, 10, true), 1);
	assert_int_equal(streams[1].events, 1);
	assert_int_equal(run(0, 10, true), 0); /* the others are where they were */
	fake_text("devices/system/cpu/present", "0\n"); /* and out: what is left is read */
	cpu_readers_open_new(&r);
	assert_true(r.cpus[1].fd >= 0);
}

/* No descriptor was left for it; the ones behind it are opened all the same. */
FIXTURE_TEST(a_ring_that_cannot_be_opened_is_tried_again)
{
	char *name = strdup(fake_path("instances/x/per_cpu/cpu1/trace_pipe_raw"));
	char away[300];

	make_ring(0, 1, 1);
	make_ring(1, 1, 1);
	make_ring(2, 1, 1);
	fake_text("devices/system/cpu/present", "0\n");
	open_rings(4);
	snprintf(away, sizeof(away), "%s.away", name);
	assert_int_equal(rename(name, away), 0);
	fake_text("devices/system/cpu/present", "0-2\n");
	cpu_readers_open_new(&r);
	assert_true(r.cpus[1].fd < 0);
	assert_true(r.cpus[2].fd >= 0);
	assert_int_equal(rename(away, name), 0);
	cpu_readers_open_new(&r);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(1, 10, true), 1);
	assert_false(r.unopened);
	free(name);
}

FIXTURE_TEST(no_rings)
{
	struct err_text e;

	fake_text("instances/x/tracing_on", "");
	instance = fake_instance();
	assert_int_equal(cpu_readers_open(&r, &instance, "/nowhere", &page_maker_layout, 4, &e),
			 -ENOENT);
	fake_text("instances/x/per_cpu/other", "");
	assert_int_equal(cpu_readers_open(&r, &instance, "/nowhere", &page_maker_layout, 4, &e),
			 -ENODEV);
	fake_text("instances/x/per_cpu/cpu0/stats", "");
	assert_int_equal(cpu_readers_open(&r, &instance, "/nowhere", &page_maker_layout, 4, &e),
			 -ENOENT);
	assert_non_null(strstr(e.text, "trace_pipe_raw"));
	assert_int_equal(r.n, 0);
}

FIXTURE_TEST(time_slices_of_bounded_length)
{
	make_ring(0, 10, 200);
	open_rings(4000);
	assert_int_equal(run(0, 4, true), 4);
	assert_false(r.cpus[0].done);
	assert_int_equal(streams[0].events, 800);
	assert_int_equal(run(0, 4, true), 4);
	assert_int_equal(run(0, 4, true), 2);
	assert_true(r.cpus[0].done);
	assert_int_equal(run(0, 4, true), 0);
	assert_int_equal(streams[0].events, 2000);
	bundles_read(w);
	assert_int_equal(n_bundles, 3); /* one a turn */
}

FIXTURE_TEST(a_tick_ends_at_a_page_that_was_hardly_begun)
{
	make_ring(0, 10, 20);
	open_rings(4000);
	/* The first page may be a remainder, so it does not count. */
	assert_int_equal(run(0, 100, false), 2);
	assert_true(r.cpus[0].done);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 1, false), 1);
	assert_false(r.cpus[0].done);
	assert_int_equal(run(0, 1, false), 1);
	assert_true(r.cpus[0].done);
}

FIXTURE_TEST(a_flush_goes_to_the_end)
{
	/* A remainder, a page left for a long record, that record's; full ones; the one in use. */
	static const unsigned records[] = {20, 20, 200, 200, 20, 200, 20};

	make_ring_of(0, 7, records);
	open_rings(4000);
	assert_int_equal(run(0, 100, true), 7);
	assert_int_equal(streams[0].events, 680);
	assert_true(r.cpus[0].done);
}

/* The writer may be anywhere in it, so it says nothing of the pages behind it. */
FIXTURE_TEST(a_flush_goes_on_behind_broken_pages)
{
	static const unsigned records[] = {20, 0, 0, 200, 0, 20};

	make_ring_of(0, 6, records);
	open_rings(4000);
	assert_int_equal(run(0, 100, true), 6);
	assert_int_equal(streams[0].events, 240);
	assert_int_equal(t->status_counts[RING_PAGE_BAD_HEADER], 3);
}

/* Where the writer is, however far it goes on meanwhile; in turns, too. */
FIXTURE_TEST(a_flush_does_not_run_after_the_writer)
{
	static const unsigned records[] = {20, 200, 20, 20, 20, 20, 20, 20};

	make_ring_of(0, 8, records);
	open_rings(4000);
	assert_int_equal(run(0, 100, true), 4);
	assert_true(r.cpus[0].done);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 2, true), 2);
	assert_false(r.cpus[0].done);
	assert_int_equal(run(0, 2, true), 1);
	assert_true(r.cpus[0].done);
}

/* A ring that fills as fast as it is read: a pass is over when a whole ring was read. */
FIXTURE_TEST(no_pass_is_longer_than_a_ring)
{
	make_ring(0, MANY, 200);
	open_rings(40);
	assert_int_equal(run(0, 10000, true), 13);
	assert_true(r.cpus[0].done);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 10000, false), 13);
}

/* Three pages, the second behind a gap: so many records as flags and number say, and what the
 * counter says; the third has no gap before it. */
static void run_gap(uint32_t flags, uint64_t number, const char *overrun, const char *want)
{
	static const uint8_t payload[12] = {1};
	static uint8_t bytes[3 * PAGE_MAKER_SIZE];
	struct page_maker m;

	for (unsigned i = 0; i < 3; i++) {
		page_begin(&m, 1000 * (i + 1));
		for (unsigned n = 0; n < 200; n++)
			ring_record(&m, 1, payload, sizeof(payload));
		page_end(&m, i == 1 ? flags : 0, i == 1 ? number : 0);
		memcpy(bytes + i * PAGE_MAKER_SIZE, m.bytes, PAGE_MAKER_SIZE);
	}
	fake_file("instances/x/per_cpu/cpu0/trace_pipe_raw", bytes, sizeof(bytes));
	if (overrun)
		fake_text("instances/x/per_cpu/cpu0/stats", overrun);
	open_rings(4000);
	assert_int_equal(run(0, 100, true), 3);
	bundles_read(w);
	assert_bundles(want);
}

FIXTURE_TEST(a_gap_with_its_number)
{
	run_gap(PAGE_LOST | PAGE_LOST_STORED, 77, NULL,
		"cpu 0 events 200 | cpu 0 after 1200 lost 77 gap 1200-2000 (77) events 400");
	assert_int_equal(r.cpus[0].stats_fd, -1);
}

FIXTURE_TEST(a_gap_whose_number_found_no_room)
{
	run_gap(PAGE_LOST, 0, "entries: 3\noverrun: 500\nread events: 4\n",
		"cpu 0 events 200 | cpu 0 after 1200 lost 0 gap 1200-2000 (500) events 400");
}

FIXTURE_TEST(a_gap_that_nothing_counts)
{
	run_gap(PAGE_LOST, 0, NULL,
		"cpu 0 events 200 | cpu 0 after 1200 lost 0 gap 1200-2000 (0) events 400");
}

/* What was overwritten before we came is not ours. */
FIXTURE_TEST(gaps_of_a_ring_that_others_have_used)
{
	static struct override *const attached = (struct override *)1;
	static const uint8_t payload[12] = {1};
	struct page_maker m;
	struct err_text e;

	fake_text("instances/x/per_cpu/cpu0/stats", "overrun: 400\n");
	page_begin(&m, 1000);
	ring_record(&m, 1, payload, sizeof(payload));
	page_end(&m, PAGE_LOST | PAGE_LOST_STORED, 450);
	fake_file("instances/x/per_cpu/cpu0/trace_pipe_raw", m.bytes, sizeof(m.bytes));
	instance = fake_instance();
	instance.override = attached;
	assert_int_equal(cpu_readers_open(&r, &instance, fake_root, &page_maker_layout, 4, &e), 0);
	fake_text("instances/x/per_cpu/cpu0/stats", "overrun: 460\n");
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 100, true), 1);
	bundles_read(w);
	assert_bundles("cpu 0 lost 450 gap 0-1000 (60) events 1");
}

FIXTURE_TEST(reads_that_fail)
{
	static const uint8_t part[100] = {1};
	int fds[2];

	fake_file("instances/x/per_cpu/cpu0/trace_pipe_raw", part, sizeof(part));
	make_ring(1, 1, 1);
	open_rings(4);
	assert_int_equal(run(0, 10, true), 0);
	assert_true(r.cpus[0].done);
	assert_int_equal(t->status_counts[RING_PAGE_PARTIAL_READ], 1);
	assert_int_equal(t->status_counts[RING_PAGE_READ_ERROR], 0);
	assert_true(streams[0].gap); /* reported before the next record */

	/* A descriptor that cannot be read at all, and one that has nothing now. */
	close(r.cpus[0].fd);
	r.cpus[0].fd = open(fake_root, O_RDONLY);
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 10, true), 0);
	assert_int_equal(t->status_counts[RING_PAGE_READ_ERROR], 1);
	close(r.cpus[0].fd);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	r.cpus[0].fd = fds[0];
	cpu_readers_begin_pass(&r);
	assert_int_equal(run(0, 10, true), 0);
	assert_true(r.cpus[0].done);
	assert_int_equal(t->status_counts[RING_PAGE_READ_ERROR], 1);
	assert_false(streams[1].gap);
	close(fds[1]);
	assert_int_equal(w->packets, 0);
}
