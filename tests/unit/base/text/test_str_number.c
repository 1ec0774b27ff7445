/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/str.h"
#include "unit/test.h"

TEST(whole_numbers)
{
	uint64_t v = 1;
	uint32_t w;

	assert_int_equal(str_to_u64("0", &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(str_to_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(str_to_u64("007", &v), 0);
	assert_int_equal(v, 7);
	assert_int_equal(str_to_u32("4294967295", &w), 0);
	assert_int_equal(w, UINT32_MAX);
}

TEST(no_numbers)
{
	static const char *const bad[] = {"",  " 1", "1 ", "-1",  "+1",	   "0x10", "1a",
					  "a", ".5", "1.", "1e3", "1,000", "\n",   "1\n"};
	uint64_t v = 77;
	uint32_t w = 78;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(str_to_u64(bad[i], &v), -EINVAL);
		assert_int_equal(str_to_u32(bad[i], &w), -EINVAL);
	}
	assert_int_equal(v, 77);
	assert_int_equal(w, 78);
}

TEST(numbers_out_of_range)
{
	uint64_t v = 77;
	uint32_t w = 78;

	assert_int_equal(str_to_u64("18446744073709551616", &v), -ERANGE);
	assert_int_equal(str_to_u64("99999999999999999999999", &v), -ERANGE);
	assert_int_equal(str_to_u32("4294967296", &w), -ERANGE);
	assert_int_equal(str_to_u32("18446744073709551616", &w), -ERANGE);
	assert_int_equal(v, 77);
	assert_int_equal(w, 78);
}

struct quantity {
	const char *text;
	int result;
	uint32_t value;
};

static void check(const struct quantity *q, size_t n, int (*parse)(const char *, uint32_t *))
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = 12345;
		int r = parse(q[i].text, &v);

		if (r != q[i].result || v != (r == 0 ? q[i].value : 12345))
			fail_msg("\"%s\": %d, %u", q[i].text, r, v);
	}
}

