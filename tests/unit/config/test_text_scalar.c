/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "unit/test.h"
#include "config/test_config.pb-c.h"
#include "config/text_scalar.h"
#include "config/trace_config.pb-c.h"

static struct strbuf errors;

static int setup(void **state)
{
	strbuf_clear(&errors);
	return 0;
}

static int teardown(void **state)
{
	strbuf_deinit(&errors);
	return 0;
}

static const ProtobufCFieldDescriptor *dummy(const char *name)
{
	return protobuf_c_message_descriptor_get_field_by_name(
		&pb__test_config__dummy_fields__descriptor, name);
}

/* Reads one value, and says whether all of the text was read for it. */
static bool read_value(const char *text, const ProtobufCFieldDescriptor *field,
		       union text_scalar *ret)
{
	struct text_parser p;
	bool good;

	strbuf_clear(&errors);
	text_parser_init(&p, "f", text, strlen(text), &errors);
	good = text_scalar_read(&p, field, ret);
	assert_true(good == (p.report.n_errors == 0));
	assert_int_equal(p.token.kind, TEXT_END);
	return good;
}

static void u32(const char *field, const char *text, uint32_t expected)
{
	union text_scalar v;

	assert_true(read_value(text, dummy(field), &v));
	assert_true(v.u32 == expected);
}

static void u64(const char *field, const char *text, uint64_t expected)
{
	union text_scalar v;

	assert_true(read_value(text, dummy(field), &v));
	assert_true(v.u64 == expected);
}

