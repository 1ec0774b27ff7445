/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "unit/test.h"
#include "config/text_values.h"

static struct text_token token(const char *s)
{
	struct text_lexer l;

	text_lexer_init(&l, s, strlen(s));
	return text_lexer_next(&l);
}

TEST(integers)
{
	static const struct {
		const char *text;
		uint64_t value;
		int error;
	} cases[] = {
		{"0", 0, 0},
		{"00", 0, 0},
		{"010", 8, 0},
		{"0x10", 16, 0},
		{"0XfF", 255, 0},
		{"18446744073709551615", UINT64_MAX, 0},
		{"18446744073709551616", 0, -ERANGE},
		{"99999999999999999999999999", 0, -ERANGE},
		{"0xffffffffffffffff", UINT64_MAX, 0},
		{"0x10000000000000000", 0, -ERANGE},
		{"01777777777777777777777", UINT64_MAX, 0},
		{"02000000000000000000000", 0, -ERANGE},
		{"0000000000000000000000000000000000000000000001", 1, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text_token t = token(cases[i].text);
		uint64_t v = 77;

		assert_int_equal(t.kind, TEXT_INTEGER);
		assert_int_equal(text_value_u64(&t, &v), cases[i].error);
		assert_true(v == (cases[i].error ? 77 : cases[i].value));
	}
}

static double to_double(const char *s)
{
	struct text_token t = token(s);
	double v;

	assert_int_equal(text_value_double(&t, &v), 0);
	return v;
}

static float to_float(const char *s)
{
	struct text_token t = token(s);
	float v;

	assert_int_equal(text_value_float(&t, &v), 0);
	return v;
}

TEST(floats)
{
	static const char *const wrong[] = {"0x10", "010", "x", "in", "nano", "infinit", "true"};

	assert_true(to_double("1.5") == 1.5);
	assert_true(to_double("1.5f") == 1.5);
	assert_true(to_double("10F") == 10);
	assert_true(to_double("0") == 0);
	assert_true(to_double("1e400") == HUGE_VAL);
	assert_true(to_double("iNf") == HUGE_VAL);
	assert_true(to_double("INFINITY") == HUGE_VAL);
	assert_true(isnan(to_double("NaN")));
	assert_true(to_double("18446744073709551616") == 18446744073709551616.0);
	assert_true(to_float("0.1") == 0.1f);
	assert_true(to_float("1e39") == HUGE_VALF);
	assert_true(to_float("3.4028235e38") == FLT_MAX);
	assert_true(isnan(to_float("nan")));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct text_token t = token(wrong[i]);
		double v;

		assert_int_equal(text_value_double(&t, &v), -EINVAL);
	}
}

static void print(double v, bool is_float, const char *expected)
{
	struct strbuf out = {0};

	if (is_float)
		text_value_print_float((float)v, &out);
	else
		text_value_print_double(v, &out);
	assert_string_equal(out.s, expected);
	strbuf_deinit(&out);
}

TEST(printed_floats_read_back)
{
	static const double doubles[] = {0.1,	   1.0 / 3,   DBL_MAX,	  DBL_MIN, 5e-324,
					 1e15 / 7, 123456789, 0x1p53 + 2, -0.3};

	print(1, false, "1");
	print(-0.0, false, "-0");
	print(0.1, false, "0.1");
	print(0.1f, true, "0.1");
	print(1e300, false, "1e+300");
	print(HUGE_VAL, false, "inf");
	print(-HUGE_VAL, true, "-inf");
	print(NAN, false, "nan");
	print(-NAN, true, "-nan");
	for (size_t i = 0; i < ARRAY_SIZE(doubles); i++) {
		struct strbuf out = {0};

		text_value_print_double(doubles[i], &out);
		assert_true(strtod(out.s, NULL) == doubles[i]);
		strbuf_clear(&out);
		text_value_print_float((float)doubles[i], &out);
		assert_true(strtof(out.s, NULL) == (float)doubles[i]);
		strbuf_deinit(&out);
	}
}

/* The first locale of this machine that writes 1,5. */
static bool set_comma_locale(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
					    "it_IT.UTF-8", "ru_RU.UTF-8"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (setlocale(LC_ALL, names[i]) && localeconv()->decimal_point[0] == ',')
			return true;
	return false;
}