TEST(durations)
{
	static const struct quantity q[] = {
		{"10", 0, 10000},
		{"10s", 0, 10000},
		{"0", 0, 0},
		{"250ms", 0, 250},
		{"2m", 0, 120000},
		{"1h", 0, 3600000},
		{"1.5s", 0, 1500},
		{"1.1s", 0, 1100},
		{"0.1", 0, 100},
		{"0.001s", 0, 1},
		{"0.0001s", 0, 1}, /* up: not nothing */
		{"0.00000000000001s", 0, 0}, /* but the tenth digit and later do not count */
		{"0.5ms", 0, 1},
		{"0.25h", 0, 900000},
		{"1.999999999s", 0, 2000},
		{"4294967295ms", 0, UINT32_MAX},
		{"4294967.295s", 0, UINT32_MAX},
		{"4294967.296s", -ERANGE, 0},
		{"4294967296ms", -ERANGE, 0},
		{"1193h", 0, 4294800000u},
		{"1194h", -ERANGE, 0},
		{"99999999999999999999s", -ERANGE, 0},
		{"18446744073709551615h", -ERANGE, 0},
		{"99999999999999999999x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"+1s", -EINVAL, 0},
		{".5s", -EINVAL, 0},
		{"1.s", -EINVAL, 0},
		{"1..5s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1M", -EINVAL, 0},
		{"1sec", -EINVAL, 0},
		{"1s5", -EINVAL, 0},
		{"1m30s", -EINVAL, 0},
	};

	check(q, ARRAY_SIZE(q), str_to_duration_ms);
}

TEST(times)
{
	static const struct {
		const char *text;
		int r;
		int64_t ns;
	} times[] = {
		{"1.5", 0, 1500000000},
		{".5", 0, 500000000},
		{"2s", 0, 2000000000},
		{"200ms", 0, 200000000},
		{"0.1us", 0, 100},
		{"7ns", 0, 7},
		{"7.9ns", 0, 7},
		{"1.123456789s", 0, 1123456789},
		{"2m", 0, 120000000000},
		{"2562047h", 0, 9223369200000000000},
		{"2562048h", -ERANGE, 0},
		{"9223372037", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"soon", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		int64_t ns = 77;

		assert_int_equal(str_to_time_ns(times[i].text, &ns), times[i].r);
		assert_true(ns == (times[i].r ? 77 : times[i].ns));
	}
}

TEST(sizes)
{
	static const struct quantity q[] = {
		{"512", 0, 512},
		{"512k", 0, 512},
		{"512kb", 0, 512},
		{"512KiB", 0, 512},
		{"512KIB", 0, 512},
		{"32m", 0, 32768},
		{"32mb", 0, 32768},
		{"32MiB", 0, 32768},
		{"2g", 0, 2097152},
		{"2GB", 0, 2097152},
		{"2GiB", 0, 2097152},
		{"1.5g", 0, 1572864},
		{"0.5k", 0, 1},
		{"4095g", 0, 4293918720u},
		{"4096g", -ERANGE, 0},
		{"4294967295", 0, UINT32_MAX},
		{"4294967296", -ERANGE, 0},
		{"4095.9999g", 0, 4294967192u}, /* 104.86 KiB less than 4096g, rounded up */
		{"4095.9999999g", -ERANGE, 0},
		{"99999999999999999999g", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"mb", -EINVAL, 0},
		{"-1m", -EINVAL, 0},
		{"1b", -EINVAL, 0},
		{"1t", -EINVAL, 0},
		{"1 mb", -EINVAL, 0},
		{"1m ", -EINVAL, 0},
	};

	check(q, ARRAY_SIZE(q), str_to_size_kb);
}

TEST(thousands)
{
	char buf[32];

	assert_string_equal(str_thousands(0, buf), "0");
	assert_string_equal(str_thousands(7, buf), "7");
	assert_string_equal(str_thousands(999, buf), "999");
	assert_string_equal(str_thousands(1000, buf), "1,000");
	assert_string_equal(str_thousands(12345, buf), "12,345");
	assert_string_equal(str_thousands(1204331, buf), "1,204,331");
	assert_string_equal(str_thousands(UINT64_MAX, buf), "18,446,744,073,709,551,615");
}

TEST(counts)
{
	char buf[STR_COUNT_SIZE];

	assert_string_equal(str_count(0, "packet", buf), "0 packets");
	assert_string_equal(str_count(1, "packet", buf), "1 packet");
	assert_string_equal(str_count(2048, "packet", buf), "2,048 packets");
	assert_string_equal(str_count(3, "process", buf), "3 processes");
	assert_string_equal(str_count(0, "patch", buf), "0 patches");
	assert_string_equal(str_count(2, "path", buf), "2 paths");
	assert_string_equal(str_count(1, "entry", buf), "1 entry");
	assert_string_equal(str_count(2, "entry", buf), "2 entries");
}

TEST(bytes)
{
	char buf[32];

	assert_string_equal(str_bytes(0, buf), "0 B");
	assert_string_equal(str_bytes(1023, buf), "1023 B");
	assert_string_equal(str_bytes(1024, buf), "1 KiB");
	assert_string_equal(str_bytes(1025, buf), "1.00 KiB");
	assert_string_equal(str_bytes(1536, buf), "1.50 KiB");
	assert_string_equal(str_bytes(10234, buf), "9.99 KiB");
	assert_string_equal(str_bytes(10235, buf), "10.0 KiB");
	assert_string_equal(str_bytes(102348, buf), "99.9 KiB");
	assert_string_equal(str_bytes(102350, buf), "100 KiB");
	assert_string_equal(str_bytes(1048063, buf), "1023 KiB");
	assert_string_equal(str_bytes(1048064, buf), "1.00 MiB");
	assert_string_equal(str_bytes(64 << 20, buf), "64 MiB");
	assert_string_equal(str_bytes(21400000, buf), "20.4 MiB");
	assert_string_equal(str_bytes(UINT64_MAX, buf), "16.0 EiB");
}

/* Three significant digits: never further than half of the last one from the truth. */
TEST(bytes_are_rounded_to_nearest)
{
	static const char units[] = "BKMGTPE";
	char buf[32], unit[4];

	for (uint64_t v = 1000; v < UINT64_MAX / 3; v = v / 2 * 3 + 1) {
		double shown, scale = 1;

		assert_int_equal(sscanf(str_bytes(v, buf), "%lf %3s", &shown, unit), 2);
		for (const char *u = units; *u != unit[0]; u++)
			scale *= 1024;
		assert_true(shown >= 1 && shown < 1024);
		assert_true(shown * scale - (double)v <= (double)v * 0.00501);
		assert_true((double)v - shown * scale <= (double)v * 0.00501);
	}
}

TEST(releases_of_kernels)
{
	assert_true(str_is_release_from("6.1.0-13-amd64", 6, 1));
	assert_true(str_is_release_from("6.18.44-fc-v657", 6, 9));
	assert_true(str_is_release_from("7.0-rc1", 6, 9));
	assert_true(str_is_release_from("5.17", 5, 9));
	assert_false(str_is_release_from("5.9.1", 5, 17));
	assert_false(str_is_release_from("5.19", 6, 1));
	assert_false(str_is_release_from("unknown", 0, 0));
}
