/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records to events: every field of every recorded event against what libtraceevent reads from the
 * same record; and by hand, records that lie about their strings.
 */

#include <sys/sysmacros.h>

#include "ftrace/encode/event_encode.h"
#include "unit/ftrace/event_text.h"
#include "unit/ftrace/oracle.h"
#include "unit/ftrace/page_set.h"
#include "unit/test.h"

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
	assert_true((size_t)(end - t.out) <= event_encode_max_bytes(ev, r->len));
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
	t.out = malloc(event_table_max_size(&t.set.table, t.set.layout.size));
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

TEST(recorded_events_against_libtraceevent)
{
	static const struct event_table_options plain, legacy = {.legacy_generic = true};

	assert_in_range(check_set("sched", &plain), 1000, 10000);
	assert_in_range(check_set("mix", &plain), 1000, 10000);
	assert_in_range(check_set("mix", &legacy), 1000, 10000);
	assert_in_range(check_set("syscalls", &plain), 100, 10000);
	assert_in_range(check_set("syscalls", &legacy), 100, 10000);
	assert_in_range(check_set("lossy", &plain), 100, 10000);
}

TEST(the_comparison_notices)
{
	static const struct event_table_options plain, legacy = {.legacy_generic = true};

	t.spoil = true;
	check_set("mix", &plain);
	check_set("mix", &legacy);
	check_set("syscalls", &plain);
	t.spoil = false;
}

/* ---- by hand: records that lie about their strings, and values that no recording has ---- */

static struct event_table made;

static const char *text_of(const struct event_case *c, bool legacy)
{
	const struct event_table_options options = {.legacy_generic = legacy};
	uint8_t payload[512] = {EVENT_TEXT_ID};
	const struct compiled_event *ev;
	struct encode_ctx ctx = {.syms = &t.syms, .strings = &made.strings};

	event_table_deinit(&made);
	ev = event_text_compile(&made, "test", "made", c->fields, NULL, &options);
	memset(payload + 4, 0xff, 4); /* the thread -1 */
	assert_true(8 + c->len <= sizeof(payload));
	memcpy(payload + 8, c->record, c->len);
	return event_text(ev, &ctx, payload, 8 + c->len);
}

static void check_cases(const struct event_case *cases, size_t n, bool legacy)
{
	for (size_t i = 0; i < n; i++) {
		const char *have = text_of(&cases[i], legacy);

		if (strcmp(have, cases[i].want) != 0)
			fail_msg("case %zu: \"%s\", not \"%s\"", i, have, cases[i].want);
	}
}

#define TWO_NAMES FIELD("char a[16]", 8, 16, 0) FIELD("char b[4]", 24, 4, 0)
#define TAIL FIELD("char buf[]", 8, 0, 0)
#define LOCATED                                                                                    \
	FIELD("__data_loc char[] a", 8, 4, 0)                                                      \
	FIELD("__rel_loc char b[]", 12, 4, 0)                                                      \
	FIELD("__data_loc u64[] c", 16, 4, 0) FIELD("__rel_loc __u8 d[12027744]", 20, 4, 0)
#define LOCATED_AND_INT FIELD("__data_loc char[] a", 8, 4, 0) FIELD("int n", 12, 4, 1)
#define THREE_STRINGS FIELD("__data_loc char[][3] a", 8, 12, 1) FIELD("int n", 20, 4, 1)
#define INTEGERS                                                                                   \
	FIELD("u8 a", 8, 1, 0)                                                                     \
	FIELD("s8 b", 9, 1, 1)                                                                     \
	FIELD("u16 c", 10, 2, 0)                                                                   \
	FIELD("short d", 12, 2, 1)                                                                 \
	FIELD("bool e", 14, 1, 0)                                                                  \
	FIELD("u32 f", 16, 4, 0)                                                                   \
	FIELD("int g", 20, 4, 1)                                                                   \
	FIELD("u64 h", 24, 8, 0)                                                                   \
	FIELD("long i", 32, 8, 1) FIELD("dev_t j", 40, 4, 0) FIELD("dev_t k", 48, 8, 0)
