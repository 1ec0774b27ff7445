/* SPDX-License-Identifier: Apache-2.0 */
/* Pages to bundles: recorded ones both ways, made ones for what seldom happens. */

#include "base/text/str.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/ring/ring_stats.h"
#include "unit/fixture.h"
#include "unit/ftrace/bundles.h"
#include "unit/ftrace/page_maker.h"
#include "unit/ftrace/page_set.h"
#include "unit/ftrace/rows.h"
#include "unit/rng.h"

static struct writer *w;
static struct page_encoder *t;
static struct event_table table;
static struct cpu_stream cpu;

/* ---- recorded pages ---- */

/* Translates a set of tests/data/ftrace; gives the number of events. */
static uint64_t translate_set(const char *name, bool compact, size_t range)
{
	const struct event_table_options options = {.compact = compact};
	uint64_t events = 0;
	struct page_set set;
	char dir[64];

	snprintf(dir, sizeof(dir), "tests/data/ftrace/%s", name);
	page_set_load(&set, dir, &options);
	w = fake_writer_new(range);
	assert_int_equal(page_encoder_new(&set.table, &set.layout, w, &t), 0);
	for (unsigned c = 0; c < set.n_cpus; c++) {
		struct cpu_stream stream = {.cpu = c};

		for (size_t at = 0; at < set.cpus[c].len; at += set.layout.size)
			page_encode(t, &stream, set.cpus[c].pages + at, set.layout.size);
		page_encode_end(t, &stream);
		events += stream.events;
	}
	for (unsigned i = 0; i < RING_PAGE_STATUS_COUNT; i++)
		assert_int_equal(t->status_counts[i], 0);
	assert_int_equal(t->unknown, 0);
	t = page_encoder_free(t);
	page_set_free(&set);
	bundles_read(w);
	return events;
}

/* What the kernel says that it handed out while the set was recorded. */
static uint64_t read_events_of(const char *name)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < 2; c++) {
		struct ring_stats s = {0};
		char *text = page_set_read(NULL, "tests/data/ftrace/%s/cpu%u.stats", name, c);

		assert_non_null(text);
		assert_int_equal(ring_stats_parse(text, &s), 0);
		n += s.read_events;
		free(text);
	}
	return n;
}

struct sched_event {
	uint64_t time;
	uint64_t values[4];
	char comm[16];
};

static struct sched_event verbose[2][8192], columns[2][8192]; /* switch, waking */
static unsigned n_verbose[2], n_columns[2];

static void take_verbose(const struct pb_field *event)
{
	static const uint8_t switch_at[] = {0, 0, 0, 0,
					    1, 9, 2, 3}; /* proto field -> value, 9 comm */
	static const uint8_t waking_at[] = {0, 9, 1, 3, 0, 2};
	struct sched_event e = {0};
	struct pb_field f, v;
	struct pb_dec d, inner;
	int which = -1;

	pb_dec_init(&d, event->data, event->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			e.time = f.u64;
		which = f.id == PB_FTRACE_EVENT_SCHED_SWITCH   ? 0
			: f.id == PB_FTRACE_EVENT_SCHED_WAKING ? 1
							       : which;
		if (which < 0)
			continue;
		pb_dec_init(&inner, f.data, f.len);
		while (pb_dec_next(&inner, &v)) {
			size_t n_known = which ? ARRAY_SIZE(waking_at) : ARRAY_SIZE(switch_at);
			uint8_t at = v.id < n_known ? (which ? waking_at : switch_at)[v.id] : 0;

			if (at == 9)
				memcpy(e.comm, v.data, v.len);
			else if (at)
				e.values[at] = v.u64;
		}
	}
	if (which >= 0)
		verbose[which][n_verbose[which]++] = e;
}

static void take_columns(const struct bundle_view *b)
{
	/* time, value 1..3, comm */
	static const uint8_t ids[2][5] = {{1, 2, 3, 4, 6}, {7, 8, 9, 10, 11}};
	static uint64_t values[5][COMPACT_MAX_EVENTS];
	unsigned n = 0;

	for (unsigned which = 0; which < 2; which++) {
		uint64_t time = 0;

		for (unsigned i = 0; i < 5; i++)
			n = bundle_column(b, ids[which][i], values[i]);
		for (unsigned i = 0; i < n; i++) {
			struct sched_event *e = &columns[which][n_columns[which]++];
			struct pb_field name = bundle_name(b, (unsigned)values[4][i]);

			*e = (struct sched_event){.time = time += values[0][i]};
			for (unsigned v = 1; v < 4; v++)
				e->values[v] = values[v][i];
			memcpy(e->comm, name.data, name.len);
		}
	}
}

