/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints numbers. Fractions are parsed in integers: "1.1s" is exactly 1100 ms.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define BILLION 1000000000u

struct unit {
	const char *name;
	uint32_t factor; /* below 2^32, so that factor * BILLION fits 64 bits */
};

static const struct unit durations[] = {
	{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000},
};

static const struct unit sizes[] = {
	{"", 1},	 {"k", 1},	   {"kb", 1},	   {"kib", 1},	    {"m", 1 << 10},
	{"mb", 1 << 10}, {"mib", 1 << 10}, {"g", 1 << 20}, {"gb", 1 << 20}, {"gib", 1 << 20},
};

static bool str_number_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits at *s and moves *s past them. Returns 0, -EINVAL if there are none, or -ERANGE. */
static int read_digits(const char **s, uint64_t *ret_v)
{
	const char *p = *s;
	uint64_t v = 0;

	if (!str_number_is_digit(*p))
		return -EINVAL;
	for (; str_number_is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*s = p;
	*ret_v = v;
	return 0;
}

/* Like read_digits(), for digits after a point, in billionths. Digits after the ninth are
 * ignored. */
static int read_fraction(const char **s, uint64_t *ret_billionths)
{
	uint64_t v = 0, place = BILLION / 10;
	const char *p = *s;

	if (!str_number_is_digit(*p))
		return -EINVAL;
	for (; str_number_is_digit(*p); p++, place /= 10)
		v += place * (uint64_t)(*p - '0');
	*s = p;
	*ret_billionths = v;
	return 0;
}

int str_to_u64(const char *s, uint64_t *ret_v)
{
	uint64_t v;
	int r = read_digits(&s, &v);

	if (r < 0)
		return r;
	if (*s)
		return -EINVAL;
	*ret_v = v;
	return 0;
}

int str_to_u32(const char *s, uint32_t *ret_v)
{
	uint64_t v;
	int r = str_to_u64(s, &v);

	if (r < 0)
		return r;
	if (v > UINT32_MAX)
		return -ERANGE;
	*ret_v = (uint32_t)v;
	return 0;
}

bool str_is_release_from(const char *release, unsigned major, unsigned minor)
{
	unsigned a, b;

	return sscanf(release, "%u.%u", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

/* Converts a number with a fraction to the smallest unit, rounded up: the result is never less than
 * the request, and 0 only for 0. Returns 0 or -ERANGE. */
static int scale_to_unit(uint64_t whole, uint64_t billionths, uint32_t factor, uint32_t *ret_v)
{
	uint64_t v;

	if (__builtin_mul_overflow(whole, (uint64_t)factor, &v) || v > UINT32_MAX)
		return -ERANGE;
	v += (billionths * factor + BILLION - 1) / BILLION;
	if (v > UINT32_MAX)
		return -ERANGE;
	*ret_v = (uint32_t)v;
	return 0;
}

/* Parses a number and its unit. compare() compares the names of units. Returns 0, -EINVAL or
 * -ERANGE. */
static int parse_quantity(const char *s, const struct unit *units, size_t n_units,
			  int (*compare)(const char *, const char *), uint32_t *ret_v)
{
	uint64_t whole, billionths = 0;
	int r = read_digits(&s, &whole);

	/* A number that is too large and has an unknown unit is -EINVAL, not -ERANGE. */
	if (r == -ERANGE)
		s += strspn(s, "0123456789");
	else if (r < 0)
		return r;
	if (*s == '.') {
		s++;
		if (read_fraction(&s, &billionths) < 0)
			return -EINVAL;
	}
	for (size_t i = 0; i < n_units; i++)
		if (compare(units[i].name, s) == 0)
			return r < 0 ? r : scale_to_unit(whole, billionths, units[i].factor, ret_v);
	return -EINVAL;
}

int str_to_duration_ms(const char *s, uint32_t *ret_ms)
{
	/* Case-sensitive: "M" may mean months. */
	return parse_quantity(s, durations, ARRAY_SIZE(durations), strcmp, ret_ms);
}

int str_to_size_kb(const char *s, uint32_t *ret_kb)
{
	return parse_quantity(s, sizes, ARRAY_SIZE(sizes), strcasecmp, ret_kb);
}

int str_to_time_ns(const char *s, int64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", BILLION},
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", BILLION},
		{"m", 60ull * BILLION},
		{"h", 3600ull * BILLION},
	};
	uint64_t whole = 0, billionths = 0, v, fraction;
	int r = *s == '.' ? 0 : read_digits(&s, &whole);

	if (r < 0)
		return r;
	if (*s == '.') {
		s++;
		if (read_fraction(&s, &billionths) < 0)
			return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].name, s) != 0)
			continue;
		/* Divided by 1000, so that the product fits 64 bits: all units are multiples of
		 * 1000 but ns, whose fraction is always 0 here. */
		fraction = billionths * (units[i].ns / 1000) / (BILLION / 1000);
		if (__builtin_mul_overflow(whole, units[i].ns, &v) ||
		    __builtin_add_overflow(v, fraction, &v) || v > INT64_MAX)
			return -ERANGE;
		*ret_ns = (int64_t)v;
		return 0;
	}
	return -EINVAL;
}

char *str_thousands(uint64_t v, char buf[static 32])
{
	char digits[24], *to = buf;
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return buf;
}

char *str_count(uint64_t n, const char *noun, char buf[static STR_COUNT_SIZE])
{
	size_t len = strlen(noun);
	char last = len ? noun[len - 1] : '\0', number[32];
	bool hisses = last == 's' || last == 'x' || str_ends(noun, "ch") || str_ends(noun, "sh");
	const char *end = hisses ? "es" : last == 'y' ? "ies" : "s";

	if (n == 1)
		end = "";
	else if (last == 'y')
		len--;
	snprintf(buf, STR_COUNT_SIZE, "%s %.*s%s", str_thousands(n, number), (int)len, noun, end);
	return buf;
}

char *str_bytes(uint64_t v, char buf[static 32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	uint64_t unit = 1;
	size_t i = 0;
	double n;

	/* A value that would be printed as 1024 gets the next unit. */
	while (i + 1 < ARRAY_SIZE(units) && (double)v / (double)unit >= (i ? 1023.5 : 1024.0)) {
		unit *= 1024;
		i++;
	}
	n = (double)v / (double)unit;
	snprintf(buf, 32, "%.*f %s",
		 v % unit == 0 || n >= 99.95 ? 0
		 : n >= 9.995		     ? 1
					     : 2,
		 n, units[i]);
	return buf;
}
