// SPDX-License-Identifier: Apache-2.0
/* GenericFtraceEvent: every field by name, with a value of its type. */

#include "unit/test.h"
#include "unit/ftrace/formats.h"
#include "ftrace/encode/event_encode.h"
#include "ftrace/encode/event_legacy.h"
#include "ftrace/events/event_table.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"

static struct event_table table;
static struct sym_index syms;
static uint8_t out[65536];

static const struct compiled_event *make_row(const char *fields)
{
	const struct event_table_options options = {.legacy_generic = true};
	uint16_t id;

	event_table_deinit(&table);
	assert_int_equal(event_table_add(&table, "test", "made",
					 format_text("made", 9, FORMAT_COMMON, fields), &options,
					 &id),
			 0);
	return event_table_get(&table, 9);
}

struct value {
	char name[32];
	struct pb_field f;
};

/* The fields of the one event. */
static unsigned encode(const struct compiled_event *ev, const void *payload, uint32_t len,
		       struct value *values)
{
	struct ring_record r = {.time = 5, .payload = payload, .len = len};
	struct encode_ctx ctx = {.syms = &syms, .strings = &table.strings};
	struct pb_dec d, inner;
	struct pb_field f, v;
	unsigned n = 0;
	uint8_t *end;

	sym_index_clear(&syms);
	assert_true(event_encode_bound(ev, len) <= sizeof(out));
	end = event_encode(ev, &r, &ctx, out);
	assert_true((size_t)(end - out) <= event_encode_bound(ev, len));
	pb_dec_init(&d, out, (size_t)(end - out));
	assert_true(pb_dec_next(&d, &f));
	pb_dec_init(&d, f.data, f.len);
	while (pb_dec_next(&d, &f) && f.id != PB_FTRACE_EVENT_GENERIC)
		;
	assert_int_equal(f.id, PB_FTRACE_EVENT_GENERIC);
	pb_dec_init(&d, f.data, f.len);
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_GENERIC_FTRACE_EVENT_EVENT_NAME);
	assert_true(pb_field_is(&f, "made"));
	while (pb_dec_next(&d, &f)) {
		assert_int_equal(f.id, PB_GENERIC_FTRACE_EVENT_FIELD);
		pb_dec_init(&inner, f.data, f.len);
		assert_true(pb_dec_next(&inner, &v) && v.id == PB_GENERIC_FTRACE_EVENT_FIELD_NAME);
		snprintf(values[n].name, sizeof(values[n].name), "%.*s", (int)v.len, v.data);
		values[n].f = (struct pb_field){0};
		if (pb_dec_next(&inner, &v))
			values[n].f = v;
		assert_false(pb_dec_next(&inner, &v));
		assert_true(pb_dec_ok(&inner));
		n++;
	}
	assert_true(pb_dec_ok(&d));
	return n;
}

TEST(test_values_of_each_type)
{
	const struct compiled_event *ev =
		make_row(FIELD("int a", 8, 4, 1) FIELD("unsigned int b", 12, 4, 0)
				 FIELD("char c[16]", 16, 16, 0) FIELD("u8 d[4]", 32, 4, 0)
					 FIELD("pid_t e", 36, 4, 1));
	uint8_t payload[40] = {9};
	struct value v[8];

	memset(payload + 8, 0xff, 8);
	strcpy((char *)payload + 16, "text");
	memcpy(payload + 32, "\x00\x1f\xa0\xff", 4);
	payload[36] = 42;
	assert_int_equal(encode(ev, payload, sizeof(payload), v), 5);
	assert_string_equal(v[0].name, "a");
	assert_int_equal(v[0].f.id, PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE);
	assert_true(v[0].f.u64 == UINT64_MAX);
	assert_int_equal(v[1].f.id, PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE);
	assert_true(v[1].f.u64 == UINT32_MAX);
	assert_int_equal(v[2].f.id, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE);
	assert_true(pb_field_is(&v[2].f, "text"));
	assert_int_equal(v[3].f.id, PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE);
	assert_true(pb_field_is(&v[3].f, "001fa0ff"));
	assert_int_equal(v[4].f.id, PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE);
	assert_int_equal(v[4].f.u64, 42);
}

TEST(test_long_values)
{
	const struct compiled_event *ev = make_row(FIELD("__data_loc u8[] a", 8, 4, 0) FIELD(
		"__data_loc char[] b", 12, 4, 0) FIELD("__data_loc char[] c", 16, 4, 0));
	static uint8_t payload[4000] = {9};
	struct value v[8];
	uint32_t loc = 3900u << 16 | 100, bad = 3901u << 16 | 100;

	memset(payload + 100, 'x', 3900);
	memcpy(payload + 8, &loc, 4);
	memcpy(payload + 12, &loc, 4);
	memcpy(payload + 16, &bad, 4);
	assert_int_equal(encode(ev, payload, sizeof(payload), v), 2); /* the third lies outside */
	assert_int_equal(v[0].f.len, 7800);
	assert_int_equal(v[1].f.len, 3900);
}

TEST(test_arrays_of_strings)
{
	const struct compiled_event *ev = make_row(FIELD("__data_loc char[][2] a", 8, 8, 1));
	uint8_t payload[24] = {9};
	uint32_t locs[] = {4u << 16 | 16, 5u << 16 | 20}; /* the second ends behind the record */
	struct value v[8];

	memcpy(payload + 8, locs, sizeof(locs));
	memcpy(payload + 16, "one\0two", 8);
	assert_int_equal(encode(ev, payload, sizeof(payload), v), 1);
	assert_string_equal(v[0].name, "a_0");
	assert_true(pb_field_is(&v[0].f, "one"));
	payload[12 + 2] = 4;
	assert_int_equal(encode(ev, payload, sizeof(payload), v), 2);
	assert_string_equal(v[1].name, "a_1");
	assert_true(pb_field_is(&v[1].f, "two"));
}

static int teardown(void **state)
{
	event_table_deinit(&table);
	return 0;
}

TEST_GROUP(NULL, teardown)