TEST(columns_have_the_values_of_events)
{
	struct pb_field f;
	struct pb_dec d;

	translate_set("sched", false, 1000);
	for (unsigned i = 0; i < n_bundles; i++) {
		pb_dec_init(&d, bundles[i].whole.data, bundles[i].whole.len);
		while (pb_dec_next(&d, &f))
			if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT)
				take_verbose(&f);
	}
	writer_free(w);
	translate_set("sched", true, 1000);
	for (unsigned i = 0; i < n_bundles; i++)
		take_columns(&bundles[i]);
	writer_free(w);
	for (unsigned which = 0; which < 2; which++) {
		assert_true(n_verbose[which] > 500);
		assert_int_equal(n_verbose[which], n_columns[which]);
		assert_memory_equal(verbose[which], columns[which],
				    n_verbose[which] * sizeof(**verbose));
	}
}

TEST(every_event_is_there_however_chunks_are_cut)
{
	static const char *const sets[] = {"mix", "syscalls", "lossy"};
	static const size_t ranges[] = {32, 100, 4096, 32760};

	for (unsigned s = 0; s < ARRAY_SIZE(sets); s++) {
		uint8_t *first = NULL;
		size_t first_len = 0;

		for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++) {
			uint64_t n = translate_set(sets[s], false, ranges[i]), events = 0;

			for (unsigned b = 0; b < n_bundles; b++)
				events += bundles[b].events;
			assert_int_equal(events, n);
			assert_int_equal(n, read_events_of(sets[s]));
			/* The same bytes, but for the lengths of messages that were cut. */
			if (!first) {
				first_len = fake_writer_len(w);
				first = malloc(first_len);
				memcpy(first, w->begin, first_len);
			}
			assert_in_range(fake_writer_len(w), first_len * 9 / 10, first_len);
			writer_free(w);
		}
		free(first);
	}
}

/* ---- made pages ---- */

enum { ID_SWITCH = 1, ID_WAIT, ID_GENERIC, ID_STRING, ID_LARGE, ID_RENAME, ID_CALL = 100 };

static void add(const char *group, const char *name, unsigned id, const char *fields, bool compact)
{
	add_row(&table, group, name, id, fields, (struct event_table_options){.compact = compact});
}

/* Its field is a function for the kernel, so that each bundle numbers its addresses. */
static void add_generic(void)
{
	char *text = format_text("generic", ID_GENERIC, FORMAT_COMMON, FIELD("void * a", 8, 8, 0));
	uint16_t id;

	strcpy(strstr(text, "print fmt:"), "print fmt: \"%ps\", REC->a\n");
	assert_int_equal(event_table_add(&table, "g", "generic", text,
					 &(struct event_table_options){.compact = true}, &id),
			 0);
}

SETUP
{
	add("sched", "sched_switch", ID_SWITCH, SWITCH_FIELDS, true);
	add("sched", "sched_process_wait", ID_WAIT,
	    FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1), true);
	add_generic();
	add("g", "string", ID_STRING, FIELD("__data_loc char[] a", 8, 4, 0), true);
	w = fake_writer_new(4096);
	cpu = (struct cpu_stream){.cpu = 1};
	assert_int_equal(page_encoder_new(&table, &page_maker_layout, w, &t), 0);
}

TEARDOWN
{
	t = page_encoder_free(t);
	event_table_deinit(&table);
	writer_free(w);
}

static void put_switch(struct page_maker *m, uint32_t delta, const char *comm)
{
	uint8_t payload[40] = {ID_SWITCH};

	strcpy((char *)payload + 16, comm);
	ring_record(m, delta, payload, sizeof(payload));
}

static void put_wait(struct page_maker *m, uint32_t delta)
{
	static const uint8_t payload[28] = {ID_WAIT};

	ring_record(m, delta, payload, sizeof(payload));
}

static void put_generic(struct page_maker *m, uint64_t address)
{
	uint8_t payload[16] = {ID_GENERIC};

	memcpy(payload + 8, &address, 8);
	ring_record(m, 1, payload, sizeof(payload));
}

