// SPDX-License-Identifier: Apache-2.0
/*
 * Records to events: every field of every recorded event against what libtraceevent reads from the
 * same record; and by hand, records that lie about their strings.
 */

#include <sys/sysmacros.h>

#include "unit/test.h"
#include "ftrace/encode/event_encode.h"
#include "unit/ftrace/formats.h"
#include "unit/ftrace/oracle.h"
#include "unit/ftrace/page_set.h"

/* ---- one event's bytes, taken apart ---- */

struct decoded {
	uint64_t time;
	uint64_t pid;
	uint32_t event; /* field in FtraceEvent */
	struct pb_field fields[128];
	unsigned n;
};

static struct decoded decode(const uint8_t *bytes, size_t len)
{
	struct decoded d = {0};
	struct pb_dec outer, event, message;
	struct pb_field f;

	pb_dec_init(&outer, bytes, len);
	assert_true(pb_dec_next(&outer, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_EVENT);
	pb_dec_init(&event, f.data, f.len);
	assert_false(pb_dec_next(&outer, &f));
	assert_true(pb_dec_ok(&outer));

	assert_true(pb_dec_next(&event, &f) && f.id == PB_FTRACE_EVENT_TIMESTAMP);
	d.time = f.u64;
	assert_true(pb_dec_next(&event, &f) && f.id == PB_FTRACE_EVENT_PID);
	d.pid = f.u64;
	assert_true(pb_dec_next(&event, &f));
	d.event = f.id;
	pb_dec_init(&message, f.data, f.len);
	while (pb_dec_next(&message, &d.fields[d.n]))
		assert_true(++d.n < ARRAY_SIZE(d.fields));
	assert_true(pb_dec_ok(&message));
	assert_false(pb_dec_next(&event, &f));
	assert_true(pb_dec_ok(&event));
	return d;
}

static const struct pb_field *find(const struct decoded *d, uint32_t id)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->fields[i].id == id)
			return &d->fields[i];
	return NULL;
}

/* ---- against libtraceevent ---- */

static struct {
	struct encode_ctx ctx;
	struct sym_index syms;
	struct tep_handle *tep;
	struct oracle *oracle;
	struct page_set set;
	uint8_t *out;
	bool spoil;
} t;

static void load_tep(const char *dir)
{
	for (unsigned i = 0; i < t.set.table.n_events; i++) {
		const struct compiled_event *ev = t.set.table.events[i];
		char *format =
			page_set_read(NULL, "%s/events/%s/%s/format", dir, ev->group, ev->name);

		assert_non_null(format);
		*strstr(format, "print fmt:") = '\0';
		strcat(format, "print fmt: \"\"\n");
		assert_int_equal(tep_parse_event(t.tep, format, strlen(format), ev->group), 0);
		free(format);
	}
}

static void describe(const struct compiled_event *ev)
{
	struct pb_field descriptor = {.data = ev->descriptor, .len = ev->descriptor_len};
	struct pb_field further = {.data = ev->further, .len = ev->further_len};

	if (ev->descriptor_len)
		assert_true(oracle_describe(t.oracle, &descriptor, false));
	if (ev->further_len)
		assert_true(oracle_describe(t.oracle, &further, true));
}