static void wrong(const ProtobufCFieldDescriptor *field, const char *text)
{
	union text_scalar v;

	assert_false(read_value(text, field, &v));
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(the_ends_of_every_integer_type)
{
	static const char *const signed32[] = {"field_int32", "field_sint32", "field_sfixed32"};
	static const char *const signed64[] = {"field_int64", "field_sint64", "field_sfixed64"};
	static const char *const unsigned32[] = {"field_uint32", "field_fixed32"};
	static const char *const unsigned64[] = {"field_uint64", "field_fixed64"};

	for (int i = 0; i < 3; i++) {
		u32(signed32[i], "2147483647", INT32_MAX);
		u32(signed32[i], "-2147483648", (uint32_t)INT32_MIN);
		u32(signed32[i], "- 0x80000000", (uint32_t)INT32_MIN);
		u32(signed32[i], "-1", UINT32_MAX);
		wrong(dummy(signed32[i]), "2147483648");
		wrong(dummy(signed32[i]), "-2147483649");
		wrong(dummy(signed32[i]), "4294967295");
		u64(signed64[i], "9223372036854775807", INT64_MAX);
		u64(signed64[i], "-9223372036854775808", (uint64_t)INT64_MIN);
		wrong(dummy(signed64[i]), "9223372036854775808");
		wrong(dummy(signed64[i]), "-9223372036854775809");
		wrong(dummy(signed64[i]), "18446744073709551616");
	}
	for (int i = 0; i < 2; i++) {
		u32(unsigned32[i], "4294967295", UINT32_MAX);
		u32(unsigned32[i], "-0", 0);
		wrong(dummy(unsigned32[i]), "4294967296");
		wrong(dummy(unsigned32[i]), "-1");
		u64(unsigned64[i], "18446744073709551615", UINT64_MAX);
		wrong(dummy(unsigned64[i]), "18446744073709551616");
		wrong(dummy(unsigned64[i]), "-1");
		wrong(dummy(unsigned64[i]), "-18446744073709551615");
	}
}

FIXTURE_TEST(integers_take_nothing_else)
{
	static const char *const texts[] = {"1.0",  "1e3", "1f", "x",  "true", "\"1\"",	 "inf",
					    "64kb", "-x",  "0x", "09", ".5",   "'1' '2'"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		wrong(dummy("field_uint32"), texts[i]);
		wrong(dummy("field_sint64"), texts[i]);
	}
}

FIXTURE_TEST(floats_keep_the_sign_of_zero_and_nan)
{
	union text_scalar v;

	assert_true(read_value("-0", dummy("field_double"), &v));
	assert_true(v.d == 0 && signbit(v.d));
	assert_true(read_value("- 0.0", dummy("field_float"), &v));
	assert_true(v.f == 0 && signbit(v.f));
	assert_true(read_value("-nan", dummy("field_double"), &v));
	assert_true(isnan(v.d) && signbit(v.d));
	assert_true(read_value("-inf", dummy("field_float"), &v));
	assert_true(v.f == -HUGE_VALF);
	assert_true(read_value("3", dummy("field_float"), &v));
	assert_true(v.f == 3);
	wrong(dummy("field_double"), "0x3");
	wrong(dummy("field_double"), "true");
	wrong(dummy("field_float"), "'1'");
}

static const ProtobufCFieldDescriptor *config_field(const char *name)
{
	return protobuf_c_message_descriptor_get_field_by_name(&pb__trace_config__descriptor, name);
}

FIXTURE_TEST(booleans)
{
	static const char *const yes[] = {"true", "True", "t", "1", "0x1", "01"};
	static const char *const no[] = {"false", "False", "f", "0", "00", "0x0"};
	static const char *const neither[] = {"TRUE", "yes",	  "on",	   "2",	  "-1", "-0",
					      "1.0",  "\"true\"", "truee", "tru", "-t"};
	const ProtobufCFieldDescriptor *field = config_field("write_into_file");
	union text_scalar v;

	for (size_t i = 0; i < 6; i++) {
		assert_true(read_value(yes[i], field, &v));
		assert_true(v.b);
		assert_true(read_value(no[i], field, &v));
		assert_false(v.b);
	}
	for (size_t i = 0; i < sizeof(neither) / sizeof(*neither); i++)
		wrong(field, neither[i]);
}

FIXTURE_TEST(enums)
{
	const ProtobufCFieldDescriptor *field = config_field("lockdown_mode");
	union text_scalar v;

	assert_true(read_value("LOCKDOWN_SET", field, &v));
	assert_int_equal(v.u32, 2);
	assert_true(read_value("0x2", field, &v));
	assert_int_equal(v.u32, 2);
	assert_true(read_value("-0", field, &v));
	assert_int_equal(v.u32, 0);
	wrong(field, "3");
	wrong(field, "-1");
	wrong(field, "4294967298"); /* 2 in 32 bits */
	wrong(field, "LOCKDOWN");
	wrong(field, "-LOCKDOWN_SET");
	wrong(field, "\"LOCKDOWN_SET\"");
	wrong(field, "2.0");
}

FIXTURE_TEST(strings_that_stand_side_by_side_are_one)
{
	union text_scalar v;

	assert_true(read_value("\"a\" 'b'\n # comment\n \"\\x63\"", dummy("field_string"), &v));
	assert_string_equal(v.string, "abc");
	text_scalar_drop(dummy("field_string"), &v);
	assert_true(read_value("''", dummy("field_string"), &v));
	assert_string_equal(v.string, "");
	text_scalar_drop(dummy("field_string"), &v);
	assert_true(read_value("'\\0' '\\xff'", dummy("field_bytes"), &v));
	assert_int_equal(v.bytes.len, 2);
	assert_memory_equal(v.bytes.data, "\0\xff", 2);
	text_scalar_drop(dummy("field_bytes"), &v);
	assert_true(read_value("''", dummy("field_bytes"), &v));
	assert_int_equal(v.bytes.len, 0);
	text_scalar_drop(dummy("field_bytes"), &v);
}

FIXTURE_TEST(a_string_cannot_hold_nul_but_bytes_can)
{
	wrong(dummy("field_string"), "'a\\0b'");
	wrong(dummy("field_string"), "'\\x00'");
	wrong(dummy("field_string"), "'\\u0000'");
}

FIXTURE_TEST(every_wrong_escape_is_told)
{
	struct text_parser p;
	union text_scalar v;
	static const char text[] = "'\\q' 'ok' '\\8' x";

	text_parser_init(&p, "f", text, strlen(text), &errors);
	assert_false(text_scalar_read(&p, dummy("field_string"), &v));
	assert_int_equal(p.report.n_errors, 1); /* the next ones may follow from the first */
	assert_int_equal(p.token.kind, TEXT_WORD);
	text_scalar_skip(&p);
	assert_int_equal(p.token.kind, TEXT_END);
}

FIXTURE_TEST(what_is_no_value_is_left_to_the_caller)
{
	static const char *const texts[] = {"}", ":", ", 5", ""};

	for (int i = 0; i < 4; i++) {
		struct text_parser p;
		union text_scalar v;

		text_parser_init(&p, "f", texts[i], strlen(texts[i]), &errors);
		assert_false(text_scalar_read(&p, dummy("field_int32"), &v));
		assert_ptr_equal(p.token.s, texts[i]);
		text_scalar_skip(&p);
		assert_ptr_equal(p.token.s, texts[i]);
	}
}

FIXTURE_TEST(an_open_string_is_told_once)
{
	union text_scalar v;

	assert_false(read_value("'open", dummy("field_string"), &v));
	assert_false(read_value("'open", dummy("field_int32"), &v));
	assert_false(read_value("'good' \"open", dummy("field_string"), &v));
	assert_non_null(strstr(errors.s, "not closed"));
}
