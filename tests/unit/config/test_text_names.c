/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "common/sys_stats_counters.pb-c.h"
#include "config/text_values.h"
#include "config/trace_config.pb-c.h"

static struct text_token token(const char *s)
{
	struct text_lexer l;

	text_lexer_init(&l, s, strlen(s));
	return text_lexer_next(&l);
}

static const char *field(const char *name)
{
	struct text_token t = token(name);
	const ProtobufCFieldDescriptor *f = text_names_field(&pb__trace_config__descriptor, &t);

	return f ? f->name : "";
}

TEST(fields_by_name_and_number)
{
	assert_string_equal(field("duration_ms"), "duration_ms");
	assert_string_equal(field("3"), "duration_ms");
	assert_string_equal(field("0x03"), "duration_ms");
	assert_string_equal(field("48"), "trace_attributes");
	assert_string_equal(field("0"), "");
	assert_string_equal(field("15"), ""); /* reserved */
	assert_string_equal(field("49"), "");
	assert_string_equal(field("4294967299"), ""); /* 3 in 32 bits */
	assert_string_equal(field("99999999999999999999999"), "");
	assert_string_equal(field("duration_m"), "");
	assert_string_equal(field("duration_mss"), "");
	assert_string_equal(field("DURATION_MS"), "");
	assert_string_equal(field("3.0"), "");
	assert_string_equal(field("\"duration_ms\""), "");
}

TEST(a_word_longer_than_any_name_is_none)
{
	char word[4 * TEXT_NAME_MAX];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_string_equal(field(word), "");
	memcpy(word, "duration_ms", 11);
	assert_string_equal(field(word), "");
}

TEST(enum_values_by_name)
{
	const ProtobufCEnumDescriptor *type =
		&pb__trace_config__buffer_config__fill_policy__descriptor;
	struct text_token good = token("DISCARD"), bad = token("discard");

	assert_int_equal(text_names_value(type, &good)->value, 2);
	assert_null(text_names_value(type, &bad));
}

static void expect_field_hint(const char *word, const char *hint)
{
	char buf[TEXT_HINT_MAX];
	struct text_token t = token(word);

	assert_string_equal(text_names_hint_field(&pb__trace_config__descriptor, &t, buf), hint);
}

TEST(hints_for_fields)
{
	expect_field_hint("buffer", "; did you mean \"buffers\"?");
	expect_field_hint("durations_ms", "; did you mean \"duration_ms\"?");
	expect_field_hint("Write_Into_File", "; did you mean \"write_into_file\"?");
	expect_field_hint("size_kb", "; its place is inside \"buffers { }\"");
	expect_field_hint("something_else", "");
	expect_field_hint("99", "");
}

static void expect_value_hint(const ProtobufCEnumDescriptor *type, const char *word,
			      const char *hint)
{
	char buf[TEXT_HINT_MAX];
	struct text_token t = token(word);

	assert_string_equal(text_names_hint_value(type, &t, buf), hint);
}

TEST(hints_for_enum_values)
{
	const ProtobufCEnumDescriptor *few =
		&pb__trace_config__buffer_config__fill_policy__descriptor;
	const ProtobufCEnumDescriptor *many = &pb__meminfo_counters__descriptor;

	expect_value_hint(few, "ring_buffer", "; did you mean \"RING_BUFFER\"?");
	expect_value_hint(few, "BUFFER", "; did you mean \"RING_BUFFER\"?");
	expect_value_hint(few, "DISCRAD", "; did you mean \"DISCARD\"?");
	expect_value_hint(few, "STOP", "; it has UNSPECIFIED, RING_BUFFER, DISCARD");
	expect_value_hint(few, "17", "; it has UNSPECIFIED, RING_BUFFER, DISCARD");
	expect_value_hint(many, "mem_total", "; did you mean \"MEMINFO_MEM_TOTAL\"?");
	expect_value_hint(many, "MEMINFO_MEM_TOTL", "; did you mean \"MEMINFO_MEM_TOTAL\"?");
	expect_value_hint(many, "NOTHING_LIKE_IT", "");
	expect_value_hint(many, "12345", "");
}