/* Whatever single bit of the event is another one, it is noticed. */
static void check_notice(const struct pb_field *event, struct tep_event *e, struct tep_record *r,
			 uint64_t time)
{
	uint8_t *bytes = t.out + (event->data - t.out);

	for (size_t i = 0; i < 8 * event->len; i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		oracle_begin_bundle(t.oracle);
		if (oracle_check(t.oracle, e, r, time, event))
			fail_msg("%s: bit %zu of %zu bytes", e->name, i, event->len);
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void check_record(const struct ring_record *r)
{
	struct tep_record record = {.data = (void *)r->payload, .size = (int)r->len};
	uint16_t id = (uint16_t)(r->payload[0] | r->payload[1] << 8);
	const struct compiled_event *ev = event_table_get(&t.set.table, id);
	struct pb_field event;
	struct pb_dec d;
	uint8_t *end;

	sym_index_clear(&t.syms);
	end = event_encode(ev, r, &t.ctx, t.out);
	assert_true((size_t)(end - t.out) <= event_encode_bound(ev, r->len));
	assert_false(t.ctx.bad_field);
	pb_dec_init(&d, t.out, (size_t)(end - t.out));
	assert_true(pb_dec_next(&d, &event));
	oracle_begin_bundle(t.oracle);
	if (!oracle_check(t.oracle, tep_find_event(t.tep, id), &record, r->time, &event))
		fail_msg("%s", t.oracle->error);
	if (t.spoil)
		check_notice(&event, tep_find_event(t.tep, id), &record, r->time);
}

static unsigned check_set(const char *name, const struct event_table_options *options)
{
	unsigned records = 0;
	struct ring_record r;
	char dir[64];
	struct ring_page p;

	snprintf(dir, sizeof(dir), "tests/data/ftrace/%s", name);
	page_set_load(&t.set, dir, options);
	t.tep = tep_alloc();
	load_tep(dir);
	t.oracle = calloc(1, sizeof(*t.oracle));
	t.oracle->tep = t.tep;
	t.oracle->strings = &t.set.table.strings;
	for (size_t i = 0; i < t.set.table.n_events; i++)
		describe(t.set.table.events[i]);
	t.out = malloc(event_table_bound(&t.set.table, t.set.layout.size));
	t.ctx = (struct encode_ctx){.syms = &t.syms, .strings = &t.set.table.strings};
	for (unsigned c = 0; c < t.set.n_cpus; c++)
		for (size_t at = 0; at < t.set.cpus[c].len; at += t.set.layout.size) {
			assert_int_equal(ring_page_open(&p, &t.set.layout, t.set.cpus[c].pages + at,
							t.set.layout.size),
					 RING_PAGE_OK);
			for (; ring_page_next(&p, &r) == RING_PAGE_OK; records++)
				check_record(&r);
		}
	assert_true(t.oracle->numbers > 100);
	free(t.out);
	oracle_free(t.oracle);
	tep_free(t.tep);
	page_set_free(&t.set);
	return records;
}

TEST(test_recorded_events_against_libtraceevent)
{
	static const struct event_table_options plain, legacy = {.legacy_generic = true};

	assert_in_range(check_set("sched", &plain), 1000, 10000);
	assert_in_range(check_set("mix", &plain), 1000, 10000);
	assert_in_range(check_set("mix", &legacy), 1000, 10000);
	assert_in_range(check_set("syscalls", &plain), 100, 10000);
	assert_in_range(check_set("syscalls", &legacy), 100, 10000);
	assert_in_range(check_set("lossy", &plain), 100, 10000);
}

TEST(the_flags_of_a_waking_are_a_field_of_its_message)
{
	static const struct event_table_options plain;
	static const uint8_t payload[64] = {9, 0, 0x98};
	struct ring_record r = {.time = 5, .payload = payload, .len = sizeof(payload)};
	char *format = format_text("sched_waking", 9, FORMAT_COMMON,
				   FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1));
	struct event_table table = {0};
	const struct compiled_event *ev;
	struct decoded d;
	uint8_t out[512];
	uint16_t id;

	assert_int_equal(event_table_add(&table, "sched", "sched_waking", format, &plain, &id), 0);
	ev = event_table_get(&table, id);
	assert_int_equal(ev->further_len, 0);
	t.ctx = (struct encode_ctx){.syms = &t.syms};
	d = decode(out, (size_t)(event_encode(ev, &r, &t.ctx, out) - out));
	assert_int_equal(d.event, PB_FTRACE_EVENT_SCHED_WAKING);
	assert_non_null(find(&d, PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS));
	assert_int_equal(find(&d, PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS)->u64, 0x98);
	event_table_deinit(&table);
}

TEST(test_the_comparison_notices)
{
	static const struct event_table_options plain, legacy = {.legacy_generic = true};

	t.spoil = true;
	check_set("mix", &plain);
	check_set("mix", &legacy);
	check_set("syscalls", &plain);
	t.spoil = false;
}

/* ---- by hand ---- */

static struct event_table made;
static uint8_t made_out[65536];

/* A generic event of these fields, and its row. */
static const struct compiled_event *make_row(const char *fields)
{
	const struct event_table_options options = {0};
	uint16_t id;

	event_table_deinit(&made);

	assert_int_equal(event_table_add(&made, "test", "made",
					 format_text("made", 9, FORMAT_COMMON, fields), &options,
					 &id),
			 0);
	assert_int_equal(id, 9);
	return event_table_get(&made, 9);
}

static struct decoded encode_made(const struct compiled_event *ev, const void *payload,
				  uint32_t len)
{
	struct ring_record r = {.time = 5, .payload = payload, .len = len};
	uint8_t *end;

	t.ctx = (struct encode_ctx){.syms = &t.syms, .strings = &made.strings};
	sym_index_clear(&t.syms);
	assert_true(len >= ev->min_len);
	assert_true(event_encode_bound(ev, len) <= sizeof(made_out));
	end = event_encode(ev, &r, &t.ctx, made_out);
	assert_true((size_t)(end - made_out) <= event_encode_bound(ev, len));
	return decode(made_out, (size_t)(end - made_out));
}

static void assert_text(const struct decoded *d, uint32_t id, const char *text)
{
	const struct pb_field *f = find(d, id);

	assert_non_null(f);
	assert_true(pb_field_is(f, text));
}

TEST(test_names_with_and_without_nul)
{
	const struct compiled_event *ev =
		make_row("\tfield:char a[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			 "\tfield:char b[4];\toffset:24;\tsize:4;\tsigned:0;\n");
	uint8_t payload[28] = {9};
	struct decoded d;

	memcpy(payload + 8, "sixteen bytes ok", 16);
	memcpy(payload + 24, "four", 4);
	d = encode_made(ev, payload, 28);
	assert_text(&d, 1, "sixteen bytes ok");
	assert_text(&d, 2, "four");
	memcpy(payload + 8, "a\0garbage behind", 16);
	memcpy(payload + 24, "\0xyz", 4);
	d = encode_made(ev, payload, 28);
	assert_text(&d, 1, "a");
	assert_text(&d, 2, "");
	memcpy(payload + 8, "eight 8\0 behind", 16);
	d = encode_made(ev, payload, 28);
	assert_text(&d, 1, "eight 8");
	memcpy(payload + 8, "nine was9\0 hind", 16);
	d = encode_made(ev, payload, 28);
	assert_text(&d, 1, "nine was9");
}

TEST(test_tail_strings_end_with_the_record)
{
	const struct compiled_event *ev =
		make_row("\tfield:char buf[];\toffset:8;\tsize:0;\tsigned:0;\n");
	uint8_t payload[400] = {9};
	struct decoded d;

	memset(payload + 8, 'x', 392);
	d = encode_made(ev, payload, 400);
	assert_int_equal(find(&d, 1)->len, 392);
	payload[300] = 0;
	d = encode_made(ev, payload, 400);
	assert_int_equal(find(&d, 1)->len, 292);
	d = encode_made(ev, payload, 8);
	assert_int_equal(find(&d, 1)->len, 0);
}

static void put_loc(uint8_t *at, uint32_t offset, uint32_t len)
{
	uint32_t loc = len << 16 | offset;

	memcpy(at, &loc, sizeof(loc));
}

TEST(test_located_strings_and_bytes)
{
	const struct compiled_event *ev =
		make_row("\tfield:__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;\n"
			 "\tfield:__rel_loc char b[];\toffset:12;\tsize:4;\tsigned:0;\n"
			 "\tfield:__data_loc u64[] c;\toffset:16;\tsize:4;\tsigned:0;\n"
			 "\tfield:__rel_loc __u8 d[12027744];\toffset:20;\tsize:4;\tsigned:0;\n");
	uint8_t payload[48] = {9};
	struct decoded d;

	memcpy(payload + 24, "hello\0\0\0\1\2\3\4\5\6\7\10relative", 24);
	put_loc(payload + 8, 24, 6);
	put_loc(payload + 12, 40 - 16, 8);
	put_loc(payload + 16, 32, 8);
	put_loc(payload + 20, 32 - 24, 2);
	d = encode_made(ev, payload, 48);
	assert_text(&d, 1, "hello");
	assert_text(&d, 2, "relative");
	assert_int_equal(find(&d, 3)->len, 8);
	assert_memory_equal(find(&d, 3)->data, "\1\2\3\4\5\6\7\10", 8);
	assert_int_equal(find(&d, 4)->len, 2);
	assert_memory_equal(find(&d, 4)->data, "\1\2", 2);
	assert_false(t.ctx.bad_field);

	/* Nothing to point at is an empty string, wherever it points. */
	put_loc(payload + 8, 0xffff, 0);
	d = encode_made(ev, payload, 48);
	assert_text(&d, 1, "");
	assert_false(t.ctx.bad_field);
}

TEST(test_strings_outside_their_record_are_left_out)
{
	static const struct {
		uint32_t offset, len;
	} bad[] = {{24, 9}, {32, 1}, {33, 1}, {0xffff, 1}, {0, 33}, {8, 0xffff}};
	const struct compiled_event *ev =
		make_row("\tfield:__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;\n"
			 "\tfield:int n;\toffset:12;\tsize:4;\tsigned:1;\n");
	uint8_t payload[32] = {9};
	struct decoded d;

	payload[12] = 77;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		put_loc(payload + 8, bad[i].offset, bad[i].len);
		d = encode_made(ev, payload, 32);
		assert_true(t.ctx.bad_field);
		assert_null(find(&d, 1));
		assert_int_equal(find(&d, 2)->u64, 77);
	}
	put_loc(payload + 8, 0, 32);
	encode_made(ev, payload, 32);
	assert_false(t.ctx.bad_field);
}

TEST(test_arrays_of_strings)
{
	const struct compiled_event *ev =
		make_row(FIELD("__data_loc char[][3] a", 8, 12, 1) FIELD("int n", 20, 4, 1));
	uint8_t payload[40] = {9};
	struct decoded d;

	assert_int_equal(ev->min_len, 24);
	payload[20] = 77;
	memcpy(payload + 24, "one\0\0three\0behind", 16);
	put_loc(payload + 8, 24, 4);
	put_loc(payload + 12, 28, 1);
	put_loc(payload + 16, 29, 6);
	d = encode_made(ev, payload, 40);
	assert_text(&d, 1, "one");
	assert_text(&d, 2, "");
	assert_text(&d, 3, "three");
	assert_int_equal(find(&d, 4)->u64, 77);
	assert_false(t.ctx.bad_field);

	put_loc(payload + 12, 39, 2);
	d = encode_made(ev, payload, 40);
	assert_text(&d, 1, "one");
	assert_null(find(&d, 2));
	assert_text(&d, 3, "three");
	assert_true(t.ctx.bad_field);
}

TEST(test_integers_of_every_width_and_sign)
{
	const struct compiled_event *ev =
		make_row("\tfield:u8 a;\toffset:8;\tsize:1;\tsigned:0;\n"
			 "\tfield:s8 b;\toffset:9;\tsize:1;\tsigned:1;\n"
			 "\tfield:u16 c;\toffset:10;\tsize:2;\tsigned:0;\n"
			 "\tfield:short d;\toffset:12;\tsize:2;\tsigned:1;\n"
			 "\tfield:bool e;\toffset:14;\tsize:1;\tsigned:0;\n"
			 "\tfield:u32 f;\toffset:16;\tsize:4;\tsigned:0;\n"
			 "\tfield:int g;\toffset:20;\tsize:4;\tsigned:1;\n"
			 "\tfield:u64 h;\toffset:24;\tsize:8;\tsigned:0;\n"
			 "\tfield:long i;\toffset:32;\tsize:8;\tsigned:1;\n"
			 "\tfield:dev_t j;\toffset:40;\tsize:4;\tsigned:0;\n"
			 "\tfield:dev_t k;\toffset:48;\tsize:8;\tsigned:0;\n");
	uint8_t payload[56];
	struct decoded d;
	uint32_t dev = 259u << 20 | 300;

	memset(payload, 0xff, sizeof(payload));
	payload[14] = 1;
	memcpy(payload + 40, &dev, 4);
	memset(payload + 48, 0, 8);
	memcpy(payload + 48, &dev, 4);
	d = encode_made(ev, payload, 56);
	assert_true(d.fields[0].u64 == 0xff);
	assert_true(d.fields[1].u64 == UINT64_MAX);
	assert_true(d.fields[2].u64 == 0xffff);
	assert_true(d.fields[3].u64 == UINT64_MAX);
	assert_true(d.fields[4].u64 == 1);
	assert_true(d.fields[5].u64 == 0xffffffff);
	assert_true(d.fields[6].u64 == UINT64_MAX);
	assert_true(d.fields[7].u64 == UINT64_MAX);
	assert_true(d.fields[8].u64 == UINT64_MAX);
	assert_true(d.fields[9].u64 == makedev(259, 300));
	assert_true(d.fields[10].u64 == makedev(259, 300));
	assert_true(d.pid == UINT32_MAX);
}

TEST(test_threads_are_told)
{
	const struct compiled_event *ev =
		make_row("\tfield:pid_t a;\toffset:8;\tsize:4;\tsigned:1;\n"
			 "\tfield:int pid;\toffset:12;\tsize:4;\tsigned:1;\n");
	int32_t payload[4] = {9, 100, 200, 300};
	struct ring_record r = {.payload = (const uint8_t *)payload, .len = 16};
	struct metadata_events news = {0};

	assert_int_equal(metadata_init(&news), 0);
	t.ctx = (struct encode_ctx){
		.syms = &t.syms, .strings = &made.strings, .tids = &news.tids, .metadata = &news};
	event_encode(ev, &r, &t.ctx, made_out);
	event_encode(ev, &r, &t.ctx, made_out);
	assert_int_equal(news.tids.n, 2);
	assert_int_equal(news.tids.tids[0], 100);
	assert_int_equal(news.tids.tids[1], 200);
	assert_int_equal(news.n_tasks, 0);
	metadata_deinit(&news);
}

TEST(test_times_of_every_length)
{
	const struct compiled_event *ev =
		make_row("\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n");
	int32_t payload[3] = {9, 1, 1};
	struct ring_record r = {.payload = (const uint8_t *)payload, .len = 12};
	struct decoded d;

	t.ctx = (struct encode_ctx){.syms = &t.syms, .strings = &made.strings};
	for (unsigned bit = 0; bit < 64; bit++)
		for (int by = -1; by <= 1; by++) {
			r.time = (1ull << bit) + (uint64_t)by;
			d = decode(made_out,
				   (size_t)(event_encode(ev, &r, &t.ctx, made_out) - made_out));
			assert_true(d.time == r.time);
		}
	r.time = UINT64_MAX;
	d = decode(made_out, (size_t)(event_encode(ev, &r, &t.ctx, made_out) - made_out));
	assert_true(d.time == UINT64_MAX);
}

static int teardown(void **state)
{
	event_table_deinit(&made);
	return 0;
}

TEST_GROUP(NULL, teardown)
