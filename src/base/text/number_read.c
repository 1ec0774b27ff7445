/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/number_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static unsigned value_of_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

static bool begins_with_0x(struct span s)
{
	return s.len > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X') &&
	       value_of_digit(s.p[2]) < 16;
}

/* Cuts white space, a sign and a number off s. Returns 0, -EINVAL if there is no number (nothing
 * changes), or -ERANGE: the number is cut off, has more than 64 bits, and *ret_v is UINT64_MAX.
 * Reads no byte after the first one that is not part of the number. */
static int read_magnitude(struct span *s, unsigned base, bool *ret_minus, uint64_t *ret_v)
{
	struct span rest = *s;
	bool minus = false, fits = true;
	uint64_t v = 0;
	size_t n = 0;

	for (; rest.len > 0 && (*rest.p == ' ' || (*rest.p >= '\t' && *rest.p <= '\r')); rest.len--)
		rest.p++;
	if (rest.len > 0 && (*rest.p == '-' || *rest.p == '+')) {
		minus = *rest.p == '-';
		rest = (struct span){rest.p + 1, rest.len - 1};
	}
	if (base != 10 && begins_with_0x(rest)) {
		base = 16;
		rest = (struct span){rest.p + 2, rest.len - 2};
	} else if (base == 0) {
		base = rest.len > 0 && *rest.p == '0' ? 8 : 10;
	}
	for (unsigned digit; n < rest.len && (digit = value_of_digit(rest.p[n])) < base; n++)
		fits = fits && !__builtin_mul_overflow(v, base, &v) &&
		       !__builtin_add_overflow(v, digit, &v);
	if (n == 0)
		return -EINVAL;
	*s = (struct span){rest.p + n, rest.len - n};
	*ret_minus = minus;
	*ret_v = fits ? v : UINT64_MAX;
	return fits ? 0 : -ERANGE;
}

int span_read_u64(struct span *s, unsigned base, uint64_t *ret_v)
{
	uint64_t v;
	bool minus;
	int r = read_magnitude(s, base, &minus, &v);

	if (r != -EINVAL)
		*ret_v = minus && !r ? -v : v;
	return r;
}

int span_read_i64(struct span *s, unsigned base, int64_t *ret_v)
{
	uint64_t v, limit;
	bool minus;
	int r = read_magnitude(s, base, &minus, &v);

	if (r == -EINVAL)
		return r;
	limit = (uint64_t)INT64_MAX + minus;
	if (v > limit) {
		v = limit;
		r = -ERANGE;
	}
	*ret_v = (int64_t)(minus ? -v : v);
	return r;
}

bool span_number(struct span s, uint32_t *ret_v)
{
	bool is_hex = s.len > 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X');
	uint64_t v;

	if (s.len == 0 || s.p[0] < '0' || s.p[0] > '9' || span_read_u64(&s, is_hex ? 16 : 10, &v) ||
	    s.len > 0 || v > UINT32_MAX)
		return false;
	*ret_v = (uint32_t)v;
	return true;
}

int str_read_u64(const char **at, unsigned base, uint64_t *ret_v)
{
	struct span s = {*at, SIZE_MAX}; /* the NUL ends the number */
	int r = span_read_u64(&s, base, ret_v);

	*at = s.p;
	return r;
}

int str_read_i64(const char **at, unsigned base, int64_t *ret_v)
{
	struct span s = {*at, SIZE_MAX};
	int r = span_read_i64(&s, base, ret_v);

	*at = s.p;
	return r;
}

int str_read_double(const char **at, double *ret_v)
{
	int before = errno, r;
	char *end;
	double v;

	errno = 0;
	v = strtod(*at, &end);
	r = -errno;
	errno = before;
	if (end == *at)
		return -EINVAL;
	*at = end;
	*ret_v = v;
	return r;
}

uint64_t str_leading_u64(const char *s, unsigned base)
{
	uint64_t v = 0;

	(void)str_read_u64(&s, base, &v);
	return v;
}

int64_t str_leading_i64(const char *s, unsigned base)
{
	int64_t v = 0;

	(void)str_read_i64(&s, base, &v);
	return v;
}

double str_leading_double(const char *s)
{
	double v = 0;

	(void)str_read_double(&s, &v);
	return v;
}
