/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/number_read.h"
#include "unit/test.h"

static struct span of(const char *s)
{
	return (struct span){s, strlen(s)};
}

TEST(texts_that_are_a_number)
{
	static const struct {
		const char *text;
		bool good;
		uint32_t v;
	} cases[] = {
		{"0", true, 0},
		{"4294967295", true, UINT32_MAX},
		{"0xffffffff", true, UINT32_MAX},
		{"0XdB", true, 0xdb},
		{"007", true, 7},
		{"4294967296", false, 0},
		{"0x100000000", false, 0},
		{"99999999999999999999999999", false, 0},
		{"", false, 0},
		{"0x", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1a", false, 0},
		{"0xg", false, 0},
		{"AArch64", false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t v = 42;

		assert_int_equal(span_number(of(cases[i].text), &v), cases[i].good);
		assert_int_equal(v, cases[i].good ? cases[i].v : 42);
	}
}

TEST(numbers_at_the_beginning)
{
	static const struct {
		const char *text;
		unsigned base;
		int r;
		uint64_t v;
		const char *rest;
	} cases[] = {
		{"17 kB", 10, 0, 17, " kB"},
		{" \t\n\v\f\r+5", 10, 0, 5, ""},
		{"-1", 10, 0, UINT64_MAX, ""},
		{"007", 10, 0, 7, ""},
		{"18446744073709551615,", 10, 0, UINT64_MAX, ","},
		{"18446744073709551616,", 10, -ERANGE, UINT64_MAX, ","},
		{"-18446744073709551616,", 10, -ERANGE, UINT64_MAX, ","},
		{"0x1f", 10, 0, 0, "x1f"},
		{"0x1f", 16, 0, 31, ""},
		{"1F t name", 16, 0, 31, " t name"},
		{"0x", 16, 0, 0, "x"},
		{"0xg", 0, 0, 0, "xg"},
		{"-0X10", 0, 0, (uint64_t)-16, ""},
		{"0178", 0, 0, 15, "8"},
		{"89", 0, 0, 89, ""},
		{"", 10, -EINVAL, 42, ""},
		{" - 1", 10, -EINVAL, 42, " - 1"},
		{"a", 10, -EINVAL, 42, "a"},
		{"+-1", 0, -EINVAL, 42, "+-1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span s = of(cases[i].text);
		uint64_t v = 42;

		assert_int_equal(span_read_u64(&s, cases[i].base, &v), cases[i].r);
		assert_true(v == cases[i].v);
		assert_true(span_is(s, cases[i].rest));
	}
}

TEST(a_number_ends_with_its_span)
{
	struct span s = {"0x12", 3}, sign = {"-1", 1}, prefix = {"0x1", 2};
	uint64_t v = 42;

	assert_int_equal(span_read_u64(&s, 0, &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(s.len, 0);
	assert_int_equal(span_read_u64(&sign, 10, &v), -EINVAL);
	assert_int_equal(sign.len, 1);
	assert_int_equal(span_read_u64(&prefix, 16, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(prefix.len, 1);
}

static void compare_with_libc(const char *text, unsigned base)
{
	const char *u = text, *i = text;
	int64_t signed_value = 0;
	uint64_t value = 0;
	char *end;
	int r;

	errno = 0;
	assert_true(strtoull(text, &end, (int)base) == (r = str_read_u64(&u, base, &value), value));
	assert_ptr_equal(u, end);
	assert_int_equal(r, end == text ? -EINVAL : -errno);
	errno = 0;
	assert_true(strtoll(text, &end, (int)base) ==
		    (r = str_read_i64(&i, base, &signed_value), signed_value));
	assert_ptr_equal(i, end);
	assert_int_equal(r, end == text ? -EINVAL : -errno);
	assert_true(str_leading_u64(text, base) == value);
	assert_true(str_leading_i64(text, base) == signed_value);
}

/* glibc 2.38 reads 0b as a prefix, older ones do not: no text has a b behind a 0. */
TEST(numbers_are_read_as_libc_reads_them)
{
	static const char *const limits[] = {
		"9223372036854775807",	 "9223372036854775808",	    "-9223372036854775808",
		"-9223372036854775809",	 "18446744073709551615",    "18446744073709551616",
		"-18446744073709551615", "-18446744073709551616",   "0x7fffffffffffffff",
		"0x8000000000000000",	 "-0x8000000000000001",	    "0xffffffffffffffff",
		"0x10000000000000000",	 "01777777777777777777777", "02000000000000000000000"};
	static const char letters[] = "0001279aF xX+- \t\n,g";
	static const unsigned bases[] = {0, 10, 16};
	uint32_t random = 1;
	char text[12];

	for (size_t b = 0; b < ARRAY_SIZE(bases); b++) {
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
			compare_with_libc(limits[i], bases[b]);
		for (int i = 0; i < 200000; i++) {
			size_t n = 0;

			for (; n < sizeof(text) - 1; n++) {
				random = random * 1103515245u + 12345u;
				text[n] = letters[(random >> 16) % sizeof(letters)];
			}
			text[n] = '\0';
			compare_with_libc(text, bases[b]);
		}
	}
}

TEST(floating_point_numbers)
{
	const char *at = " -1.5e2%", *none = "x";
	double v = 7;

	assert_int_equal(str_read_double(&at, &v), 0);
	assert_true(v == -150);
	assert_string_equal(at, "%");
	assert_int_equal(str_read_double(&none, &v), -EINVAL);
	assert_string_equal(none, "x");
	assert_true(v == -150);
	at = "1e999";
	assert_int_equal(str_read_double(&at, &v), -ERANGE);
	assert_string_equal(at, "");
	assert_true(str_leading_double("3114.613493\n") == 3114.613493);
	assert_true(str_leading_double("") == 0);
}