#define FF4 "\xff\xff\xff\xff"

TEST(records_by_hand)
{
	static const struct event_case cases[] = {
		/* Names with and without a NUL. */
		{TWO_NAMES, RECORD("sixteen bytes okfour"), "1='sixteen bytes ok' 2='four'"},
		{TWO_NAMES, RECORD("a\0garbage behind\0xyz"), "1='a' 2=''"},
		{TWO_NAMES, RECORD("eight 8\0 behind\0four"), "1='eight 8' 2='four'"},
		{TWO_NAMES, RECORD("nine was9\0 hind\0four"), "1='nine was9' 2='four'"},
		/* A string up to the end of the record. */
		{TAIL, RECORD("to the end"), "1='to the end'"},
		{TAIL, RECORD("to\0the end"), "1='to'"},
		{TAIL, RECORD(""), "1=''"},
		/* Strings and bytes that the record locates. */
		{LOCATED,
		 RECORD("\x18\0\6\0\x18\0\x08\0\x20\0\x08\0\x08\0\2\0"
			"hello\0\0\0\1\2\3\4\5\6\7\10relative"),
		 "1='hello' 2='relative' 3=<0102030405060708> 4=<0102>"},
		{LOCATED, RECORD("\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "1='' 2='' 3='' 4=''"},
		/* Outside the record: left out, and the other fields stay. */
		{LOCATED_AND_INT, RECORD("\x18\0\x09\0\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\x20\0\1\0\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\x21\0\1\0\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\xff\xff\1\0\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\0\0\x21\0\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\x08\0\xff\xff\x4d\0\0\0hello wo01234567"), "2=77 bad"},
		{LOCATED_AND_INT, RECORD("\x10\0\x10\0\x4d\0\0\0hello wo01234567"),
		 "1='hello wo01234567' 2=77"},
		/* An array of strings: one field each. */
		{THREE_STRINGS,
		 RECORD("\x18\0\4\0\x1c\0\1\0\x1d\0\6\0\x4d\0\0\0one\0\0three\0behind"),
		 "1='one' 2='' 3='three' 4=77"},
		{THREE_STRINGS,
		 RECORD("\x18\0\4\0\x27\0\2\0\x1d\0\6\0\x4d\0\0\0one\0\0three\0behin"),
		 "1='one' 3='three' 4=77 bad"},
		/* The kernel's dev_t becomes that of user space (259:300). */
		{INTEGERS,
		 RECORD(FF4 "\xff\xff\1\xff" FF4 FF4 FF4 FF4 FF4 FF4 "\x2c\1\x30\x10" FF4
			    "\x2c\1\x30\x10\0\0\0\0"),
		 "1=255 2=-1 3=65535 4=-1 5=1 6=4294967295 7=-1 8=-1 9=-1 10=1114924 11=1114924"},
	};

	assert_int_equal(makedev(259, 300), 1114924);
	check_cases(cases, ARRAY_SIZE(cases), false);
}

/* GenericFtraceEvent: each field by its name, with a value of its type. */
TEST(records_by_hand_with_names)
{
	static const struct event_case cases[] = {
		{FIELD("int a", 8, 4, 1) FIELD("unsigned int b", 12, 4, 0)
			 FIELD("char c[16]", 16, 16, 0) FIELD("u8 d[4]", 32, 4, 0)
				 FIELD("pid_t e", 36, 4, 1),
		 RECORD(FF4 FF4 "text\0\0\0\0\0\0\0\0\0\0\0\0\0\x1f\xa0\xff\x2a\0\0\0"),
		 "a=-1 b=4294967295u c='text' d='001fa0ff' e=42"},
		{FIELD("__data_loc char[][2] a", 8, 8, 1), RECORD("\x10\0\4\0\x14\0\5\0one\0two"),
		 "a_0='one' bad"},
		{FIELD("__data_loc char[][2] a", 8, 8, 1), RECORD("\x10\0\4\0\x14\0\4\0one\0two\0"),
		 "a_0='one' a_1='two'"},
		{FIELD("__data_loc u8[] a", 8, 4, 0) FIELD("__data_loc char[] b", 12, 4, 0)
			 FIELD("__data_loc char[] c", 16, 4, 0),
		 RECORD("\x14\0\4\0\x14\0\4\0\x14\0\5\0long"), "a='6c6f6e67' b='long' bad"},
	};

	check_cases(cases, ARRAY_SIZE(cases), true);
}

TEST(the_flags_of_a_waking_are_a_field_of_its_message)
{
	static const uint8_t payload[64] = {EVENT_TEXT_ID, 0, 0x98};
	const struct event_table_options options = {0};
	struct encode_ctx ctx = {.syms = &t.syms};
	const struct compiled_event *ev;
	char want[64];

	event_table_deinit(&made);
	ev = event_text_compile(&made, "sched", "sched_waking",
				FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1), NULL,
				&options);
	assert_int_equal(ev->further_len, 0);
	snprintf(want, sizeof(want), "1='' 2=0 %u=152", PB_SCHED_WAKING_FTRACE_EVENT_COMMON_FLAGS);
	assert_string_equal(event_text(ev, &ctx, payload, sizeof(payload)), want);
}

TEST(threads_of_a_record_go_to_the_metadata)
{
	const struct event_table_options options = {0};
	int32_t payload[4] = {EVENT_TEXT_ID, 100, 200, 300};
	struct ring_record r = {.payload = (const uint8_t *)payload, .len = 16};
	struct metadata_events metadata = {0};
	const struct compiled_event *ev;
	struct encode_ctx ctx = {.syms = &t.syms, .strings = &made.strings, .metadata = &metadata};
	uint8_t out[512];

	event_table_deinit(&made);
	ev = event_text_compile(&made, "test", "made",
				FIELD("pid_t a", 8, 4, 1) FIELD("int pid", 12, 4, 1), NULL,
				&options);
	assert_int_equal(metadata_init(&metadata), 0);
	ctx.tids = &metadata.tids;
	event_encode(ev, &r, &ctx, out);
	event_encode(ev, &r, &ctx, out);
	assert_int_equal(metadata.tids.n, 2);
	assert_int_equal(metadata.tids.tids[0], 100);
	assert_int_equal(metadata.tids.tids[1], 200);
	assert_int_equal(metadata.n_tasks, 0);
	metadata_deinit(&metadata);
}

TEST(times_of_every_length)
{
	const struct event_table_options options = {0};
	int32_t payload[3] = {EVENT_TEXT_ID, 1, 1};
	struct ring_record r = {.payload = (const uint8_t *)payload, .len = 12};
	struct encode_ctx ctx = {.syms = &t.syms, .strings = &made.strings};
	const struct compiled_event *ev;
	struct pb_field event, time;
	struct pb_dec d;
	uint8_t out[512];

	event_table_deinit(&made);
	ev = event_text_compile(&made, "test", "made", FIELD("int a", 8, 4, 1), NULL, &options);
	for (unsigned i = 0; i < 64 * 3; i++) {
		r.time = (1ull << i / 3) + i % 3 - 1; /* and 2^64-1, when it wraps */
		pb_dec_init(&d, out, (size_t)(event_encode(ev, &r, &ctx, out) - out));
		assert_true(pb_dec_next(&d, &event));
		pb_dec_init(&d, event.data, event.len);
		assert_true(pb_dec_next(&d, &time) && time.u64 == r.time);
	}
}

static int teardown(void **state)
{
	event_table_deinit(&made);
	return 0;
}

TEST_GROUP(NULL, teardown)