static void translate(const struct page_maker *m)
{
	page_encode(t, &cpu, m->bytes, sizeof(m->bytes));
}

static void finish(void)
{
	page_encode_end(t, &cpu);
	bundles_read(w);
}

/* A page of that time with one event. */
static void translate_wait(uint64_t time, uint32_t flags, uint64_t lost)
{
	struct page_maker m;

	page_begin(&m, time);
	put_wait(&m, 1);
	page_end(&m, flags, lost);
	translate(&m);
}

/* A page of that time with one record. */
static void translate_record(uint64_t time, const void *payload, uint32_t len)
{
	struct page_maker m;

	page_begin(&m, time);
	ring_record(&m, 1, payload, len);
	page_end(&m, 0, 0);
	translate(&m);
}

/*
 * Pages as text, "@TIME RECORD RECORD ... | @TIME ...":
 *
 *	w+N sNAME	sched_process_wait N ns later; sched_switch to the thread NAME, 1 ns later
 *	?		two events that no table has
 *	short str	a wait that is too short; an event whose string is outside the record
 *	switch36	a sched_switch that is too short
 *	rest		a record that reaches beyond the page
 *	lostN		N records were lost before the page
 *	end		the bundle ends behind the page
 */
static void translate_text(const char *text)
{
	char copy[512], *at = copy, *page, *word;

	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	while ((page = strsep(&at, "|"))) {
		uint8_t outside[16] = {ID_STRING, [8] = 12, [10] = 100};
		uint64_t lost = 0;
		bool ends = false;
		struct page_maker m;

		while ((word = strsep(&page, " "))) {
			if (*word == '@')
				page_begin(&m, strtoull(word + 1, NULL, 10));
			else if (str_starts(word, "lost"))
				lost = strtoull(word + 4, NULL, 10);
			else if (!strcmp(word, "end"))
				ends = true;
			else if (!strcmp(word, "rest"))
				page_head(&m, 28, 1);
			else if (!strcmp(word, "short"))
				ring_record(&m, 1, (const uint8_t[24]){ID_WAIT}, 24);
			else if (!strcmp(word, "switch36"))
				ring_record(&m, 1, (const uint8_t[36]){ID_SWITCH}, 36);
			else if (!strcmp(word, "str"))
				ring_record(&m, 1, outside, sizeof(outside));
			else if (*word == '?') {
				ring_record(&m, 1, (const uint8_t[8]){99, 9}, 8);
				ring_record(&m, 1, (const uint8_t[8]){0xff, 0xff}, 8);
			} else if (*word == 'w')
				put_wait(&m, (uint32_t)strtoul(word + 2, NULL, 10));
			else if (*word == 's')
				put_switch(&m, 1, word + 1);
		}
		page_end(&m, lost ? PAGE_LOST | PAGE_LOST_STORED : 0, lost);
		translate(&m);
		if (ends)
			page_encode_end(t, &cpu);
	}
	page_encode_end(t, &cpu);
	bundles_read(w);
}

