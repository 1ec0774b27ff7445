/* SPDX-License-Identifier: Apache-2.0 */
/* One reader, many listeners: FIFOs of pages stand in for rings. */

#include <event2/event.h>

#include "base/core/clock.h"
#include "ftrace/ring/ring.h"
#include "ftrace/ring/ring_poll.h"
#include "ftrace/ring/ring_stats.h"
#include "unit/ftrace/bundles.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/page_maker.h"
#include "unit/ftrace/page_set.h"
#include "unit/ftrace/rows.h"

#define LISTENERS 3
#define CPUS 2

enum { ID_WAIT = 1, ID_EXIT, ID_BOTH };

/* A session's side, as ftrace_source.c has it. */
struct side {
	struct ring_listener l;
	struct event_table table;
	struct writer *w;
	unsigned before, after, all_reads;
	void (*in_all_read)(struct side *s);
	void (*in_before)(struct side *s);
};

static struct side sides[LISTENERS];
static struct instance instance;
static struct event_base *loop;
static int pipes[CPUS];

static void before_slice(struct ring_listener *l)
{
	struct side *s = l->ctx;

	s->before++;
	if (s->in_before)
		s->in_before(s);
}

static void after_slice(struct ring_listener *l)
{
	((struct side *)l->ctx)->after++;
}

static void all_read(struct ring_listener *l)
{
	struct side *s = l->ctx;

	assert_false(l->reading_all);
	s->all_reads++;
	if (s->in_all_read)
		s->in_all_read(s);
}

static const struct ring_listener_ops ops = {before_slice, after_slice, all_read};

SETUP
{
	char path[300];

	fake_root_new();
	fake_text("instances/x/events/header_page", HEADER_PAGE);
	fake_text("instances/x/buffer_size_kb", "400\n");
	fake_text("instances/x/trace_clock", "local global [boot] mono\n");
	for (unsigned i = 0; i < CPUS; i++) {
		fake_put("entries: 0\nnow ts:  1424.957748\nread events: 0\n",
			 "instances/x/per_cpu/cpu%u/stats", i);
		snprintf(path, sizeof(path), "%s/instances/x/per_cpu/cpu%u/trace_pipe_raw",
			 fake_root, i);
		assert_int_equal(mkfifo(path, 0600), 0);
		pipes[i] = open(path, O_RDWR | O_NONBLOCK);
	}
	instance = fake_instance();
	loop = event_base_new();
	memset(sides, 0, sizeof(sides));
}

TEARDOWN
{
	for (unsigned i = 0; i < LISTENERS; i++) {
		ring_close(&sides[i].l);
		page_encoder_free(sides[i].l.encoder);
		event_table_deinit(&sides[i].table);
		writer_free(sides[i].w);
	}
	for (unsigned i = 0; i < CPUS; i++)
		close(pipes[i]);
	event_base_free(loop);
	fake_instance_free(&instance);
	fake_root_remove();
}

/* Opens a side that wants events of its own id and of ID_BOTH. */
static struct side *open_side(unsigned i, uint32_t period_ms)
{
	struct side *s = &sides[i];
	struct err_text e;

	s->l.ops = &ops;
	s->l.ctx = s;
	s->l.period_ms = period_ms;
	add_wait(&s->table, ID_BOTH);
	if (i < 2)
		add_row(&s->table, "sched", "sched_process_exit", ID_WAIT + i,
			FIELD("pid_t pid", 8, 4, 1), (struct event_table_options){0});
	s->w = fake_writer_new(4096);
	assert_int_equal(ring_open(&s->l, loop, "/nowhere", &instance, &e), 0);
	assert_int_equal(page_encoder_new(&s->table, ring_layout(s->l.ring), s->w, &s->l.encoder),
			 0);
	return s;
}