TEST(the_locale_of_the_program_does_not_matter)
{
	struct strbuf out = {0};

	if (!set_comma_locale())
		skip();
	assert_true(to_double("1.5") == 1.5);
	assert_true(to_float("1.5") == 1.5f);
	text_value_print_double(1.5, &out);
	assert_string_equal(out.s, "1.5");
	strbuf_deinit(&out);
	setlocale(LC_ALL, "C");
}

static void expect_bytes(const char *text, const char *bytes, size_t len)
{
	struct text_token t = token(text);
	struct strbuf out = {0};
	const char *at;
	size_t n;

	assert_int_equal(t.kind, TEXT_STRING);
	assert_null(text_value_bytes(&t, &out, &at, &n));
	assert_int_equal(out.len, len);
	if (len > 0)
		assert_memory_equal(out.s, bytes, len);
	strbuf_deinit(&out);
}

TEST(escapes)
{
	expect_bytes("''", "", 0);
	expect_bytes("'a\"b'", "a\"b", 3);
	expect_bytes("'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"'", "\a\b\f\n\r\t\v\\?'\"", 11);
}

TEST(octal_escapes_take_up_to_three_digits)
{
	expect_bytes("'\\0\\1\\12\\123\\1234\\377\\18'",
		     "\0\1\12\123\123"
		     "4\377\1"
		     "8",
		     9);
}

TEST(hexadecimal_escapes_take_up_to_two_digits)
{
	expect_bytes("'\\x0\\xfF\\X41\\x411\\x7g'",
		     "\0\377A"
		     "A1\7g",
		     7);
}

TEST(unicode_escapes_become_utf8)
{
	expect_bytes("'\\u0041\\u00e4\\u20AC'", "A\xc3\xa4\xe2\x82\xac", 6);
	expect_bytes("'\\U0001f600\\U0010FFFF\\U00000041'",
		     "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"
		     "A",
		     9);
	expect_bytes("'\\ud83d\\ude00'", "\xf0\x9f\x98\x80", 4);
	expect_bytes("'\\ud83dx'", "\xed\xa0\xbdx", 4); /* half a pair stays what it is */
	expect_bytes("'\\ud83d\\u0041'",
		     "\xed\xa0\xbd"
		     "A",
		     4);
	expect_bytes("'\\u00e48'",
		     "\xc3\xa4"
		     "8",
		     3);
}

TEST(wrong_escapes_are_pointed_at)
{
	static const struct {
		const char *text;
		size_t at, n;
	} cases[] = {
		{"'a\\q'", 2, 2},	{"'\\8'", 1, 2},	  {"'\\x'", 1, 2},
		{"'\\xg'", 1, 2},	{"'\\u123'", 1, 5},	  {"'\\u12g4'", 1, 4},
		{"'\\U0011'", 1, 6},	{"'\\U00110000'", 1, 10}, {"'\\400'", 1, 4},
		{"'good\\777x'", 5, 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text_token t = token(cases[i].text);
		struct strbuf out = {0};
		const char *at = NULL;
		size_t n = 0;

		assert_non_null(text_value_bytes(&t, &out, &at, &n));
		assert_int_equal(at - t.s, cases[i].at);
		assert_int_equal(n, cases[i].n);
		strbuf_deinit(&out);
	}
}

TEST(every_byte_is_printed_so_that_it_reads_back)
{
	struct strbuf text = {0}, again = {0};
	struct text_token t;
	uint8_t all[512];
	const char *at;
	size_t n;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(i < 256 ? i : i * 7); /* each byte before several others */
	text_value_print_bytes(all, sizeof(all), &text);
	for (size_t i = 0; i < text.len; i++)
		assert_in_range((uint8_t)text.s[i], 0x20, 0x7e);
	t = token(text.s);
	assert_int_equal(t.len, text.len);
	assert_null(text_value_bytes(&t, &again, &at, &n));
	assert_int_equal(again.len, sizeof(all));
	assert_memory_equal(again.s, all, sizeof(all));
	strbuf_deinit(&text);
	strbuf_deinit(&again);
}