TEST(pages_and_their_bundles)
{
	static const struct {
		const char *pages, *bundles;
		uint64_t events, left_out, lost_count;
		bool lost; /* records of the session */
		unsigned keep_broken;
		uint64_t overflows, bad_headers, invalid, short_columns; /* pages with this error */
	} rows[] = {
		/* Bundles are chained by time. */
		{"@1000 w+10 sx end|@2000 w+10 sx end|@3000 w+10 sx",
		 "cpu 1 events 1 names 1 | cpu 1 after 1011 events 1 names 1 | "
		 "cpu 1 after 2011 events 1 names 1",
		 .events = 6},
		/* Pages of unknown events make no packet. */
		{"@1 ?", "", .left_out = 2},
		/* A loss begins a bundle. */
		{"@1000 w+1|@2000 lost77 w+1|@3000 w+1",
		 "cpu 1 events 1 | cpu 1 after 1001 lost 77 events 2", .events = 3,
		 .lost_count = 77, .lost = true},
		/* Of a broken page the rest is lost; a page needs a record. */
		{"@1000 w+1 rest|@2000 w+1|@3000", "cpu 1 events 2 errors 2 at 3000", .events = 2,
		 .lost = true, .overflows = 1, .bad_headers = 1},
		{"@3000 lost77", "cpu 1 lost 77 errors 1 at 3000", .lost_count = 77, .lost = true,
		 .bad_headers = 1},
		/* Broken pages are written on request; the first is in a bundle of its own. */
		{"@1000 w+1 rest|@2000 w+1|@3000 w+1 rest|@4000 w+1 rest",
		 "cpu 1 events 1 errors 1 at 1000 page 4096 | "
		 "cpu 1 after 1001 events 2 errors 1 at 3000 page 4096 | "
		 "cpu 1 after 3001 events 1 errors 1 at 4000",
		 .events = 4, .lost = true, .keep_broken = 2, .overflows = 3},
		{"@1 short", "cpu 1 errors 1 at 1 page 4096", .lost = true, .keep_broken = 1,
		 .invalid = 1},
		/* A broken record is lost alone, a string outside of it likewise; one error a page. */
		{"@1000 w+1 short w+1 str str w+1", "cpu 1 events 5 descriptors 1 errors 1 at 1000",
		 .events = 5, .lost = true, .invalid = 1},
		{"@2000 switch36", "cpu 1 errors 1 at 2000", .lost = true, .short_columns = 1},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		fixture_setup(NULL);
		t->broken_left = rows[i].keep_broken;
		translate_text(rows[i].pages);
		if (strcmp(bundles_text(), rows[i].bundles) != 0)
			fail_msg("row %u: %s", i, bundles_text());
		assert_int_equal(w->packets, n_bundles);
		assert_int_equal(cpu.events, rows[i].events);
		assert_int_equal(cpu.left_out, rows[i].left_out);
		assert_int_equal(t->unknown, rows[i].left_out);
		assert_int_equal(cpu.lost, rows[i].lost_count);
		assert_int_equal(t->lost, rows[i].lost);
		assert_int_equal(t->status_counts[RING_PAGE_END_OVERFLOW], rows[i].overflows);
		assert_int_equal(t->status_counts[RING_PAGE_BAD_HEADER], rows[i].bad_headers);
		assert_int_equal(t->status_counts[RING_PAGE_INVALID_EVENT], rows[i].invalid);
		assert_int_equal(t->status_counts[RING_PAGE_SHORT_COMPACT_EVENT],
				 rows[i].short_columns);
		fixture_teardown(NULL);
	}
}

FIXTURE_TEST(a_broken_page_is_written_as_it_is)
{
	struct page_maker m;

	t->broken_left = 1;
	page_begin(&m, 1);
	put_wait(&m, 1);
	page_head(&m, 28, 1);
	page_end(&m, 0, 0);
	translate(&m);
	finish();
	assert_memory_equal(bundles[0].broken_page.data, m.bytes, PAGE_MAKER_SIZE);
}

FIXTURE_TEST(bundles_end_after_so_many_bytes)
{
	for (unsigned i = 0; i < 2 * (BUNDLE_MAX_BYTES / PAGE_MAKER_SIZE) + 1; i++)
		translate_wait(1000, 0, 0);
	finish();
	assert_int_equal(n_bundles, 3);
	assert_int_equal(bundles[0].events, (BUNDLE_MAX_BYTES / PAGE_MAKER_SIZE));
	assert_int_equal(bundles[1].events, (BUNDLE_MAX_BYTES / PAGE_MAKER_SIZE));
}

FIXTURE_TEST(bundles_end_when_a_table_is_full)
{
	struct page_maker m;
	unsigned names = 0, i = 0, n = 0;

	while (n < 3 * COMM_TABLE_MAX) {
		page_begin(&m, 1000);
		for (; m.at < PAGE_MAKER_SIZE - 100 && n < 3 * COMM_TABLE_MAX; n++) {
			char comm[16];

			snprintf(comm, sizeof(comm), "%u", n);
			put_switch(&m, 1, comm);
		}
		page_end(&m, 0, 0);
		translate(&m);
	}
	finish();
	for (i = 0; i < n_bundles; i++) {
		assert_true(bundles[i].names <= COMPACT_MAX_EVENTS);
		names += bundles[i].names;
	}
	assert_int_equal(names, 3 * COMM_TABLE_MAX);

	fake_writer_clear(w);
	for (n = 0; n < 3000;) {
		page_begin(&m, 1000);
		for (; m.at < PAGE_MAKER_SIZE - 100 && n < 3000; n++)
			put_generic(&m, 0xffff000000000000 + 64 * n);
		page_end(&m, 0, 0);
		translate(&m);
	}
	finish();
	assert_int_equal(n_bundles, 3000 / (SYM_INDEX_MAX - SYM_INDEX_OF_RECORD + 1) + 1);
	for (i = 0; i < n_bundles; i++)
		assert_int_equal(bundles[i].descriptors, 1);
}