/* A page with one record of each id; lost: records before it. */
static void put_page(unsigned cpu, uint64_t time, uint64_t lost)
{
	struct page_maker m;

	page_begin(&m, time);
	for (uint8_t id = ID_WAIT; id <= ID_BOTH; id++)
		ring_record(&m, 1, (const uint8_t[12]){id}, 12);
	page_end(&m, lost ? PAGE_LOST | PAGE_LOST_STORED : 0, lost);
	assert_int_equal(write(pipes[cpu], m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
}

static void run_until(const unsigned *counter, unsigned want)
{
	while (*counter < want)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

FIXTURE_TEST(every_listener_gets_each_page)
{
	struct side *a = open_side(0, 60000), *b = open_side(1, 60000), *c = open_side(2, 60000);

	assert_ptr_equal(a->l.ring, b->l.ring);
	assert_int_equal(a->l.n_streams, CPUS);
	ring_attach(&a->l);
	ring_attach(&b->l);
	ring_attach(&c->l);
	put_page(0, 1000, 0);
	put_page(1, 2000, 7);
	ring_read_all(&b->l);
	run_until(&b->all_reads, 1);
	assert_int_equal(a->all_reads, 0); /* did not ask */
	assert_int_equal(ring_event_count(&a->l), 4); /* its own event and the common one, twice */
	assert_int_equal(ring_event_count(&b->l), 4);
	assert_int_equal(ring_event_count(&c->l), 2);
	for (unsigned i = 0; i < LISTENERS; i++) {
		bundles_read(sides[i].w);
		assert_bundles(i == 2 ? "cpu 0 events 1 | cpu 1 lost 7 gap 0-2000 (7) events 1"
				      : "cpu 0 events 2 | cpu 1 lost 7 gap 0-2000 (7) events 2");
		assert_int_equal(sides[i].l.streams[1].lost, 7);
		assert_true(sides[i].l.read_until > 0);
		assert_true(sides[i].l.read_until <= clock_boot_ns());
	}
}

FIXTURE_TEST(broken_pages_are_counted_for_every_listener)
{
	struct side *a = open_side(0, 60000), *b = open_side(1, 60000);
	struct page_maker m;

	page_begin(&m, 1000);
	ring_record(&m, 1, (const uint8_t[4]){ID_WAIT}, 4); /* too short, for those who want it */
	page_head(&m, 28, 1);
	page_end(&m, 0, 0);
	ring_attach(&a->l);
	ring_attach(&b->l);
	assert_int_equal(write(pipes[0], m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
	assert_int_equal(write(pipes[1], m.bytes, 100), 100);
	ring_read_all(&a->l);
	run_until(&a->all_reads, 1);
	assert_int_equal(a->l.encoder->status_counts[RING_PAGE_INVALID_EVENT], 1);
	assert_int_equal(b->l.encoder->status_counts[RING_PAGE_INVALID_EVENT], 0);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t *counts = sides[i].l.encoder->status_counts;

		assert_int_equal(counts[RING_PAGE_END_OVERFLOW], 1);
		assert_int_equal(counts[RING_PAGE_PARTIAL_READ], 1);
	}
}

FIXTURE_TEST(listeners_attach_and_detach)
{
	struct side *a = open_side(0, 60000), *b = open_side(1, 60000);

	ring_attach(&a->l);
	ring_attach(&a->l);
	put_page(0, 1000, 0);
	ring_read_all(&a->l);
	run_until(&a->all_reads, 1);
	ring_attach(&b->l);
	put_page(0, 2000, 0);
	ring_read_all(&a->l);
	run_until(&a->all_reads, 2);
	ring_read_all(&a->l);
	ring_detach(&a->l);
	assert_false(a->l.reading_all);
	put_page(0, 3000, 0);
	ring_read_all(&b->l);
	run_until(&b->all_reads, 1);
	assert_int_equal(a->all_reads, 2);
	assert_int_equal(ring_event_count(&a->l), 4);
	assert_int_equal(ring_event_count(&b->l), 4);
	ring_detach(&b->l);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK),
			 1); /* no listener, nothing to do */
	put_page(0, 4000, 0);
	ring_attach(&a->l);
	ring_read_all(&a->l);
	run_until(&a->all_reads, 3);
	assert_int_equal(ring_event_count(&a->l), 6);
	assert_int_equal(a->before, a->after);
}

FIXTURE_TEST(the_shortest_period_counts)
{
	struct side *a = open_side(0, 60000), *b = open_side(1, 1);

	ring_attach(&a->l);
	ring_attach(&b->l);
	put_page(0, 1000, 0);
	run_until(&a->after, 3);
	assert_int_equal(ring_event_count(&a->l), 2);
	assert_int_equal(a->after, b->after);
	assert_int_equal(a->all_reads + b->all_reads, 0);
}

FIXTURE_TEST(a_listener_on_hold_starts_no_read)
{
	struct side *a = open_side(0, 1), *b = open_side(1, 60000);

	ring_set_hold(&a->l, true);
	ring_attach(&a->l);
	put_page(0, 1000, 0);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1); /* nothing to do */
	assert_int_equal(ring_event_count(&a->l), 0);
	/* What is read for others does not come again. */
	ring_attach(&b->l);
	ring_read_all(&b->l);
	run_until(&b->all_reads, 1);
	assert_int_equal(ring_event_count(&a->l), 2);
	ring_set_hold(&b->l, true);
	put_page(0, 2000, 0);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	ring_set_hold(&a->l, false);
	run_until(&a->after, 3);
	assert_int_equal(ring_event_count(&a->l), 4);
	assert_int_equal(ring_event_count(&b->l), 4);
}

static void close_it(struct side *s)
{
	ring_close(&s->l);
}

static void close_all(struct side *s)
{
	for (unsigned i = 0; i < LISTENERS; i++)
		ring_close(&sides[i].l);
}

static void drain_both(void)
{
	ring_attach(&sides[0].l);
	ring_attach(&sides[1].l);
	ring_read_all(&sides[0].l);
	ring_read_all(&sides[1].l);
}

FIXTURE_TEST(closed_from_inside)
{
	struct side *a = open_side(0, 1), *b = open_side(1, 1);

	a->in_all_read = close_it;
	drain_both();
	run_until(&b->all_reads, 1);
	assert_null(a->l.ring);
	assert_int_equal(a->all_reads, 1);
	b->in_all_read = close_it;
	ring_read_all(&b->l);
	run_until(&b->all_reads, 2);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

FIXTURE_TEST(the_others_closed_from_inside)
{
	struct side *a = open_side(0, 1), *b = open_side(1, 1);

	a->in_all_read = close_all;
	drain_both();
	run_until(&a->all_reads, 1);
	assert_int_equal(b->all_reads, 0);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

FIXTURE_TEST(closed_before_a_time_slice)
{
	struct side *a = open_side(0, 1);

	open_side(1, 1);
	a->in_before = close_all;
	put_page(0, 1000, 0);
	drain_both();
	run_until(&a->before, 1);
	assert_int_equal(sides[1].before, 0);
	assert_int_equal(fake_writer_len(a->w), 0);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
}

FIXTURE_TEST(the_kernels_files_are_closed_with_the_last)
{
	struct side *a = open_side(0, 60000), *b = open_side(1, 60000);
	char path[300];
	int fd;

	ring_close(&a->l);
	snprintf(path, sizeof(path), "%s/instances/x/per_cpu/cpu0/trace_pipe_raw", fake_root);
	close(pipes[0]);
	fd = open(path, O_WRONLY | O_NONBLOCK);
	assert_true(fd >= 0); /* it is open for reading */
	close(fd);
	ring_close(&b->l);
	assert_int_equal(open(path, O_WRONLY | O_NONBLOCK), -1);
	assert_int_equal(errno, ENXIO);
	ring_close(&b->l);
	pipes[0] = open(path, O_RDWR | O_NONBLOCK);
}

FIXTURE_TEST(an_unknown_page_header_is_refused)
{
	struct side *s = &sides[0];
	struct err_text e;

	fake_text("instances/x/events/header_page", "nothing\n");
	assert_int_equal(ring_open(&s->l, loop, "/nowhere", &instance, &e), -EPROTO);
	assert_non_null(strstr(e.text, "header_page"));
	assert_null(s->l.ring);
	ring_close(&s->l);
}

FIXTURE_TEST(clock_readings_of_the_local_clock)
{
	struct side *a;

	fake_text("instances/x/trace_clock", "[local] global boot mono\n");
	a = open_side(0, 60000);
	for (unsigned i = 0; i < 2; i++) { /* read anew each time */
		ring_attach(&a->l);
		assert_int_equal(a->l.encoder->sync.clock, FTRACE_CLOCK_LOCAL);
		assert_true(a->l.encoder->sync.ftrace_ns == 1424957748000);
		assert_true(a->l.encoder->sync.boot_ns > 0);
		a->l.encoder->sync = (struct clock_sync){0};
		put_page(0, 1000, 0);
		ring_read_all(&a->l);
		run_until(&a->all_reads, i + 1);
		assert_true(a->l.encoder->sync.ftrace_ns == 1424957748000);
		ring_detach(&a->l);
	}
	fake_text("instances/x/per_cpu/cpu0/stats", "now ts: 12345\n"); /* no time at all */
	ring_attach(&a->l);
	assert_int_equal(a->l.encoder->sync.ftrace_ns, 0);
}

/* ---- the shape of a large machine: recorded pages on each of 256 CPUs ---- */

#define MANY 256
#define BUSY 200 /* has ten times as much to read as the others */
#define ROUNDS 3u /* turns that the others need */

static uint64_t expected[MANY]; /* events */
static uint32_t most_ahead; /* bytes between the first and the last of those that have more */

/* A file of so many bytes of the set's pages; gives the events in it. */
static uint64_t make_pages(const char *name, struct page_set *set, size_t bytes)
{
	struct writer *w = fake_writer_new(32760);
	struct cpu_stream stream = {0};
	size_t page = set->layout.size;
	struct page_encoder *t;
	uint8_t *data = malloc(bytes);

	assert_int_equal(page_encoder_new(&set->table, &set->layout, w, &t), 0);
	for (size_t at = 0; at < bytes; at += page) {
		memcpy(data + at, set->cpus[0].pages + at % set->cpus[0].len, page);
		page_encode(t, &stream, data + at, page);
	}
	page_encode_end(t, &stream);
	page_encoder_free(t);
	writer_free(w);
	fake_file(name, data, bytes);
	free(data);
	return stream.events;
}

static void make_machine(struct page_set *set)
{
	uint64_t few, many;

	few = make_pages("few", set, ROUNDS * RING_POLL_CPU_BYTES);
	many = make_pages("many", set, 10 * ROUNDS * RING_POLL_CPU_BYTES);
	fake_text("instances/y/events/header_page", fake_read("instances/x/events/header_page"));
	fake_text("instances/y/buffer_size_kb", "8192\n");
	fake_text("instances/y/trace_clock", "[boot]\n");
	fake_text("devices/system/cpu/present", "0-255\n");
	for (unsigned i = 0; i < MANY; i++) {
		char path[300];

		fake_put(i == 100 ? "" : "entries: 5\noverrun: 7\n",
			 "instances/y/per_cpu/cpu%u/stats", i);
		snprintf(path, sizeof(path), "%s/instances/y/per_cpu/cpu%u/trace_pipe_raw",
			 fake_root, i);
		assert_int_equal(symlink(i == BUSY ? "../../../../many" : "../../../../few", path),
				 0);
		expected[i] = i == BUSY ? many : few;
	}
}

static void look_how_even(struct ring_listener *l)
{
	struct side *s = l->ctx;
	double first = 1, last = 0;

	s->after++;
	for (unsigned i = 0; i < MANY; i++) {
		double part = (double)l->streams[i].events / (double)expected[0];

		if (i == BUSY)
			continue;
		first = part < first ? part : first;
		last = part > last ? part : last;
	}
	most_ahead = MAX(most_ahead, (uint32_t)((last - first) * ROUNDS * RING_POLL_CPU_BYTES));
}

static const struct ring_listener_ops even_ops = {before_slice, look_how_even, all_read};

static void check_stats_of_all(const struct ring_listener *l)
{
	struct ring_stats_all all;

	assert_int_equal(ring_read_stats(l, &all), 0);
	assert_int_equal(all.n, MANY - 1); /* cpu100's cannot be read */
	for (unsigned n = 0; n < all.n; n++) {
		assert_int_equal(all.rings[n].cpu, n < 100 ? n : n + 1);
		assert_int_equal(all.rings[n].overrun, 7);
	}
	ring_stats_deinit(&all);
}

FIXTURE_TEST(a_machine_of_256_cpus_drains_evenly)
{
	const struct event_table_options options = {.compact = true};
	struct side *s = &sides[0];
	struct page_set set;
	struct err_text e;
	struct instance y;

	page_set_load(&set, "tests/data/ftrace/sched", &options);
	make_machine(&set);
	y = (struct instance){.tracefs = tracefs_instance_alloc(fake_root, "y")};
	s->l = (struct ring_listener){.ops = &even_ops, .ctx = s, .period_ms = 60000};
	s->w = fake_writer_new(32760);
	assert_int_equal(ring_open(&s->l, loop, fake_root, &y, &e), 0);
	assert_int_equal(s->l.n_streams, MANY);
	assert_int_equal(page_encoder_new(&set.table, ring_layout(s->l.ring), s->w, &s->l.encoder),
			 0);
	check_stats_of_all(&s->l);
	most_ahead = 0;
	ring_attach(&s->l);
	ring_read_all(&s->l);
	run_until(&s->all_reads, 1);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(s->l.streams[i].events, expected[i]);
	/* No ring is read a second time before all others have been read once. */
	assert_in_range(most_ahead, 1, RING_POLL_CPU_BYTES * 11 / 10);
	assert_in_range(s->after, MANY / 4 * ROUNDS, MANY / 4 * ROUNDS + 40);
	ring_close(&s->l);
	tracefs_instance_free(y.tracefs);
	page_set_free(&set);
}