FIXTURE_TEST(threads_of_a_page_are_collected)
{
	struct metadata_events metadata = {0};
	uint8_t payload[40] = {ID_SWITCH, 0, 0, 0, 7, 0, 0, 0};

	assert_int_equal(metadata_init(&metadata), 0);
	payload[32] = 8;
	translate_record(1, payload, sizeof(payload));
	assert_int_equal(metadata.tids.n, 0); /* no subscriber */
	t->ctx.tids = &metadata.tids;
	t->ctx.metadata = &metadata;
	translate_record(1, payload, sizeof(payload));
	assert_int_equal(metadata.tids.n, 1); /* the next thread; the previous one came before */
	assert_int_equal(metadata.tids.tids[0], 8);
	finish();
	metadata_deinit(&metadata);
}

/* An event that only the metadata bus wants: not in the trace, not even as an empty bundle. */
FIXTURE_TEST(events_for_the_metadata_bus_alone)
{
	uint8_t payload[44] = {ID_RENAME, 0, 0, 0, 7, 0, 0, 0, 8};
	struct metadata_events metadata = {0};
	struct page_maker m;

	add_row(&table, "task", "task_rename", ID_RENAME,
		FIELD("pid_t pid", 8, 4, 1) FIELD("char newcomm[16]", 28, 16, 0),
		(struct event_table_options){.metadata_only = true});
	assert_int_equal(metadata_init(&metadata), 0);
	strcpy((char *)payload + 28, "name");
	page_begin(&m, 1000);
	ring_record(&m, 5, payload, sizeof(payload));
	ring_record(&m, 1, payload, 12); /* too short to be one */
	page_end(&m, 0, 0);
	translate(&m); /* no subscriber */
	t->ctx.tids = &metadata.tids;
	t->ctx.metadata = &metadata;
	translate(&m);
	assert_int_equal(metadata.n_tasks, 1);
	assert_int_equal(metadata.tasks[0].time_ns, 1005);
	assert_int_equal(metadata.tasks[0].tid, 8);
	assert_string_equal(metadata.tasks[0].name, "name");
	assert_int_equal(metadata.tids.n, 1);
	assert_int_equal(metadata.tids.tids[0], 7);
	finish();
	for (unsigned i = 0; i < n_bundles; i++)
		assert_int_equal(bundles[i].events, 0);
	assert_int_equal(cpu.events, 0);
	assert_int_equal(t->unknown, 0);
	assert_int_equal(t->status_counts[RING_PAGE_INVALID_EVENT], 2);
	metadata_deinit(&metadata);
}

/* By the /proc of tests/data/calls: 32 runs a 32-bit program, 64 does not. */
FIXTURE_TEST(calls_of_32_bit_programs_in_their_place)
{
	static const struct event_table_options o = {0};
	uint64_t call[8] = {0, 20, 0, 1, 2, 3, 4, 5};
	struct page_maker m, before;

	add("raw_syscalls", "sys_enter", ID_CALL,
	    FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0), false);
	assert_int_equal(compat_syscalls_new("tests/data/calls", &o, &table, &t->calls), 0);
	if (!t->calls)
		skip(); /* a machine whose kernel has no other table */
	assert_int_equal(page_encoder_reserve(t), 0);
	page_begin(&m, 1000);
	for (uint64_t tid = 32; tid <= 64; tid += 32) {
		call[0] = tid << 32 | ID_CALL;
		ring_record(&m, 5, call, sizeof(call));
		put_switch(&m, 1, "a");
	}
	page_end(&m, 0, 0);
	before = m;
	translate(&m);
	finish();
	assert_memory_equal(&m, &before, sizeof(m));
	assert_int_equal(cpu.events, 4);
	assert_bundles("cpu 1 events 2 names 1 descriptors 1");
	t->calls = compat_syscalls_free(t->calls);
}

/* Noise behind a good header: whatever is said of it, the packets are whole. */
FIXTURE_TEST(noise_makes_whole_packets)
{
	struct page_maker m;
	uint64_t seed = 4;

	for (unsigned i = 0; i < 3000; i++) {
		page_begin(&m, rng_next(&seed));
		put_wait(&m, 1);
		while (m.at < PAGE_MAKER_SIZE - 600) {
			uint8_t payload[512];
			uint32_t len = 2 + rng_below(&seed, 500);

			rng_bytes(&seed, payload, len);
			payload[0] = (uint8_t)(1 + rng_below(&seed, 5));
			payload[1] = 0;
			ring_record(&m, rng_below(&seed, 1 << 27), payload, len);
		}
		rng_bytes(&seed, m.bytes + m.at, PAGE_MAKER_SIZE - m.at);
		m.at += rng_below(&seed, PAGE_MAKER_SIZE - m.at) + 1;
		page_end(&m, 0, 0);
		translate(&m);
		if (i % 100 == 0) {
			finish();
			assert_true(n_bundles > 0);
			fake_writer_clear(w);
		}
	}
	finish();
	assert_true(t->status_counts[RING_PAGE_INVALID_EVENT] > 100);
}

static void put_large(struct page_maker *m)
{
	static uint8_t payload[600] = {ID_LARGE};

	memset(payload + 8, 'x', sizeof(payload) - 8);
	ring_record(m, 1, payload, sizeof(payload));
}

/* More descriptors and larger events than there was room for. */
FIXTURE_TEST(events_that_come_later)
{
	struct page_maker m;
	char name[32];

	w->range = 300; /* a large event does not fit what is left of a chunk */
	page_begin(&m, 1);
	put_generic(&m, 1);
	put_large(&m);
	page_end(&m, 0, 0);
	translate(&m);
	finish();
	assert_bundles("cpu 1 events 1 descriptors 1");
	assert_int_equal(t->unknown, 1);

	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "later%u", i);
		add("g", name, ID_LARGE + i, FIELD("char a[]", 8, 0, 0), true);
	}
	event_table_remove(&table, ID_GENERIC);
	event_table_drop_removed(&table);
	assert_int_equal(page_encoder_reserve(t), 0);
	fake_writer_clear(w);
	page_begin(&m, 2);
	put_generic(&m, 1);
	for (unsigned i = 0; i < 3; i++)
		put_large(&m);
	for (unsigned i = 1; i < 100; i++) {
		uint8_t payload[12] = {(uint8_t)(ID_LARGE + i)};

		ring_record(&m, 1, payload, sizeof(payload));
	}
	page_end(&m, 0, 0);
	translate(&m);
	finish();
	assert_bundles("cpu 1 after 2 events 102 descriptors 100");
	assert_int_equal(t->unknown, 2);
	assert_int_equal(t->status_counts[RING_PAGE_INVALID_EVENT], 0);
}

FIXTURE_TEST(a_probe_event_has_its_name_and_its_arguments)
{
	static const struct event_representation repr = {"", "vfs_read", EVENT_AS_PROBE_BEGIN};
	const struct event_table_options o = {0};
	uint8_t payload[20] = {ID_LARGE, [16] = 7};
	struct pb_field event, f, name, value;
	struct pb_dec d;
	uint16_t id;

	assert_int_equal(event_table_add_as(&table, "g", "p", &repr,
					    format_text("p", ID_LARGE, FORMAT_COMMON,
							FIELD("unsigned long __probe_ip", 8, 8, 0)
								FIELD("int fd", 16, 4, 1)),
					    &o, &id),
			 0);
	translate_record(1, payload, sizeof(payload));
	finish();
	assert_bundles("cpu 1 events 1");
	pb_dec_init(&d, bundles[0].whole.data, bundles[0].whole.len);
	while (pb_dec_next(&d, &event) && event.id != PB_FTRACE_EVENT_BUNDLE_EVENT)
		;
	pb_dec_init(&d, event.data, event.len);
	while (pb_dec_next(&d, &f) && f.id != PB_FTRACE_EVENT_KPROBE_EVENT)
		;
	assert_int_equal(f.id, PB_FTRACE_EVENT_KPROBE_EVENT);
	assert_true(f.len > 12);
	assert_memory_equal(f.data, "\x0a\x08vfs_read\x10\x01", 12);
	pb_dec_init(&d, f.data + 12, f.len - 12);
	assert_true(pb_dec_next(&d, &f) && f.id == PB_KPROBE_EVENT_ARGUMENT && f.data);
	assert_false(pb_dec_next(&d, &event));
	pb_dec_init(&d, f.data, f.len);
	assert_true(pb_dec_next(&d, &name) && pb_field_is(&name, "fd"));
	assert_true(pb_dec_next(&d, &value) &&
		    value.id == PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE && value.u64 == 7);
}

static void put_print(struct page_maker *m, const char *text)
{
	uint8_t payload[64] = {ID_LARGE};

	memcpy(payload + 16, text, strlen(text) + 1);
	ring_record(m, 1, payload, 16 + (uint32_t)strlen(text) + 1);
}

/* "ab" and what begins so is left out. */
static void add_print(void)
{
	Pb__FtraceConfig__PrintFilter__Rule rule = PB__FTRACE_CONFIG__PRINT_FILTER__RULE__INIT;
	Pb__FtraceConfig__PrintFilter filter = PB__FTRACE_CONFIG__PRINT_FILTER__INIT;
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;

	rule.match_case = PB__FTRACE_CONFIG__PRINT_FILTER__RULE__MATCH_PREFIX;
	rule.prefix = "ab";
	filter.rules = (Pb__FtraceConfig__PrintFilter__Rule *[]){&rule};
	filter.n_rules = 1;
	config.print_filter = &filter;
	assert_int_equal(print_filter_new(&config, false, &table.prints), 0);
	add("ftrace", "print", ID_LARGE, PRINT_FIELDS, false);
}

FIXTURE_TEST(prints_are_filtered_by_text)
{
	static const char *const texts[] = {"ab", "x", "abc\n", "", "a"};
	struct page_maker m;

	add_print();
	page_begin(&m, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		put_print(&m, texts[i]);
	put_wait(&m, 1);
	page_end(&m, 0, 0);
	translate(&m);
	assert_int_equal(cpu.events, 4);
	assert_int_equal(cpu.left_out, 2);
	finish();
	assert_int_equal(bundles[0].events, 4);
	assert_null(memmem(bundles[0].whole.data, bundles[0].whole.len, "ab", 2));
	assert_int_equal(t->unknown, 0);
	assert_int_equal(t->status_counts[RING_PAGE_INVALID_EVENT], 0);
}

static void put_raw(struct page_maker *m, uint32_t tid)
{
	uint8_t payload[16] = {ID_LARGE};

	memcpy(payload + 4, &tid, sizeof(tid));
	ring_record(m, 1, payload, sizeof(payload));
}

static void check_markers_of_threads(struct event_table_options options)
{
	uint32_t tids[] = {7, 5};
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	struct page_maker m;

	config.tids_to_trace = tids;
	config.n_tids_to_trace = 2;
	assert_int_equal(print_filter_new(&config, false, &table.prints), 0);
	add_row(&table, "ftrace", "raw_data", ID_LARGE, FIELD("unsigned int id", 8, 4, 0), options);
	assert_int_equal(page_encoder_reserve(t), 0);
	page_begin(&m, 1);
	put_raw(&m, 6);
	put_raw(&m, 7);
	put_raw(&m, 0);
	put_raw(&m, 5);
	page_end(&m, 0, 0);
	translate(&m);
	assert_int_equal(cpu.events, 2);
	finish();
	assert_int_equal(bundles[0].events, 2);
}

FIXTURE_TEST(raw_markers_are_filtered_by_thread_in_each_encoding)
{
	check_markers_of_threads((struct event_table_options){0});
	fixture_teardown(NULL);
	fixture_setup(NULL);
	check_markers_of_threads((struct event_table_options){.legacy_generic = true});
}

FIXTURE_TEST(only_prints_that_are_left_out_are_no_packet)
{
	static const uint8_t too_short[12] = {ID_LARGE};
	struct page_maker m;

	add_print();
	page_begin(&m, 1);
	put_print(&m, "abc");
	page_end(&m, 0, 0);
	translate(&m);
	finish();
	assert_int_equal(w->packets, 0);
	assert_int_equal(cpu.end_time, 0);

	translate_record(1, too_short, sizeof(too_short));
	finish();
	assert_int_equal(t->status_counts[RING_PAGE_INVALID_EVENT], 1);
}
